//! A tool rule: an entry of an allow or deny list, such as `Read`, `Bash(git *)` or `Edit(docs/**)`.
//!
//! A rule that allows covers a call only where that is certain for every part of it; a rule that
//! denies matches wherever it may match. So arguments that cannot be read, commands that cannot be
//! parsed and paths that leave the workspace are never covered and always denied.

mod call;
mod command_pattern;
mod commanded;
mod domain_pattern;
mod path_pattern;
mod session_grant;

use std::{cell::Cell, fmt};

use self::{
    call::Subject,
    command_pattern::CommandPattern,
    domain_pattern::DomainPattern,
    path_pattern::{Location, PathPattern},
};
pub use self::{
    call::{Call, Uncovered},
    commanded::protected_by_command,
    path_pattern::{Effect, RealPath},
    session_grant::SessionGrant,
};
use crate::{
    id::AgentKey,
    rights::{
        command::{SimpleCommand, survey},
        tool_name::{BuiltinTool, ToolName, ToolPattern, UnknownTool},
    },
};

/// An entry of an allow or deny list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRule {
    written: String,
    tools: ToolPattern,
    pattern: Option<Pattern>,
}

/// Whether a rule of a deny or ask list means a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It does not.
    No,
    /// It cannot be told.
    Unclear,
    /// It does, in what can be seen of the call.
    Yes,
}

/// What stands in the brackets of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Command(CommandPattern),
    Path(PathPattern),
    Domain(DomainPattern),
    Agents(Vec<AgentKey>),
}

/// Why an entry is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct ToolRuleError {
    /// What is wrong.
    pub kind: ToolRuleErrorKind,
    /// The word before the bracket.
    pub word: String,
    /// The tools that word means, where it is known.
    pub tools: Option<ToolPattern>,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRuleErrorKind {
    /// No tool has that name.
    UnknownTool(UnknownTool),
    /// A bracket has no partner, or text follows it.
    UnbalancedBracket,
    /// There is nothing in the brackets.
    EmptyPattern,
    /// The tool takes no pattern.
    PatternNotSupported,
    /// The pattern of a shell rule holds more than one command.
    SeveralCommands,
    /// The pattern of a file rule holds `..`, `!`, or too many alternatives.
    BadPath,
    /// The pattern of a fetch rule is not `domain:` and a host name.
    BadDomain,
}

impl ToolRule {
    /// Reads an entry of a list.
    pub fn parse(entry: &str) -> Result<Self, ToolRuleError> {
        Self::read(entry, ToolPattern::parse)
    }

    /// Reads an entry of a list of what is taken away, in which names may have wildcards.
    pub fn parse_denial(entry: &str) -> Result<Self, ToolRuleError> {
        Self::read(entry, ToolPattern::parse_denial)
    }

    fn read(
        entry: &str,
        parse: impl Fn(&str) -> Result<ToolPattern, UnknownTool>,
    ) -> Result<Self, ToolRuleError> {
        let entry = entry.trim();
        let (word, bracket) = match entry.split_once(['(', ')']) {
            Some((word, _)) => (word.trim_end(), entry.strip_prefix(word)),
            None => (entry, None),
        };
        let fail = |kind, tools| ToolRuleError { kind, word: word.to_owned(), tools };
        let tools = match parse(word) {
            Ok(tools) => tools,
            Err(unknown) => return Err(fail(ToolRuleErrorKind::UnknownTool(unknown), None)),
        };
        let pattern = match bracket {
            None => Ok(None),
            Some(bracket) => bracket_content(bracket)
                .ok_or(ToolRuleErrorKind::UnbalancedBracket)
                .and_then(|text| Pattern::parse(text, &tools)),
        };
        match pattern {
            Ok(pattern) => Ok(Self { written: entry.to_owned(), tools, pattern }),
            Err(kind) => Err(fail(kind, Some(tools))),
        }
    }

    /// The rule that means all calls of one tool.
    pub fn of_tool(tool: ToolName) -> Self {
        Self { written: tool.to_string(), tools: ToolPattern::Exactly(vec![tool]), pattern: None }
    }

    /// The same rule, about paths in these directories. A rule without a place is about the workspace of
    /// the run; one that has a place keeps it.
    #[must_use]
    pub fn anchored(self, directories: &[&str], effect: Effect) -> Self {
        self.with_path(|path| path.anchored(directories, effect))
    }

