//! The settings files of a project: from the repository's root down to the working directory.
//!
//! The decision about trust must look at the same files that are then read, so both use this module.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The directories of a project that may hold settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Project {
    /// The repository's root; outside of one, the working directory.
    pub(crate) root: PathBuf,
    /// The files that may be there, the farthest and weakest first.
    pub(crate) files: Vec<ProjectFile>,
}

/// A file that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectFile {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its format.
    pub(crate) format: ProjectFormat,
    /// The directory it speaks for.
    pub(crate) directory: PathBuf,
}

/// The format of a project file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectFormat {
    /// `.mcp.json`, which other programs read as well.
    McpJson,
    /// `.claude/settings.json` and `.claude/settings.local.json`, of which the permission rules count.
    ClaudeSettings,
    /// `.attache/config.toml`.
    Settings,
}

impl Project {
    /// The project a working directory belongs to. The user's own settings do not belong to a project,
    /// even where the home directory is a repository.
    pub(crate) fn around(
        working_directory: &Path,
        attache_home: &Path,
        home: Option<&Path>,
    ) -> Self {
        let root = working_directory
            .ancestors()
            .find(|directory| fs::symlink_metadata(directory.join(".git")).is_ok())
            .unwrap_or(working_directory);
        let own = fs::canonicalize(attache_home).ok();
        let mut directories: Vec<_> = working_directory
            .ancestors()
            .take_while(|directory| directory.starts_with(root))
            .collect();
        directories.reverse();
        let mut files = Vec::new();
        for directory in directories {
            let file = |name, format| ProjectFile {
                path: directory.join(name),
                format,
                directory: directory.to_owned(),
            };
            files.push(file(".mcp.json", ProjectFormat::McpJson));
            // In the home directory the first of them is the user's own.
            if Some(directory) != home {
                files.push(file(".claude/settings.json", ProjectFormat::ClaudeSettings));
                files.push(file(".claude/settings.local.json", ProjectFormat::ClaudeSettings));
            }
            let settings = directory.join(".attache");
            let is_own = settings == attache_home
                || (own.is_some() && fs::canonicalize(&settings).ok() == own);
            if !is_own {
                files.push(file(".attache/config.toml", ProjectFormat::Settings));
            }
        }
        Self { root: root.to_owned(), files }
    }
}
