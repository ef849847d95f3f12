//! The sandbox as the settings want it.

use std::path::{Path, PathBuf};

use attache_runtime::internal::sandbox::{Policy, ResourceLimits, places_of_keys};

use super::Setup;
use crate::failure::Failure;

impl Setup {
    /// Refuses to work in a folder that the settings hide: nothing of it could be shown to an agent.
    pub(crate) fn require_visible_workspace(&self) -> Result<(), Failure> {
        let hides = |hidden: &&PathBuf| {
            let real = hidden.canonicalize();
            self.working_directory.starts_with(real.as_ref().unwrap_or(hidden))
        };
        match self.settings.sandbox.deny_read.iter().find(hides) {
            None => Ok(()),
            Some(hidden) => Err(Failure::usage(format!(
                "`sandbox_deny_read` hides {}, where agents are to work",
                hidden.display()
            ))
            .hint("work in another folder, or take the entry out; `attache config sandbox_deny_read` says where it is")),
        }
    }

    /// Where keys and the program's own files are kept, and what the settings hide.
    pub(super) fn hidden_places(&self) -> Vec<PathBuf> {
        let mut places = vec![self.attache_home.clone()];
        places.extend(places_of_keys(self.home.as_deref()));
        places.extend(self.settings.sandbox.deny_read.iter().cloned());
        places
    }

    /// What the commands of agents may do, in a workspace and with a temporary directory.
    pub(crate) fn sandbox_policy(&self, workspace: &Path, temp_dir: &Path) -> Policy {
        let sandbox = &self.settings.sandbox;
        Policy {
            mode: sandbox.mode,
            workspace: workspace.to_owned(),
            temp_dir: temp_dir.to_owned(),
            writable_roots: sandbox.writable_roots.clone(),
            network: sandbox.network_access,
            writable_git: sandbox.writable_git,
            deny_read: self.hidden_places(),
            read_only: Vec::new(),
            shown: Vec::new(),
            limits: ResourceLimits::default(),
        }
    }
}