    /// The same rule for a run that works in that directory.
    #[must_use]
    pub fn seen_from(self, workspace: &str) -> Self {
        self.with_path(|path| path.seen_from(workspace))
    }

    /// The same rule, which means the files of a copy of that directory as well.
    #[must_use]
    pub fn copied(self, original: &str, copy: &str) -> Self {
        self.with_path(|path| path.copied(original, copy))
    }

    /// The directories that its paths lie in, where that is not the workspace.
    pub(super) fn foreign_anchors(&self) -> Vec<String> {
        match &self.pattern {
            Some(Pattern::Path(pattern)) => pattern.foreign_anchors(),
            _ => Vec::new(),
        }
    }

    fn with_path(mut self, change: impl FnOnce(PathPattern) -> PathPattern) -> Self {
        self.pattern = match self.pattern {
            Some(Pattern::Path(pattern)) => Some(Pattern::Path(change(pattern))),
            other => other,
        };
        self
    }

    /// The tools it names.
    pub fn tools(&self) -> &ToolPattern {
        &self.tools
    }

    /// Whether it means every call of its tools.
    pub fn is_unrestricted(&self) -> bool {
        self.pattern.is_none()
    }

    /// Whether it has a say about a tool when it stands in a deny list.
    ///
    /// That goes beyond the tools it names, bare or with a pattern. What `Read` may not read no other tool
    /// may show; what may not be written with one tool may not be written with another; and an agent that
    /// may not be delegated to may not be run.
    pub fn denial_reaches(&self, tool: &ToolName) -> bool {
        let is_kin = |tool| {
            let kin = self.kin();
            kin.contains(&tool) && kin.iter().any(|kin| self.names(*kin))
        };
        self.tools.covers(tool) || tool.builtin().is_some_and(is_kin)
    }

    /// Whether it restrains a tool when it stands in an agent's deny list. A rule about files also restrains
    /// commands, as far as they are seen to use the files, and one about reading tools that show what they
    /// change.
    pub fn restrains(&self, tool: &ToolName) -> bool {
        let is_shell = tool.builtin().is_some_and(BuiltinTool::is_shell);
        let is_about_files = self.is_about_reading() || self.is_about_writing();
        self.denial_reaches(tool)
            || (is_shell && (self.is_about_paths() || is_about_files))
            || (self.is_about_reading() && self.is_unrestricted() && shows_changes(tool))
    }

