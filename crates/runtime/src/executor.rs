//! The executor: the one loop that does what a run decides.
//!
//! Foreground, background, nested and resumed runs differ in who awaits [`drive`] and where the journal
//! lies, in nothing else. What is under way when the time is up or the run is cancelled is dropped,
//! and with it everything it holds.

mod funding;
mod kept_files;
mod model_turn;
mod news;
mod recorder;
mod spans;
mod tool_turn;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use attache_kernel::{
    rights::tool_name::ToolName,
    run::{Run, Step, event::Event, letter::Letter, outcome::Outcome},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::{kept_files::KeptFiles, news::Untold, recorder::Recorder};
use crate::{
    approvals::Approvals,
    events::EventLog,
    model::Model,
    store::{JournalWriter, StoreError},
    tasks::{LastLook, Letters, Links, Slot, TreeShare},
    tool::{Tool, ToolContext},
};

/// A run and everything it takes to drive it.
#[derive(Debug)]
pub struct Execution {
    /// The run.
    pub run: Run,
    /// The events that came of making it, not yet in the journal.
    pub opening: Vec<Event>,
    /// The number of the next entry.
    pub next_seq: u64,
    /// What answers it.
    pub model: Arc<dyn Model>,
    /// The tools it may call, by name.
    pub tools: Arc<BTreeMap<ToolName, Arc<dyn Tool>>>,
    /// What those tools may touch; its token is the run's.
    pub context: ToolContext,
    /// Who is asked whether a call may begin.
    pub approvals: Approvals,
    /// Where its entries lie.
    pub journal: Box<dyn JournalWriter>,
    /// Who reads its events.
    pub events: EventLog,
    /// What connects it to other runs.
    pub links: Links,
    /// How long to wait for what.
    pub patience: Patience,
}

/// How long to wait for a model that says nothing, and for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// A model from which no byte comes for so long is called again.
    pub stall: Duration,
    /// A tool that takes longer is stopped.
    pub tool: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { stall: Duration::from_secs(90), tool: Duration::from_mins(2) }
    }
}

impl Patience {
    /// The same, with the stall time-out of a model that has one of its own.
    pub(crate) fn stalling_after(self, stall: Option<Duration>) -> Self {
        Self { stall: stall.unwrap_or(self.stall), ..self }
    }
}

/// A run that stopped in the middle because it can no longer be written down.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Broken {
    /// The run, as far as it came.
    pub run: Box<Run>,
    /// What is wrong with its journal.
    #[source]
    pub error: StoreError,
}

/// Drives a run to its end. In a box it takes less room: what a future is given lies in it twice.
pub async fn drive(execution: impl Into<Box<Execution>>) -> Result<(Run, Outcome), Broken> {
    let Execution {
        run,
        opening,
        next_seq,
        model,
        tools,
        context,
        approvals,
        journal,
        events,
        mut links,
        patience,
    } = *execution.into();
    let share = Arc::clone(&links.budget).share(run.assignment().agent_id.clone());
    let files = KeptFiles::new(links.files.take(), &run);
    let mut driver = Driver {
        offset: run.last_moment(),
        began: Instant::now(),
        cancel: context.cancel.clone(),
        recorder: Recorder::new(journal, events, next_seq),
        run,
        model,
        tools,
        context,
        approvals,
        patience,
        share,
        links,
        slot: None,
        untold: Untold::default(),
        files,
    };
    match driver.drive(opening).await {
        Ok(outcome) => Ok((driver.run, outcome)),
        Err(error) => Err(Broken { run: Box::new(driver.run), error }),
    }
}

struct Driver {
    run: Run,
    model: Arc<dyn Model>,
    tools: Arc<BTreeMap<ToolName, Arc<dyn Tool>>>,
    context: ToolContext,
    approvals: Approvals,
    recorder: Recorder,
    patience: Patience,
    cancel: CancellationToken,
    began: Instant,
    /// What the run's clock showed when the driving began.
    offset: Duration,
    links: Links,
    /// What it has of its tree's budget.
    share: TreeShare,
    /// Taken while the run goes on.
    slot: Option<Slot>,
    /// What the agent has not been told about its subagents.
    untold: Untold,
    /// What is known of the files of its worktree.
    files: KeptFiles,
}

/// Why waiting ended before what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interruption {
    TimeUp,
    Cancelled,
    TurnStopped,
}

impl Interruption {
    /// What the model is told of it.
    fn told(self) -> &'static str {
        match self {
            Self::TimeUp => "the time is up",
            Self::Cancelled => "the run was cancelled",
            Self::TurnStopped => "the turn was stopped",
        }
    }
}

