//! The settings: what was written in files, in the environment and on the command line, and what it
//! means together.
//!
//! What was written (`written`) and what it means (`meaning`) are two types. Each layer is held
//! against the one table of keys (`schema`), the layers are laid over one another (`layer`), and the
//! typed [`Settings`] are made of the outcome. Every value keeps its origin. Layers, later wins:
//! built-in, `~/.codex/config.toml`, `$ATTACHE_HOME/config.toml`, the project's files, environment,
//! `-c`, flags; `docs/settings.md` says it for users.
//!
//! Nothing is read but those files: environment, directories and trust come in as arguments.

mod origin;
mod written;

mod error;
mod findings;
mod notice;

mod schema;

mod layer;

mod edit;
mod entries;
mod meaning;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

#[expect(unused_imports, reason = "what a command needs of a setting's type")]
pub(crate) use self::{
    edit::{KeyWords, SettingsFile, key_words, replace_edited},
    entries::Entry,
    error::SettingsError,
    findings::Findings,
    layer::{
        command_line::Flag,
        project::{Project, ProjectFile, ProjectFormat},
    },
    meaning::{
        ApprovalPolicy, DiscoveryMode, Durability, McpServerSettings, Mode, ModelPrice, NameFrom,
        PermissionRules, ProviderSettings, SandboxSettings, Secret, Settings, SubagentSettings,
        ToolSettings, WireApi,
    },
    notice::Notice,
    origin::{Origin, Place},
};

use self::{
    layer::{
        check::{Checked, Judge, Reading, Relative},
        claude, command_line,
        files::{self, CodexFile, McpJson},
        merge::lay_over,
        profile, variables,
    },
    meaning::permissions::Ground,
    written::Table,
};
use crate::environment::Environment;

/// What the settings are loaded from.
#[derive(Debug)]
pub(crate) struct Sources<'a> {
    /// The environment.
    pub(crate) environment: &'a Environment,
    /// The user's home directory: for `~/.codex/config.toml`, and what `~` in a path stands for.
    pub(crate) home: Option<&'a Path>,
    /// `$ATTACHE_HOME`; see [`attache_home`].
    pub(crate) attache_home: &'a Path,
    /// The working directory, absolute.
    pub(crate) working_directory: &'a Path,
    /// Whether the project around the working directory is trusted.
    pub(crate) project_trust: ProjectTrust,
    /// The `-c KEY=VALUE` arguments, in order.
    pub(crate) overrides: &'a [String],
    /// The flags that stand for settings, in order.
    pub(crate) flags: Vec<Flag>,
    /// `--profile`.
    pub(crate) profile: Option<&'a str>,
}

/// Whether a project's files may set what could do harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectTrust {
    /// They may.
    Trusted,
    /// They may not.
    Untrusted,
}

/// What was loaded.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The settings in force.
    pub(crate) settings: Settings,
    /// What is to be told about them.
    pub(crate) findings: Findings,
}

/// `$ATTACHE_HOME`, by default `~/.attache`; none without a home directory.
pub(crate) fn attache_home(
    environment: &Environment,
    home: Option<&Path>,
    working_directory: &Path,
) -> Option<PathBuf> {
    match environment.get("ATTACHE_HOME") {
        Some(written) if !written.is_empty() => Some(working_directory.join(written)),
        _ => home.map(|home| home.join(".attache")),
    }
}

/// Loads the settings.
pub(crate) fn load(sources: &Sources<'_>) -> Result<Loaded, SettingsError> {
    let mut findings = Findings::default();
    let mut merged = user_layers(sources, &mut findings)?;
    let project = project_layers(sources, &mut merged, &mut findings)?;

    let reading = unrestricted(sources.working_directory, sources);
    let environment = variables::layer(sources.environment, &reading, &mut findings)?;
    let mut command_line = command_line::overrides(sources.overrides, &reading)?;
    lay_over(&mut command_line, command_line::flags(&flags(sources), &reading)?);

    let mut all = merged.clone();
    lay_over(&mut all, environment.clone());
    lay_over(&mut all, command_line.clone());
    match profile::chosen(&all)? {
        None => merged = all,
        Some(profile) if profile.origin.is_command_line() => {
            lay_over(&mut merged, environment);
            lay_over(&mut merged, profile.table);
            lay_over(&mut merged, command_line);
        }
        Some(profile) => {
            lay_over(&mut merged, profile.table);
            lay_over(&mut merged, environment);
            lay_over(&mut merged, command_line);
        }
    }
    let own = |file: &Path| is_own(file, sources);
    for file in meaning::permissions::told(&merged, own, &mut findings) {
        lay_over(&mut merged, claude::ask_always(&file));
    }
    let files = project.files.into_iter().map(|file| (file.path, file.directory));
    let ground = Ground {
        working_directory: sources.working_directory.to_owned(),
        project: project.root,
        files: files.collect(),
    };
    Ok(Loaded { settings: Settings::from_layers(merged, &ground)?, findings })
}

