//! The owner's end of a bridge: drives a run through an instance, and keeps everything that belongs to the run.
//!
//! Invariants: every entry that the instance sends is checked against the run as its journal makes it, written
//! and only then acknowledged; the run has an end even if the instance fails. Dropping this kills the
//! instance with all it started.

mod keeper;
mod process;

use std::{collections::BTreeMap, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use attache_kernel::{
    id::LetterId,
    rights::permission::Stance,
    run::{
        Run,
        event::{ApprovalDecision, Event},
        letter::Letter,
        outcome::Outcome,
    },
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::{
    keeper::{Keeper, Trouble},
    process::{InstanceProcess, Said},
};
use super::{
    InInstance,
    protocol::{Assigned, Down, FormWish, LeftBehind, PROTOCOL, Up},
};
use crate::{
    approvals::{Approvals, Decided, Form, FormAnswer},
    executor::{Broken, Execution},
    process::CommandSetup,
    store::{Held, Store, StoreError},
    tasks::{AgentAsks, Funding, LastLook, Letters, LiveRun, Slot, Slots, Standstill},
};

/// How long an instance may take to say hello, and to do what is due.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long an instance may take to end once it was told to.
const TO_END: Duration = Duration::from_secs(10);

/// What it takes to drive a run through an instance, beside the run.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) how: InInstance,
    pub(crate) live: Arc<LiveRun>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) commands: Arc<CommandSetup>,
    pub(crate) root: PathBuf,
    pub(crate) stance: Stance,
    pub(crate) asked: Vec<AgentAsks>,
    pub(crate) left_behind: Option<LeftBehind>,
}

/// Drives a run to its end through an instance.
pub(crate) async fn drive(execution: Execution, seat: Seat) -> Result<(Run, Outcome), Broken> {
    let Execution { opening, mut links, approvals, context, .. } = execution;
    let keeper = Keeper::new(execution.run, execution.journal, execution.events, seat.live.clone());
    let keeper = keeper.in_tree(Arc::clone(&seat.store), Arc::clone(&links.budget));
    let slots = links.slots.take();
    let mut owner = Owner {
        keeper,
        letters: links.letters.take(),
        approvals,
        cancel: context.cancel.clone(),
        seat,
        hold: None,
        asked: BTreeMap::new(),
        standstill: std::mem::take(&mut links.standstill),
    };
    let driven = async {
        owner.keeper.happened(opening).await?;
        let _slot = match slots {
            Some(slots) => owner.wait_for(slots).await?,
            None => None,
        };
        owner.until_the_end().await
    };
    match driven.await {
        Ok(outcome) => Ok((owner.keeper.run, outcome)),
        Err(error) => Err(Broken { run: Box::new(owner.keeper.run), error }),
    }
}

/// Owns a run that an instance drives.
struct Owner {
    keeper: Keeper,
    letters: Option<Letters>,
    approvals: Approvals,
    cancel: CancellationToken,
    seat: Seat,
    /// Nothing is added to the mailbox while the run may be about to end.
    hold: Option<Held>,
    /// Questions under way: cancelling one withdraws it.
    asked: BTreeMap<u64, CancellationToken>,
    /// What the run above knows of its clock.
    standstill: Standstill,
}

/// What the instance waits for: an answer to the request of that number, if it is still wanted.
type Questions = FuturesUnordered<Question>;
type Question = Pin<Box<dyn Future<Output = (u64, Option<Down>)> + Send>>;

