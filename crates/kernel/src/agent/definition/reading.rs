//! Reading: an agent file in, a definition and its diagnostics out.
//!
//! A file always yields a [`Reading`]; no text makes it fail, wait or panic,
//! and the time is linear in the size of the text.

use std::{borrow::Cow, path::Path, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use super::{
    Code, Definition, Diagnostic, Position, RunConfig, Scope, Severity,
    check::{self, Body},
    conflict,
    dialect::{Dialect, Format, agent_stem},
    fields::Fields,
    frontmatter,
    keys::Key,
    node::{Kind, Member, Node},
    recovery, toml_role, yaml,
};
use crate::id::AgentName;

/// The maximum size of a header in bytes.
const MAX_HEADER_BYTES: usize = 256 * 1024;

/// A file to read.
#[derive(Debug, Clone, Copy)]
pub struct Source<'text> {
    /// Its text.
    pub text: &'text str,
    /// Its path, for the name and for `sourcePath`.
    pub path: Option<&'text Path>,
    /// Where it comes from.
    pub scope: Scope,
    /// Whose format it is.
    pub dialect: Dialect,
    /// How it is written down.
    pub format: Format,
}

impl Source<'_> {
    /// The file's name without its endings.
    pub(crate) fn stem(&self) -> Option<String> {
        agent_stem(self.path?).map(Cow::into_owned)
    }

    fn lies_among_agents(&self) -> bool {
        self.path.is_none_or(|path| {
            path.components().any(|part| {
                ["agents", "agent"].iter().any(|name| part.as_os_str().eq_ignore_ascii_case(name))
            })
        })
    }
}

/// The rules that settings may change.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Whether a missing description is an error.
    pub require_description: bool,
    /// What names an agent.
    pub name_from: NameFrom,
    /// The limits of a file that sets none.
    pub run_defaults: RunConfig,
    /// The names of tools that the host adds to the built-in ones.
    pub host_tools: Vec<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            require_description: true,
            name_from: NameFrom::Frontmatter,
            run_defaults: RunConfig::default(),
            host_tools: Vec::new(),
        }
    }
}

/// What names an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameFrom {
    /// The header, else the file.
    #[default]
    Frontmatter,
    /// The file alone.
    Filename,
}

/// What a file yields.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it says, as far as it could be understood.
    pub definition: Option<Arc<Definition>>,
    /// What is wrong or odd, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the recovery rules were needed.
    pub recovered: bool,
    /// Whether it is a definition that can be run.
    pub status: FileStatus,
}

/// Whether a file is a definition that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// A definition without errors.
    Active,
    /// A definition with errors; it cannot be run.
    Invalid,
    /// Not a definition.
    NotADefinition,
}

impl FileStatus {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Invalid => "invalid",
            Self::NotADefinition => "not_a_definition",
        }
    }
}

impl Reading {
    /// A file that is not a definition, and why.
    pub fn not_a_definition(why: Diagnostic) -> Self {
        Self {
            definition: None,
            diagnostics: vec![why],
            recovered: false,
            status: FileStatus::NotADefinition,
        }
    }

    /// A file that should be a definition and cannot be read.
    pub fn unreadable(why: Diagnostic) -> Self {
        Self {
            definition: None,
            diagnostics: vec![why],
            recovered: false,
            status: FileStatus::Invalid,
        }
    }

    /// Whether any diagnostic has at least this severity.
    pub fn has(&self, severity: Severity) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity >= severity)
    }
}

/// Reads a file.
pub fn read(source: &Source<'_>, rules: &Rules) -> Reading {
    match source.format {
        Format::Markdown => read_markdown(source, rules),
        Format::Yaml => read_yaml(source, rules),
        Format::Toml => read_toml(source, rules),
    }
}