    /// Tools that do the same to the same things.
    fn kin(&self) -> &'static [BuiltinTool] {
        const STARTERS: &[BuiltinTool] = &[BuiltinTool::Task, BuiltinTool::SubagentRun];
        match &self.pattern {
            // A rule about `Grep` is about searching; only one about `Read` is about all reading.
            Some(Pattern::Path(_)) | None if self.names(BuiltinTool::ReadFile) => {
                BuiltinTool::READERS
            }
            Some(Pattern::Path(_)) => BuiltinTool::WRITERS,
            None if self.is_about_writing() => BuiltinTool::WRITERS,
            Some(Pattern::Agents(_)) | None => STARTERS,
            Some(Pattern::Command(_) | Pattern::Domain(_)) => &[],
        }
    }

    fn names(&self, tool: BuiltinTool) -> bool {
        self.tools.covers(&ToolName::Builtin(tool))
    }

    /// Whether it denies a call, or may do so.
    pub fn denies(&self, call: &Call<'_>) -> bool {
        if !self.denial_reaches(call.tool()) {
            return false;
        }
        match (&self.pattern, call.subject()) {
            (Some(Pattern::Command(pattern)), Subject::Shell(lines)) => {
                lines.iter().any(|line| pattern.may_match(&line.survey()))
            }
            (Some(Pattern::Command(pattern)), Subject::Input(text)) => {
                pattern.may_match(&survey(text))
            }
            (Some(Pattern::Path(pattern)), Subject::Paths(paths)) => {
                paths.iter().any(|path| pattern.may_match(path))
            }
            (Some(Pattern::Path(pattern)), Subject::Tree(path)) => {
                let names_tool = self.tools.covers(call.tool());
                pattern.may_match(path) || (names_tool && pattern.may_match_below(path))
            }
            (Some(Pattern::Domain(pattern)), Subject::Host(host)) => pattern.may_match(host),
            (Some(Pattern::Agents(agents)), Subject::Agent(agent)) => agents.contains(agent),
            // Every call, or one that the pattern cannot be held against.
            (None | Some(_), _) => true,
        }
    }

    /// Whether it means a call, as a rule of a deny or ask list in the settings. Unlike
    /// [`denies`](Self::denies) it tells what is seen from what cannot be judged, and a rule about files
    /// also means commands that are seen to read or write them.
    pub fn matches(&self, call: &Call<'_>) -> Match {
        if !self.denial_reaches(call.tool()) {
            return match call.subject() {
                Subject::Shell(lines) => self.reaches_command(lines, call.is_moved()),
                Subject::Paths(paths) if self.is_about_reading() => match &self.pattern {
                    Some(Pattern::Path(pattern))
                        if !paths.iter().any(|it| pattern.may_match(it)) =>
                    {
                        Match::No
                    }
                    _ => Match::Yes,
                },
                _ => Match::No,
            };
        }
        let lines = match (&self.pattern, call.subject()) {
            (Some(Pattern::Command(pattern)), Subject::Shell(lines)) => {
                lines.iter().map(|line| (pattern, line.survey())).collect()
            }
            (Some(Pattern::Command(pattern)), Subject::Input(text)) => {
                vec![(pattern, survey(text))]
            }
            _ if self.denies(call) => return Match::Yes,
            _ => Vec::new(),
        };
        let matched = lines.iter().map(|(pattern, survey)| {
            if pattern.may_match_seen(survey) {
                Match::Yes
            } else if survey.blind_spot.is_some() {
                Match::Unclear
            } else {
                Match::No
            }
        });
        matched.max().unwrap_or(Match::No)
    }

    /// The same rule in a list that allows: one about `Edit` is about all tools that edit files.
    #[must_use]
    pub fn about_all_edits(mut self) -> Self {
        if self.names(BuiltinTool::EditFile)
            && let ToolPattern::Exactly(tools) = &mut self.tools
        {
            for writer in BuiltinTool::WRITERS {
                let writer = ToolName::Builtin(*writer);
                if !tools.contains(&writer) {
                    tools.push(writer);
                }
            }
        }
        self
    }

    /// Whether it is about writing files: with a path, or bare. `apply_patch` alone is one way to do it.
    fn is_about_writing(&self) -> bool {
        match self.pattern {
            Some(Pattern::Path(_)) => BuiltinTool::WRITERS.iter().any(|tool| self.names(*tool)),
            None => self.names(BuiltinTool::WriteFile) || self.names(BuiltinTool::EditFile),
            Some(Pattern::Command(_) | Pattern::Domain(_) | Pattern::Agents(_)) => false,
        }
    }

    /// Whether it is about reading files. What may not be read may not be edited either: a change shows
    /// what was there before.
    fn is_about_reading(&self) -> bool {
        matches!(self.pattern, None | Some(Pattern::Path(_))) && self.names(BuiltinTool::ReadFile)
    }

    /// Whether it means a call that changes that file, as a rule of a deny or ask list in the settings.
    pub fn matches_change(&self, tool: &ToolName, path: &RealPath) -> bool {
        let reads = ToolName::Builtin(BuiltinTool::ReadFile);
        self.denies_file(tool, path) || (self.is_about_reading() && self.denies_file(&reads, path))
    }

    /// Whether it means a command that names that file. What only reads is not held against a rule about
    /// changes; of other commands it is not known what they do with the file.
    pub fn matches_named(&self, path: &RealPath, only_reads: bool) -> Match {
        let is_meant = |tool: BuiltinTool| {
            self.is_about_paths() && self.denies_file(&ToolName::Builtin(tool), path)
        };
        if self.is_about_reading() && is_meant(BuiltinTool::ReadFile) {
            return Match::Yes;
        }
        if !only_reads && BuiltinTool::WRITERS.iter().any(|tool| is_meant(*tool)) {
            return Match::Unclear;
        }
        Match::No
    }

    fn covers_path(&self, path: &Location) -> bool {
        matches!(&self.pattern, Some(Pattern::Path(pattern)) if pattern.covers(path))
    }

    /// Whether it tells files apart by their paths.
    pub fn is_about_paths(&self) -> bool {
        matches!(self.pattern, Some(Pattern::Path(_)))
    }

    /// Whether it denies a tool a file, or may do so.
    pub fn denies_file(&self, tool: &ToolName, path: &RealPath) -> bool {
        match &self.pattern {
            None => self.denial_reaches(tool),
            Some(Pattern::Path(pattern)) => {
                self.denial_reaches(tool) && pattern.may_match_real(path)
            }
            Some(Pattern::Command(_) | Pattern::Domain(_) | Pattern::Agents(_)) => false,
        }
    }

    /// Whether it allows a tool a file.
    pub fn allows_file(&self, tool: &ToolName, path: &RealPath) -> bool {
        self.tools.covers(tool)
            && match &self.pattern {
                None => true,
                Some(Pattern::Path(pattern)) => pattern.covers_real(path),
                Some(Pattern::Command(_) | Pattern::Domain(_) | Pattern::Agents(_)) => false,
            }
    }
}

