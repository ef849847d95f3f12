//! `attache stop ID…`: ends runs, in any process.

use std::time::{Duration, Instant};

use attache_runtime::internal::store::{FileStore, MailKind, Posted, RunState};
use clap::Args;
use serde_json::{Value, json};

use super::output;
use crate::{
    failure::{Exit, Failure},
    print,
    setup::{OutputFormat, Setup},
    transcripts,
};

/// How long a run gets to end, where the command line does not say.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stop runs, also those of other processes.
///
/// A run that is stopped ends at once as `aborted`, with every agent that it started. Its partial work is
/// kept: `attache output ID` prints it, and `attache run --resume ID` continues it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache stop agent-7f9c
  attache stop last

Exit code 0: all of the runs have ended. 1: a run did not end in time.")]
pub(crate) struct StopArgs {
    /// The ids of runs, the beginnings of ids, or `last`.
    #[arg(required = true, add = super::completions::runs())]
    ids: Vec<String>,
    /// Wait no longer than this for the end of a run: 90, 90s, 5m or 1h30m.
    #[arg(long, value_name = "TIME", value_parser = crate::duration::seconds)]
    timeout: Option<u32>,
}

/// What became of a run that was to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It ended because it was stopped.
    Stopped,
    /// It had ended, or ended by itself meanwhile.
    EndedBefore,
    /// Its process is gone.
    Interrupted,
    /// It was told and goes on.
    GoesOn,
}

impl Fate {
    fn word(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::EndedBefore => "had_ended",
            Self::Interrupted => "interrupted",
            Self::GoesOn => "goes_on",
        }
    }
}

/// A run, and what became of it.
struct Stopped {
    id: String,
    fate: Fate,
    state: RunState,
}

pub(crate) fn run(args: &StopArgs, setup: &Setup) -> Result<Exit, Failure> {
    let store = transcripts::store(setup);
    let failed = |error| transcripts::failure(&error);
    // All are told before any is waited for; an id that is wrong does not keep the others going.
    let tell = |id: &String| {
        let id = transcripts::resolve(id, &store)?;
        let id = store.read(&id).map_err(failed)?.header.run.agent_id.as_str().to_owned();
        let became = store.post(&id, &MailKind::Stop).map_err(failed)?;
        Ok((id, became))
    };
    let (mut posted, mut wrong) = (Vec::new(), None);
    for told in args.ids.iter().map(tell) {
        match told {
            Ok(told) => posted.push(told),
            Err(failure) => wrong = wrong.or(Some(failure)),
        }
    }
    if let Some(failure) = wrong.take_if(|_| posted.is_empty()) {
        return Err(failure);
    }
    let patience = args.timeout.map_or(PATIENCE, |seconds| Duration::from_secs(seconds.into()));
    let until = Instant::now().checked_add(patience);
    let mut stopped = Vec::new();
    for (id, became) in posted {
        stopped.push(settle(&store, id, &became, until)?);
    }
    match setup.format {
        OutputFormat::Json => print::json(&stopped.iter().map(object).collect::<Vec<_>>())?,
        OutputFormat::Text => stopped.iter().for_each(|run| print::aside(&told_of(run))),
    }
    if let Some(failure) = wrong {
        return Err(failure);
    }
    let goes_on = stopped.iter().any(|run| run.fate == Fate::GoesOn);
    Ok(if goes_on { Exit::Unsuccessful } else { Exit::Success })
}

fn settle(
    store: &FileStore,
    id: String,
    became: &Posted,
    until: Option<Instant>,
) -> Result<Stopped, Failure> {
    if matches!(became, Posted::Left(_)) {
        let mut follower = store.follow(&id).map_err(|error| transcripts::failure(&error))?;
        if !follower.wait_for_end(until) {
            return Ok(Stopped { id, fate: Fate::GoesOn, state: RunState::Running });
        }
    }
    let run = output::read(&id, store)?;
    let fate = match (became, run.has_ended, run.state) {
        (Posted::Left(_), true, RunState::Interrupted) => Fate::Stopped,
        (_, true, _) => Fate::EndedBefore,
        (_, false, _) => Fate::Interrupted,
    };
    Ok(Stopped { id, fate, state: run.state })
}

fn object(run: &Stopped) -> Value {
    json!({"agent_id": run.id, "status": run.state, "outcome": run.fate.word()})
}

fn told_of(run: &Stopped) -> String {
    let Stopped { id, fate, state } = run;
    match fate {
        Fate::Stopped => format!("{id} was stopped; resume with: attache run --resume {id}"),
        Fate::EndedBefore => format!("{id} had ended already ({})", state.as_str()),
        Fate::Interrupted => format!(
            "{id} was interrupted: its process is gone; resume with: attache run --resume {id}"
        ),
        Fate::GoesOn => format!("{id} was told to stop and has not ended yet"),
    }
}
