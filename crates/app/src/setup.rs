//! The setup: what the command line and the environment mean for every command.
//!
//! Folders, settings, trust and the agents there are; each is worked out once, here.

mod host;
mod live_rules;
mod mcp_servers;
pub(crate) mod providers;
pub(crate) mod resumed;
mod sandbox;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use attache_kernel::{
    agent::{
        definition::{Severity, reading::Rules},
        registry::{DiscoveryEvent, DiscoveryKind, Inventory, LookupError, Record},
    },
    model::choice::ChosenBy,
};
use attache_runtime::internal::{
    agents::{
        discovery::{Discovery, Places, content_hash},
        trust::{TrustError, TrustStore},
    },
    host::{ConnectError, Models, Offer, OrderError},
    model::{credentials::Credentials, http::HttpClient},
    sandbox::Rehearsal,
    tasks::FileStates,
};

use crate::{
    cli::Globals,
    environment::{self, Environment},
    failure::Failure,
    print::{
        self, diagnostics, harmless,
        palette::{Tone, paint},
    },
    settings::{
        self, Loaded, Project, ProjectFile, ProjectTrust, Settings, SettingsError, Sources,
    },
};

/// Everything a command works with.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) working_directory: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) attache_home: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) settings: Settings,
    pub(crate) trust: TrustStore,
    pub(crate) project: Project,
    pub(crate) project_trust: ProjectTrust,
    pub(crate) format: OutputFormat,
    /// The connections all models share.
    pub(crate) http: HttpClient,
    /// Which models there are, and which of them the user wants.
    pub(crate) models: Models,
    /// Which tools there are.
    pub(crate) offer: Offer,
    /// Whether only the result is printed.
    pub(crate) quiet: bool,
    /// Whether a base was given for relative paths.
    pub(crate) moved: Option<PathBuf>,
    /// Where the caller is; a run that goes on works in its own directory.
    pub(crate) called_from: PathBuf,
    /// The options of every command, as they were given.
    pub(crate) globals: Globals,
    /// Keys and rules of the settings that are not understood; none where a run may start.
    pub(crate) slips: Vec<SettingsError>,
    /// The files with rules, as they were before they were read.
    settings_files: FileStates,
    agents_json: Option<String>,
    agents_dirs: Vec<PathBuf>,
    /// The sandbox being tried, for a command that needs it soon.
    rehearsal: Option<Arc<Rehearsal>>,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Setup {
    /// Whether a folder lies in the workspace, or in another root the settings allow.
    pub(crate) fn is_in_workspace(&self, folder: &Path) -> bool {
        self.workplace().holds(folder)
    }

    /// Whether the caller asked for another directory, or is outside of the one the run works in.
    pub(crate) fn is_called_from_elsewhere(&self) -> bool {
        self.moved.is_some() || !self.called_from.starts_with(&self.working_directory)
    }

    /// Works out the setup; notices are told once, on stderr. A key or rule of the settings that is not
    /// understood is an error: it may be a restriction.
    pub(crate) fn new(globals: Globals, environment: Environment) -> Result<Self, Failure> {
        let setup = Self::despite_slips(globals, environment)?;
        match slips_failure(&setup.slips) {
            None => Ok(setup),
            Some(failure) => Err(failure),
        }
    }

    /// The same for commands that only show: settings that are not understood are in `slips`.
    pub(crate) fn despite_slips(
        globals: Globals,
        environment: Environment,
    ) -> Result<Self, Failure> {
        let called_from = working_directory(globals.cwd.as_deref())?;
        for folder in &globals.agents_dir {
            if !called_from.join(folder).is_dir() {
                let folder = folder.display();
                return Err(Failure::usage(format!("--agents-dir: there is no folder {folder}"))
                    .hint("give a folder that exists"));
            }
        }
        let home = environment.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let attache_home = settings::attache_home(&environment, home.as_deref(), &called_from)
            .ok_or_else(|| {
                Failure::usage("there is no home directory").hint("set HOME or ATTACHE_HOME")
            })?;
        if attache_home.exists() && !attache_home.is_dir() {
            return Err(Failure::usage(format!("{} is not a directory", attache_home.display()))
                .hint("move it away, or set ATTACHE_HOME to another folder"));
        }
        let working_directory = match &globals.resumes {
            Some(earlier) => resumed::project_directory(earlier, &attache_home)?,
            None => None,
        };
        let working_directory = working_directory.unwrap_or_else(|| called_from.clone());
        let trust = TrustStore::load(&attache_home).map_err(|error| trust_failure(&error))?;
        let project = Project::around(&working_directory, &attache_home, home.as_deref());
        let project_trust = project_trust(&project, &trust);
        let settings_files = live_rules::files(&project, &attache_home, home.as_deref());
        let Loaded { settings, findings } = settings::load(&Sources {
            environment: &environment,
            home: home.as_deref(),
            attache_home: &attache_home,
            working_directory: &working_directory,
            project_trust,
            overrides: &globals.overrides,
            flags: globals.flags.clone(),
            profile: globals.profile.as_deref(),
        })
        .map_err(|error| settings_failure(&error))?;
        if !globals.quiet {
            for notice in &findings.notices {
                let place = notice.file.as_ref().map(|file| format!("{}: ", file.display()));
                let hint = notice.hint.as_ref().map(|hint| format!(" ({hint})"));
                print::aside(&format!(
                    "{} {}{}{}",
                    paint(Tone::Warning, "notice:"),
                    place.unwrap_or_default(),
                    notice.message,
                    hint.unwrap_or_default()
                ));
            }
        }
        let http = HttpClient::new(providers::proxies(&environment));
        let stored_keys = Credentials::load(&attache_home);
        if let Err(error) = stored_keys.as_ref()
            && !globals.quiet
        {
            let notice = paint(Tone::Warning, "notice:");
            print::aside(&format!("{notice} stored keys are not used: {error} ({})", error.hint()));
        }
        let stored_keys = stored_keys.map_err(|error| format!("{error}; {}", error.hint()));
        Ok(Self {
            http,
            models: host::models(&settings, &environment, stored_keys),
            offer: host::offer(&settings, &environment),
            working_directory,
            home,
            attache_home,
            environment,
            settings,
            trust,
            project,
            project_trust,
            globals: globals.clone(),
            slips: findings.slips,
            settings_files,
            format: if globals.json { OutputFormat::Json } else { OutputFormat::Text },
            quiet: globals.quiet,
            moved: globals.cwd,
            called_from,
            agents_json: globals.agents,
            agents_dirs: globals.agents_dir,
            rehearsal: None,
        })
    }

    /// The same with the sandbox being tried already.
    pub(crate) fn rehearsed(self, rehearsal: Option<Rehearsal>) -> Self {
        Self { rehearsal: rehearsal.map(Arc::new), ..self }
    }

    /// The rules definitions are read by.
    pub(crate) fn rules(&self) -> Rules {
        let subagents = &self.settings.subagents;
        let mut rules = Rules {
            require_description: subagents.require_description,
            name_from: subagents.name_from,
            ..Rules::default()
        };
        rules.run_defaults.max_time_seconds = subagents.default_timeout_seconds;
        rules.run_defaults.max_turns = subagents.default_max_turns;
        rules
    }

    /// The places the settings and the command line name.
    pub(crate) fn places(&self) -> Places {
        Places {
            working_directory: self.working_directory.clone(),
            home: self.home.clone(),
            attache_home: self.attache_home.clone(),
            agents_dir: self.settings.subagents.agents_dir.clone(),
            extra_dirs: self.agents_dirs.iter().map(|dir| self.called_from.join(dir)).collect(),
            mode: self.settings.subagents.discovery,
        }
    }

    /// A discovery over those places.
    pub(crate) fn discovery(&self) -> Result<Discovery, Failure> {
        let mut discovery = Discovery::new(self.places(), self.rules());
        if let Some(json) = &self.agents_json {
            discovery.add_session_agents(json).map_err(|diagnostic| {
                let failure = Failure::usage(format!("--agents: {}", diagnostic.message));
                match diagnostic.hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            })?;
        }
        Ok(discovery)
    }

    /// The agents there are.
    pub(crate) fn inventory(&self) -> Result<Inventory, Failure> {
        let mut discovery = self.discovery()?;
        self.tell_session_problems(&discovery, Severity::Error);
        Ok(self.take_stock(&mut discovery))
    }

    /// Tells what is wrong with the agents of `--agents`, up to that severity: they have no file that
    /// `validate` would show.
    pub(crate) fn tell_session_problems(&self, discovery: &Discovery, worst: Severity) {
        if self.quiet {
            return;
        }
        for reading in discovery.session_agents() {
            let name = reading.definition.as_ref().map_or("", |agent| agent.agent_type.as_str());
            let problems = reading
                .diagnostics
                .iter()
                .filter(|found| (Severity::Warning..=worst).contains(&found.severity));
            for problem in problems {
                let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})"));
                // The command goes on; only what ends it is called an error.
                let label = match problem.severity {
                    Severity::Error => "notice",
                    severity => severity.as_str(),
                };
                print::aside(&format!(
                    "{} --agents: `{}`: {}{}",
                    paint(Tone::Warning, &format!("{label}:")),
                    harmless(name),
                    harmless(&problem.message),
                    harmless(&hint.unwrap_or_default())
                ));
            }
        }
    }

    /// The agents there are now, for a discovery that is kept.
    pub(crate) fn take_stock(&self, discovery: &mut Discovery) -> Inventory {
        if !self.settings.subagents.enabled {
            return Inventory { discovery_events: vec![disabled()], ..Inventory::default() };
        }
        let found = discovery.look(&self.trust);
        let parent = self.parent_model();
        Inventory::new(found.candidates, found.events, |definition, trust| {
            self.appraise(definition, trust, &parent)
        })
    }

    /// Fails where subagents are switched off.
    pub(crate) fn require_enabled(&self) -> Result<(), Failure> {
        if self.settings.subagents.enabled {
            return Ok(());
        }
        Err(Failure::usage(DISABLED).hint("set subagents.enabled = true"))
    }

    /// What the settings would be if the project's were trusted; an error if they could not be loaded.
    pub(crate) fn settings_if_trusted(&self) -> Result<Settings, Failure> {
        let sources = Sources {
            environment: &self.environment,
            home: self.home.as_deref(),
            attache_home: &self.attache_home,
            working_directory: &self.working_directory,
            project_trust: ProjectTrust::Trusted,
            overrides: &[],
            flags: Vec::new(),
            profile: None,
        };
        let loaded = settings::load(&sources).map_err(|error| settings_failure(&error))?;
        match slips_failure(&loaded.findings.slips) {
            None => Ok(loaded.settings),
            Some(failure) => Err(failure),
        }
    }

    /// What is said when an order cannot be carried out; with the place of a model that the settings name
    /// and that cannot be reached.
    pub(crate) fn order_failure(&self, error: &OrderError) -> Failure {
        let failure = order_failure(error);
        let OrderError::Model(ConnectError::NoKey { chosen_by: ChosenBy::Parent, .. }) = error
        else {
            return failure;
        };
        let entries = self.settings.entries();
        let model = entries.iter().find(|entry| entry.key == "model");
        match model.filter(|model| !model.value.is_null()) {
            Some(model) => failure.hint(format!("`model` is set by {}", model.origin)),
            None => failure,
        }
    }

    /// The record of a name, in any state.
    pub(crate) fn record<'a>(
        &self,
        inventory: &'a Inventory,
        name: &str,
    ) -> Result<&'a Record, Failure> {
        self.require_enabled()?;
        inventory.record(name).map_err(|error| lookup_failure(&error))
    }

    /// A path as it should be shown: relative where that is shorter.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        if let Ok(below) = path.strip_prefix(&self.working_directory) {
            return below.to_path_buf();
        }
        match self.home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => Path::new("~").join(below),
            None => path.to_path_buf(),
        }
    }
}

