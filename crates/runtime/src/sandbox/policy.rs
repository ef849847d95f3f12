//! The policy: what one command may do, as the settings and the run decide it.

use std::path::{Path, PathBuf};

use attache_kernel::rights::protected::protected;
use serde::{Deserialize, Serialize};

/// How far a command is confined. The names are those of Codex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing is writable but the run's temporary directory.
    ReadOnly,
    /// The workspace is writable as well, except for its protected paths.
    #[default]
    WorkspaceWrite,
    /// No confinement. The command is still killed with its run.
    DangerFullAccess,
}

impl Mode {
    /// The words of the setting, from narrow to wide.
    pub const WORDS: &'static [&'static str] =
        &["read-only", "workspace-write", "danger-full-access"];

    /// The word of the setting.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }

    /// The mode that a word of the setting means.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::ReadOnly, Self::WorkspaceWrite, Self::DangerFullAccess]
            .into_iter()
            .find(|mode| mode.as_str() == word)
    }
}

/// What one command may do. Paths are absolute; those that do not exist are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// How far the command is confined.
    pub mode: Mode,
    /// The directory the run works in.
    #[serde(with = "super::path_bytes")]
    pub workspace: PathBuf,
    /// The run's own temporary directory; always writable.
    #[serde(with = "super::path_bytes")]
    pub temp_dir: PathBuf,
    /// Further directories that are writable in `workspace-write`.
    #[serde(with = "super::path_bytes::list")]
    pub writable_roots: Vec<PathBuf>,
    /// Whether TCP and UDP are allowed. Unix sockets never are.
    pub network: bool,
    /// Whether `.git` is writable, except for its hooks and config.
    pub writable_git: bool,
    /// Files and directories of the workspace that the command cannot change.
    #[serde(default, with = "super::path_bytes::list")]
    pub read_only: Vec<PathBuf>,
    /// Files and directories that are hidden from the command.
    #[serde(with = "super::path_bytes::list")]
    pub deny_read: Vec<PathBuf>,
    /// Directories that can be read although they lie in hidden ones.
    #[serde(default, with = "super::path_bytes::list")]
    pub shown: Vec<PathBuf>,
    /// What one command may use up.
    pub limits: ResourceLimits,
}

impl Policy {
    /// Whether the workspace lies in a directory that is hidden from the command, and is not shown on purpose.
    pub(crate) fn hides_workspace(&self) -> bool {
        if self.mode == Mode::DangerFullAccess {
            return false;
        }
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let workspace = real(&self.workspace);
        let shown: Vec<PathBuf> = self.shown.iter().map(real).collect();
        self.deny_read.iter().map(real).any(|hidden| {
            let is_shown = |shown: &PathBuf| {
                shown.starts_with(&hidden) && *shown != hidden && workspace.starts_with(shown)
            };
            workspace.starts_with(&hidden) && !shown.iter().any(is_shown)
        })
    }

    /// The directories with protected paths.
    pub(super) fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        let roots = std::iter::once(&self.workspace).chain(&self.writable_roots);
        roots.filter(|root| root.is_dir())
    }

    /// What cannot be changed below a root, beside its protected paths.
    pub(super) fn kept_below(&self, root: &Path) -> impl Iterator<Item = &PathBuf> {
        self.read_only.iter().filter(move |path| {
            let below = path.strip_prefix(root).ok().filter(|path| !path.as_os_str().is_empty());
            let is_further = |path: &Path| protected(&path.to_string_lossy()).is_none();
            below.is_some_and(is_further) && path.symlink_metadata().is_ok()
        })
    }

    /// The directories that are writable, protected paths in them aside.
    pub(super) fn writable(&self) -> impl Iterator<Item = &Path> {
        let in_workspace = (self.mode == Mode::WorkspaceWrite).then_some(&self.workspace);
        let further = in_workspace.map(|_| &self.writable_roots).into_iter().flatten();
        in_workspace.into_iter().chain(further).chain([&self.temp_dir]).map(PathBuf::as_path)
    }
}

/// Resource limits of each process of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Processes and threads of the command's user.
    pub processes: u64,
    /// Size of a file, in bytes.
    pub file_bytes: u64,
    /// Open files.
    pub open_files: u64,
    /// Private memory of a process, in bytes.
    pub data_bytes: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self { processes: 2048, file_bytes: 8 * GIB, open_files: 16_384, data_bytes: 8 * GIB }
    }
}
