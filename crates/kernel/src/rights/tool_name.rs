//! Tool names: one canonical name per tool, and every other word that means it.
//!
//! Lists in any vocabulary are compared by canonical names; an unknown word grants nothing.

mod mcp_name;
mod pattern;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

pub use self::{
    mcp_name::{plain_mcp_server, plain_mcp_tool},
    pattern::ToolPattern,
};
use crate::id::nearest;

macro_rules! builtin_tools {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal <- [$($alias:literal),* $(,)?],)+) => {
        /// A tool the program itself offers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum BuiltinTool { $($(#[doc = $doc])+ $variant,)+ }

        impl BuiltinTool {
            /// Every tool, in the order they are listed.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The canonical name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Other words that mean exactly this tool.
            pub fn aliases(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($alias),*],)+ }
            }
        }
    };
}

builtin_tools! {
    /// Reads a file.
    ReadFile = "read_file" <- ["Read", "ReadFile", "view", "read_many_files", "ReadManyFiles",
        "NotebookRead", "read/readFile"],
    /// Lists a directory.
    ListDir = "list_dir" <- ["LS", "ListDir", "list_directory", "ListFiles", "list", "search/listDirectory"],
    /// Finds files by pattern.
    GlobFiles = "glob_files" <- ["Glob", "file_search", "find", "search/fileSearch"],
    /// Searches file contents.
    GrepFiles = "grep_files" <- ["Grep", "search_file_content", "grep_search", "codebase_search",
        "codebase", "search/codebase", "search/textSearch"],
    /// Writes a file.
    WriteFile = "write_file" <- ["Write", "WriteFile", "create_file", "edit/createFile"],
    /// Replaces text in a file.
    EditFile = "edit_file" <- ["Edit", "MultiEdit", "EditFile", "replace", "str_replace",
        "editFiles", "edit/editFiles"],
    /// Applies a patch to several files.
    ApplyPatch = "apply_patch" <- ["patch", "applyPatch"],
    /// Runs a command.
    Shell = "shell" <- ["Bash", "local_shell", "run_shell_command", "execute", "runCommands",
        "terminalCommand", "runInTerminal", "execute/runInTerminal", "run_terminal_cmd"],
    /// Starts a command that goes on.
    ExecCommand = "exec_command" <- [],
    /// Writes to a command that goes on.
    WriteStdin = "write_stdin" <- [],
    /// Fetches a page.
    WebFetch = "web_fetch" <- ["WebFetch", "fetch", "web/fetch"],
    /// Searches the web.
    WebSearch = "web_search" <- ["WebSearch", "google_web_search"],
    /// Looks at an image.
    ViewImage = "view_image" <- ["viewImage", "read/viewImage"],
    /// Keeps the main agent's list of things to do.
    TodoWrite = "TodoWrite" <- ["todo_write", "write_todos", "todo", "todos"],
    /// Delegates to a subagent.
    Task = "Task" <- ["Agent", "invoke_agent", "runSubagent", "agent/runSubagent"],
    /// Fetches a background subagent's result.
    TaskOutput = "TaskOutput" <- ["task_output", "AgentOutput"],
    /// Stops a background subagent.
    TaskStop = "TaskStop" <- ["task_stop", "KillTask"],
    /// Lists the subagents.
    SubagentList = "subagent_list" <- [],
    /// Describes a subagent.
    SubagentDescribe = "subagent_describe" <- [],
    /// Runs a subagent.
    SubagentRun = "subagent_run" <- [],
    /// Uses a skill.
    Skill = "Skill" <- ["skills"],
    /// Runs a slash command.
    SlashCommand = "SlashCommand" <- [],
}

/// Words that mean several tools at once.
const GROUPS: &[(&str, &[BuiltinTool])] = &[
    ("search", &[BuiltinTool::GrepFiles, BuiltinTool::GlobFiles]),
    ("web", &[BuiltinTool::WebFetch, BuiltinTool::WebSearch]),
];

/// What other hosts call features, folded, and the tools that stand for them here.
const FEATURES: &[(&str, &[BuiltinTool])] = &[
    ("websearchrequest", &[BuiltinTool::WebSearch]),
    ("viewimagetool", &[BuiltinTool::ViewImage]),
    ("shelltool", BuiltinTool::SHELL_FAMILY),
    ("unifiedexec", &[BuiltinTool::ExecCommand, BuiltinTool::WriteStdin]),
    ("applypatchfreeform", &[BuiltinTool::ApplyPatch]),
    ("subagenttools", BuiltinTool::DELEGATION),
    ("multiagent", BuiltinTool::DELEGATION),
    ("collab", BuiltinTool::DELEGATION),
];

