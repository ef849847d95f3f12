//! Tool names: one canonical name per tool, and every other word that means it.
//!
//! Lists in any vocabulary are compared by canonical names; an unknown word grants nothing.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

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

/// Which tools an entry of a list means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolPattern {
    /// Every tool.
    Any,
    /// These tools.
    Exactly(Vec<ToolName>),
    /// Every tool of an MCP server.
    McpServer(String),
    /// Every tool of every MCP server.
    AnyMcp,
    /// Every tool that has a name of this shape, in small letters, with `*` and `?` as in a glob; only
    /// lists of what is taken away have it.
    Like(String),
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

impl ToolPattern {
    /// What a word of a tool list means, without a rule in brackets.
    ///
    /// `mcp__server__tool`, `mcp__server`, `mcp__server__*`, `mcp_server_tool` and `server/tool` name MCP
    /// tools; a word of the shell family means the family.
    pub fn parse(word: &str) -> Result<Self, UnknownTool> {
        let word = word.trim();
        if word == "*" {
            return Ok(Self::Any);
        }
        if let Some(tool) = BuiltinTool::from_word(word) {
            let tools = if tool.is_shell() { BuiltinTool::SHELL_FAMILY } else { &[tool][..] };
            return Ok(Self::exactly(tools));
        }
        if let Some((_, tools)) = GROUPS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            return Ok(Self::exactly(tools));
        }
        if let Some(rest) = word.strip_prefix("mcp__") {
            return Self::parse_mcp(rest.split_once("__"), rest).ok_or(UnknownTool::Unknown(None));
        }
        if word == "mcp_*" || word == "mcp*" {
            return Ok(Self::AnyMcp);
        }
        // As Gemini CLI writes them; its servers have no `_` in their names.
        if let Some(parts) = word.strip_prefix("mcp_").and_then(|rest| rest.split_once('_'))
            && let Some(pattern) = Self::parse_mcp(Some(parts), parts.0)
        {
            return Ok(pattern);
        }
        if FOREIGN.contains(&word) || is_editor_tool(word) {
            return Err(UnknownTool::Foreign);
        }
        if let Some((server, tool)) = word.rsplit_once('/')
            && let Some(pattern) = Self::parse_mcp(Some((server, tool)), server)
        {
            return Ok(pattern);
        }
        Err(UnknownTool::Unknown(nearest(word, known_words())))
    }

    /// What a word of a list of what is taken away means: the same, and `*` and `?` in any name. What
    /// cannot be a name, such as `rm -rf *`, has no shape of one.
    pub fn parse_denial(word: &str) -> Result<Self, UnknownTool> {
        const WILD: [char; 2] = ['*', '?'];
        // What grants everything takes everything away.
        if word.trim().eq_ignore_ascii_case("all") {
            return Ok(Self::Any);
        }
        let is_of_a_name = |letter: char| letter.is_alphanumeric() || "_-./:*?".contains(letter);
        let plain = Self::parse(word);
        if !word.trim().chars().all(is_of_a_name) {
            return plain;
        }
        let is_whole = match &plain {
            Ok(Self::Any | Self::AnyMcp) => true,
            Ok(Self::McpServer(server)) => !server.contains(WILD),
            Ok(Self::Exactly(_) | Self::Like(_)) | Err(_) => !word.contains(WILD),
        };
        if is_whole { plain } else { Ok(Self::Like(word.trim().to_ascii_lowercase())) }
    }

    fn exactly(tools: &[BuiltinTool]) -> Self {
        Self::Exactly(tools.iter().copied().map(ToolName::Builtin).collect())
    }

    fn parse_mcp(parts: Option<(&str, &str)>, server_alone: &str) -> Option<Self> {
        let pattern = match parts {
            None if server_alone == "*" => Self::AnyMcp,
            None => Self::McpServer(server_alone.to_owned()),
            Some((server, "" | "*")) => Self::McpServer(server.to_owned()),
            Some((server, tool)) => Self::Exactly(vec![ToolName::Mcp {
                server: server.to_owned(),
                tool: tool.to_owned(),
            }]),
        };
        let nameless = match &pattern {
            Self::McpServer(server) => server.trim().is_empty(),
            Self::Exactly(tools) => tools.iter().any(
                |tool| matches!(tool, ToolName::Mcp { server, .. } if server.trim().is_empty()),
            ),
            Self::Any | Self::AnyMcp | Self::Like(_) => false,
        };
        (!nameless).then_some(pattern)
    }

    /// Whether it means that tool.
    pub fn covers(&self, tool: &ToolName) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(tools) => tools.contains(tool),
            Self::McpServer(wanted) => {
                matches!(tool, ToolName::Mcp { server, .. } if server == wanted)
            }
            Self::AnyMcp => matches!(tool, ToolName::Mcp { .. }),
            Self::Like(shape) => is_like(tool, shape),
        }
    }
}