const DISABLED: &str = "subagents are switched off (subagents.enabled = false)";

fn disabled() -> DiscoveryEvent {
    DiscoveryEvent {
        kind: DiscoveryKind::Disabled,
        name: None,
        path: None,
        message: DISABLED.to_owned(),
    }
}

fn working_directory(moved: Option<&Path>) -> Result<PathBuf, Failure> {
    let current = environment::current_directory().map_err(|error| {
        Failure::usage("the current folder is gone")
            .because(&error)
            .hint("change into a folder that exists, or use --cwd")
    })?;
    let Some(moved) = moved else { return Ok(current) };
    let folder = current.join(moved);
    if !folder.is_dir() {
        return Err(Failure::usage(format!("--cwd: there is no folder {}", folder.display()))
            .hint("give a folder that exists"));
    }
    Ok(folder.canonicalize().unwrap_or(folder))
}

/// A project is trusted while every one of its settings files is, as it stands.
fn project_trust(project: &Project, trust: &TrustStore) -> ProjectTrust {
    let present = |file: &&ProjectFile| file.path.symlink_metadata().is_ok();
    let trusted = project.files.iter().filter(present).all(|file| {
        trust.knows(&file.path)
            && content_hash(&file.path).is_ok_and(|hash| trust.trusts(&file.path, &hash))
    });
    if trusted { ProjectTrust::Trusted } else { ProjectTrust::Untrusted }
}

