//! Checks: the rules a definition must satisfy as a whole, once its fields are read.

use std::collections::HashSet;

use super::{
    Code, Diagnostic, Position, Scope, ToolAccess,
    denial::denied_words,
    dialect::{Dialect, Format},
    fields::Fields,
    reading::{NameFrom, Rules, Source},
    template::{self, BUILTIN_VARIABLES},
};
use crate::{
    id::{AgentKey, AgentName},
    rights::{
        filter::COMPLETE_TASK,
        rule::{ToolRule, ToolRuleError, ToolRuleErrorKind},
        tool_name::{BuiltinTool, ToolName, ToolPattern, UnknownTool, is_mcp_feature},
    },
};

/// The instructions of a file and where they begin.
pub(crate) struct Body<'text> {
    pub(crate) text: &'text str,
    pub(crate) line: u32,
}

/// Sets name, prompt and model, and reports every rule that is broken.
pub(crate) fn finish(
    mut fields: Fields,
    body: Option<&Body<'_>>,
    source: &Source<'_>,
    rules: &Rules,
) -> Fields {
    fields.settle_name(source, rules);
    fields.settle_model();
    fields.settle_instructions(body, source.format);
    fields.check_description(rules, source.format);
    fields.check_tools(rules);
    fields.check_variables(body);
    fields
}

/// What a list of tools is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Granted,
    Denied,
}

/// What an entry of a tool list turned out to be.
enum Judged {
    Known,
    /// A tool that is known, with a rule that is not understood: it grants nothing, and as a
    /// restriction takes the whole tool away.
    Broken,
    /// Not known, but most likely a slip for this tool.
    Meant(BuiltinTool),
    Unknown,
}

impl Fields {
    fn settle_name(&mut self, source: &Source<'_>, rules: &Rules) {
        let stem = source.stem();
        let at = self.places.name.unwrap_or(Position::START);
        let declared = self.places.name.is_some();
        match (&stem, rules.name_from) {
            (Some(stem), NameFrom::Filename) => {
                if declared && self.definition.agent_type.as_str() != stem {
                    let message = format!(
                        "the name `{}` differs from the file's; `{stem}` is used",
                        self.definition.agent_type
                    );
                    self.push(
                        Diagnostic::warning(Code::NameDiffersFromFile, at, message)
                            .with_hint("rename the file or the agent"),
                    );
                }
                self.definition.agent_type = AgentName::new(stem);
            }
            (Some(stem), NameFrom::Frontmatter) if !declared => {
                self.definition.agent_type = AgentName::new(stem);
            }
            _ => {}
        }
        let name = self.definition.agent_type.as_str().to_owned();
        let key = AgentKey::from_name(&name);
        if key.is_empty() {
            let message = if name.is_empty() {
                "the name is empty".to_owned()
            } else {
                format!("the name `{name}` has no letter or digit")
            };
            self.push(
                Diagnostic::error(Code::EmptyName, at, message)
                    .with_hint("use lower-case letters, such as `code-reviewer`"),
            );
            return;
        }
        if key.is_too_long() {
            let message = format!("the name is longer than {} characters", AgentKey::MAX_CHARS);
            self.push(Diagnostic::error(Code::NameTooLong, at, message).with_hint("shorten it"));
        }
        if self.dialect() == Dialect::Codex {
            if !fits_codex(&name) {
                let message = format!("the name `{name}` does not match `[a-z][a-z0-9_-]{{2,63}}`");
                let hint = if fits_codex(key.as_str()) {
                    format!("call it `{key}`")
                } else {
                    "begin with a letter; write 3 to 64 letters, digits, `_` and `-`".to_owned()
                };
                self.push(Diagnostic::error(Code::InvalidName, at, message).with_hint(hint));
            }
            return;
        }
        // Built-in agents may have names that differ from their keys.
        if declared && name != key.as_str() && source.scope != Scope::Builtin {
            let message = format!("the name `{name}` is looked up as `{key}`");
            let hint = format!("call it `{key}`");
            self.push(Diagnostic::warning(Code::NameNotNormalized, at, message).with_hint(hint));
        }
        if declared
            && rules.name_from == NameFrom::Frontmatter
            && let Some(stem) = stem
            && AgentKey::from_name(&stem) != key
        {
            let message = format!("the name `{name}` differs from the file's, `{stem}`");
            self.push(
                Diagnostic::warning(Code::NameDiffersFromFile, at, message)
                    .with_hint("rename the file or the agent, so that people find it"),
            );
        }
    }