/// Whether a file has the user's own rules: their settings, and those of a project that they trust.
fn is_own(file: &Path, sources: &Sources<'_>) -> bool {
    let is_settings = file.file_name().is_some_and(|name| name == "config.toml");
    let is_users = file == sources.attache_home.join("config.toml");
    is_users || (is_settings && sources.project_trust == ProjectTrust::Trusted)
}

/// Built-in, Codex's and the user's own, merged.
fn user_layers(sources: &Sources<'_>, findings: &mut Findings) -> Result<Table, SettingsError> {
    let mut merged = schema::built_in();
    let mut foreign_policy = None;
    if let Some(home) = sources.home {
        let directory = home.join(".codex");
        let path = directory.join("config.toml");
        if let Some(CodexFile { table: written, foreign_policy: found }) = files::read_codex(&path)?
        {
            foreign_policy = found.map(|policy| Notice::foreign_policy(&path, &policy));
            // Codex has many keys of its own; none of them is worth a word.
            let checked = unrestricted(&directory, sources).check(written)?;
            lay_over(&mut merged, checked.table);
        }
        let claude = claude::read(&home.join(".claude").join("settings.json"), findings);
        let checked = unrestricted(home, sources).check(claude)?;
        lay_over(&mut merged, checked.table);
    }
    let path = sources.attache_home.join("config.toml");
    let mut own_policy = false;
    if let Some(written) = files::read_toml(&path)? {
        own_policy = written.contains_key("approval_policy");
        let reading =
            Reading { relative: Relative::Refused, ..unrestricted(sources.attache_home, sources) };
        let checked = reading.check(written)?;
        findings.slipped(checked.unknown);
        lay_over(&mut merged, checked.table);
    }
    findings.notices.extend(foreign_policy.filter(|_| !own_policy));
    Ok(merged)
}

/// The project's files, laid over the user's.
fn project_layers(
    sources: &Sources<'_>,
    merged: &mut Table,
    findings: &mut Findings,
) -> Result<Project, SettingsError> {
    let project = Project::around(sources.working_directory, sources.attache_home, sources.home);
    let in_force = merged.clone();
    for file in &project.files {
        let reading = Reading {
            judge: match sources.project_trust {
                ProjectTrust::Trusted => None,
                ProjectTrust::Untrusted => {
                    Some(Judge { in_force: &in_force, project_root: &project.root })
                }
            },
            ..unrestricted(&file.directory, sources)
        };
        let checked = read_and_check(file, &reading, findings);
        let mut checked = match (checked, sources.project_trust) {
            (Ok(None), _) => continue,
            (Ok(Some(checked)), _) => checked,
            (Err(error), ProjectTrust::Trusted) => return Err(error),
            // A broken file of an untrusted project is only a notice.
            (Err(error), ProjectTrust::Untrusted) => {
                let is_settings = file.format == ProjectFormat::Settings;
                if is_settings {
                    lay_over(merged, claude::ask_always(&file.path));
                }
                findings.notices.push(if is_settings {
                    Notice::broken_settings(&error)
                } else {
                    Notice::broken_file(&error)
                });
                continue;
            }
        };
        match (sources.project_trust, file.format) {
            (ProjectTrust::Trusted, ProjectFormat::Settings) => {
                findings.slipped(std::mem::take(&mut checked.unknown));
            }
            // Files of other programs have keys of their own.
            (ProjectTrust::Trusted, ProjectFormat::McpJson | ProjectFormat::ClaudeSettings) => {
                findings.notices.extend(Notice::unknown_keys(&file.path, &checked.unknown));
            }
            (ProjectTrust::Untrusted, _) => findings.untrusted(&file.path, &mut checked, merged),
        }
        lay_over(merged, checked.table);
    }
    Ok(project)
}

fn read_and_check(
    file: &ProjectFile,
    reading: &Reading<'_>,
    findings: &mut Findings,
) -> Result<Option<Checked>, SettingsError> {
    read_project_file(file, findings)?.map(|written| reading.check(written)).transpose()
}

fn read_project_file(
    file: &ProjectFile,
    findings: &mut Findings,
) -> Result<Option<Table>, SettingsError> {
    match file.format {
        ProjectFormat::Settings => files::read_toml(&file.path),
        ProjectFormat::ClaudeSettings => Ok(Some(claude::read(&file.path, findings))),
        ProjectFormat::McpJson => Ok(match files::read_mcp_json(&file.path)? {
            None => None,
            Some(McpJson::Servers(table)) => Some(table),
            Some(McpJson::WithoutServers { keys }) => {
                findings.notices.extend(Notice::no_servers(&file.path, keys));
                None
            }
        }),
    }
}

fn unrestricted<'a>(base: &'a Path, sources: &'a Sources<'_>) -> Reading<'a> {
    Reading { base, relative: Relative::ToBase, home: sources.home, judge: None }
}

/// The flags, `--profile` among them.
fn flags(sources: &Sources<'_>) -> Vec<Flag> {
    let profile = sources.profile.map(|name| Flag {
        name: "--profile",
        key: "profile".into(),
        value: name.into(),
    });
    sources.flags.iter().cloned().chain(profile).collect()
}