/// Whether a tool shows what a file contained when it has changed it.
fn shows_changes(tool: &ToolName) -> bool {
    matches!(tool, ToolName::Builtin(BuiltinTool::EditFile | BuiltinTool::ApplyPatch))
}

/// What of a call none of these rules covers; nothing if together they allow it.
///
/// Each part of a call needs one rule: each command of a line, each file of a patch.
pub fn uncovered<'r>(
    rules: impl IntoIterator<Item = &'r ToolRule, IntoIter: Clone>,
    call: &Call<'_>,
) -> Option<Uncovered> {
    let rules = rules.into_iter();
    let mut rules = rules.filter(|rule| rule.tools.covers(call.tool()));
    if rules.clone().any(ToolRule::is_unrestricted) {
        return None;
    }
    match call.subject() {
        Subject::Unreadable => Some(Uncovered::Unreadable),
        Subject::Shell(lines) => lines.iter().find_map(|line| {
            line.uncovered(|command| {
                rules.clone().any(|rule| {
                    matches!(&rule.pattern, Some(Pattern::Command(pattern)) if pattern.covers(command))
                })
            })
        }),
        // Text typed into a running program is not a command; asking for its output types nothing.
        Subject::Input(text) => (!text.is_empty()).then_some(Uncovered::Input),
        Subject::Paths(paths) => paths
            .iter()
            .find(|path| !rules.clone().any(|rule| rule.covers_path(path)))
            .map(|path| Uncovered::Path(path.to_string())),
        Subject::Tree(path) => (!rules.any(|rule| rule.covers_path(path)))
            .then(|| Uncovered::Path(path.to_string())),
        Subject::Host(host) => (!rules.any(
            |rule| matches!(&rule.pattern, Some(Pattern::Domain(pattern)) if pattern.covers(host)),
        ))
        .then(|| Uncovered::Host(host.clone())),
        Subject::Agent(agent) => (!rules.any(
            |rule| matches!(&rule.pattern, Some(Pattern::Agents(agents)) if agents.contains(agent)),
        ))
        .then(|| Uncovered::Agent(agent.clone())),
    }
}

/// What of a command line these rules do not cover, if they cover another part of it.
pub fn partly_uncovered<'r>(
    rules: impl IntoIterator<Item = &'r ToolRule, IntoIter: Clone>,
    call: &Call<'_>,
) -> Option<Uncovered> {
    let rules = rules.into_iter();
    let Subject::Shell(lines) = call.subject() else { return None };
    let covers = |command: &SimpleCommand| {
        rules.clone().filter(|rule| rule.tools.covers(call.tool())).any(|rule| {
            matches!(&rule.pattern, Some(Pattern::Command(pattern)) if pattern.covers(command))
        })
    };
    let is_partly_covered = Cell::new(false);
    let note = |command: &SimpleCommand| {
        is_partly_covered.set(is_partly_covered.get() || covers(command));
        true
    };
    lines.iter().find_map(|line| {
        let _redirection = line.uncovered(note);
        line.uncovered(covers).filter(|_| is_partly_covered.get())
    })
}

impl fmt::Display for ToolRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.written)
    }
}

/// What stands between a bracket and its partner at the end.
fn bracket_content(bracket: &str) -> Option<&str> {
    let text = bracket.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0_usize;
    let mut escaped = false;
    for letter in text.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    (depth == 0 && !escaped).then_some(text)
}