    fn settle_model(&mut self) {
        let Some((short, at)) = self.model.take() else {
            return;
        };
        match &self.definition.model_config.model {
            Some(long) if *long != short => {
                let message = format!(
                    "`model` is `{}` but `modelConfig.model` is `{}`",
                    short.as_str(),
                    long.as_str()
                );
                self.push(
                    Diagnostic::error(Code::ConflictingModel, at, message)
                        .with_hint("keep one of them"),
                );
            }
            Some(_) => {}
            None => self.definition.model_config.model = Some(short),
        }
    }

    fn settle_instructions(&mut self, body: Option<&Body<'_>>, format: Format) {
        let text = body.map(|body| body.text.trim()).filter(|text| !text.is_empty());
        let as_key = self.instructions.take();
        let prompt = match (text, as_key) {
            (Some(text), None) => Some(unix_lines(text)),
            (Some(text), Some((key_text, at))) => {
                self.push(
                    Diagnostic::note(
                        Code::UnusedKey,
                        at,
                        "the body is the system prompt; the prompt in the header is kept and not used",
                    )
                    .with_hint("move it into the body"),
                );
                self.definition.extras.insert("instructions".to_owned(), key_text.into());
                Some(unix_lines(text))
            }
            (None, Some((key_text, _))) => Some(unix_lines(key_text.trim())),
            (None, None) => None,
        };
        if prompt.is_none() {
            let (message, hint) = match format {
                Format::Markdown => ("there are no instructions", "write them below the header"),
                Format::Yaml => (
                    "there are no instructions",
                    "write them in `prompt` or `promptConfig.systemPrompt`",
                ),
                Format::Toml => {
                    ("there are no instructions", "write them in `developer_instructions`")
                }
            };
            let line = body.map_or(1, |body| body.line);
            self.push(
                Diagnostic::error(Code::EmptyInstructions, Position::new(line, 1), message)
                    .with_hint(hint),
            );
        }
        self.definition.prompt_config.system_prompt = prompt;
    }

    fn check_description(&mut self, rules: &Rules, format: Format) {
        if self.definition.when_to_use.is_none() && rules.require_description {
            let at = self.places.description.unwrap_or(Position::START);
            let key = match format {
                Format::Markdown | Format::Yaml => "description: …",
                Format::Toml => "description = \"…\"",
            };
            self.push(
                Diagnostic::error(Code::MissingDescription, at, "there is no description")
                    .with_hint(format!(
                        "add `{key}`: one sentence that says when to use the agent"
                    )),
            );
        }
    }

    fn check_tools(&mut self, rules: &Rules) {
        if let ToolAccess::List(entries) = &self.definition.tools {
            let entries = entries.clone();
            let places = std::mem::take(&mut self.places.tools);
            let mut known = 0_usize;
            let mut seen = HashSet::new();
            for (entry, at) in entries.iter().zip(places.iter().copied()) {
                if !seen.insert(entry.as_str()) {
                    continue;
                }
                let judged = match ToolRule::parse(entry) {
                    Ok(_) => Judged::Known,
                    Err(_) if rules.host_tools.iter().any(|tool| tool == entry.trim()) => {
                        Judged::Known
                    }
                    Err(error) => self.judge_tool(entry, at, &error, List::Granted),
                };
                known += usize::from(matches!(judged, Judged::Known | Judged::Broken));
            }
            if known == 0 && !entries.is_empty() {
                let at = places.first().copied().unwrap_or(Position::START);
                self.push(
                    Diagnostic::error(Code::NoKnownTool, at, "none of the listed tools is known")
                        .with_hint(
                            "list tools such as Read, Grep, Glob; leave `tools` out for all",
                        ),
                );
            }
        }
        let denied = self.definition.disallowed_tools.clone();
        let places = std::mem::take(&mut self.places.disallowed);
        for (entry, at) in denied.iter().zip(places) {
            self.check_denial(entry, at);
        }
        let features = self.definition.disabled_features.clone();
        let places = std::mem::take(&mut self.places.features);
        for (entry, at) in features.iter().zip(places) {
            self.check_feature(entry, at);
        }
        // Several keys may take the same tool away.
        let mut seen = HashSet::new();
        self.definition.disallowed_tools.append(&mut self.taken);
        self.definition.disallowed_tools.retain(|tool| seen.insert(tool.clone()));
    }

