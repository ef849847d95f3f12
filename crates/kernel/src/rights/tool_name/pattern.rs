//! Patterns: which tools an entry of a list means, in any vocabulary and with wildcards.

use super::{
    BuiltinTool, FOREIGN, GROUPS, ToolName, UnknownTool,
    mcp_name::{is_same_server, is_same_tool},
};
use crate::id::nearest;

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

    pub(super) fn exactly(tools: &[BuiltinTool]) -> Self {
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
            Self::Exactly(tools) => tools.iter().any(|named| is_same_tool(named, tool)),
            Self::McpServer(wanted) => {
                matches!(tool, ToolName::Mcp { server, .. } if is_same_server(server, wanted))
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

/// Names such as `vscode/memory` belong to an editor's own tool sets; they are not MCP servers.
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
