//! `attache run AGENT TASK`: one agent, from task to result.

mod answers;
mod interrupts;
mod order;
mod pending;
mod routing;
pub(super) mod task;

use std::{path::PathBuf, sync::Arc};

use attache_kernel::{
    id::RunId,
    rights::{filter::Schedule, permission::AutoApproval},
    run::{
        RunError,
        assignment::BackgroundWork,
        outcome::{RunResult, Status},
    },
};
use attache_runtime::internal::{
    approvals::{ApproveAll, Approver},
    events::TreeEvents,
    host::{Order, Prepared},
    runtime::Runtime,
    tasks::{FailedChild, StartError},
};
use clap::{ArgMatches, Args, ValueEnum, builder::PossibleValuesParser};
use tokio_util::sync::CancellationToken;

pub(super) use self::answers::Answers;
use self::interrupts::{Interrupts, quit_on_second};
pub(crate) use self::routing::fitting;
use crate::{
    approval::TerminalApprover,
    background,
    failure::{Exit, Failure},
    open_files,
    print::{
        self,
        palette::{Tone, paint},
        printer::Printer,
        progress::{Progress, Shown},
        stream,
    },
    settings::{Flag, Mode},
    setup::{
        OutputFormat, Setup,
        resumed::{Earlier, Newest},
    },
    transcripts,
};

/// Run an agent on a task and print its result.
///
/// The agent works in an isolated context with its own prompt, model, tools and limits. Progress goes to
/// stderr, the result to stdout. Every event is in the transcript before it is shown, so a run can be
/// resumed at any time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache run Explore \"where is the parser, and what calls it?\"
  attache run Explore -f question.md --json
  git diff | attache run reviewer -f -
  attache run reviewer --input file_path=src/main.rs
  attache run --resume last \"and what about the tests?\"
  attache run --resume last --at 3 --model other-model \"try another way\"
  attache run Explore \"where is X?\" --background
  attache run Plan \"add a cache\" --output-format stream-json

Exit code 0: the agent reached its goal. 1: it ended otherwise. 2: wrong usage. 130: interrupted.")]
pub(crate) struct RunArgs {
    /// The agent's name, in any spelling; not needed with --resume.
    #[arg(
        required_unless_present = "resume",
        add = super::completions::agents()
    )]
    pub(super) agent: Option<String>,
    /// The task; `-` reads it from standard input, and after words appends that to them.
    pub(super) task: Vec<String>,
    /// A typed input of the agent.
    #[arg(long = "input", value_name = "KEY=VALUE")]
    pub(super) inputs: Vec<String>,
    /// Trust the agent's file for this run only.
    #[arg(long)]
    pub(super) trust: bool,
    #[command(flatten)]
    pub(super) client: ClientArgs,
    #[command(flatten)]
    pub(super) options: RunOptions,
    /// Whether the main agent is to do it.
    #[arg(skip)]
    pub(super) who: Who,
    /// Whether another agent that fits is offered, or only named.
    #[arg(skip)]
    pub(super) offer: Offer,
    /// Which answers are printed.
    #[arg(skip)]
    pub(super) answers: Answers,
    /// Whether the agent's place on the command line is before `--resume`; after it, words are the task.
    #[arg(skip)]
    pub(super) agent_stands_first: bool,
}

/// The client of the MCP server for whom it is done. Only the server starts this program like that.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ClientArgs {
    /// The session of the client.
    #[arg(long, value_name = "ID", hide = true, requires = "background")]
    pub(super) mcp_session: Option<String>,
    /// The task in a few words, as the client says it.
    #[arg(long, value_name = "WORDS", hide = true, requires = "mcp_session")]
    pub(super) description: Option<String>,
}