impl Owner {
    /// Waits for a slot; none if the run is cancelled meanwhile.
    async fn wait_for(&mut self, slots: Slots) -> Result<Option<Slot>, StoreError> {
        let queued = match slots.take() {
            Ok(slot) => return Ok(Some(slot)),
            Err(queued) => queued,
        };
        self.keeper.happened(vec![Event::Queued { ahead: queued.ahead }]).await?;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Ok(None),
            slot = queued.wait() => Ok(slot),
        }
    }

    /// Has an instance drive the run. The run ends even if the instance fails.
    async fn until_the_end(&mut self) -> Result<Outcome, StoreError> {
        let mut trouble = String::new();
        if !self.cancel.is_cancelled() {
            match self.through_instance().await {
                Ok(()) => {}
                Err(Trouble::Store(error)) => return Err(error),
                Err(Trouble::Instance(told)) => trouble = told,
            }
        }
        if self.cancel.is_cancelled() {
            self.keeper.feed(Run::cancelled).await?;
        } else {
            let lost = format!("the instance that ran the agent {trouble}");
            self.keeper.feed(|run, now| run.lost(lost, now)).await?;
        }
        let outcome = self.keeper.run.outcome();
        Ok(outcome.unwrap_or_else(|| self.keeper.run.broken_off(trouble)))
    }

    async fn through_instance(&mut self) -> Result<(), Trouble> {
        let (how, root) = (&self.seat.how, self.seat.root.clone());
        let mut instance =
            InstanceProcess::start(&self.seat.commands, &how.instances, root).await?;
        let setup = (how.instances.setup)(self.keeper.run.assignment());
        instance.tell(&Down::Hello { protocol: PROTOCOL, setup })?;
        instance.tell(&Down::Start(Box::new(self.assigned())))?;
        let mut questions = Questions::new();
        let mut told_to_end: Option<Instant> = None;
        let hello_until = Instant::now() + PATIENCE;
        let mut has_greeted = false;
        loop {
            let due = match (told_to_end, has_greeted) {
                (Some(told), _) => Some(told + TO_END),
                (None, false) => Some(hello_until),
                (None, true) => self.keeper.deadline().map(|deadline| deadline + PATIENCE),
            };
            let overdue = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let written = Letters::arrived_in(self.letters.as_ref());
            tokio::select! {
                biased;
                () = self.cancel.cancelled(), if told_to_end.is_none() => {
                    told_to_end = Some(Instant::now());
                    instance.tell(&Down::Cancel)?;
                }
                said = instance.next() => match said? {
                    Said::Hello => has_greeted = true,
                    Said::Message(Up::Result { below, .. }) => {
                        self.keeper.ended_below(below);
                        instance.end(TO_END).await;
                        return Ok(());
                    }
                    Said::Message(message) => self.heard(message, &mut instance, &mut questions).await?,
                    Said::Gone(_) if self.keeper.run.has_ended() => return Ok(()),
                    Said::Gone(how) => return Err(Trouble::Instance(how)),
                },
                Some((request, answer)) = questions.next(), if !questions.is_empty() => {
                    self.asked.remove(&request);
                    if let Some(answer) = answer {
                        instance.tell(&answer)?;
                    }
                }
                () = written => {
                    let letters = self.letters.as_mut().map(Letters::take).unwrap_or_default();
                    instance.tell(&Down::Letters { letters: numbered(letters) })?;
                }
                () = overdue => {
                    let told = "did not answer any more, and was ended".to_owned();
                    return Err(Trouble::Instance(told));
                }
            }
        }
    }

    /// What the instance is told of the run.
    fn assigned(&mut self) -> Assigned {
        let transcript = self.keeper.transcript();
        Assigned {
            transcript,
            root: self.seat.root.clone(),
            is_trusted: self.seat.how.is_trusted,
            auto_approval: self.seat.how.auto_approval,
            stance: self.seat.stance,
            asked: self.seat.asked.clone(),
            left: self.keeper.left(),
            left_behind: self.seat.left_behind.take(),
        }
    }

    /// Asks for the values of a form.
    fn fill_in(&mut self, request: u64, form: FormWish) -> Question {
        let (approvals, asked) = (self.approvals.clone(), self.cancel.child_token());
        self.asked.insert(request, asked.clone());
        let FormWish { agent_id, agent_type, server, message, schema } = form;
        let form = Form::new((agent_id, agent_type), &server, &message, schema);
        Box::pin(async move {
            let answer = tokio::select! {
                biased;
                () = asked.cancelled() => FormAnswer::Cancelled,
                answer = approvals.fill_in(form) => answer,
            };
            (request, Some(Down::Filled { request, answer }))
        })
    }

    async fn heard(
        &mut self,
        message: Up,
        instance: &mut InstanceProcess,
        questions: &mut Questions,
    ) -> Result<(), Trouble> {
        match message {
            Up::Entries { request, entries } => {
                let read = self.keeper.take_in(entries).await?;
                self.standstill.note(self.keeper.run.clock_stands());
                if let Some(letters) = &self.letters {
                    letters.delivered(&read).await;
                    if self.hold.take().is_some() && !self.keeper.run.has_ended() {
                        letters.reopen();
                    }
                }
                instance.tell(&Down::Written { request, left: self.keeper.left() })
            }
            Up::Run { run } => {
                self.keeper.began_below(*run);
                Ok(())
            }
            Up::Event { agent_id, seq, ts, event, detail } => {
                self.keeper.seen(&agent_id, seq, ts, *event, detail);
                Ok(())
            }
            Up::Ask { request, question, grants } => {
                let (approvals, asked) = (self.approvals.clone(), self.cancel.child_token());
                self.asked.insert(request, asked.clone());
                questions.push(Box::pin(async move {
                    let (decision, words): Decided = tokio::select! {
                        biased;
                        () = asked.cancelled() => (ApprovalDecision::Denied, None),
                        decided = approvals.decide_parts(*question, grants, asked.clone()) => decided,
                    };
                    (request, Some(Down::Decided { request, decision, words }))
                }));
                Ok(())
            }
            Up::Form { request, form } => {
                questions.push(self.fill_in(request, *form));
                Ok(())
            }
            Up::Fund { request, agent_id, expected } => {
                let (share, asked) = (self.keeper.share(&agent_id), self.cancel.child_token());
                self.asked.insert(request, asked.clone());
                questions.push(Box::pin(async move {
                    let funding = tokio::select! {
                        biased;
                        () = asked.cancelled() => return (request, None),
                        funding = share.fund(expected) => funding,
                    };
                    let short = match funding {
                        Funding::Paid => None,
                        Funding::Short(left) => Some(left),
                    };
                    (request, Some(Down::Funded { request, short }))
                }));
                Ok(())
            }
            Up::Spent { agent_id, used } => {
                self.keeper.share(&agent_id).spend(used);
                Ok(())
            }
            Up::Settled { agent_id, size } => {
                self.keeper.share(&agent_id).settle(size);
                Ok(())
            }
            Up::Closed { agent_id } => {
                self.keeper.close_share(&agent_id);
                Ok(())
            }
            Up::Withdrawn { request } => {
                self.asked.remove(&request).iter().for_each(CancellationToken::cancel);
                Ok(())
            }
            Up::LastLook { request } => {
                let letters = match Letters::last_look_into(self.letters.as_mut()).await {
                    LastLook::Letters(letters) => letters,
                    LastLook::Nothing(hold) => {
                        self.hold = hold;
                        Vec::new()
                    }
                };
                instance.tell(&Down::LastLook { request, letters: numbered(letters) })
            }
            Up::Refused { message } => Err(Trouble::Instance(format!("cannot run it: {message}"))),
            Up::Hello { .. } | Up::Result { .. } => Ok(()),
        }
    }
}

/// The same letters, each with an id: the journal tells by it what was read.
fn numbered(letters: Vec<Letter>) -> Vec<Letter> {
    let id = || LetterId::new(Uuid::new_v4().to_string());
    let numbered = |letter: Letter| Letter { id: Some(letter.id.unwrap_or_else(id)), ..letter };
    letters.into_iter().map(numbered).collect()
}
