//! `attache doctor`: checks of the setup, each with a remedy.

mod online;

use std::{fs, io, path::Path};

use attache_kernel::{agent::registry::Status, rights::confinement::Confinement};
use attache_runtime::internal::{
    mcp_client::ServerState,
    model::provider::ProviderDescription,
    sandbox::{Helper, Level as SandboxLevel, Mode, Sandbox},
};
use clap::Args;
use serde::Serialize;

use crate::{
    cli::Globals,
    commands::mcp::servers,
    environment::Environment,
    failure::{Exit, Failure},
    print::{
        self, harmless,
        palette::{Tone, paint},
    },
    settings::ProjectTrust,
    setup::{OutputFormat, Setup},
};

/// Check the setup: directories, settings, agents, models and the sandbox.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache doctor
  attache doctor --online                  also send one request to the model
  attache doctor --json | jq '.checks[] | select(.level != \"ok\")'

Exit code 1: at least one check failed.")]
pub(crate) struct DoctorArgs {
    /// Also send the smallest possible request to the chosen model. It may cost a few tokens.
    #[arg(long)]
    online: bool,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warning,
    Error,
}

/// One check.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    level: Level,
    detail: String,
    hint: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    checks: &'a [Check],
}

impl Check {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, level: Level::Ok, detail: detail.into(), hint: None }
    }

    fn warning(name: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, level: Level::Warning, detail: detail.into(), hint: Some(hint.into()) }
    }

    fn error(name: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, level: Level::Error, detail: detail.into(), hint: Some(hint.into()) }
    }
}

pub(crate) fn run(args: &DoctorArgs, setup: &Setup) -> Result<Exit, Failure> {
    let mut checks = vec![home(setup)];
    checks.extend(setup.slips.iter().map(|slip| {
        let hint = slip.hint().unwrap_or_else(|| "attache config edit".to_owned());
        Check::error("settings", slip.to_string(), hint)
    }));
    checks.push(project(setup));
    checks.extend(agents(setup)?);
    checks.push(model(setup));
    if args.online {
        checks.push(online::check(setup)?);
    }
    checks.extend(mcp_servers(setup)?);
    checks.push(sandbox(setup.settings.sandbox.mode));
    checks.push(git(&setup.environment));
    tell(&checks, setup.format)
}

/// The checks that need no setup; the failure of the setup is the first check.
pub(crate) fn without_setup(
    failure: &Failure,
    globals: &Globals,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let format = if globals.json { OutputFormat::Json } else { OutputFormat::Text };
    let hint = Some(failure.advice()).filter(|hint| !hint.is_empty());
    let mut checks = vec![Check {
        name: "settings",
        level: Level::Error,
        detail: failure.message(),
        hint: hint.or_else(|| Some("attache config edit".to_owned())),
    }];
    let skipped = "not checked: the settings cannot be loaded";
    checks.extend(["agents", "model"].map(|name| Check::warning(name, skipped, "fix them first")));
    checks.push(sandbox(Mode::default()));
    checks.push(git(environment));
    tell(&checks, format)
}

fn tell(checks: &[Check], format: OutputFormat) -> Result<Exit, Failure> {
    let failed = checks.iter().any(|check| check.level == Level::Error);
    match format {
        OutputFormat::Json => {
            print::json(&Report { version: env!("CARGO_PKG_VERSION"), checks })?;
        }
        OutputFormat::Text => print(checks)?,
    }
    Ok(if failed { Exit::Unsuccessful } else { Exit::Success })
}

fn print(checks: &[Check]) -> Result<(), Failure> {
    print::out(&format!("attache {}\n", env!("CARGO_PKG_VERSION")))?;
    for check in checks {
        let mark = match check.level {
            Level::Ok => paint(Tone::Good, "ok     "),
            Level::Warning => paint(Tone::Warning, "warning"),
            Level::Error => paint(Tone::Bad, "error  "),
        };
        print::out(&format!("{mark} {:<9} {}\n", check.name, check.detail))?;
        if let Some(hint) = &check.hint {
            print::out(&format!("        {}\n", paint(Tone::Faint, hint)))?;
        }
    }
    Ok(())
}

fn home(setup: &Setup) -> Check {
    let home = &setup.attache_home;
    let shown = home.display();
    match (home.exists(), probed(home)) {
        (true, Ok(())) => Check::ok("home", shown.to_string()),
        (true, Err(error)) => Check::error(
            "home",
            format!("{shown} cannot be written: {error}"),
            "check its owner and permissions, or set ATTACHE_HOME",
        ),
        (false, Ok(())) => Check::ok("home", format!("{shown} (created when first needed)")),
        (false, Err(error)) => Check::error(
            "home",
            format!("{shown} cannot be created: {error}"),
            "check the owner and the permissions of the parent directory, or set ATTACHE_HOME",
        ),
    }
}

/// Whether something can be put into a folder, or else into the nearest one above that there is: tried, since
/// owner and permissions do not tell of read-only disks. Nothing is left behind.
fn probed(folder: &Path) -> io::Result<()> {
    let there = folder.ancestors().find(|above| above.exists()).unwrap_or(folder);
    let probe = there.join(format!(".attache-doctor-{}", std::process::id()));
    fs::create_dir(&probe)?;
    fs::remove_dir(&probe)
}