/// The options that `run` and `exec` share.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunOptions {
    /// Read the task from a file; `-` is standard input.
    #[arg(short, long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// The model to run on.
    #[arg(
        long,
        value_name = "MODEL",
        value_parser = crate::cli::model_words::name,
        add = super::completions::models()
    )]
    pub(super) model: Option<String>,
    /// The provider of that model.
    #[arg(
        long,
        value_name = "PROVIDER",
        value_parser = crate::cli::model_words::name,
        add = super::completions::providers()
    )]
    pub(super) provider: Option<String>,
    /// Resume an earlier run: its id, the beginning of its id, or `last`.
    #[arg(long, value_name = "ID", add = super::completions::runs())]
    pub(super) resume: Option<String>,
    /// Branch off an earlier run: share its past up to and including this turn, and leave it alone.
    #[arg(long, value_name = "TURN", requires = "resume", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) at: Option<u32>,
    /// Run in the background, in a process of its own: print the id at once and end. Nobody is asked.
    #[arg(short, long)]
    pub(super) background: bool,
    /// Maximum number of turns.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_turns: Option<u32>,
    /// Stop the run after this time: 90, 90s, 5m or 1h30m.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = crate::duration::seconds)]
    pub(super) timeout: Option<u32>,
    /// What to do when a call needs approval. Default: ask at the terminal, deny without one.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) approve: Option<Approve>,
    /// How far commands are confined: read-only, workspace-write or danger-full-access.
    #[arg(long, value_name = "MODE", value_parser = sandbox_modes())]
    pub(super) sandbox: Option<String>,
    /// How to print: text for people, json for one object, stream-json for one event a line.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub(super) output_format: Option<RunFormat>,
}

/// Who is to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Who {
    /// The agent of that name.
    #[default]
    Named,
    /// The main agent. What it leaves in the background is waited for, or goes on without it.
    Main(BackgroundWork),
}

/// What is done about an agent that fits a prompt better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Offer {
    /// It is named.
    #[default]
    Noted,
    /// Questions are asked at the terminal.
    Asked,
}

impl RunArgs {
    /// Takes from what was parsed what the arguments themselves do not say: their order.
    pub(crate) fn notice_order(&mut self, matches: &ArgMatches) {
        let first = |id: &str| matches.index_of(id);
        self.agent_stands_first = matches!(
            (first("agent"), first("resume")),
            (Some(agent), Some(resume)) if agent < resume
        );
    }

    /// The options that stand for settings.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        sandbox_flag(self.options.sandbox.as_deref()).into_iter().collect()
    }

    /// The earlier run that it goes on with.
    pub(crate) fn resumes(&self) -> Option<Earlier> {
        let newest = match self.who {
            Who::Named => Newest::Run,
            Who::Main(_) => Newest::Conversation,
        };
        self.options.resume.clone().map(|id| Earlier { id, newest })
    }

    /// Who is asked whether a call may begin; none refuses.
    fn approver(&self, printer: &Arc<Printer>) -> Result<Option<Arc<dyn Approver>>, Failure> {
        let somebody = || TerminalApprover::at_terminal(printer).map(|it| it as Arc<dyn Approver>);
        match self.options.approve {
            // What the sandbox does not hold is asked as usual.
            None | Some(Approve::Sandbox) => Ok(somebody()),
            Some(Approve::Deny) => Ok(None),
            Some(Approve::All) => Ok(Some(Arc::new(ApproveAll))),
            Some(Approve::Ask) => match somebody() {
                Some(somebody) => Ok(Some(somebody)),
                None => Err(Failure::usage("nobody can be asked off a terminal")
                    .hint("use --approve deny, sandbox or all")),
            },
        }
    }

    /// Whether it is to go on in a process of its own.
    pub(crate) fn is_background(&self) -> bool {
        self.options.background
    }

    /// Who decides about calls of a run that nobody watches; none refuses.
    fn unattended_approver(&self) -> Result<Option<Arc<dyn Approver>>, Failure> {
        match self.options.approve {
            None | Some(Approve::Sandbox | Approve::Deny) => Ok(None),
            Some(Approve::All) => Ok(Some(Arc::new(ApproveAll))),
            Some(Approve::Ask) => Err(Failure::usage("nobody can be asked in the background")
                .hint("use --approve deny, sandbox or all")),
        }
    }

    /// What is approved without a question.
    fn auto_approval(&self) -> AutoApproval {
        match self.options.approve {
            Some(approve) => approve.without_question(),
            None => AutoApproval::AsConfigured,
        }
    }
}