/// Whether a tool has a name of that shape, in any vocabulary.
fn is_like(tool: &ToolName, shape: &str) -> bool {
    let fits = |name: &str| has_shape(&name.to_ascii_lowercase(), shape);
    match tool {
        ToolName::Builtin(tool) if tool.is_shell() => {
            BuiltinTool::SHELL_FAMILY.iter().flat_map(|tool| tool.words()).any(fits)
        }
        ToolName::Builtin(tool) => tool.words().any(fits),
        ToolName::Mcp { server, tool } => ["mcp__", "mcp_", ""].iter().any(|before| {
            ["__", "_", "/"].iter().any(|between| fits(&format!("{before}{server}{between}{tool}")))
        }),
        ToolName::Host(name) => fits(name),
    }
}

/// Whether a name has a shape; on a mismatch the last `*` takes one letter more.
fn has_shape(name: &str, shape: &str) -> bool {
    let (name, shape): (Vec<char>, Vec<char>) = (name.chars().collect(), shape.chars().collect());
    let (mut at, mut position) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match shape.get(position) {
            Some('*') => {
                star = Some((position, at));
                position += 1;
                continue;
            }
            Some(letter) if *letter == '?' || name.get(at) == Some(letter) => {
                position += 1;
                at += 1;
                continue;
            }
            _ => {}
        }
        let Some((after, taken)) = &mut star else { return false };
        *taken += 1;
        at = *taken;
        position = *after + 1;
    }
    shape.iter().skip(position).all(|letter| *letter == '*')
}

