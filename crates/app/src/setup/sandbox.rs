//! The sandbox as the settings want it.

use std::path::Path;

use attache_runtime::internal::sandbox::{Policy, ResourceLimits, places_of_keys};

use super::Setup;

impl Setup {
    /// What the commands of agents may do, in a workspace and with a temporary directory.
    pub(crate) fn sandbox_policy(&self, workspace: &Path, temp_dir: &Path) -> Policy {
        let sandbox = &self.settings.sandbox;
        let mut deny_read = vec![self.attache_home.clone()];
        deny_read.extend(places_of_keys(self.home.as_deref()));
        deny_read.extend(sandbox.deny_read.iter().cloned());
        Policy {
            mode: sandbox.mode,
            workspace: workspace.to_owned(),
            temp_dir: temp_dir.to_owned(),
            writable_roots: sandbox.writable_roots.clone(),
            network: sandbox.network_access,
            writable_git: sandbox.writable_git,
            deny_read,
            shown: Vec::new(),
            limits: ResourceLimits::default(),
        }
    }
}
