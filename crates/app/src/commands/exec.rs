//! `attache exec PROMPT`: the main agent, which works by itself and through subagents, without a terminal.

use attache_kernel::run::assignment::BackgroundWork;
use attache_runtime::internal::store::{RunState, Summary};
use clap::Args;

use super::{
    output,
    run::{self, Answers, ClientArgs, Offer, RunArgs, RunOptions, Who},
};
use crate::{
    background::{self, Launched},
    environment,
    failure::{Exit, Failure},
    print,
    setup::{OutputFormat, Setup, resumed::Earlier},
    transcripts,
};

/// Give the main agent a task, which it does itself or through subagents, and print its answer.
///
/// It has all tools and starts your agents with the Task tool, several at once and in the background.
/// AGENTS.md, CLAUDE.md and GEMINI.md of the project are part of its instructions. Progress goes to
/// stderr, the answer to stdout.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache exec \"fix the failing test in crates/parser\"
  attache exec \"review the last three commits, one agent each\" --json
  git diff | attache exec \"is this safe to merge?\" -
  attache exec --resume last \"and now the docs\"
  attache exec \"check every crate in the background\" --detach

Exit code 0: it answered. 1: it ended otherwise, or an agent that it started failed and no later one took its place. 2: wrong usage. 130: interrupted.")]
pub(crate) struct ExecArgs {
    /// The task; `-` reads it from standard input, and after words appends that to them.
    prompt: Vec<String>,
    #[command(flatten)]
    options: RunOptions,
    /// End with the answer: agents in the background continue in a process of their own.
    #[arg(long, conflicts_with = "background")]
    detach: bool,
}

impl ExecArgs {
    /// Whether it is to go on in a process of its own.
    pub(crate) fn is_background(&self) -> bool {
        self.options.background
    }

    /// Whether only what is left in the background is to go on in one.
    pub(crate) fn is_detach(&self) -> bool {
        self.detach
    }

    /// The same as a run.
    fn as_run(&self) -> RunArgs {
        let work = if self.detach { BackgroundWork::LeftRunning } else { BackgroundWork::Awaited };
        RunArgs {
            agent: None,
            task: self.prompt.clone(),
            inputs: Vec::new(),
            trust: false,
            client: ClientArgs::default(),
            options: RunOptions {
                background: self.options.background || self.detach,
                ..self.options.clone()
            },
            who: Who::Main(work),
            offer: Offer::Asked,
            answers: Answers::Last,
            agent_stands_first: false,
        }
    }

    /// The earlier run that it goes on with.
    pub(crate) fn resumes(&self) -> Option<Earlier> {
        self.as_run().resumes()
    }

    /// The options that stand for settings.
    pub(crate) fn flags(&self) -> Vec<crate::settings::Flag> {
        self.as_run().flags()
    }
}

pub(crate) fn run(args: &ExecArgs, setup: &Setup) -> Result<Exit, Failure> {
    run::run(&args.as_run(), setup)
}

/// Lets another process do it, and ends with the answer.
pub(crate) fn run_detached(setup: &Setup) -> Result<Exit, Failure> {
    match background::launched(environment::arguments().into_iter().skip(1), None)? {
        Launched::Begun { id, .. } => {
            let exit = output::wait_and_show(&id, setup)?;
            tell_what_goes_on(&id, setup)?;
            Ok(exit)
        }
        Launched::Ended(exit) => Ok(exit),
    }
}

/// Names the agents that go on without the one that answered.
fn tell_what_goes_on(id: &str, setup: &Setup) -> Result<(), Failure> {
    if setup.quiet || setup.format == OutputFormat::Json {
        return Ok(());
    }
    let runs = transcripts::store(setup).list().map_err(|error| transcripts::failure(&error))?;
    let goes_on = |run: &&Summary| {
        let is_child = run.parent_id.as_ref().is_some_and(|parent| parent.as_str() == id);
        is_child && matches!(run.state, RunState::Queued | RunState::Running)
    };
    for run in runs.iter().filter(goes_on) {
        let (name, id) = (&run.agent_type, &run.agent_id);
        print::aside(&format!(
            "`{name}` continues in the background; result: attache output {id} --wait, end it: attache stop {id}"
        ));
    }
    Ok(())
}
