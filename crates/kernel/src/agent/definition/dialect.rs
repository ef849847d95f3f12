//! A dialect: whose agent format a file is written in. It is known from the place of the file, never
//! guessed from its content.

use std::{borrow::Cow, fmt, path::Path};

use serde::{Deserialize, Serialize};

/// Whose agent format a file is written in; [`Dialect::rank`] is the precedence within a scope.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `.attache/agents`
    #[default]
    Attache,
    /// `.claude/agents`
    Claude,
    /// `.codex/agents`
    Codex,
    /// `.wave/agents`
    Wave,
    /// `.gemini/agents`
    Gemini,
    /// `.qwen/agents`
    Qwen,
    /// `.opencode/agent`, `.opencode/agents`
    Opencode,
    /// `.github/agents/*.agent.md`
    Copilot,
    /// `.cursor/agents`
    Cursor,
}

/// How strictly a dialect's lists are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Empty and repeated list entries are errors.
    Strict,
    /// They are warnings: real files of this dialect have them.
    Lenient,
}

impl Dialect {
    /// All dialects, in the order they are documented.
    pub const ALL: [Self; 9] = [
        Self::Attache,
        Self::Claude,
        Self::Codex,
        Self::Wave,
        Self::Gemini,
        Self::Qwen,
        Self::Opencode,
        Self::Copilot,
        Self::Cursor,
    ];

    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attache => "attache",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Wave => "wave",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
        }
    }

    /// The precedence within a scope, the least first. The last five share one: among them the path
    /// decides.
    pub fn rank(self) -> u8 {
        match self {
            Self::Attache => 0,
            Self::Claude => 1,
            Self::Codex => 2,
            Self::Wave => 3,
            Self::Gemini | Self::Qwen | Self::Opencode | Self::Copilot | Self::Cursor => 4,
        }
    }

    /// How strictly its lists are read.
    pub fn strictness(self) -> Strictness {
        match self {
            Self::Attache | Self::Codex => Strictness::Strict,
            Self::Claude
            | Self::Wave
            | Self::Gemini
            | Self::Qwen
            | Self::Opencode
            | Self::Copilot
            | Self::Cursor => Strictness::Lenient,
        }
    }

    /// The dialect of a file from the folders it lies in, or from its ending; a file in no known place
    /// is read as a Claude file, which most others resemble.
    pub fn of_path(path: &Path) -> Self {
        let mut place = None;
        for component in path.components() {
            let folder = match component.as_os_str().to_str() {
                Some(".attache") => Self::Attache,
                Some(".claude") => Self::Claude,
                Some(".codex") => Self::Codex,
                Some(".wave") => Self::Wave,
                Some(".gemini") => Self::Gemini,
                Some(".qwen") => Self::Qwen,
                Some(".opencode") => Self::Opencode,
                Some(".github") => Self::Copilot,
                Some(".cursor") => Self::Cursor,
                _ => continue,
            };
            place = Some(folder);
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match place {
            Some(dialect) => dialect,
            None if name.ends_with(".agent.md") => Self::Copilot,
            None if Format::of_path(path) == Some(Format::Toml) => Self::Codex,
            None => Self::Claude,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// The name of an agent file without its endings; bytes that are not UTF-8 are replaced.
pub(crate) fn agent_stem(path: &Path) -> Option<Cow<'_, str>> {
    let stem = path.file_stem()?.to_string_lossy();
    Some(match stem.strip_suffix(".agent") {
        Some(short) => Cow::Owned(short.to_owned()),
        None => stem,
    })
}

/// The syntax of a definition file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Markdown with YAML front matter.
    Markdown,
    /// A YAML mapping.
    Yaml,
    /// A TOML role.
    Toml,
}

impl Format {
    /// The format of a file by its ending; `None` if it cannot be a definition.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown") {
            Some(Self::Markdown)
        } else if extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml") {
            Some(Self::Yaml)
        } else if extension.eq_ignore_ascii_case("toml") {
            Some(Self::Toml)
        } else {
            None
        }
    }
}