/// The words that `--sandbox` takes.
pub(super) fn sandbox_modes() -> PossibleValuesParser {
    PossibleValuesParser::new(Mode::WORDS)
}

/// `--sandbox`, as the setting it stands for.
pub(super) fn sandbox_flag(mode: Option<&str>) -> Option<Flag> {
    mode.map(|mode| Flag { name: "--sandbox", key: "sandbox_mode".to_owned(), value: mode.into() })
}

/// What to do when a call needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Ask at the terminal.
    Ask,
    /// Refuse it.
    Deny,
    /// Allow what the sandbox confines.
    Sandbox,
    /// Allow everything.
    All,
}

impl Approve {
    /// What is approved without a question.
    pub(crate) fn without_question(self) -> AutoApproval {
        match self {
            Self::Ask => AutoApproval::AsConfigured,
            Self::Deny => AutoApproval::Nothing,
            Self::Sandbox => AutoApproval::InSandbox,
            Self::All => AutoApproval::Everything,
        }
    }
}

/// How a run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// For people.
    Text,
    /// One object.
    Json,
    /// One event a line.
    StreamJson,
}

/// How long a run that was cut short waits for somebody to read its result.
const READER_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
/// How long the end of the program waits for commands that were told to end.
pub(crate) const TIDYING_PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);
/// How long the end of a run waits for the disk.
const DISK_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
/// How long the start of MCP servers may take without a word.
const SILENT_START: std::time::Duration = std::time::Duration::from_secs(1);

pub(crate) fn run(args: &RunArgs, setup: &Setup) -> Result<Exit, Failure> {
    open_files::require_enough()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let exit = if args.options.background {
        runtime.block_on(carry_out_unattended(args, setup))
    } else {
        runtime.block_on(carry_out(args, setup)).map(|(exit, _)| exit)
    };
    // What is still under way was told to stop; commands get a moment to tidy up.
    runtime.shutdown_timeout(TIDYING_PATIENCE);
    exit
}

/// The same in a process that belongs to no terminal.
async fn carry_out_unattended(args: &RunArgs, setup: &Setup) -> Result<Exit, Failure> {
    if args.options.output_format == Some(RunFormat::StreamJson) {
        return Err(Failure::usage("a run in the background prints no events")
            .hint("`attache transcript ID --follow --json` shows them"));
    }
    let store = transcripts::store(setup);
    let runtime = setup.runtime(store.clone())?;
    let order = Order {
        approver: args.unattended_approver()?,
        auto_approval: args.auto_approval(),
        schedule: match args.who {
            Who::Named => Schedule::Background,
            // It needs nobody, and delegates.
            Who::Main(_) => Schedule::Foreground,
        },
        ..order::order(args, setup, &runtime, &store).await?
    };
    let prepared = prepared(&runtime, order, setup).await?;
    background::drive(&runtime, prepared, &store, setup).await
}

/// The run that was ordered. Somebody who has to wait for an MCP server is told so.
async fn prepared(runtime: &Runtime, order: Order, setup: &Setup) -> Result<Prepared, Failure> {
    let preparing = runtime.prepare(order);
    tokio::pin!(preparing);
    let in_time = tokio::time::timeout(SILENT_START, &mut preparing).await;
    let prepared = if let Ok(prepared) = in_time {
        prepared
    } else {
        let servers = runtime.starting_servers().join(", ");
        if !setup.quiet && !servers.is_empty() {
            print::aside(&format!("waiting for MCP servers to start: {servers}"));
        }
        preparing.await
    };
    let prepared = prepared.map_err(|error| setup.order_failure(&error))?;
    tell_notices(&prepared, setup);
    Ok(prepared)
}