    /// A slip in a restriction takes away the tool that was most likely meant.
    fn check_denial(&mut self, entry: &str, at: Position) {
        if let Some(tools) = denied_words(entry) {
            let message =
                format!("`{entry}` is not one tool; the agent loses every tool that it names");
            self.push(
                Diagnostic::warning(Code::RestrictionNotUnderstood, at, message)
                    .with_hint(format!("write `{}`", tools.join(", "))),
            );
            self.taken.extend(tools);
            return;
        }
        match ToolRule::parse_denial(entry) {
            Ok(rule) => {
                let covers = |tool: &BuiltinTool| rule.tools().covers(&ToolName::Builtin(*tool));
                let is_like_none = matches!(rule.tools(), ToolPattern::Like(shape) if !shape.starts_with("mcp"))
                    && !BuiltinTool::ALL.iter().any(covers);
                if is_like_none {
                    let message = format!(
                        "`{entry}` matches no tool that this program knows; it takes away what an MCP \
                         server offers under such a name"
                    );
                    self.push(
                        Diagnostic::warning(Code::UnknownTool, at, message)
                            .with_hint("tools of an MCP server are named mcp__server__tool"),
                    );
                }
            }
            Err(error) => {
                if let Judged::Meant(near) = self.judge_tool(entry, at, &error, List::Denied) {
                    self.taken.push(near.as_str().to_owned());
                }
            }
        }
    }

    fn check_feature(&mut self, entry: &str, at: Position) {
        if BuiltinTool::of_feature(entry).is_some() || is_mcp_feature(entry) {
            return;
        }
        let names_no_tool = matches!(
            ToolRule::parse_denial(entry),
            Err(ToolRuleError {
                kind: ToolRuleErrorKind::UnknownTool(UnknownTool::Unknown(None)),
                ..
            })
        );
        let Some(tools) = BuiltinTool::of_feature_like(entry).filter(|_| names_no_tool) else {
            return self.check_denial(entry, at);
        };
        let names: Vec<&str> = tools.iter().map(|tool| tool.as_str()).collect();
        let message = format!(
            "there is no feature `{entry}`; the agent loses `{}`, most likely meant by it",
            names.join("`, `")
        );
        self.push(
            Diagnostic::warning(Code::UnknownTool, at, message)
                .with_hint("list the tools in `disallowedTools`"),
        );
        self.taken.extend(names.into_iter().map(str::to_owned));
    }

