//! `attache show AGENT`: one agent in full, as a page, as JSON or as a native agent file.

mod permissions;

use std::{fmt::Write as _, path::PathBuf};

use attache_kernel::{
    agent::{
        definition::{Definition, Scope, ToolAccess, Trust, markdown::to_markdown},
        registry::Record,
    },
    model::choice::{ChosenBy, ModelChoice},
    rights::permission::AutoApproval,
};
use attache_runtime::internal::host::not_sent;
use clap::{Args, ValueEnum};
use serde::Serialize;

use self::permissions::Permissions;

use crate::{
    failure::{Exit, Failure},
    no_effect,
    print::{
        self, diagnostics, harmless,
        number::count,
        pager,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
};

/// Show one agent: its problems, its source, the tools and the model it gets and why.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache show Explore
  attache show reviewer --json
  attache show reviewer --as md > .attache/agents/reviewer.md    a native copy of any agent

Tools: read_file, list_dir, glob_files, grep_files, write_file, edit_file, apply_patch, shell,
web_fetch, web_search, view_image, and mcp__SERVER__TOOL; the tool names of other hosts are accepted.")]
pub(crate) struct ShowArgs {
    /// The agent's name, in any spelling.
    #[arg(add = super::completions::agents())]
    agent: String,
    /// Print the definition in this form instead of a page.
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Option<Form>,
}

/// The forms a definition can be printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A native agent file.
    Md,
    /// The definition alone, as JSON.
    Json,
}

pub(crate) fn run(args: &ShowArgs, setup: &Setup) -> Result<Exit, Failure> {
    let inventory = setup.inventory()?;
    let record = setup.record(&inventory, &args.agent)?;
    match (args.form, setup.format) {
        (Some(Form::Md), _) => {
            print::exact(&to_markdown(definition(record)?, &setup.rules().run_defaults))?;
        }
        (Some(Form::Json), _) => print::json(definition(record)?)?,
        (None, OutputFormat::Json) => {
            print::json(&Shown { record, permissions: allowed(record, setup) })?;
        }
        (None, OutputFormat::Text) => pager::page(&page(record, setup), &setup.environment)?,
    }
    Ok(Exit::Success)
}

/// A record, with what the agent may do.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    record: &'a Record,
    permissions: Option<Permissions>,
}

/// What an agent may do unasked, asked and never; nothing of one that could not be read.
fn allowed(record: &Record, setup: &Setup) -> Option<Permissions> {
    let definition = record.definition.as_deref()?;
    let leave = setup.leave(definition, record.trusted, AutoApproval::AsConfigured).ok()?;
    Some(Permissions::granted_by(&leave))
}

fn definition(record: &Record) -> Result<&Definition, Failure> {
    record.definition.as_deref().ok_or_else(|| {
        Failure::usage(format!("the agent `{}` could not be read", record.name))
            .hint("`attache validate` shows the errors")
    })
}

fn page(record: &Record, setup: &Setup) -> String {
    let mut page = Page::default();
    let state = record.status.as_str();
    let called = record.definition.as_ref().and_then(|agent| agent.display_name.as_ref());
    let called = called.map(|name| format!(", {}", harmless(name))).unwrap_or_default();
    page.line(&format!("{}{called} ({state})", paint(Tone::Strong, &harmless(&record.name))));
    if let Some(description) =
        record.definition.as_ref().and_then(|agent| agent.when_to_use.as_ref())
    {
        page.line(&harmless(description));
    }
    page.problems(record, setup);
    page.line("");
    let source = match (&record.source_path, record.scope) {
        (Some(path), _) => setup.shown(path).display().to_string(),
        (None, Scope::Builtin) => "built in".to_owned(),
        (None, Scope::Session | Scope::User | Scope::Project) => "the command line".to_owned(),
    };
    page.field("source", &format!("{source} ({}, {})", record.scope.as_str(), record.dialect));
    for lost in &record.overrides {
        let lost_path = lost.source_path.as_ref().map_or_else(
            || "the built-in agent".to_owned(),
            |path| setup.shown(path).display().to_string(),
        );
        page.field("overrides", &format!("{lost_path} ({})", lost.scope.as_str()));
    }
    page.field("trusted", trust_words(record));
    if let Some(model) = &record.effective_model {
        page.field("model", &harmless(&model_words(record, model)));
        let agent = record.definition.as_deref();
        if let Some(notice) = agent.and_then(|agent| not_sent(agent, &model.model)) {
            page.field("", &harmless(&notice.to_string()));
        }
    }
    if let Some(folder) = record.definition.as_ref().and_then(|known| known.base_dir.as_ref()) {
        page.field("works in", &harmless(&folder.display().to_string()));
    }
    page.field("tools", &or_none(&record.effective_tools.join(", ")));
    for withheld in &record.withheld_tools {
        page.field(
            "withheld",
            &format!(
                "{}: {}",
                paint(Tone::Warning, &harmless(&withheld.tool)),
                harmless(&withheld.reason)
            ),
        );
    }
    if let Some(allowed) = allowed(record, setup) {
        for (name, what) in
            [("unasked", &allowed.unasked), ("asked", &allowed.asked), ("never", &allowed.never)]
        {
            if !what.is_empty() {
                page.field(name, &harmless(&what.join(", ")));
            }
        }
    }
    if let Some(agent) = &record.definition {
        definition_fields(&mut page, agent);
    }
    page.text
}

