//! `attache new NAME`: creates an agent file.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use attache_kernel::{
    agent::definition::{
        Definition, Dialect, Format, ModelSelector, Scope, Severity, ToolAccess,
        markdown::to_markdown,
        reading::{Source, read},
    },
    id::{AgentKey, AgentName},
    path_text,
};
use clap::Args;
use serde::Serialize;

use crate::{
    failure::{Exit, Failure},
    print::{
        self, diagnostics, harmless,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
};

/// The instructions that a new agent starts with.
const TEMPLATE: &str = include_str!("new.md");

/// Create an agent file with a template to edit.
///
/// On a terminal the missing parts are asked for. Without a terminal, --description is required.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache new reviewer
  attache new reviewer --description \"Reviews diffs for bugs\" --tools Read,Grep,Glob --model inherit
  attache new notes --user --description \"Keeps notes\"        for all your projects
  attache new reviewer --claude --description \"Reviews diffs\"  in .claude/agents, for Claude Code too")]
pub(crate) struct NewArgs {
    /// The agent's name, such as `code-reviewer`; not a path.
    name: String,
    /// One sentence that says when to use the agent.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Tools the agent may use, separated by commas [default: all].
    #[arg(long, value_name = "TOOLS")]
    tools: Option<String>,
    /// Model the agent runs on [default: the parent's].
    #[arg(long, value_name = "MODEL", value_parser = crate::cli::model_words::name)]
    model: Option<String>,
    /// Create the agent for all your projects, not only for this one.
    #[arg(long)]
    user: bool,
    /// Create it in `.claude/agents`, which Claude Code reads too.
    #[arg(long)]
    claude: bool,
    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

/// What is printed.
#[derive(Serialize)]
struct Made<'a> {
    name: &'a AgentKey,
    #[serde(serialize_with = "path_text::path")]
    path: &'a Path,
}

pub(crate) fn run(args: &NewArgs, setup: &Setup) -> Result<Exit, Failure> {
    refuse_path(&args.name)?;
    let key = AgentKey::from_name(&args.name);
    if key.is_empty() || key.is_too_long() {
        return Err(Failure::usage(format!("`{}` is not a name for an agent", args.name))
            .hint("use lower-case letters, digits and `-`, at most 64 characters"));
    }
    let definition = describe(args, &key)?;
    let text = to_markdown(&definition, &setup.rules().run_defaults);
    let path = place(args, &key, setup)?;
    check(&text, &path, args, setup)?;
    write(&path, &text, args.force)?;
    warn_of_namesakes(&key, &path, setup)?;
    match setup.format {
        OutputFormat::Json => print::json(&Made { name: &key, path: &path })?,
        OutputFormat::Text => {
            let shown = setup.shown(&path);
            print::out(&format!("{}\n", shown.display()))?;
            print::aside(&format!(
                "Edit the instructions, then: attache validate {}",
                shown.display()
            ));
        }
    }
    Ok(Exit::Success)
}

/// A name is not a path: the folder is chosen by options.
fn refuse_path(name: &str) -> Result<(), Failure> {
    let last = name.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = ["md", "yaml", "yml", "toml"]
        .iter()
        .find_map(|ending| last.strip_suffix(ending)?.strip_suffix('.'))
        .unwrap_or(last);
    if stem == name {
        return Ok(());
    }
    let key = AgentKey::from_name(stem);
    let failure = Failure::usage(format!("`{name}` is a path, not a name"));
    Err(if key.is_empty() {
        failure.hint("give a name such as `code-reviewer`; --user and --claude choose the folder")
    } else {
        failure.hint(format!("give the name `{key}`; --user and --claude choose the folder"))
    })
}

