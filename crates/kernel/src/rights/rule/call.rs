//! A call of a tool as far as rules look at it: the command, paths, host or agent in its arguments.
//!
//! Every argument that may hold one of these is looked at, under any name, so that renaming an argument
//! does not avoid a rule.

use std::fmt;

use serde_json::Value;

use super::{domain_pattern::host_of, path_pattern::Location};
use crate::{
    id::AgentKey,
    rights::{
        command::{
            Complexity, Parsed, Redirection, SimpleCommand, Survey, parse,
            read_only::{self, Doubt, Folder},
            survey, survey_words,
        },
        protected::protected,
        tool_name::{BuiltinTool, ToolName},
    },
};

/// A call of a tool, with what rules look at.
#[derive(Debug)]
pub struct Call<'a> {
    tool: &'a ToolName,
    subject: Subject,
    /// The directory that a command is to run in.
    workdir: Option<String>,
}

/// What a call is about.
#[derive(Debug)]
pub(super) enum Subject {
    /// Commands to run.
    Shell(Vec<Line>),
    /// Text for a running program.
    Input(String),
    /// Files.
    Paths(Vec<Location>),
    /// A directory with everything below it.
    Tree(Location),
    /// A host.
    Host(String),
    /// An agent.
    Agent(AgentKey),
    /// Nothing that a rule could judge.
    Unreadable,
}

/// A command as a call gives it.
#[derive(Debug)]
pub(super) enum Line {
    /// For a shell to read.
    Text(String),
    /// Words as the program gets them.
    Words(Vec<String>),
}

/// What no rule covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncovered {
    /// The arguments cannot be read.
    Unreadable,
    /// This command.
    Command(String),
    /// A line with more in it than simple commands.
    Complex(Complexity),
    /// A redirection from or to this file.
    Redirection(String),
    /// Text typed into a running program.
    Input,
    /// This path.
    Path(String),
    /// This host.
    Host(String),
    /// This agent.
    Agent(AgentKey),
}

const WORKDIR_KEYS: &[&str] = &["workdir", "cwd", "dir_path", "directory"];
const COMMAND_KEYS: &[&str] = &["command", "cmd"];
const PATH_KEYS: &[&str] = &[
    "path",
    "paths",
    "file_path",
    "file_paths",
    "filePath",
    "absolute_path",
    "notebook_path",
    "dir_path",
    "directory",
];
const PATCH_KEYS: &[&str] = &["patch", "input"];
const PATCH_MARKS: &[&str] =
    &["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
const SHELLS: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "/bin/bash",
    "/bin/sh",
    "/bin/zsh",
    "/usr/bin/bash",
    "/usr/bin/sh",
    "/usr/bin/zsh",
];

impl<'a> Call<'a> {
    /// A call of that tool with those arguments.
    pub fn new(tool: &'a ToolName, arguments: &Value) -> Self {
        let subject = tool
            .builtin()
            .and_then(|tool| Subject::of_call(tool, arguments))
            .unwrap_or(Subject::Unreadable);
        let workdir = values(arguments, WORKDIR_KEYS).next();
        // What cannot be read is some directory.
        let workdir = workdir.map(|value| value.as_str().unwrap_or("..").to_owned());
        Self { tool, subject, workdir }
    }

    /// The tool.
    pub fn tool(&self) -> &ToolName {
        self.tool
    }

    /// The directory a command is to run in, where the call names one.
    pub fn workdir(&self) -> Option<&str> {
        self.workdir.as_deref().filter(|folder| !matches!(*folder, "" | "." | "./"))
    }

    /// Whether a command is to run in another directory than the workspace's.
    pub(super) fn is_moved(&self) -> bool {
        self.workdir().is_some()
    }

    /// Whether what the call does was understood: its arguments could be read, and every command of a
    /// line was found.
    pub fn is_understood(&self) -> bool {
        match &self.subject {
            Subject::Unreadable => self
                .tool
                .builtin()
                .is_none_or(|tool| !super::pattern::Kind::of_tool(tool).has_subject()),
            Subject::Shell(lines) => lines.iter().all(|line| {
                let survey = line.survey();
                survey.blind_spot.is_none() && !survey.launches.is_empty()
            }),
            Subject::Input(_)
            | Subject::Paths(_)
            | Subject::Tree(_)
            | Subject::Host(_)
            | Subject::Agent(_) => true,
        }
    }

    /// Whether its arguments say what it is about; tools that rules do not look into need not.
    pub fn is_readable(&self) -> bool {
        !matches!(self.subject, Subject::Unreadable)
            || self
                .tool
                .builtin()
                .is_none_or(|tool| !super::pattern::Kind::of_tool(tool).has_subject())
    }