fn read_markdown(source: &Source<'_>, rules: &Rules) -> Reading {
    let Some(split) = frontmatter::split(source.text) else {
        if let Some(line) = conflict::before_header(source.text) {
            return Reading::unreadable(conflict::diagnostic(line));
        }
        return Reading::not_a_definition(
            Diagnostic::note(Code::NotADefinition, Position::START, "there is no front matter")
                .with_hint("begin the file with `---`, then name and description, then `---`"),
        );
    };
    let header = split.closed.map_or(split.rest, |closed| closed.header);
    if split.closed.is_some() && header.len() > MAX_HEADER_BYTES {
        return Reading::unreadable(Diagnostic::error(
            Code::TooLarge,
            Position::new(split.first_line, 1),
            "the header is larger than 256 KiB",
        ));
    }
    // Without a closing fence the header ends at a blank line; otherwise it could be the whole file.
    let first = split.closed.map_or_else(
        || split.rest.split_once("\n\n").map_or(split.rest, |(first, _)| first),
        |closed| closed.header,
    );
    if let Some(line) = conflict::within(first) {
        return Reading::unreadable(conflict::diagnostic(split.first_line.saturating_add(line)));
    }
    let missing =
        || yaml::YamlError::new(Position::new(split.first_line, 1), "the closing `---` is missing");
    let strict = split.closed.ok_or_else(missing).and_then(|closed| {
        let members = yaml::parse(closed.header, split.first_line).and_then(into_members)?;
        Ok((members, closed))
    });
    let error = match strict {
        Ok((members, closed)) => {
            let body = Body { text: closed.body, line: closed.body_line };
            return assemble(source, rules, &members, Some(&body), Vec::new());
        }
        Err(error) => error,
    };
    match recovery::recover_markdown(&split, &error) {
        Some(recovered) => {
            let body = Body { text: recovered.body, line: recovered.body_line };
            assemble(source, rules, &recovered.members, Some(&body), recovered.warnings)
        }
        None if split.closed.is_none_or(|closed| is_prose(closed.header)) => {
            Reading::not_a_definition(Diagnostic::note(
                Code::NotADefinition,
                Position::START,
                "the first line is a rule, and no front matter follows",
            ))
        }
        None => Reading::unreadable(yaml_error(&error)),
    }
}

/// Whether the text between two rules is prose and not a header.
fn is_prose(header: &str) -> bool {
    yaml::parse(header, 1).is_ok_and(|node| node.scalar().is_some())
}

fn read_yaml(source: &Source<'_>, rules: &Rules) -> Reading {
    if source.text.len() > MAX_HEADER_BYTES * 4 {
        return Reading::unreadable(Diagnostic::error(
            Code::TooLarge,
            Position::START,
            "the file is larger than 1 MiB",
        ));
    }
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    if let Some(line) = conflict::within(text) {
        return Reading::unreadable(conflict::diagnostic(line.saturating_add(1)));
    }
    match yaml::parse(text, 1).and_then(into_members) {
        Ok(members) => assemble(source, rules, &members, None, Vec::new()),
        Err(error) => match recovery::recover_yaml(text, &error) {
            Some((members, warnings)) => assemble(source, rules, &members, None, warnings),
            None => Reading::unreadable(yaml_error(&error)),
        },
    }
}

fn read_toml(source: &Source<'_>, rules: &Rules) -> Reading {
    match toml_role::parse(source.text) {
        Ok(members) => assemble(source, rules, &members, None, Vec::new()),
        // Marks inside a text are part of the text; anywhere else the file cannot be parsed.
        Err(error) => Reading::unreadable(match conflict::within(source.text) {
            Some(line) => conflict::diagnostic(line.saturating_add(1)),
            None => error,
        }),
    }
}

/// Reads the agents given as one JSON object, `{"name": {"description": …, "prompt": …}}`, each as if
/// it were in its own file.
pub fn read_session_agents(json: &str, rules: &Rules) -> Result<Vec<Reading>, Diagnostic> {
    let invalid = |at: Position, message: String| {
        Diagnostic::error(Code::JsonSyntax, at, message)
            .with_hint("write {\"name\": {\"description\": \"…\", \"prompt\": \"…\"}}")
    };
    let value: Value = serde_json::from_str(json).map_err(|error| {
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).max(1);
        let at = Position::new(number(error.line()), number(error.column()));
        invalid(at, format!("the agents are not valid JSON: {error}"))
    })?;
    let Value::Object(agents) = value else {
        return Err(invalid(Position::START, "the agents must be one JSON object".to_owned()));
    };
    let source = Source {
        text: "",
        path: None,
        scope: Scope::Session,
        dialect: Dialect::Claude,
        format: Format::Yaml,
    };
    agents
        .iter()
        .map(|(name, agent)| match Node::from_json(agent).kind {
            Kind::Map(mut members) => {
                members.retain(|member| Key::read(&member.key) != Some(Key::Name));
                members
                    .insert(0, Member::named("name", Node::from_json(&Value::from(name.as_str()))));
                Ok(assemble(&source, rules, &members, None, Vec::new()))
            }
            Kind::Scalar(_) | Kind::List(_) => {
                Err(invalid(Position::START, format!("the agent `{name}` must be an object")))
            }
        })
        .collect()
}

