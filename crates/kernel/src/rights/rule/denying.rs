//! Rules that take away: which tools, calls and files a rule of a deny or ask list means.

use super::{
    ToolRule,
    call::{Call, Subject},
    path_pattern::RealPath,
    pattern::Pattern,
};
use crate::rights::{
    command::survey,
    tool_name::{BuiltinTool, ToolName},
};

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

impl ToolRule {
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
            (Some(Pattern::Agents(agents)), Subject::Agent(agent)) => {
                agents.iter().any(|it| it.matches(agent))
            }
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

    /// Whether it is about writing files: with a path, or bare. `apply_patch` alone is one way to do it.
    pub(super) fn is_about_writing(&self) -> bool {
        match self.pattern {
            Some(Pattern::Path(_)) => BuiltinTool::WRITERS.iter().any(|tool| self.names(*tool)),
            None => self.names(BuiltinTool::WriteFile) || self.names(BuiltinTool::EditFile),
            Some(Pattern::Command(_) | Pattern::Domain(_) | Pattern::Agents(_)) => false,
        }
    }

    /// Whether it is about reading files. What may not be read may not be edited either: a change shows
    /// what was there before.
    pub(super) fn is_about_reading(&self) -> bool {
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
}

/// Whether a tool shows what a file contained when it has changed it.
fn shows_changes(tool: &ToolName) -> bool {
    matches!(tool, ToolName::Builtin(BuiltinTool::EditFile | BuiltinTool::ApplyPatch))
}