/// What a run gets. Without a provider only a built-in agent has a model.
fn model_words(record: &Record, model: &ModelChoice) -> String {
    let by = model.chosen_by.as_str();
    match model.model.as_str() {
        "offline" if lacks_provider(record, model) => {
            "none: no model provider is set up".to_owned()
        }
        asked if lacks_provider(record, model) => {
            format!("none: no model provider is set up for `{asked}` (chosen by: {by})")
        }
        name => format!("{name} on {} (chosen by: {by})", model.provider),
    }
}

/// Whether a run of the agent would be refused, since no provider is set up and `offline` was not asked for.
pub(super) fn lacks_provider(record: &Record, model: &ModelChoice) -> bool {
    let was_asked_for = model.model == "offline" && model.chosen_by != ChosenBy::Parent;
    model.provider == "offline" && record.scope != Scope::Builtin && !was_asked_for
}

fn trust_words(record: &Record) -> &'static str {
    match record.trusted {
        Trust::Trusted => "yes",
        Trust::Untrusted => "no",
    }
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

fn definition_fields(page: &mut Page, agent: &Definition) {
    for notice in no_effect::of_definition(agent) {
        page.field("notice", &paint(Tone::Warning, &notice));
    }
    if let ToolAccess::List(entries) = &agent.tools {
        page.field("tools as written", &or_none(&harmless(&entries.join(", "))));
    }
    if !agent.disallowed_tools.is_empty() {
        page.field("disallowed", &harmless(&agent.disallowed_tools.join(", ")));
    }
    let run = &agent.run_config;
    page.field(
        "limits",
        &format!(
            "{}, {} s, {} s grace",
            count(u64::from(run.max_turns), "turn"),
            run.max_time_seconds,
            run.grace_period_seconds
        ),
    );
    if let Some(color) = &agent.color {
        page.field("color", &harmless(color));
    }
    if !agent.keywords.is_empty() {
        page.field("keywords", &harmless(&agent.keywords.join(", ")));
    }
    for (name, input) in agent.input_config.iter().flat_map(|config| &config.inputs) {
        let need = if input.required { "required" } else { "optional" };
        let kind = input.input_type.as_str();
        let described = format!("{name}: {kind}, {need}. {}", input.description);
        page.field("input", &harmless(&described));
    }
    if let Some(output) = &agent.output_config {
        let described = format!("{}: {}", output.output_name, output.description);
        page.field("output", &harmless(&described));
    }
    if let Some(prompt) = &agent.prompt_config.system_prompt {
        page.line("");
        page.line(&harmless(prompt));
    }
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn field(&mut self, name: &str, value: &str) {
        let label = paint(Tone::Faint, &format!("{name:<18}"));
        // Writing to a string cannot fail.
        writeln!(self.text, "{label}{value}").unwrap_or_default();
    }

    fn problems(&mut self, record: &Record, setup: &Setup) {
        let path = record.source_path.as_deref();
        let text = path.and_then(print::source_text);
        let shown = path.map_or_else(|| PathBuf::from("--agents"), |path| setup.shown(path));
        for diagnostic in &record.diagnostics {
            self.line("");
            self.line(&diagnostics::render(diagnostic, &shown, text.as_deref()));
        }
    }
}
