//! The workplace: which folders agents may work in.

use std::path::{Path, PathBuf};

use attache_kernel::{
    agent::definition::{Definition, Trust},
    rights::protected::protected_above,
    run::assignment::Assignment,
};

use super::{error::OrderError, notice::Notice};
use crate::{tool::HiddenPlaces, worktree::Worktrees};

/// Where agents work.
#[derive(Debug, Clone, Default)]
pub struct Workplace {
    /// The workspace.
    pub working_directory: PathBuf,
    /// Further directories that file tools may use.
    pub further_roots: Vec<PathBuf>,
    /// Where agents with `isolation: worktree` work; none has no place for them.
    pub worktrees: Option<Worktrees>,
    /// Where keys and the program's own files are kept, which no tool may have.
    pub hidden: Vec<PathBuf>,
}

impl Workplace {
    /// What the caller should know about a run in that directory.
    pub(super) fn told_about(&self, root: &Path) -> Option<Notice> {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let folder = root.display().to_string();
        if HiddenPlaces::around(&real, &self.hidden).hides(&real) {
            return Some(Notice::HiddenWorkspace { folder });
        }
        let within = protected_above(&real.to_string_lossy())?;
        Some(Notice::ProtectedWorkspace { folder, within })
    }

    /// Whether a folder lies in the workspace, or in another root the settings allow.
    pub fn holds(&self, folder: &Path) -> bool {
        let roots = std::iter::once(&self.working_directory).chain(&self.further_roots);
        let real = folder.canonicalize().ok();
        real.is_some_and(|real| {
            roots.filter_map(|root| root.canonicalize().ok()).any(|root| real.starts_with(root))
        })
    }

    /// The directory whose settings and agents count, where an agent works in another one.
    pub(super) fn project_beside(&self, root: &Path) -> Option<String> {
        let project = &self.working_directory;
        (project != root).then(|| project.display().to_string())
    }

    /// Refuses an earlier run of another project: its settings and agents are not known here. They are
    /// looked for from the working directory upwards.
    pub(super) fn require_project_of(&self, earlier: &Assignment) -> Result<(), OrderError> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let project = PathBuf::from(earlier.project_directory());
        if real(&self.working_directory).starts_with(real(&project)) {
            return Ok(());
        }
        Err(OrderError::OtherProject { run: earlier.agent_id.clone(), project })
    }

    /// The same with another workspace.
    pub(super) fn moved_to(&self, workspace: &Path) -> Self {
        Self { working_directory: workspace.to_owned(), ..self.clone() }
    }

    /// Where an agent works: in its base directory, which an untrusted file cannot put outside of the
    /// workspace.
    pub(super) fn folder(
        &self,
        definition: &Definition,
        trust: Trust,
        asked: Option<&Path>,
    ) -> Result<PathBuf, OrderError> {
        let workspace = asked.unwrap_or(&self.working_directory);
        let Some(base) = &definition.base_dir else { return Ok(workspace.to_path_buf()) };
        let folder = workspace.join(base);
        match folder.canonicalize() {
            Err(source) => Err(OrderError::Folder { folder, source }),
            Ok(real) => match trust {
                Trust::Untrusted if !self.holds(&real) => Err(outside(definition, real)),
                // The place that was checked, even if the path leads elsewhere later.
                Trust::Untrusted | Trust::Trusted => Ok(real),
            },
        }
    }

    /// Where an earlier run worked, if it still may.
    pub(super) fn earlier_folder(
        &self,
        definition: &Definition,
        trust: Trust,
        root: PathBuf,
    ) -> Result<PathBuf, OrderError> {
        if !root.is_dir() {
            return Err(OrderError::FolderGone(root));
        }
        // What could be worked in then need not be now.
        if trust == Trust::Untrusted && definition.base_dir.is_some() && !self.holds(&root) {
            return Err(outside(definition, root));
        }
        Ok(root)
    }
}

fn outside(definition: &Definition, folder: PathBuf) -> OrderError {
    OrderError::OutsideWorkspace { agent: definition.agent_type.to_string(), folder }
}