fn tell_notices(prepared: &Prepared, setup: &Setup) {
    if setup.quiet {
        return;
    }
    for notice in &prepared.notices {
        print::aside(&format!("{} {notice}", paint(Tone::Warning, "notice:")));
    }
}

/// How a run ended, and its id.
pub(super) async fn carry_out(args: &RunArgs, setup: &Setup) -> Result<(Exit, RunId), Failure> {
    let store = transcripts::store(setup);
    let runtime = setup.runtime(store.clone())?;
    let printer = Arc::new(Printer::start()?);
    let approver = args.approver(&printer)?;
    let order = order::order(args, setup, &runtime, &store).await?;
    let order = Order { approver, auto_approval: args.auto_approval(), ..order };
    let prepared = prepared(&runtime, order, setup).await?;
    let format = match (args.options.output_format, setup.format) {
        (Some(format), _) => format,
        (None, OutputFormat::Json) => RunFormat::Json,
        (None, OutputFormat::Text) => RunFormat::Text,
    };
    let interrupts = Interrupts::new();
    let started = runtime.start_watched(prepared).await;
    let (handle, events) = started.map_err(|error| start_failure(&error))?;
    let (over, cut_short) = (CancellationToken::new(), CancellationToken::new());
    let shown = show(events, format, setup.quiet, &printer);
    let working = async {
        let result = handle.result().await;
        over.cancel();
        if !result.as_ref().is_ok_and(|result| result.status == Status::Goal) {
            cut_short.cancel();
        }
        result
    };
    let answers = async {
        if args.answers == Answers::Each && format == RunFormat::Text {
            answers::print_each(&handle, &printer, setup.quiet).await
        } else {
            String::new()
        }
    };
    let everything = async {
        let (result, shown, streamed) = tokio::join!(working, shown, answers);
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                let failure = Failure::unsuccessful(error.to_string());
                let told = match format {
                    RunFormat::Text => OutputFormat::Text,
                    RunFormat::Json | RunFormat::StreamJson => OutputFormat::Json,
                };
                printer.aside(&failure.told(told));
                printer.finish().await?;
                return Ok::<_, Failure>(failure.exit);
            }
        };
        let is_on_screen = !streamed.is_empty() && streamed.trim() == result.result.trim();
        let shown = if is_on_screen { Shown::WithTheAnswer } else { shown };
        let exit = report(&result, format, shown, handle.is_cancelled(), setup, &printer).await?;
        let exit = with_children(exit, &handle.failed_children(), setup, &printer);
        if !setup.quiet {
            pending::tell(&result, &store, &printer).await;
        }
        // The answer is out; what was written down gets a moment to reach the disk.
        let in_time = tokio::time::timeout(DISK_PATIENCE, runtime.settled()).await.is_ok();
        if !in_time && !setup.quiet {
            printer
                .aside("the disk is slow: the end of the transcript may not outlive a power cut");
        }
        printer.finish().await?;
        Ok(exit)
    };
    let without_reader = async {
        cut_short.cancelled().await;
        tokio::time::sleep(READER_PATIENCE).await;
    };
    let exit = tokio::select! {
        exit = everything => exit?,
        () = quit_on_second(interrupts, &handle, &over, &printer) => Exit::Interrupted,
        () = without_reader => {
            if handle.is_cancelled() { Exit::Interrupted } else { Exit::Unsuccessful }
        }
    };
    Ok((exit, handle.id().clone()))
}

/// Shows what happens while a run goes on.
async fn show(events: TreeEvents, format: RunFormat, is_quiet: bool, printer: &Printer) -> Shown {
    match format {
        RunFormat::StreamJson => {
            stream::print(events, printer).await;
            Shown::Cut
        }
        RunFormat::Text | RunFormat::Json if !is_quiet => Progress::new(printer).show(events).await,
        RunFormat::Text | RunFormat::Json => Shown::Cut,
    }
}

