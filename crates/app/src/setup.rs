//! The setup: what the command line and the environment mean for every command.
//!
//! Folders, settings, trust and the agents there are; each is worked out once, here.

use std::path::{Path, PathBuf};

use attache_kernel::{
    definition::{
        Definition, PermissionMode, ToolAccess, Trust,
        reading::{NameFrom, Rules},
    },
    model_choice::{ModelChoice, ModelQuestion, ModelRef, OVERRIDE_VARIABLES, Planning, choose},
    registry::{Appraisal, DiscoveryEvent, DiscoveryKind, Inventory, LookupError, Record},
    tool_filter::{Delegation, FilterRequest, Filtered, Schedule, ToolSet, filter},
    tool_name::{BuiltinTool, ToolName, ToolPattern},
};
use attache_runtime::{
    discovery::{Discovery, DiscoveryMode, Places, content_hash},
    trust::{TrustError, TrustStore},
};

use crate::{
    cli::Globals,
    environment::Environment,
    failure::Failure,
    print::{
        self, diagnostics, harmless,
        palette::{Tone, paint},
    },
    settings::{
        self, Loaded, McpServerSettings, Project, ProjectFile, ProjectTrust, Settings,
        SettingsError, Sources,
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
    /// Whether nothing is to be said beside the result.
    pub(crate) quiet: bool,
    /// Whether a base was given for relative paths.
    pub(crate) moved: Option<PathBuf>,
    agents_json: Option<String>,
    agents_dirs: Vec<PathBuf>,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// What a subagent runs on unless something says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentModel {
    pub(crate) model: String,
    pub(crate) provider: String,
}

impl Setup {
    /// Works out the setup; notices are told once, on stderr.
    pub(crate) fn new(globals: Globals, environment: Environment) -> Result<Self, Failure> {
        let working_directory = working_directory(globals.cwd.as_deref())?;
        let home = environment.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let attache_home =
            settings::attache_home(&environment, home.as_deref(), &working_directory).ok_or_else(
                || Failure::usage("there is no home directory").hint("set HOME or ATTACHE_HOME"),
            )?;
        if attache_home.exists() && !attache_home.is_dir() {
            return Err(Failure::usage(format!("{} is no folder", attache_home.display()))
                .hint("move it away, or set ATTACHE_HOME to another folder"));
        }
        let trust = TrustStore::load(&attache_home).map_err(|error| trust_failure(&error))?;
        let project = Project::around(&working_directory, &attache_home);
        let project_trust = project_trust(&project, &trust);
        let Loaded { settings, notices } = settings::load(&Sources {
            environment: &environment,
            home: home.as_deref(),
            attache_home: &attache_home,
            working_directory: &working_directory,
            project_trust,
            overrides: &globals.overrides,
            flags: Vec::new(),
            profile: globals.profile.as_deref(),
        })
        .map_err(|error| settings_failure(&error))?;
        if !globals.quiet {
            for notice in &notices {
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
        Ok(Self {
            working_directory,
            home,
            attache_home,
            environment,
            settings,
            trust,
            project,
            project_trust,
            format: if globals.json { OutputFormat::Json } else { OutputFormat::Text },
            quiet: globals.quiet,
            moved: globals.cwd,
            agents_json: globals.agents,
            agents_dirs: globals.agents_dir,
        })
    }

    /// The rules definitions are read by.
    pub(crate) fn rules(&self) -> Rules {
        let subagents = &self.settings.subagents;
        let mut rules = Rules {
            require_description: subagents.require_description,
            name_from: match subagents.name_from {
                settings::NameFrom::Frontmatter => NameFrom::Frontmatter,
                settings::NameFrom::Filename => NameFrom::Filename,
            },
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
            extra_dirs: self.agents_dirs.clone(),
            mode: match self.settings.subagents.discovery {
                settings::Discovery::Auto => DiscoveryMode::Auto,
                settings::Discovery::Manual => DiscoveryMode::Manual,
            },
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
        Ok(self.take_stock(&mut discovery))
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

    /// The tools a definition would get if its file were trusted.
    pub(crate) fn tools_if_trusted(&self, definition: &Definition) -> Vec<String> {
        self.appraise(definition, Trust::Trusted, &self.parent_model()).effective_tools
    }

    fn appraise(&self, definition: &Definition, trust: Trust, parent: &ParentModel) -> Appraisal {
        let filtered = self.rights(definition, trust);
        Appraisal {
            effective_tools: filtered.tools.names().map(ToString::to_string).collect(),
            withheld_tools: filtered.withheld.iter().map(Into::into).collect(),
            effective_model: self
                .question(definition, parent, None, |question| choose(question).ok()),
        }
    }

    /// What an agent may call when it is run from here.
    pub(crate) fn rights(&self, definition: &Definition, trust: Trust) -> Filtered {
        filter(&FilterRequest {
            definition,
            trust,
            parent: &host_tools(&self.settings, definition),
            schedule: if definition.background {
                Schedule::Background
            } else {
                Schedule::Foreground
            },
            delegation: Delegation { depth: 1, max_depth: self.settings.subagents.max_depth },
        })
    }

    /// The model an agent runs on when the caller asks for this one.
    pub(crate) fn choose_model(
        &self,
        definition: &Definition,
        model: Option<&str>,
        provider: Option<&str>,
    ) -> Result<ModelChoice, Failure> {
        let parent = self.parent_model();
        let choice = self.question(definition, &parent, model, choose);
        let mut choice = choice.map_err(|refused| {
            Failure::usage(refused.to_string())
                .hint("ask for one of these, or change subagents.model_allowlist")
        })?;
        if let Some(provider) = provider {
            provider.clone_into(&mut choice.provider);
        }
        Ok(choice)
    }

    fn question<Answer>(
        &self,
        definition: &Definition,
        parent: &ParentModel,
        call: Option<&str>,
        answer: impl FnOnce(&ModelQuestion<'_>) -> Answer,
    ) -> Answer {
        let subagents = &self.settings.subagents;
        let providers = self.providers(parent);
        let planning = match definition.permission_mode {
            Some(PermissionMode::Plan) => Planning::Yes,
            _ => Planning::No,
        };
        answer(&ModelQuestion {
            env: OVERRIDE_VARIABLES.iter().find_map(|name| {
                self.environment.get(name).filter(|value| !value.trim().is_empty())
            }),
            call,
            allowlist: &subagents.model_allowlist,
            definition: &definition.model_config,
            default_model: subagents.default_model.as_deref(),
            parent: ModelRef { model: &parent.model, provider: &parent.provider },
            aliases: &self.settings.model_aliases,
            providers: &providers,
            planning,
        })
    }

    /// The variable a provider's key is missing from.
    pub(crate) fn missing_key(&self, provider: &str) -> Option<String> {
        let configured = self.settings.model_providers.get(provider);
        let variables: Vec<String> = match configured.and_then(|known| known.env_key.clone()) {
            Some(variable) => vec![variable],
            None => BUILTIN_PROVIDERS
                .iter()
                .filter(|known| known.id == provider)
                .flat_map(|known| known.variables.iter().map(|name| (*name).to_owned()))
                .collect(),
        };
        let is_set =
            |name: &String| self.environment.get(name).is_some_and(|key| !key.trim().is_empty());
        if variables.iter().any(is_set) { None } else { variables.into_iter().next() }
    }

    /// Whether there is such a provider.
    pub(crate) fn knows_provider(&self, provider: &str) -> bool {
        self.settings.model_providers.contains_key(provider)
            || ["offline", "ollama"].contains(&provider)
            || BUILTIN_PROVIDERS.iter().any(|known| known.id == provider)
    }

    /// The providers that `provider/model` may name: those of the settings and those built in. A
    /// gateway of the user's own has models with such names itself.
    fn providers(&self, parent: &ParentModel) -> Vec<String> {
        let mut providers: Vec<String> = self.settings.model_providers.keys().cloned().collect();
        if BUILTIN_PROVIDER_IDS.contains(&parent.provider.as_str()) {
            providers.extend(BUILTIN_PROVIDER_IDS.map(str::to_owned));
        }
        providers
    }

    /// What a bare run uses: the settings, else the provider whose key is there, else `offline`.
    pub(crate) fn parent_model(&self) -> ParentModel {
        let keyed = |variables: &[&str]| {
            variables
                .iter()
                .any(|name| self.environment.get(name).is_some_and(|key| !key.trim().is_empty()))
        };
        let by_key = BUILTIN_PROVIDERS.iter().find(|provider| keyed(provider.variables));
        let provider = match (&self.settings.model_provider, &self.settings.model, by_key) {
            (Some(provider), _, _) => provider.clone(),
            (None, Some(model), _) if model == "offline" => "offline".to_owned(),
            (None, _, Some(provider)) => provider.id.to_owned(),
            (None, Some(_), None) => "openai".to_owned(),
            (None, None, None) => "offline".to_owned(),
        };
        let default = BUILTIN_PROVIDERS.iter().find(|known| known.id == provider);
        let model = self.settings.model.clone().unwrap_or_else(|| {
            default.map_or_else(|| provider.clone(), |known| known.default_model.to_owned())
        });
        ParentModel { model, provider }
    }

    /// Fails where subagents are switched off.
    pub(crate) fn require_enabled(&self) -> Result<(), Failure> {
        if self.settings.subagents.enabled {
            return Ok(());
        }
        Err(Failure::usage(DISABLED).hint("set subagents.enabled = true"))
    }

    /// Whether the project's settings could be loaded if they were trusted.
    pub(crate) fn check_project_settings(&self) -> Result<(), Failure> {
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
        settings::load(&sources).map(|_| ()).map_err(|error| settings_failure(&error))
    }

    /// The record of a name, whatever its state.
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

/// A provider the program knows by itself.
struct BuiltinProvider {
    id: &'static str,
    variables: &'static [&'static str],
    default_model: &'static str,
}

const BUILTIN_PROVIDERS: [BuiltinProvider; 3] = [
    BuiltinProvider {
        id: "anthropic",
        variables: &["ANTHROPIC_API_KEY"],
        default_model: "claude-sonnet-4-5",
    },
    BuiltinProvider { id: "openai", variables: &["OPENAI_API_KEY"], default_model: "gpt-5.1" },
    BuiltinProvider {
        id: "gemini",
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        default_model: "gemini-2.5-pro",
    },
];

/// The providers that need no settings.
const BUILTIN_PROVIDER_IDS: [&str; 5] = ["openai", "anthropic", "gemini", "ollama", "offline"];

/// Every tool the program offers a main agent, as far as it can be told before an MCP server is
/// started: what the settings or the definition name of a server, and `*` for the rest of it.
fn host_tools(settings: &Settings, definition: &Definition) -> ToolSet {
    let offered = BuiltinTool::ALL.iter().copied().filter(|tool| match tool {
        // They belong to hosts that have skills and slash commands.
        BuiltinTool::Skill | BuiltinTool::SlashCommand => false,
        tool if BuiltinTool::DELEGATION.contains(tool) => settings.tools.subagent_tools,
        _ => true,
    });
    let mcp = settings
        .mcp_servers
        .iter()
        .filter(|(_, server)| server.enabled)
        .flat_map(|(name, server)| mcp_tools(name, server, definition));
    ToolSet::of_host(offered.map(ToolName::Builtin).chain(mcp))
}

fn mcp_tools(name: &str, server: &McpServerSettings, definition: &Definition) -> Vec<ToolName> {
    let named = |tool: &str| ToolName::Mcp { server: name.to_owned(), tool: tool.to_owned() };
    if let Some(tools) = &server.enabled_tools {
        let used = tools.iter().filter(|tool| !server.disabled_tools.contains(tool));
        return used.map(|tool| named(tool)).collect();
    }
    let ToolAccess::List(entries) = &definition.tools else { return vec![named("*")] };
    let mut tools = vec![named("*")];
    for entry in entries {
        let Ok(ToolPattern::Exactly(meant)) = ToolPattern::parse(entry) else { continue };
        tools.extend(meant.into_iter().filter(|tool| {
            matches!(tool, ToolName::Mcp { server: of, tool }
                if of == name && !server.disabled_tools.contains(tool))
        }));
    }
    tools
}

fn disabled() -> DiscoveryEvent {
    DiscoveryEvent {
        kind: DiscoveryKind::Disabled,
        name: None,
        path: None,
        message: DISABLED.to_owned(),
    }
}

fn working_directory(moved: Option<&Path>) -> Result<PathBuf, Failure> {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks where the user stands")]
    let current = std::env::current_dir();
    let current = current.map_err(|error| {
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

pub(crate) fn settings_failure(error: &SettingsError) -> Failure {
    let failure = Failure::usage(error.to_string());
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
        LookupError::Unknown { nearest: Some(nearest), .. } => {
            failure.hint(format!("did you mean `{nearest}`? `attache list` shows all"))
        }
        LookupError::Unknown { available, .. } => {
            failure.hint(format!("there are: {}", harmless(&available.join(", "))))
        }
        LookupError::Invalid { path, diagnostics, .. } => {
            let path = path.clone().unwrap_or_default();
            let text = std::fs::read_to_string(&path).ok();
            let shown: Vec<String> = diagnostics
                .iter()
                .map(|diagnostic| diagnostics::render(diagnostic, &path, text.as_deref()))
                .collect();
            Failure::usage(format!("{error}\n{}", shown.join("\n")))
                .hint("mend the file; `attache validate` shows all that is wrong")
        }
        LookupError::Disabled { path, .. } => match path {
            Some(path) => failure.hint(format!("remove the switch from {}", path.display())),
            None => failure,
        },
    }
}

/// The variables that hold the keys of the providers the program knows by itself.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> {
    BUILTIN_PROVIDERS.iter().flat_map(|provider| provider.variables.iter().copied())
}