    /// Why a command may change something; nothing if it is known to be read-only.
    pub fn doubt(&self, root: Option<&str>) -> Option<Doubt> {
        let Subject::Shell(lines) = &self.subject else { return Some(Doubt::Empty) };
        let folder = self.folder(root);
        lines.iter().find_map(|line| match line {
            Line::Text(text) => read_only::doubt(text, folder),
            Line::Words(words) => read_only::doubt_words(words.iter().map(String::as_str), folder),
        })
    }

    /// Where its command is run.
    pub(super) fn folder<'r>(&self, root: Option<&'r str>) -> Folder<'r> {
        let is_root = |folder: &str| Some(folder.trim_end_matches('/')) == root;
        Folder { root, starts_in_root: self.workdir().is_none_or(is_root) }
    }

    /// Whether it only asks a running program for its output.
    pub fn types_nothing(&self) -> bool {
        matches!(&self.subject, Subject::Input(text) if text.is_empty())
    }

    /// The paths of files that it names, as written.
    pub fn written_paths(&self) -> Vec<String> {
        match &self.subject {
            Subject::Paths(paths) => paths.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        }
    }

    /// The paths of files and directories that it names, as written.
    pub fn named_paths(&self) -> Vec<String> {
        match &self.subject {
            Subject::Paths(paths) => paths.iter().map(ToString::to_string).collect(),
            Subject::Tree(path) => vec![path.to_string()],
            _ => Vec::new(),
        }
    }

    /// A path that it names with `..` in it: where that leads cannot be told without looking.
    pub fn unclear_path(&self) -> Option<String> {
        let paths = match &self.subject {
            Subject::Paths(paths) => paths.as_slice(),
            Subject::Tree(path) => std::slice::from_ref(path),
            _ => return None,
        };
        let climbs = |path: &String| path.split('/').any(|name| name == "..");
        paths.iter().map(ToString::to_string).find(climbs)
    }

    /// The protected path that it names as a file to be written, if it names one. A path from the root
    /// of the file system is looked at below `root`, if it lies there.
    pub fn protected_path(&self, root: Option<&str>) -> Option<String> {
        let Subject::Paths(paths) = &self.subject else { return None };
        paths.iter().find_map(|path| {
            let written = path.to_string();
            let below = root.and_then(|root| written.strip_prefix(root)).unwrap_or(&written);
            protected(below).map(|_| written.clone())
        })
    }

    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }
}

impl Subject {
    fn of_call(tool: BuiltinTool, arguments: &Value) -> Option<Self> {
        use BuiltinTool as Tool;
        match tool {
            Tool::Shell | Tool::ExecCommand => lines(arguments).map(Self::Shell),
            Tool::WriteStdin => typed(arguments).map(Self::Input),
            Tool::ReadFile | Tool::ViewImage | Tool::WriteFile | Tool::EditFile => {
                paths(arguments).filter(|paths| !paths.is_empty()).map(Self::Paths)
            }
            Tool::ListDir | Tool::GrepFiles => tree(arguments).map(Self::Tree),
            Tool::GlobFiles => searched_tree(arguments).map(Self::Tree),
            Tool::ApplyPatch => patched(arguments).map(Self::Paths),
            Tool::WebFetch => host_of(arguments.get("url")?.as_str()?).map(Self::Host),
            Tool::Task => agent(arguments, "subagent_type"),
            Tool::SubagentRun => agent(arguments, "name"),
            Tool::WebSearch
            | Tool::TodoWrite
            | Tool::TaskOutput
            | Tool::TaskStop
            | Tool::SubagentList
            | Tool::SubagentDescribe
            | Tool::Skill
            | Tool::SlashCommand => None,
        }
    }
}

fn values<'v>(arguments: &'v Value, keys: &[&str]) -> impl Iterator<Item = &'v Value> {
    keys.iter().filter_map(|key| arguments.get(key)).filter(|value| !value.is_null())
}

fn lines(arguments: &Value) -> Option<Vec<Line>> {
    let lines: Vec<Line> =
        values(arguments, COMMAND_KEYS).map(Line::from_argument).collect::<Option<_>>()?;
    (!lines.is_empty()).then_some(lines)
}

fn typed(arguments: &Value) -> Option<String> {
    arguments.as_object()?;
    let texts: Option<Vec<&str>> =
        values(arguments, &["chars", "input", "text", "data"]).map(Value::as_str).collect();
    Some(texts?.concat())
}