fn project(setup: &Setup) -> Check {
    let files = setup.project.files.iter().filter(|file| file.path.is_file()).count();
    let root = setup.project.root.display();
    match (files, setup.project_trust) {
        (0, _) => Check::ok("project", format!("{root}, no project settings")),
        (_, ProjectTrust::Trusted) => Check::ok("project", format!("{root}, settings trusted")),
        (_, ProjectTrust::Untrusted) => Check::warning(
            "project",
            format!(
                "{root}, untrusted settings: providers, MCP servers, aliases, prices and approvals are ignored"
            ),
            "read them, then: attache trust --project",
        ),
    }
}

fn agents(setup: &Setup) -> Result<Vec<Check>, Failure> {
    let inventory = setup.inventory()?;
    let count =
        |status: Status| inventory.records.iter().filter(|record| record.status == status).count();
    let (active, broken) = (count(Status::Active), count(Status::Invalid));
    let detail =
        format!("{active} active, {broken} with errors, {} disabled", count(Status::Disabled));
    let mut checks = vec![if !setup.settings.subagents.enabled {
        Check::warning("agents", "disabled", "set subagents.enabled = true")
    } else if broken > 0 {
        Check::warning("agents", detail, "`attache validate` shows the errors")
    } else {
        Check::ok("agents", detail)
    }];
    let conflicts = inventory.conflicts.len();
    if conflicts > 0 {
        let detail = format!("{conflicts} names are used by two files of one scope");
        checks.push(Check::warning(
            "names",
            detail,
            "`attache list` names them; rename one of each pair",
        ));
    }
    Ok(checks)
}

fn model(setup: &Setup) -> Check {
    let parent = setup.parent_model();
    if parent.provider == "offline" {
        return Check::warning(
            "model",
            "offline: the built-in model searches and reads files; no language model is used",
            "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or model_provider in the settings",
        );
    }
    let known = setup.provider_in_force(&parent.provider);
    if known.is_some() && parent.model == parent.provider {
        return Check::error(
            "model",
            format!("no model is named for the provider `{}`", parent.provider),
            "set `model` in the settings, or use --model",
        );
    }
    let name = format!("{} on {}", parent.model, parent.provider);
    match known.as_ref().map(ProviderDescription::missing_key) {
        None => Check::error(
            "model",
            format!("there is no provider `{}`", parent.provider),
            format!("add [model_providers.{}] to the settings", parent.provider),
        ),
        Some(Some(variable)) => Check::error(
            "model",
            format!("{name}: {variable} is not set"),
            format!("set {variable}, or: attache login {}", parent.provider),
        ),
        Some(None) => Check::ok("model", name),
    }
}

/// The MCP servers; each is started.
fn mcp_servers(setup: &Setup) -> Result<Vec<Check>, Failure> {
    if setup.settings.mcp_servers.values().all(|server| !server.enabled) {
        return Ok(Vec::new());
    }
    let checks = servers::check(setup)?.into_iter().map(|report| {
        let name = harmless(&report.name).into_owned();
        match &report.state {
            ServerState::Failed { reason } => Check::warning(
                "mcp",
                format!("{name}: {}", harmless(reason)),
                format!("fix mcp_servers.{name}, or set mcp_servers.{name}.enabled = false"),
            ),
            ServerState::LoginNeeded { .. } => Check::warning(
                "mcp",
                format!("{name}: login needed"),
                format!("attache mcp login {name}"),
            ),
            _ => Check::ok("mcp", format!("{name}: {}", servers::in_words(&report))),
        }
    });
    Ok(checks.collect())
}

/// The sandbox as it is in force: it is tried.
fn sandbox(mode: Mode) -> Check {
    let sandbox = Sandbox::new(Helper::this_program());
    let parts = parts(sandbox.level());
    match sandbox.level().confinement(mode) {
        Confinement::Whole => Check::ok("sandbox", format!("{}, with {parts}", mode.as_str())),
        Confinement::Partial => Check::warning(
            "sandbox",
            format!(
                "{}, only in part: {}; in force: {parts}",
                mode.as_str(),
                sandbox.lacks().join("; ")
            ),
            "commands are never approved for being in the sandbox here; see docs/security.md",
        ),
        Confinement::None if mode == Mode::DangerFullAccess => Check::warning(
            "sandbox",
            "danger-full-access: commands are not confined",
            "set sandbox_mode = \"workspace-write\"",
        ),
        Confinement::None => Check::warning(
            "sandbox",
            format!("commands are not confined: {}", sandbox.lacks().join("; ")),
            "use a Linux kernel with Landlock or user namespaces",
        ),
    }
}

/// The parts in force, in words.
fn parts(level: SandboxLevel) -> String {
    let landlock = format!("Landlock {}", level.landlock);
    let parts = [
        (level.namespaces, "namespaces"),
        (level.landlock > 0, landlock.as_str()),
        (level.seccomp, "seccomp"),
    ];
    let found: Vec<&str> =
        parts.into_iter().filter(|(is_there, _)| *is_there).map(|(_, part)| part).collect();
    if found.is_empty() { "nothing".to_owned() } else { found.join(", ") }
}

fn git(environment: &Environment) -> Check {
    let found = environment
        .get("PATH")
        .into_iter()
        .flat_map(|path| path.split(':'))
        .any(|folder| Path::new(folder).join("git").is_file());
    if found {
        Check::ok("git", "found")
    } else {
        Check::warning("git", "not found on PATH", "install git; worktree isolation needs it")
    }
}
