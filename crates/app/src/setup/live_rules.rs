//! The rules of the settings while runs go on: read again when a file has changed.

use std::path::Path;

use attache_kernel::rights::permission::{PermissionRule, PermissionRules};
use attache_runtime::internal::tasks::{FileStates, RulesWatch};

use super::Setup;
use crate::settings::{self, Project, ProjectFormat, ProjectTrust, Sources};

/// The files with rules of a user in a project, as they are now.
pub(super) fn files(project: &Project, attache_home: &Path, home: Option<&Path>) -> FileStates {
    let of_project = project.files.iter().filter(|file| file.format != ProjectFormat::McpJson);
    let of_project = of_project.map(|file| file.path.clone());
    let of_claude = home.map(|home| home.join(".claude").join("settings.json"));
    let of_user = [attache_home.join("config.toml")].into_iter().chain(of_claude);
    FileStates::as_they_are(of_user.chain(of_project).collect())
}

impl Setup {
    /// What watches for deny and ask rules that are added to the settings.
    pub(super) fn rules_watch(&self) -> RulesWatch {
        let (environment, home) = (self.environment.clone(), self.home.clone());
        let (attache_home, directory) = (self.attache_home.clone(), self.working_directory.clone());
        let (overrides, profile) = (self.globals.overrides.clone(), self.globals.profile.clone());
        let flags = self.globals.flags.clone();
        let read = move || {
            let loaded = settings::load(&Sources {
                environment: &environment,
                home: home.as_deref(),
                attache_home: &attache_home,
                working_directory: &directory,
                // What a project denies or asks counts without trust, and nothing else is taken.
                project_trust: ProjectTrust::Untrusted,
                overrides: &overrides,
                flags: flags.clone(),
                profile: profile.as_deref(),
            });
            let (mut rules, problem) = match loaded {
                Ok(loaded) => {
                    (loaded.settings.permissions, loaded.findings.slips.into_iter().next())
                }
                Err(error) => (PermissionRules::default(), Some(error)),
            };
            // What cannot be read may deny something.
            if let Some(problem) = problem {
                rules.ask.extend(PermissionRule::restricting("*", &problem.to_string()).0);
            }
            rules
        };
        let states = self.settings_files.clone();
        RulesWatch::new(states, self.settings.permissions.clone(), Box::new(read))
    }
}
