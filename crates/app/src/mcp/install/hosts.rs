//! The hosts: where each keeps its settings, and how it writes a server down.

use std::{io, path::PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::{failure::Failure, setup::Setup};

/// A host that can be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostName {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Visual Studio Code.
    Vscode,
    /// Cursor.
    Cursor,
    /// Zed.
    Zed,
}

/// How a host writes its servers down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// JSON, with comments or without.
    Json { section: &'static str, kind: EntryKind },
    /// TOML.
    Toml { section: &'static str },
}

/// What an entry says beside the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// Nothing.
    Plain,
    /// That it is reached over standard input and output.
    Stdio,
    /// Its environment, though there is nothing to add.
    WithEnvironment,
}

/// The name of the entry.
pub(super) const NAME: &str = "attache";

/// The command of the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

impl Entry {
    /// This program, wherever the host looks for programs.
    pub(super) fn of_this_program() -> io::Result<Self> {
        let command = std::env::current_exe()?.to_string_lossy().into_owned();
        Ok(Self { command, args: vec!["mcp".to_owned()] })
    }

    pub(super) fn as_json(&self, kind: EntryKind) -> Value {
        let (command, args) = (&self.command, &self.args);
        match kind {
            EntryKind::Plain => json!({"command": command, "args": args}),
            EntryKind::Stdio => json!({"type": "stdio", "command": command, "args": args}),
            EntryKind::WithEnvironment => json!({"command": command, "args": args, "env": {}}),
        }
    }
}

impl HostName {
    /// The word of the command line.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Vscode => "vscode",
            Self::Cursor => "cursor",
            Self::Zed => "zed",
        }
    }

    /// What people call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Vscode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Zed => "Zed",
        }
    }

    pub(super) fn layout(self) -> Layout {
        match self {
            Self::Claude => Layout::Json { section: "mcpServers", kind: EntryKind::Stdio },
            Self::Codex => Layout::Toml { section: "mcp_servers" },
            Self::Gemini | Self::Cursor => {
                Layout::Json { section: "mcpServers", kind: EntryKind::Plain }
            }
            Self::Vscode => Layout::Json { section: "servers", kind: EntryKind::Stdio },
            Self::Zed => {
                Layout::Json { section: "context_servers", kind: EntryKind::WithEnvironment }
            }
        }
    }

    /// Where the user's settings of the host are.
    pub(super) fn file(self, setup: &Setup) -> Result<PathBuf, Failure> {
        let home = setup
            .home
            .clone()
            .ok_or_else(|| Failure::usage("there is no home directory").hint("set HOME"))?;
        let variable = |name: &str| {
            let value = setup.environment.get(name).filter(|value| value.starts_with('/'));
            value.map(PathBuf::from)
        };
        let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        Ok(match self {
            Self::Claude => match variable("CLAUDE_CONFIG_DIR") {
                Some(folder) => folder.join(".claude.json"),
                None => home.join(".claude.json"),
            },
            Self::Codex => {
                variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml")
            }
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Vscode if cfg!(target_os = "macos") => {
                home.join("Library/Application Support/Code/User/mcp.json")
            }
            Self::Vscode => config.join("Code/User/mcp.json"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Zed => config.join("zed/settings.json"),
        })
    }
}