/// Tools of other hosts that have no counterpart here.
const FOREIGN: &[&str] = &[
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillBash",
    "KillShell",
    "LSP",
    "Monitor",
    "NotebookEdit",
    "PowerShell",
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "ToolSearch",
    "ask_user",
    "ask_user_question",
    "browser",
    "changes",
    "extensions",
    "findTestFiles",
    "githubRepo",
    "lsp",
    "memory",
    "new",
    "openSimpleBrowser",
    "problems",
    "runNotebooks",
    "runTasks",
    "runTests",
    "save_memory",
    "searchResults",
    "terminalLastCommand",
    "terminalSelection",
    "testFailure",
    "think",
    "thinking",
    "usages",
    "vscode",
    "vscodeAPI",
];

/// The canonical name of a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolName {
    /// A tool the program offers.
    Builtin(BuiltinTool),
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// A tool the embedding host offers.
    Host(String),
}

/// Why a word means no tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownTool {
    /// It is a tool of another host.
    Foreign,
    /// Nobody knows it; this is the nearest name.
    Unknown(Option<&'static str>),
}

impl BuiltinTool {
    /// The tools that run commands: naming one in a list allows them all.
    pub const SHELL_FAMILY: &'static [Self] = &[Self::Shell, Self::ExecCommand, Self::WriteStdin];

    /// The tools that change files.
    pub const WRITERS: &'static [Self] = &[Self::WriteFile, Self::EditFile, Self::ApplyPatch];

    /// The tools that show what a file contains, or that it is there.
    pub const READERS: &'static [Self] =
        &[Self::ReadFile, Self::ViewImage, Self::GrepFiles, Self::GlobFiles, Self::ListDir];

    /// The tools that delegate.
    pub const DELEGATION: &'static [Self] = &[
        Self::Task,
        Self::TaskOutput,
        Self::TaskStop,
        Self::SubagentList,
        Self::SubagentDescribe,
        Self::SubagentRun,
    ];

    /// Whether it runs commands.
    pub fn is_shell(self) -> bool {
        Self::SHELL_FAMILY.contains(&self)
    }

    /// The tool a word means, by canonical name or alias, in any case.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|tool| tool.answers_to(word)).copied()
    }

    /// Whether these are names of two tools: `Bash/Write` is not a tool of an MCP server `Bash`.
    pub(crate) fn are_two(one: &str, other: &str) -> bool {
        let (one, other) = (Self::from_word(one), Self::from_word(other));
        one.is_some() && other.is_some() && one != other
    }

    /// The tools a feature of another host stands for, in any spelling; none if it is not a feature.
    pub fn of_feature(word: &str) -> Option<&'static [Self]> {
        let folded = folded(word);
        FEATURES.iter().find(|(name, _)| *name == folded).map(|(_, tools)| *tools)
    }

    /// The tools of the feature that a word is most likely a slip for.
    pub fn of_feature_like(word: &str) -> Option<&'static [Self]> {
        let near = nearest(&folded(word), FEATURES.iter().map(|(name, _)| *name))?;
        Self::of_feature(near)
    }

    /// Every word that means it, alone or with others.
    fn words(self) -> impl Iterator<Item = &'static str> {
        let groups = GROUPS.iter().filter(move |(_, tools)| tools.contains(&self));
        std::iter::once(self.as_str())
            .chain(self.aliases().iter().copied())
            .chain(groups.map(|(name, _)| *name))
    }

    fn answers_to(self, word: &str) -> bool {
        self.as_str().eq_ignore_ascii_case(word)
            || self.aliases().iter().any(|alias| alias.eq_ignore_ascii_case(word))
    }
}

/// Whether a feature is the use of MCP servers, by the names hosts give it.
pub fn is_mcp_feature(word: &str) -> bool {
    matches!(folded(word).as_str(), "mcp" | "mcpserver" | "mcpservers" | "mcptool" | "mcptools")
}

/// A word in small letters, without anything but letters and digits.
fn folded(word: &str) -> String {
    word.chars()
        .filter(|letter| letter.is_alphanumeric())
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

impl From<BuiltinTool> for ToolName {
    fn from(tool: BuiltinTool) -> Self {
        Self::Builtin(tool)
    }
}

impl ToolName {
    /// The tool of the program, if it is one.
    pub fn builtin(&self) -> Option<BuiltinTool> {
        match self {
            Self::Builtin(tool) => Some(*tool),
            Self::Mcp { .. } | Self::Host(_) => None,
        }
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(tool) => formatter.pad(tool.as_str()),
            Self::Mcp { server, tool } => formatter.pad(&format!("mcp__{server}__{tool}")),
            Self::Host(name) => formatter.pad(name),
        }
    }
}

impl FromStr for ToolName {
    type Err = std::convert::Infallible;

    /// The tool a call names: canonical names, aliases and MCP names; any other word is a host's tool.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        if let Some(tool) = BuiltinTool::from_word(word) {
            return Ok(Self::Builtin(tool));
        }
        let mcp = word.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        Ok(match mcp {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                Self::Mcp { server: server.to_owned(), tool: tool.to_owned() }
            }
            _ => Self::Host(word.to_owned()),
        })
    }
}

impl Serialize for ToolName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(match word.parse() {
            Ok(name) => name,
            Err(never) => match never {},
        })
    }
}
