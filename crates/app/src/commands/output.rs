//! `attache output ID`: the result of a run, in any process, as `run` prints it.

use std::time::{Duration, Instant};

use attache_kernel::run::outcome::{RunResult, Status};
use attache_runtime::internal::{
    store::{FileStore, RunState},
    tasks::{RecordedError, RecordedRun},
};
use clap::Args;

use crate::{
    failure::{Exit, Failure},
    print::{
        self,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
    transcripts,
};

/// Print the result of a run, also of one in another process.
///
/// With --json, the object that `run --json` prints.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache output last
  attache output agent-7f9c --wait
  attache output agent-7f9c --wait --timeout 5m --json

Exit code 0: the agent reached its goal. 1: it ended otherwise, was interrupted, or still runs.")]
pub(crate) struct OutputArgs {
    /// The run's id, the beginning of one, or `last`.
    #[arg(add = super::completions::runs())]
    id: String,
    /// Wait until the run has ended.
    #[arg(short, long)]
    wait: bool,
    /// Wait no longer than this: 90, 90s, 5m or 1h30m. The run continues.
    #[arg(long, value_name = "TIME", requires = "wait", value_parser = crate::duration::seconds)]
    timeout: Option<u32>,
}

pub(crate) fn run(args: &OutputArgs, setup: &Setup) -> Result<Exit, Failure> {
    let store = transcripts::store(setup);
    let id = transcripts::resolve(&args.id, &store)?;
    if args.wait {
        let mut follower = store.follow(&id).map_err(|error| transcripts::failure(&error))?;
        let limit = args.timeout.map(|seconds| Duration::from_secs(u64::from(seconds)));
        if !follower.wait_for_end(limit.and_then(|limit| Instant::now().checked_add(limit))) {
            let seconds = limit.unwrap_or_default().as_secs();
            return Err(Failure::unsuccessful(format!("{id} still runs after {seconds} s"))
                .hint("it is still running: wait again, or stop it with `attache stop`"));
        }
    }
    let recorded = read(&id, &store)?;
    if is_open(&recorded) {
        let agent = &recorded.result.agent_id;
        return Err(Failure::unsuccessful(format!("{agent} still runs")).hint(
            "--wait waits for its end; `attache transcript ID --follow` shows what it does",
        ));
    }
    show(&recorded, setup)
}

/// Waits for the end of a run, and prints its result.
pub(super) fn wait_and_show(id: &str, setup: &Setup) -> Result<Exit, Failure> {
    let store = transcripts::store(setup);
    let mut follower = store.follow(id).map_err(|error| transcripts::failure(&error))?;
    follower.wait_for_end(None);
    show(&read(id, &store)?, setup)
}

fn is_open(run: &RecordedRun) -> bool {
    matches!(run.state, RunState::Queued | RunState::Running)
}

/// A run as its journal tells of it.
pub(super) fn read(id: &str, store: &FileStore) -> Result<RecordedRun, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    runtime.block_on(RecordedRun::read(id, store)).map_err(|error| match error {
        RecordedError::Store(error) => transcripts::failure(&error),
        RecordedError::Fold(error) => Failure::unsuccessful("the transcript is damaged")
            .because(&error)
            .hint("`attache transcript ID --json` prints its lines as they are"),
    })
}

fn show(run: &RecordedRun, setup: &Setup) -> Result<Exit, Failure> {
    let result = &run.result;
    match setup.format {
        OutputFormat::Json => print::json(result)?,
        OutputFormat::Text if result.result.trim().is_empty() => {}
        OutputFormat::Text => print::laid_out_result(&result.result)?,
    }
    if setup.format == OutputFormat::Text {
        tell(run, setup);
    }
    Ok(if result.status == Status::Goal { Exit::Success } else { Exit::Unsuccessful })
}

fn tell(run: &RecordedRun, setup: &Setup) {
    let RunResult { error, agent_id, status, .. } = &run.result;
    if let Some(error) = error {
        print::aside(&format!("{} {error}", paint(Tone::Bad, "error:")));
    }
    if setup.quiet {
        return;
    }
    if run.result.partial && !run.result.result.trim().is_empty() {
        print::aside("what was printed is partial: the run was cut off");
    }
    if let Some(changes) = print::changes_on_branch(&run.result) {
        print::aside(&changes);
    }
    if *status != Status::Goal {
        print::aside(&format!("resume with: attache run --resume {agent_id}"));
    }
}