/// What kind of pattern a tool takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Command,
    Path,
    Domain,
    Agent,
    /// None but `*`, which is all calls.
    Nothing,
}

impl Kind {
    fn of_tool(tool: BuiltinTool) -> Self {
        use BuiltinTool as Tool;
        match tool {
            Tool::Shell | Tool::ExecCommand | Tool::WriteStdin => Self::Command,
            Tool::ReadFile
            | Tool::ListDir
            | Tool::GlobFiles
            | Tool::GrepFiles
            | Tool::WriteFile
            | Tool::EditFile
            | Tool::ApplyPatch
            | Tool::ViewImage => Self::Path,
            Tool::WebFetch => Self::Domain,
            Tool::Task | Tool::SubagentRun => Self::Agent,
            Tool::WebSearch
            | Tool::TodoWrite
            | Tool::TaskOutput
            | Tool::TaskStop
            | Tool::SubagentList
            | Tool::SubagentDescribe
            | Tool::Skill
            | Tool::SlashCommand => Self::Nothing,
        }
    }

    /// Whether rules look at the arguments of such tools.
    fn has_subject(self) -> bool {
        self != Self::Nothing
    }

    /// The kind that all tools of a rule share.
    fn shared(tools: &ToolPattern) -> Option<Self> {
        let ToolPattern::Exactly(tools) = tools else {
            return None;
        };
        let mut kinds = tools.iter().map(|tool| tool.builtin().map(Self::of_tool));
        let first = kinds.next()??;
        kinds.all(|kind| kind == Some(first)).then_some(first)
    }
}

impl Pattern {
    /// Reads what stands in the brackets; `*` is every call.
    fn parse(text: &str, tools: &ToolPattern) -> Result<Option<Self>, ToolRuleErrorKind> {
        let text = text.trim();
        let kind = Kind::shared(tools).ok_or(ToolRuleErrorKind::PatternNotSupported)?;
        if text == "*" {
            return Ok(None);
        }
        if text.is_empty() {
            return Err(ToolRuleErrorKind::EmptyPattern);
        }
        let pattern = match kind {
            Kind::Command => Self::Command(CommandPattern::parse(text)?),
            Kind::Path => Self::Path(PathPattern::parse(text)?),
            Kind::Domain => Self::Domain(DomainPattern::parse(text)?),
            Kind::Agent => {
                let agents: Vec<AgentKey> = text.split(',').map(AgentKey::from_name).collect();
                if agents.iter().any(AgentKey::is_empty) {
                    return Err(ToolRuleErrorKind::EmptyPattern);
                }
                Self::Agents(agents)
            }
            Kind::Nothing => return Err(ToolRuleErrorKind::PatternNotSupported),
        };
        Ok(Some(pattern))
    }
}

impl ToolRuleError {
    fn message(&self) -> String {
        let word = &self.word;
        match &self.kind {
            ToolRuleErrorKind::UnknownTool(UnknownTool::Foreign) => {
                format!("`{word}` is a tool of another host, with no counterpart here")
            }
            ToolRuleErrorKind::UnknownTool(UnknownTool::Unknown(Some(nearest))) => {
                format!("there is no tool `{word}`; did you mean `{nearest}`?")
            }
            ToolRuleErrorKind::UnknownTool(UnknownTool::Unknown(None)) => {
                format!("there is no tool `{word}`")
            }
            ToolRuleErrorKind::UnbalancedBracket => {
                format!("the brackets after `{word}` do not match; write `{word}(pattern)`")
            }
            ToolRuleErrorKind::EmptyPattern => {
                format!(
                    "the brackets after `{word}` are empty; write `{word}` or `{word}(pattern)`"
                )
            }
            ToolRuleErrorKind::PatternNotSupported => {
                format!("`{word}` takes no pattern; write `{word}`")
            }
            ToolRuleErrorKind::SeveralCommands => format!(
                "a rule of `{word}` is about one command, without `;`, `|`, `&`, brackets or \
                 redirections; write one rule for each command"
            ),
            ToolRuleErrorKind::BadPath => format!(
                "a rule of `{word}` is a path below the workspace, without `..`, a leading `!` or \
                 very many alternatives"
            ),
            ToolRuleErrorKind::BadDomain => {
                format!("a rule of `{word}` is written `{word}(domain:example.com)`")
            }
        }
    }
}

#[cfg(test)]
mod tests;