fn into_members(node: Node) -> Result<Vec<Member>, yaml::YamlError> {
    match node.kind {
        Kind::Map(members) => Ok(members),
        Kind::Scalar(scalar) if scalar.is_null() => Ok(Vec::new()),
        Kind::Scalar(_) | Kind::List(_) => {
            Err(yaml::YamlError::new(node.at, "it must be a mapping of keys to values"))
        }
    }
}

fn yaml_error(error: &yaml::YamlError) -> Diagnostic {
    Diagnostic::error(
        Code::YamlSyntax,
        error.at,
        format!("this is not valid YAML: {}", error.message),
    )
    .with_hint(
        error.hint.unwrap_or(
            "write `key: value` lines; quote values that hold `: ` or begin with a symbol",
        ),
    )
}

fn assemble(
    source: &Source<'_>,
    rules: &Rules,
    members: &[Member],
    body: Option<&Body<'_>>,
    warnings: Vec<Diagnostic>,
) -> Reading {
    if let Some(why) = not_an_agent(source, members) {
        return Reading::not_a_definition(why);
    }
    let mut definition = Definition::named(AgentName::new(""));
    definition.source = source.scope;
    definition.source_path = source.path.map(Path::to_path_buf);
    definition.dialect = source.dialect;
    definition.run_config = rules.run_defaults;
    let mut fields = Fields::new(definition);
    let recovered = !warnings.is_empty();
    fields.diagnostics = warnings;
    fields.take_all(members);
    let Fields { definition, mut diagnostics, .. } = check::finish(fields, body, source, rules);
    diagnostics.sort_by_key(Diagnostic::position);
    let invalid = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let status = if invalid { FileStatus::Invalid } else { FileStatus::Active };
    Reading { definition: Some(Arc::new(definition)), diagnostics, recovered, status }
}

/// A project is full of YAML and TOML files with a name and a description.
fn says_what_to_do(keys: &[Key]) -> bool {
    keys.iter().any(|key| matches!(key, Key::Instructions | Key::PromptConfig))
}

/// A file whose header was never meant for an agent: a page of a site, or a read-me.
fn not_an_agent(source: &Source<'_>, members: &[Member]) -> Option<Diagnostic> {
    let keys: Vec<Key> = members.iter().filter_map(|member| Key::read(&member.key)).collect();
    if !keys.iter().any(|key| key.marks_an_agent()) {
        let message = "the header has none of the keys of an agent";
        return Some(
            Diagnostic::note(Code::NotADefinition, Position::START, message)
                .with_hint("give it a name and a description"),
        );
    }
    if source.format != Format::Markdown && !says_what_to_do(&keys) && !source.lies_among_agents() {
        let message = "the file has no instructions and is not in an agents folder";
        return Some(Diagnostic::note(Code::NotADefinition, Position::START, message));
    }
    let stem = source.stem().unwrap_or_default().to_ascii_lowercase();
    let is_document = matches!(
        stem.as_str(),
        "readme"
            | "index"
            | "changelog"
            | "contributing"
            | "license"
            | "security"
            | "agents"
            | "code_of_conduct"
            | "template"
            | "agent_template"
    );
    (is_document && !keys.contains(&Key::Name)).then(|| {
        let message = format!("a file called `{stem}` without a name is read as a document");
        Diagnostic::note(Code::NotADefinition, Position::START, message)
            .with_hint("add `name:` if it is an agent")
    })
}