/// What is said about keys and rules that are not understood, all of them at once.
fn slips_failure(slips: &[SettingsError]) -> Option<Failure> {
    let (first, others) = slips.split_first()?;
    let mut message = first.to_string();
    for other in others {
        let hint = other.hint().map(|hint| format!(" ({hint})"));
        message = format!("{message}\n  and {other}{}", hint.unwrap_or_default());
    }
    let failure = Failure::usage(message);
    Some(match first.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

pub(crate) fn settings_failure(error: &SettingsError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What is said when an order cannot be carried out.
pub(crate) fn order_failure(error: &OrderError) -> Failure {
    let failure = match error {
        OrderError::Agent(error) => return lookup_failure(error),
        OrderError::Store(error) => return crate::transcripts::failure(error),
        error => Failure::usage(error.to_string()),
    };
    let failure = match std::error::Error::source(error) {
        Some(source) => failure.because(source),
        None => failure,
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

pub(crate) fn trust_failure(error: &TrustError) -> Failure {
    let failure = Failure::usage(error.to_string()).hint(error.hint());
    match std::error::Error::source(error) {
        Some(source) => failure.because(source),
        None => failure,
    }
}

/// What is said when a name cannot be used.
pub(crate) fn lookup_failure(error: &LookupError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        LookupError::Unknown { meant, nearest, total, .. } => {
            let quoted: Vec<String> = nearest
                .iter()
                .filter(|name| meant.as_ref() != Some(name))
                .map(|name| format!("`{}`", harmless(name)))
                .collect();
            let others = quoted.join(", ");
            failure.hint(match meant {
                Some(meant) if quoted.is_empty() => format!("did you mean `{}`?", harmless(meant)),
                Some(meant) => format!(
                    "did you mean `{}`? others: {others}; `attache list` shows all {total}",
                    harmless(meant)
                ),
                None if quoted.is_empty() => {
                    "there are no agents; make one with `attache new`".to_owned()
                }
                None => format!("the nearest are {others}; `attache list` shows all {total}"),
            })
        }
        LookupError::NotADefinition { reason, .. } => {
            failure.hint(format!("{}; `attache validate` says what to do", harmless(reason)))
        }
        LookupError::Invalid { path, diagnostics, .. } => {
            let is_file = path.is_some();
            let path = path.clone().unwrap_or_else(|| PathBuf::from("--agents"));
            let text = is_file.then(|| print::source_text(&path)).flatten();
            let shown: Vec<String> = diagnostics
                .iter()
                .map(|diagnostic| diagnostics::render(diagnostic, &path, text.as_deref()))
                .collect();
            Failure::usage(format!("{error}\n{}", shown.join("\n"))).hint(if is_file {
                "fix the file; `attache validate` shows everything that is wrong"
            } else {
                "fix what --agents says"
            })
        }
        LookupError::Disabled { path, .. } => match path {
            Some(path) => failure.hint(format!("remove the switch from {}", path.display())),
            None => failure,
        },
    }
}