fn paths(arguments: &Value) -> Option<Vec<Location>> {
    arguments.as_object()?;
    let mut paths = Vec::new();
    for value in values(arguments, PATH_KEYS) {
        match value {
            Value::String(path) => paths.push(Location::from_path(path)),
            Value::Array(list) => {
                for path in list {
                    paths.push(Location::from_path(path.as_str()?));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        }
    }
    Some(paths)
}

/// The directory a call works on; none given is the workspace itself.
fn tree(arguments: &Value) -> Option<Location> {
    if arguments.is_null() {
        return Some(Location::from_path(""));
    }
    let mut paths = paths(arguments)?.into_iter();
    let first = paths.next().unwrap_or_else(|| Location::from_path(""));
    paths.next().is_none().then_some(first)
}

/// The directory below which a search for files stays: its path, and the names its pattern begins with.
fn searched_tree(arguments: &Value) -> Option<Location> {
    let pattern = match arguments.get("pattern") {
        Some(pattern) => pattern.as_str()?,
        None => "",
    };
    if pattern.starts_with('/') || pattern.contains("..") || pattern.contains('\\') {
        return None;
    }
    let names = pattern.split('/');
    let fixed = names.take_while(|name| !name.contains(['*', '?', '[', '{', '!']));
    match tree(arguments)? {
        Location::Workspace(mut names) => {
            let fixed = fixed.filter(|name| !matches!(*name, "" | "."));
            names.extend(fixed.map(str::to_owned));
            Some(Location::Workspace(names))
        }
        elsewhere @ (Location::Absolute(_) | Location::Elsewhere(_)) => Some(elsewhere),
    }
}

/// The files a patch names. Lines that merely look like a file's header count too: that asks for more
/// rights, never for fewer.
fn patched(arguments: &Value) -> Option<Vec<Location>> {
    let patches: Vec<&str> = match arguments {
        Value::String(patch) => vec![patch.as_str()],
        _ => values(arguments, PATCH_KEYS).map(Value::as_str).collect::<Option<_>>()?,
    };
    let paths: Vec<Location> = patches
        .iter()
        .flat_map(|patch| patch.lines())
        .filter_map(|line| {
            let line = line.trim();
            PATCH_MARKS.iter().find_map(|mark| line.strip_prefix(mark))
        })
        .map(|path| Location::from_path(path.trim()))
        .collect();
    (!paths.is_empty()).then_some(paths)
}

fn agent(arguments: &Value, key: &str) -> Option<Subject> {
    let agent = AgentKey::from_name(arguments.get(key)?.as_str()?);
    (!agent.is_empty()).then_some(Subject::Agent(agent))
}

impl Line {
    fn from_argument(value: &Value) -> Option<Self> {
        if let Some(text) = value.as_str() {
            return Some(Self::Text(text.to_owned()));
        }
        let words: Vec<&str> =
            value.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
        match words.as_slice() {
            [] => None,
            [shell, "-c" | "-lc", script] if SHELLS.contains(shell) => {
                Some(Self::Text((*script).to_owned()))
            }
            _ => Some(Self::Words(words.into_iter().map(str::to_owned).collect())),
        }
    }

    pub(super) fn survey(&self) -> Survey {
        match self {
            Self::Text(text) => survey(text),
            Self::Words(words) => survey_words(words.iter().map(String::as_str)),
        }
    }

    /// What of the line is not covered, where `covers` tells whether a command is.
    pub(super) fn uncovered(&self, covers: impl Fn(&SimpleCommand) -> bool) -> Option<Uncovered> {
        let commands = match self {
            Self::Text(text) => match parse(text) {
                Parsed::Plain(commands) => commands,
                Parsed::Complex(reason) => return Some(Uncovered::Complex(reason)),
            },
            Self::Words(words) => {
                vec![SimpleCommand::of_words(words.iter().map(String::as_str))]
            }
        };
        if commands.is_empty() {
            return Some(Uncovered::Unreadable);
        }
        commands.iter().find_map(|command| {
            let touches_file = |redirection: &&Redirection| !redirection.is_harmless();
            if let Some(redirection) = command.redirections.iter().find(touches_file) {
                return Some(Uncovered::Redirection(redirection.target.to_string()));
            }
            (!covers(command)).then(|| Uncovered::Command(command.to_string()))
        })
    }
}

impl fmt::Display for Uncovered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => formatter.write_str("arguments that cannot be read"),
            Self::Command(command) => write!(formatter, "`{command}`"),
            Self::Complex(reason) => write!(formatter, "{reason}"),
            Self::Redirection(target) => write!(formatter, "the redirection of `{target}`"),
            Self::Input => formatter.write_str("text typed into a running program"),
            Self::Path(path) => write!(formatter, "the path `{path}`"),
            Self::Host(host) => write!(formatter, "the host `{host}`"),
            Self::Agent(agent) => write!(formatter, "the agent `{agent}`"),
        }
    }
}