impl Driver {
    async fn drive(&mut self, opening: Vec<Event>) -> Result<Outcome, StoreError> {
        let now = self.now();
        self.recorder.record(&self.run, opening, now).await?;
        loop {
            let step = self.run.next_step();
            if !matches!(step, Step::CallTools(_)) {
                self.recorder.write(&self.run).await?;
            }
            match step {
                Step::Start => self.begin().await?,
                Step::TakeOver => {
                    self.foresee().await?;
                    self.feed(Run::taken_over).await?;
                }
                Step::CallModel(request) if self.files.is_due() => {
                    drop(request);
                    self.keep_files().await?;
                }
                Step::CallModel(request) if self.has_letters() => {
                    drop(request);
                    self.read_letters().await?;
                }
                Step::CallModel(request) => self.model_turn(request).await?,
                Step::BeginCalls => {
                    self.foresee().await?;
                    self.feed(Run::begin_calls).await?;
                }
                Step::Ask(question) => self.ask_turn(*question).await?,
                Step::CallTools(calls) => self.tool_turn(calls).await?,
                Step::Await => self.await_news().await?,
                Step::Finished(outcome) => return Ok(*outcome),
            }
        }
    }

    /// Waits for a slot, and begins.
    async fn begin(&mut self) -> Result<(), StoreError> {
        if self.slot.is_none()
            && let Some(slots) = self.links.slots.clone()
        {
            let queued = match slots.take() {
                Ok(slot) => {
                    self.slot = Some(slot);
                    return self.feed(Run::start).await;
                }
                Err(queued) => queued,
            };
            let now = self.now();
            let ahead = queued.ahead;
            self.recorder.record(&self.run, vec![Event::Queued { ahead }], now).await?;
            let cancel = self.cancel.clone();
            tokio::select! {
                biased;
                () = cancel.cancelled() => return self.interrupted(Interruption::Cancelled).await,
                slot = queued.wait() => self.slot = slot,
            }
        }
        self.feed(Run::start).await
    }

    fn has_letters(&self) -> bool {
        self.has_news() || self.links.letters.as_ref().is_some_and(|letters| !letters.is_empty())
    }

    /// Tells the agent what was left for it.
    async fn read_letters(&mut self) -> Result<(), StoreError> {
        let letters = self.links.letters.as_mut().map(Letters::take).unwrap_or_default();
        self.feed(|run, now| {
            letters.iter().flat_map(|letter| run.announce(letter.clone(), now)).collect()
        })
        .await?;
        self.delivered(&letters).await;
        self.tell_news().await
    }

    /// What was left for the agent up to the end; nothing more can be left while the hold lasts.
    async fn last_look(&mut self) -> LastLook {
        Letters::last_look_into(self.links.letters.as_mut()).await
    }

    /// These letters are in the journal.
    async fn delivered(&mut self, letters: &[Letter]) {
        if let Some(links) = &mut self.links.letters {
            links.delivered(letters).await;
        }
    }

    /// The run's clock.
    fn now(&self) -> Duration {
        self.offset + self.began.elapsed()
    }

    /// That moment of the run's clock.
    fn moment(&self, moment: Duration) -> Instant {
        self.began + moment.saturating_sub(self.offset)
    }

    /// Tells the run that something happened, and records what follows from it.
    async fn feed(
        &mut self,
        happen: impl FnOnce(&mut Run, Duration) -> Vec<Event>,
    ) -> Result<(), StoreError> {
        self.feed_unwritten(happen);
        self.recorder.write(&self.run).await
    }

    /// The same, and leaves the writing for later.
    fn feed_unwritten(&mut self, happen: impl FnOnce(&mut Run, Duration) -> Vec<Event>) {
        let now = self.now();
        let before = self.run.spent();
        let events = happen(&mut self.run, now);
        self.share.spend(self.run.spent().since(before));
        self.files.note(&self.run, &events);
        self.recorder.put_off(&self.run, events, now);
        self.links.standstill.note(self.run.clock_stands());
    }

    /// The run is to be interrupted, as soon as this returns.
    fn interruption(&self) -> impl Future<Output = Interruption> + Send + use<> {
        let cancel = self.cancel.clone();
        let turn_stop = Arc::clone(&self.links.turn_stop);
        let deadline = self.run.deadline().map(|deadline| self.moment(deadline));
        async move {
            let time_up = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => Interruption::Cancelled,
                () = turn_stop.notified() => Interruption::TurnStopped,
                () = time_up => Interruption::TimeUp,
            }
        }
    }

    async fn interrupted(&mut self, interruption: Interruption) -> Result<(), StoreError> {
        if interruption == Interruption::TimeUp {
            self.stop_children();
        }
        self.await_stopped_children().await?;
        match interruption {
            Interruption::TimeUp => self.feed(Run::clock).await,
            Interruption::Cancelled => self.feed(Run::cancelled).await,
            Interruption::TurnStopped => self.feed(Run::turn_stopped).await,
        }
    }
}