async fn report(
    result: &RunResult,
    format: RunFormat,
    shown: Shown,
    interrupted: bool,
    setup: &Setup,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let cannot = |error| Failure::unsuccessful("cannot print the result").because(&error);
    let printed = match format {
        RunFormat::Json => print::json_text(result).map_err(cannot)?,
        RunFormat::StreamJson => stream::result(result).map_err(cannot)?,
        RunFormat::Text if result.result.trim().is_empty() || shown == Shown::WithTheAnswer => {
            String::new()
        }
        RunFormat::Text => print::markdown(&result.result),
    };
    printer.result(printed).await;
    // The progress has shown it already.
    let error = result.error.as_ref().filter(|_| shown == Shown::Cut);
    if let Some(error) = error.filter(|_| format == RunFormat::Text) {
        printer.aside(&format!("{} {error}", paint(Tone::Bad, "error:")));
    }
    if format == RunFormat::Text
        && result.partial
        && !setup.quiet
        && !result.result.trim().is_empty()
    {
        printer.aside("what was printed is partial: the run was cut off");
    }
    if !setup.quiet && is_uncounted(result) {
        printer.aside(&format!(
            "notice: {} counted no tokens: what was used is not known, and limits held by an estimate",
            result.model.provider
        ));
    }
    if let Some(changes) = print::changes_on_branch(result).filter(|_| !setup.quiet) {
        printer.aside(&changes);
    }
    if result.status != Status::Goal && !setup.quiet {
        let command = if result.agent_type.as_str() == transcripts::MAIN { "exec" } else { "run" };
        printer.aside(&format!("resume with: attache {command} --resume {}", result.agent_id));
    }
    Ok(match result.status {
        Status::Goal => Exit::Success,
        _ if interrupted => Exit::Interrupted,
        _ => Exit::Unsuccessful,
    })
}

/// The same, unless an agent failed that the run had started: a script is not to take that for success.
fn with_children(exit: Exit, failed: &[FailedChild], setup: &Setup, printer: &Printer) -> Exit {
    const MOST_NAMED: usize = 5;
    if !setup.quiet {
        for FailedChild { agent_id, agent_type, status } in failed.iter().take(MOST_NAMED) {
            let status = status.as_str();
            printer.aside(&format!(
                "{} `{agent_type}` did not reach its goal ({status}): attache output {agent_id}",
                paint(Tone::Bad, "failed:")
            ));
        }
        let more = failed.len().saturating_sub(MOST_NAMED);
        if more > 0 {
            printer.aside(&format!("{more} more did not reach their goal: attache tasks"));
        }
    }
    match exit {
        Exit::Success if !failed.is_empty() => Exit::Unsuccessful,
        exit => exit,
    }
}

/// Whether a provider answered and counted nothing.
fn is_uncounted(result: &RunResult) -> bool {
    let local = ["offline", "replay"].iter().any(|local| result.model.id.starts_with(local));
    let answered = result.status == Status::Goal || result.total_tool_use_count > 0;
    !local && answered && result.total_tokens == 0
}

pub(crate) fn start_failure(error: &StartError) -> Failure {
    match error {
        StartError::Run(RunError::Inputs(_)) => Failure::usage(error.to_string())
            .hint("give each with --input NAME=VALUE; `attache show AGENT` lists them"),
        StartError::Run(_) | StartError::Workspace(_) | StartError::NothingTakenOver => {
            Failure::usage(error.to_string())
        }
        StartError::Worktree(inner) => {
            let failure = Failure::usage(error.to_string());
            inner.hint().into_iter().fold(failure, Failure::hint)
        }
        StartError::Store(inner) => transcripts::failure(inner),
    }
}