    /// Reports an entry that means no tool.
    fn judge_tool(
        &mut self,
        entry: &str,
        at: Position,
        error: &ToolRuleError,
        list: List,
    ) -> Judged {
        // Every agent has it; no list has to name it.
        if entry == COMPLETE_TASK {
            return Judged::Known;
        }
        let so = match list {
            List::Granted => "it is not granted",
            List::Denied => "nothing is taken away",
        };
        let name = &error.word;
        let ToolRuleErrorKind::UnknownTool(unknown) = &error.kind else {
            let so = match list {
                List::Granted => so,
                List::Denied => "the agent loses the whole tool",
            };
            let message = format!("the rule `{entry}` cannot be read: {error}; {so}");
            self.push(
                Diagnostic::warning(Code::BadToolRule, at, message)
                    .with_hint("write Tool or Tool(pattern), such as Bash(git *) or Read(src/**)"),
            );
            return Judged::Broken;
        };
        let (message, hint, near) = match unknown {
            UnknownTool::Foreign => (
                format!("`{name}` is a tool of another host, with no counterpart here; {so}"),
                "see `attache show --help` for the tools there are".to_owned(),
                None,
            ),
            UnknownTool::Unknown(Some(near)) => (
                match list {
                    List::Granted => format!("there is no tool `{name}`; {so}"),
                    List::Denied => format!(
                        "there is no tool `{name}`; the agent loses `{near}`, most likely meant by it"
                    ),
                },
                format!("did you mean `{near}`?"),
                BuiltinTool::from_word(near),
            ),
            UnknownTool::Unknown(None) => (
                format!("there is no tool `{name}`; {so}"),
                "tools of an MCP server are named mcp__server__tool".to_owned(),
                None,
            ),
        };
        self.push(Diagnostic::warning(Code::UnknownTool, at, message).with_hint(hint));
        near.map_or(Judged::Unknown, Judged::Meant)
    }

    fn check_variables(&mut self, body: Option<&Body<'_>>) {
        let inputs = self.definition.input_config.as_ref();
        let known = |name: &str| {
            BUILTIN_VARIABLES.contains(&name)
                || inputs.is_some_and(|config| config.inputs.contains_key(name))
        };
        let mut seen: HashSet<String> = HashSet::new();
        let mut unknown: Vec<(String, Position)> = Vec::new();
        if let Some(body) = body {
            let mut cursor = Cursor::new(body);
            for variable in template::variables(body.text) {
                if !known(variable.name) && seen.insert(variable.name.to_owned()) {
                    unknown.push((variable.name.to_owned(), cursor.advance(variable.start)));
                }
            }
        }
        let mut note = |name: &str, at: Position| {
            if !known(name) && seen.insert(name.to_owned()) {
                unknown.push((name.to_owned(), at));
            }
        };
        if let (None, Some(prompt)) = (body, &self.definition.prompt_config.system_prompt) {
            template::variables(prompt).for_each(|variable| note(variable.name, Position::START));
        }
        if let Some(query) = &self.definition.prompt_config.query {
            let at = self.places.query.unwrap_or(Position::START);
            template::variables(query).for_each(|variable| note(variable.name, at));
        }
        for (name, at) in unknown {
            let message = format!("the variable `${{{name}}}` is not known; it is left unchanged");
            self.push(Diagnostic::warning(Code::UnknownVariable, at, message).with_hint(
                "known: ${cwd}, ${prompt}, ${agent_type}, ${today} and the declared inputs",
            ));
        }
        let reserved: Vec<String> = self
            .definition
            .input_config
            .iter()
            .flat_map(|config| config.inputs.keys())
            .filter(|name| BUILTIN_VARIABLES.contains(&name.as_str()))
            .cloned()
            .collect();
        for name in reserved {
            let at = self.places.inputs.unwrap_or(Position::START);
            let message =
                format!("the input `{name}` is named like a built-in variable, which wins");
            self.push(
                Diagnostic::warning(Code::ReservedInput, at, message).with_hint("rename the input"),
            );
        }
    }
}

/// A place in a body that only moves forward, so that finding all places takes one pass.
struct Cursor<'text> {
    text: &'text str,
    offset: usize,
    at: Position,
}

impl<'text> Cursor<'text> {
    fn new(body: &Body<'text>) -> Self {
        Self { text: body.text, offset: 0, at: Position::new(body.line, 1) }
    }

    fn advance(&mut self, offset: usize) -> Position {
        for letter in self.text.get(self.offset..offset).unwrap_or_default().chars() {
            if letter == '\n' {
                self.at = Position::new(self.at.line.saturating_add(1), 1);
            } else {
                self.at.column = self.at.column.saturating_add(1);
            }
        }
        self.offset = offset;
        self.at
    }
}

fn fits_codex(name: &str) -> bool {
    let mut letters = name.chars().map(|letter| letter.to_ascii_lowercase());
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-')
        && (3..=64).contains(&name.chars().count())
}

fn unix_lines(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n") } else { text.to_owned() }
}