/// A word in small letters, without anything but letters and digits.
fn folded(word: &str) -> String {
    word.chars()
        .filter(|letter| letter.is_alphanumeric())
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// Names such as `vscode/memory` belong to an editor's own tool sets; they are no MCP servers.
fn is_editor_tool(word: &str) -> bool {
    const SETS: [&str; 10] = [
        "agent",
        "edit",
        "execute",
        "read",
        "runCommands",
        "search",
        "todo",
        "vscode",
        "web",
        "ext",
    ];
    word.starts_with("ext:") || word.split_once('/').is_some_and(|(set, _)| SETS.contains(&set))
}

fn known_words() -> impl Iterator<Item = &'static str> {
    BuiltinTool::ALL
        .iter()
        .flat_map(|tool| std::iter::once(tool.as_str()).chain(tool.aliases().iter().copied()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_means_exactly_one_tool() {
        for &tool in BuiltinTool::ALL {
            for word in std::iter::once(tool.as_str()).chain(tool.aliases().iter().copied()) {
                let owners: Vec<_> =
                    BuiltinTool::ALL.iter().filter(|other| other.answers_to(word)).collect();
                assert_eq!(owners, [&tool], "{word}");
            }
        }
    }

    #[test]
    fn words_of_every_host_resolve() {
        use BuiltinTool as T;
        for (words, tool) in [
            (
                &["read_file", "Read", "ReadFile", "view", "read", "read_many_files"][..],
                T::ReadFile,
            ),
            (&["LS", "ls", "list_directory"], T::ListDir),
            (&["Glob", "glob", "file_search"], T::GlobFiles),
            (
                &["Grep", "grep", "search_file_content", "grep_search", "codebase_search"],
                T::GrepFiles,
            ),
            (&["Write", "write"], T::WriteFile),
            (&["Edit", "MultiEdit", "replace", "edit", "str_replace"], T::EditFile),
            (&["WebFetch", "webfetch", "fetch"], T::WebFetch),
            (&["WebSearch", "google_web_search"], T::WebSearch),
            (&["todo_write", "write_todos"], T::TodoWrite),
            (&["Agent", "task", "invoke_agent"], T::Task),
        ] {
            for word in words {
                let expected = ToolPattern::Exactly(vec![ToolName::Builtin(tool)]);
                assert_eq!(ToolPattern::parse(word), Ok(expected), "{word}");
            }
        }
    }

    #[test]
    fn naming_one_shell_allows_the_family() {
        let family = ToolPattern::exactly(BuiltinTool::SHELL_FAMILY);
        for word in [
            "shell",
            "local_shell",
            "exec_command",
            "write_stdin",
            "Bash",
            "bash",
            "run_shell_command",
            "execute",
        ] {
            assert_eq!(ToolPattern::parse(word), Ok(family.clone()), "{word}");
        }
    }

    #[test]
    fn mcp_words() {
        let tool = |server: &str, tool: &str| {
            Ok(ToolPattern::Exactly(vec![ToolName::Mcp {
                server: server.to_owned(),
                tool: tool.to_owned(),
            }]))
        };
        assert_eq!(ToolPattern::parse("mcp__docs__find"), tool("docs", "find"));
        assert_eq!(ToolPattern::parse("github/search_code"), tool("github", "search_code"));
        assert_eq!(ToolPattern::parse("mcp_docs_find_all"), tool("docs", "find_all"));
        for word in ["mcp__docs", "mcp__docs__*", "mcp_docs_*", "docs/*"] {
            assert_eq!(ToolPattern::parse(word), Ok(ToolPattern::McpServer("docs".to_owned())));
        }
        assert!(ToolPattern::parse("mcp__").is_err());
        assert!(ToolPattern::parse("/x").is_err());
    }

    #[test]
    fn wildcards_take_away_whatever_has_such_a_name() {
        let covered = |word: &str, tool: &str| {
            let Ok(tool) = tool.parse();
            ToolPattern::parse_denial(word).is_ok_and(|pattern| pattern.covers(&tool))
        };
        for (word, tools) in [
            ("*_file", &["read_file", "write_file", "edit_file"][..]),
            ("w*", &["write_file", "web_fetch", "web_search"]),
            ("Wri?e", &["write_file"]),
            ("*bash*", &["shell", "exec_command", "write_stdin"]),
            ("mymcp_*", &["mcp__mymcp__get"]),
            ("mcp__docs__get*", &["mcp__docs__get", "mcp__docs__get_all"]),
            ("mcp__docs__*", &["mcp__docs__get"]),
            ("mcp__*__get", &["mcp__docs__get"]),
            ("docs/g*", &["mcp__docs__get"]),
            ("dep*", &["deploy"]),
            ("**", &["read_file", "mcp__docs__get", "deploy"]),
        ] {
            for tool in tools {
                assert!(covered(word, tool), "{word} {tool}");
            }
        }
        for (word, tool) in [
            ("*_file", "grep_files"),
            ("w*", "read_file"),
            ("mymcp_*", "mcp__docs__get"),
            ("mcp__docs__get*", "mcp__docs__find"),
            ("zork*", "read_file"),
            ("?", "read_file"),
            ("rea* *", "read_file"),
        ] {
            assert!(!covered(word, tool), "{word} {tool}");
        }
        // What is granted is named.
        assert!(ToolPattern::parse("*_file").is_err());
    }

    #[test]
    fn unknown_words_grant_nothing_and_hint() {
        assert_eq!(ToolPattern::parse("Raed"), Err(UnknownTool::Unknown(Some("Read"))));
        assert_eq!(ToolPattern::parse("NotebookEdit"), Err(UnknownTool::Foreign));
        assert_eq!(ToolPattern::parse("vscode/memory"), Err(UnknownTool::Foreign));
        assert_eq!(ToolPattern::parse("zzzzzz"), Err(UnknownTool::Unknown(None)));
    }
}