/// Says so where the new agent hides another, or another hides it.
fn warn_of_namesakes(key: &AgentKey, path: &Path, setup: &Setup) -> Result<(), Failure> {
    let inventory = setup.inventory()?;
    let Ok(record) = inventory.record(key.as_str()) else { return Ok(()) };
    let place = |path: Option<&Path>, scope: Scope| match path {
        Some(path) => format!("{} ({})", setup.shown(path).display(), scope.as_str()),
        None => format!("the {} agent", scope.as_str()),
    };
    let notice = paint(Tone::Warning, "notice:");
    let is_same = record.source_path.as_deref().is_some_and(|found| {
        found == path || found.canonicalize().ok() == path.canonicalize().ok()
    });
    if !is_same {
        let winner = place(record.source_path.as_deref(), record.scope);
        print::aside(&format!(
            "{notice} `{key}` still means {}; the new agent is not used until that one is renamed or removed",
            harmless(&winner)
        ));
        return Ok(());
    }
    for hidden in &record.overrides {
        let hidden = place(hidden.source_path.as_deref(), hidden.scope);
        print::aside(&format!(
            "{notice} `{key}` now means the new agent, and no longer {}",
            harmless(&hidden)
        ));
    }
    Ok(())
}

/// Asks until there is an answer; none at the end of input.
fn ask_until_answered(question: &str) -> Option<String> {
    loop {
        let answer = print::ask(question)?;
        if !answer.is_empty() {
            return Some(answer);
        }
        print::aside("an answer is needed; Ctrl-C ends");
    }
}

fn describe(args: &NewArgs, key: &AgentKey) -> Result<Definition, Failure> {
    let mut definition = Definition::named(AgentName::new(key.as_str()));
    let description = match &args.description {
        Some(description) => Some(description.clone()),
        None if print::is_interactive() => ask_until_answered("When should it be used? "),
        None => {
            return Err(Failure::usage("a new agent needs a description")
                .hint("without a terminal, pass --description \"when to use it\""));
        }
    };
    let description =
        description.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    definition.when_to_use = Some(description.ok_or_else(|| {
        Failure::usage("the description is empty")
            .hint("write one sentence that says when to use the agent")
    })?);
    let tools = match &args.tools {
        Some(tools) => Some(tools.clone()),
        None if args.description.is_none() && print::is_interactive() => {
            print::ask("Which tools? (such as Read, Grep, Glob; Enter for all) ")
                .filter(|answer| !answer.is_empty())
        }
        None => None,
    };
    if let Some(tools) = tools {
        definition.tools = ToolAccess::of_text(&tools);
    }
    definition.model_config.model = args.model.as_deref().map(ModelSelector::new);
    definition.prompt_config.system_prompt =
        Some(TEMPLATE.replace("NAME", key.as_str()).trim().to_owned());
    Ok(definition)
}

fn place(args: &NewArgs, key: &AgentKey, setup: &Setup) -> Result<PathBuf, Failure> {
    let folder = match (args.user, args.claude) {
        (false, false) => setup.working_directory.join(".attache/agents"),
        (false, true) => setup.working_directory.join(".claude/agents"),
        (true, false) => setup.attache_home.join("agents"),
        (true, true) => setup
            .home
            .as_ref()
            .ok_or_else(|| Failure::usage("there is no home directory").hint("set HOME"))?
            .join(".claude/agents"),
    };
    Ok(folder.join(format!("{key}.md")))
}

/// A file with errors is never left behind.
fn check(text: &str, path: &Path, args: &NewArgs, setup: &Setup) -> Result<(), Failure> {
    let dialect = if args.claude { Dialect::Claude } else { Dialect::Attache };
    let source =
        Source { text, path: Some(path), scope: Scope::Project, dialect, format: Format::Markdown };
    let reading = read(&source, &setup.rules());
    let shown: Vec<String> = reading
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity >= Severity::Warning)
        .map(|diagnostic| diagnostics::render(diagnostic, path, Some(text)))
        .collect();
    if reading.has(Severity::Error) {
        return Err(Failure::usage(format!("the agent would be invalid\n{}", shown.join("\n"))));
    }
    for warning in shown {
        print::aside(&warning);
    }
    Ok(())
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} exists already", path.display()))
                .hint("choose another name, or replace it with --force")
        }
        _ => Failure::unsuccessful(format!("cannot write {}", path.display())).because(&error),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(!force).create(true).truncate(true);
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(|error| {
        // Do not leave a partial file behind.
        if !force {
            fs::remove_file(path).unwrap_or_default();
        }
        failed(error)
    })
}
