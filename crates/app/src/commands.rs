//! The commands: one file each, with its arguments and what it does.

pub(crate) mod chat;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod may;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod new;
pub(crate) mod output;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod show;
pub(crate) mod stop;
pub(crate) mod suggest;
pub(crate) mod tasks;
pub(crate) mod transcript;
pub(crate) mod trust;
pub(crate) mod untrust;
pub(crate) mod usage;
pub(crate) mod validate;

use attache_runtime::internal::{sandbox::Rehearsal, telemetry::RunsOf};

use crate::{
    background,
    cli::{Cli, Command},
    environment::{self, Environment},
    failure::{Exit, Failure},
    log::{self, LogWanted},
    setup::Setup,
    telemetry,
};

/// Does what was asked for.
pub(crate) fn run(
    cli: Cli,
    environment: &Environment,
    rehearsal: Option<Rehearsal>,
) -> Result<Exit, Failure> {
    if let Command::Completions(args) = &cli.command {
        // Works before anything is set up, and without a home.
        return completions::run(args);
    }
    if let Some(variable) = environment.unreadable() {
        return Err(Failure::usage(format!("the value of {variable} is not UTF-8"))
            .hint("use a folder whose name is UTF-8"));
    }
    let is_background = match &cli.command {
        Command::Run(args) => args.is_background(),
        Command::Exec(args) => args.is_background(),
        _ => false,
    };
    if is_background && !cli.detached {
        return background::launch(environment::arguments().into_iter().skip(1), None);
    }
    let wanted =
        LogWanted { file: cli.globals.log_file.as_deref(), level: environment.get("ATTACHE_LOG") };
    let runs_agents = matches!(
        cli.command,
        Command::Run(_) | Command::Exec(_) | Command::Chat(_) | Command::Mcp(_)
    );
    if !runs_agents {
        log::start(wanted, None)?;
        return carry_out(cli, environment, rehearsal);
    }
    let (spans, sending) = telemetry::start(environment, RunsOf::ThisProcess);
    log::start(wanted, spans)?;
    let ended = carry_out(cli, environment, rehearsal);
    sending.finish();
    ended
}

/// Does it, with the log going.
fn carry_out(
    cli: Cli,
    environment: &Environment,
    rehearsal: Option<Rehearsal>,
) -> Result<Exit, Failure> {
    if let Command::Config(args) = &cli.command
        && let Some(change) = &args.change
    {
        // Works on settings that cannot be loaded.
        return config::edit::run(change, &cli.globals, environment);
    }
    let mut globals = cli.globals.clone();
    (globals.flags, globals.resumes) = match &cli.command {
        Command::Run(args) => (args.flags(), args.resumes()),
        Command::Exec(args) => (args.flags(), args.resumes()),
        Command::Chat(args) => (args.flags(), args.resumes()),
        Command::May(args) => (args.flags(), None),
        _ => (Vec::new(), None),
    };
    let setup = match cli.command {
        // They show what is wrong.
        Command::Config(_) | Command::Doctor(_) => {
            Setup::despite_slips(globals, environment.clone())
        }
        _ => Setup::new(globals, environment.clone()),
    };
    let setup = match (setup, &cli.command) {
        (Ok(setup), _) => setup.rehearsed(rehearsal),
        (Err(failure), Command::Doctor(_)) => {
            return doctor::without_setup(&failure, &cli.globals, environment);
        }
        (Err(failure), _) => return Err(failure),
    };
    match cli.command {
        Command::Run(args) => run::run(&args, &setup),
        Command::Exec(args) if args.is_detach() && !cli.detached => exec::run_detached(&setup),
        Command::Exec(args) => exec::run(&args, &setup),
        Command::Chat(args) => chat::run(&args, &cli.globals, &setup),
        Command::Tasks(args) => tasks::run(&args, &setup),
        Command::Output(args) => output::run(&args, &setup),
        Command::Stop(args) => stop::run(&args, &setup),
        Command::Send(args) => send::run(&args, &cli.globals, &setup),
        Command::List(args) => list::run(&args, &setup),
        Command::Show(args) => show::run(&args, &setup),
        Command::May(args) => may::run(&args, &setup),
        Command::Validate(args) => validate::run(&args, &setup),
        Command::Suggest(args) => suggest::run(&args, &setup),
        Command::New(args) => new::run(&args, &setup),
        Command::Trust(args) => trust::run(&args, setup),
        Command::Untrust(args) => untrust::run(&args, setup),
        Command::Mcp(args) => mcp::run(&args, &cli.globals, &setup),
        Command::Login(args) => login::run(&args, &setup),
        Command::Logout(args) => logout::run(&args, &setup),
        Command::Transcript(args) => transcript::run(&args, &setup),
        Command::Usage(args) => usage::run(&args, &setup),
        Command::Clean(args) => clean::run(&args, &setup),
        Command::Models(args) => models::run(&args, &setup),
        Command::Config(args) => config::run(&args, &setup),
        Command::Doctor(args) => doctor::run(&args, &setup),
        Command::Completions(args) => completions::run(&args),
    }
}
