//! The conversation: a value that the events of runs make, and nothing else.
//!
//! Invariant: the same events give the same session, live or read back from the journals. Only the pieces
//! of an answer that is still arriving are not in a journal; the whole answer is.

use std::collections::{BTreeMap, BTreeSet};

use attache_kernel::{
    id::RunId,
    model::usage::Cost,
    run::{
        assignment::Finish,
        event::{Attendance, Event, compaction::Compaction, observed::RunEvent},
        message::{Message, UserPart, text_of},
        outcome::{Ending, Status},
    },
};

use super::{
    agent::{self, Agent},
    call::Calls,
    clock::Clock,
    item::Item,
    stream::Stream,
};
use crate::{
    print::{
        number::{count, money, time},
        palette::Tone,
    },
    run_tree::clock,
};

/// How many agents have a block each; more have a line each.
pub(crate) const MOST_BLOCKS: usize = 4;

/// A conversation with the main agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Session {
    /// What stays, in the order in which it became final.
    pub(crate) items: Vec<Item>,
    /// The run of the latest message.
    pub(crate) run: Option<RunId>,
    /// The run that answers from now on, though another one may have started it once.
    root: Option<RunId>,
    /// The agents that nobody waits for.
    background: BTreeSet<RunId>,
    /// Where the blocks of agents that have ended stand in `items`.
    ended: Vec<usize>,
    /// Who answers.
    pub(crate) agent: String,
    /// What the run of the latest message is doing.
    pub(crate) phase: Phase,
    /// How long it has worked on it.
    pub(crate) clock: Clock,
    /// How many of its own questions are open.
    asking: u32,
    /// The answer that is arriving.
    pub(crate) stream: Stream,
    /// The calls of the run of the latest message.
    pub(crate) calls: Calls,
    /// Subagents that still work, in the order of their beginnings.
    pub(crate) agents: Vec<Agent>,
    /// What all runs have used.
    pub(crate) totals: Totals,
    /// The model that answers.
    pub(crate) model: String,
    /// The sandbox that commands run in, as the latest run told.
    pub(crate) sandbox: Option<String>,
    /// What the run of the latest message has used.
    spent: Totals,
    turn: u32,
    /// What was told about agents: many may give the same notice.
    told: BTreeSet<String>,
}

/// What the main agent is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    /// Nothing: it is the user's turn.
    #[default]
    Idle,
    /// It works.
    Working,
    /// Its model is called again.
    Retrying(String),
    /// It waits for an answer to its question.
    Asking,
    /// It has answered, and waits for that many agents in the background.
    Awaiting(usize),
}

/// What was used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Totals {
    /// Tokens.
    pub(crate) tokens: u64,
    /// Money.
    pub(crate) cost: Cost,
    /// Tokens of the conversation as the model saw it last.
    pub(crate) context: u64,
    /// Tokens that fit.
    pub(crate) window: Option<u64>,
    /// How many runs.
    pub(crate) runs: u64,
}

impl Session {
    /// Folds an event.
    pub(crate) fn apply(&mut self, seen: &RunEvent) {
        if let Some(spent) = seen.event.spent() {
            let cost = spent.cost_usd.filter(|_| !spent.answer_lost);
            self.totals.tokens = self.totals.tokens.saturating_add(spent.usage.total_tokens());
            self.totals.cost.add(cost);
            if self.is_main(seen) {
                self.spent.tokens = self.spent.tokens.saturating_add(spent.usage.total_tokens());
                self.spent.cost.add(cost);
                self.totals.context = spent.usage.total_tokens();
            }
        }
        if self.is_main(seen) {
            self.apply_main(seen);
        } else {
            self.apply_agent(seen);
        }
        let may_hold = matches!(
            seen.event,
            Event::ApprovalRequested { .. }
                | Event::ApprovalResolved { .. }
                | Event::ServerAsks { .. }
                | Event::ServerAnswered
                | Event::SubAgentDetached { .. }
                | Event::TurnStarted { .. }
                | Event::Ended { .. }
        );
        if may_hold {
            self.hold_clocks(clock(&seen.ts));
        }
    }

    /// Waiting for an answer is nobody's time: the clock of an agent that asks stands still, and so do those of the
    /// agents that wait for it.
    fn hold_clocks(&mut self, now_ms: u64) {
        let mut held: BTreeSet<RunId> = BTreeSet::new();
        let asking = self.agents.iter().filter(|agent| agent.phase == agent::Phase::Asking);
        let mut next: Vec<&Agent> = asking.collect();
        while let Some(agent) = next.pop() {
            let Some(parent) = agent.parent.as_ref().filter(|_| !agent.is_background) else {
                continue;
            };
            if held.insert(parent.clone()) {
                next.extend(self.agents.iter().find(|other| other.id == *parent));
            }
        }
        let is_held = self.asking > 0 || self.run.as_ref().is_some_and(|run| held.contains(run));
        if self.is_busy() {
            self.clock.hold(is_held, now_ms);
        }
        for agent in &mut self.agents {
            agent.hold(held.contains(&agent.id), now_ms);
        }
    }

    /// A run answers from now on.
    pub(crate) fn answered_by(&mut self, run: &RunId) {
        self.root = Some(run.clone());
    }

    /// Whether an event is of the run that answers.
    pub(crate) fn is_main(&self, seen: &RunEvent) -> bool {
        seen.run.parent_id.is_none() || self.root.as_ref() == Some(&seen.run.agent_id)
    }

    /// Every agent that has a block, in the order of the conversation.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Agent> {
        let ended = self.ended.iter().filter_map(|at| match self.items.get(*at) {
            Some(Item::Agent(agent)) => Some(&**agent),
            _ => None,
        });
        ended.chain(self.open_agents())
    }

    /// The agent of that block, if it has ended.
    pub(crate) fn ended_agent(&self, id: &RunId) -> Option<&Agent> {
        self.blocks().find(|agent| agent.id == *id && !agent.is_open())
    }

    /// How many agents have a block.
    pub(crate) fn block_count(&self) -> usize {
        self.ended.len() + self.agents.len()
    }

    /// The agents that work, each below the one that started it; those that wait for a place come last.
    pub(crate) fn open_agents(&self) -> Vec<&Agent> {
        let known: BTreeSet<&RunId> = self.agents.iter().map(|agent| &agent.id).collect();
        let mut below: BTreeMap<Option<&RunId>, Vec<&Agent>> = BTreeMap::new();
        for agent in &self.agents {
            let parent = agent.parent.as_ref().filter(|parent| known.contains(parent));
            below.entry(parent).or_default().push(agent);
        }
        let mut first = below.remove(&None).unwrap_or_default();
        // They begin at the same time, in any order; they stand as they were asked for.
        first.sort_by_key(|agent| (matches!(agent.phase, agent::Phase::Queued(_)), agent.place));
        let mut next: Vec<&Agent> = first.into_iter().rev().collect();
        let mut ordered = Vec::with_capacity(self.agents.len());
        while let Some(agent) = next.pop() {
            ordered.push(agent);
            next.extend(below.remove(&Some(&agent.id)).into_iter().flatten().rev());
        }
        ordered
    }

    /// Whether an answer is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Awaiting(_))
    }

    /// Whether anything is under way.
    pub(crate) fn is_open(&self) -> bool {
        self.phase != Phase::Idle || !self.agents.is_empty()
    }

    /// What was under way does not go on; the blocks of its agents stay.
    pub(crate) fn cut_off(&mut self) {
        self.flush();
        self.calls.clear();
        self.phase = Phase::Idle;
        let agents: Vec<Agent> = self.open_agents().into_iter().cloned().collect();
        self.agents.clear();
        for mut agent in agents {
            agent.cut_off();
            self.ended.push(self.items.len());
            self.items.push(Item::Agent(Box::new(agent)));
        }
    }

    /// Adds something that the program says.
    pub(crate) fn notice(&mut self, tone: Tone, text: impl Into<String>) {
        self.items.push(Item::Notice { tone, text: text.into() });
    }

    fn apply_main(&mut self, seen: &RunEvent) {
        let now = clock(&seen.ts);
        match &seen.event {
            Event::Opened { .. } => self.opened(seen, now),
            Event::Queued { .. } | Event::Started => self.phase = Phase::Working,
            Event::ApprovalResolved { .. } | Event::ServerAnswered => {
                self.asking = self.asking.saturating_sub(1);
                if self.asking == 0 {
                    self.phase = Phase::Working;
                }
            }
            Event::TurnStarted { turn, grace, .. } => {
                if !grace {
                    self.turn = *turn;
                }
                self.asking = 0;
                self.phase = Phase::Working;
                self.calls.clear();
                self.flush();
            }
            Event::TextChunk { text } => {
                self.phase = Phase::Working;
                self.items.extend(self.stream.text(text).map(Item::Answer));
            }
            Event::ThoughtChunk { text } => self.stream.thought(text),
            Event::Replied { message, .. } => {
                self.calls.replied(message);
                if let Message::Assistant { content } = &**message {
                    let rest = self.stream.whole(&text_of(content));
                    self.items.extend(rest.map(Item::Answer));
                }
            }
            Event::ReplyCutOff { text } => {
                self.items.extend(self.stream.whole(text).map(Item::Answer));
            }
            Event::ToolStarted { call_id, tool_name } => {
                self.calls.started(call_id, tool_name, now);
            }
            Event::ToolOutputChunk { call_id, text } => self.calls.output(call_id, text),
            Event::ToolReturned { tool_name, result, duration_ms, .. } => {
                let call = self.calls.returned(tool_name, result, *duration_ms);
                self.items.extend(call.map(Item::Call));
            }
            Event::ApprovalRequested { .. } | Event::ServerAsks { .. } => {
                self.asking += 1;
                self.phase = Phase::Asking;
            }
            Event::Announced { message, delivers, .. } => {
                self.phase = Phase::Working;
                if delivers.is_empty() {
                    self.flush();
                    self.items.push(Item::User(said(message)));
                }
            }
            Event::Cancelled { turn_only: true, .. } => {
                self.flush();
                let text = "stopped; background agents go on";
                self.notice(Tone::Warning, text);
            }
            Event::Awaiting { agents } => self.phase = Phase::Awaiting(agents.len()),
            Event::Retrying { attempt, max_retries, delay_ms, reason, .. } => {
                self.flush();
                let tries = max_retries + 1;
                let wait = time(*delay_ms);
                let text = format!("retrying, attempt {attempt} of {tries} in {wait}: {reason}");
                self.notice(Tone::Warning, text);
                self.phase = Phase::Retrying(format!("attempt {attempt} of {tries}"));
            }
            Event::Compacted(compaction) => self.notice(Tone::Warning, freed(compaction)),
            Event::GraceStarted { reason, grace_ms, .. } => {
                let text = format!("{}: {} s of grace to answer", reason.as_str(), grace_ms / 1000);
                self.notice(Tone::Warning, text);
            }
            Event::SubAgentDetached { agent_id } => self.detached(agent_id),
            Event::SubAgentStart { agent_id, attendance: Attendance::Background, .. } => {
                self.detached(agent_id);
            }
            Event::Ended { ending } => self.ended(seen, ending, now),
            _ => {}
        }
    }

    fn opened(&mut self, seen: &RunEvent, now: u64) {
        let run = &seen.run;
        self.flush();
        self.run = Some(run.agent_id.clone());
        self.agent = run.definition.agent_type.to_string();
        self.model.clone_from(&run.model.id);
        self.sandbox = run.sandbox.as_ref().map(|sandbox| sandbox.mode.clone());
        self.totals.window = run.model_limits.context_window;
        self.totals.runs += 1;
        self.spent = Totals::default();
        self.clock = Clock::started(now);
        self.asking = 0;
        self.turn = 0;
        self.phase = Phase::Working;
        if !run.task.trim().is_empty() {
            self.items.push(Item::User(run.task.clone()));
        }
    }

    fn ended(&mut self, seen: &RunEvent, ending: &Ending, now: u64) {
        self.flush();
        self.calls.clear();
        self.phase = Phase::Idle;
        self.asking = 0;
        if seen.run.finish == Finish::CompleteTask && !ending.result.trim().is_empty() {
            self.items.extend(self.stream.whole(&ending.result).map(Item::Answer));
        }
        let took = time(self.clock.milliseconds(now));
        let cost =
            self.spent.cost.usd().filter(|usd| *usd > 0.0).map(|usd| format!(" · {}", money(usd)));
        let totals = format!(
            "{took} · {} · {}{}",
            count(u64::from(self.turn), "turn"),
            count(self.spent.tokens, "token"),
            cost.unwrap_or_default()
        );
        match ending.status {
            Status::Goal => self.notice(Tone::Faint, totals),
            Status::Aborted => self.notice(Tone::Warning, format!("stopped after {totals}")),
            status => {
                let error = ending.error.as_deref().unwrap_or(status.as_str());
                self.notice(Tone::Bad, format!("error: {error}"));
                self.notice(Tone::Faint, totals);
            }
        }
    }

    /// What has arrived of an answer stays, whatever comes next.
    fn flush(&mut self) {
        self.items.extend(self.stream.end().map(Item::Answer));
    }

    fn detached(&mut self, id: &RunId) {
        self.background.insert(id.clone());
        if let Some(agent) = self.agents.iter_mut().find(|agent| agent.id == *id) {
            agent.is_background = true;
        }
    }

    fn apply_agent(&mut self, seen: &RunEvent) {
        let id = &seen.run.agent_id;
        match &seen.event {
            Event::SubAgentDetached { agent_id }
            | Event::SubAgentStart { agent_id, attendance: Attendance::Background, .. } => {
                self.detached(agent_id);
            }
            Event::Started => {
                for notice in &seen.run.notices {
                    if self.told.insert(notice.clone()) {
                        self.notice(Tone::Warning, notice);
                    }
                }
            }
            _ => {}
        }
        let at = self.agents.iter().position(|agent| agent.id == *id);
        let at = match at {
            Some(at) => at,
            None if matches!(seen.event, Event::Ended { .. }) => return,
            None => {
                self.totals.runs += 1;
                let mut agent = Agent::new(&seen.run);
                agent.is_background = self.background.contains(id);
                agent.place = (self.turn, self.calls.place_of(&seen.run.task));
                self.agents.push(agent);
                if self.agents.len() > MOST_BLOCKS {
                    self.agents.iter_mut().for_each(|agent| agent.is_crowded = true);
                }
                self.agents.len() - 1
            }
        };
        let Some(agent) = self.agents.get_mut(at) else { return };
        agent.apply(seen);
        if !agent.is_open() {
            let agent = self.agents.remove(at);
            self.ended.push(self.items.len());
            self.items.push(Item::Agent(Box::new(agent)));
        }
    }
}

/// What somebody said in a message.
fn said(message: &Message) -> String {
    let Message::User { content } = message else { return String::new() };
    let texts = content.iter().filter_map(|part| match part {
        UserPart::Text { text } => Some(text.as_str()),
        UserPart::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn freed(compaction: &Compaction) -> &'static str {
    match compaction {
        Compaction::Summarised { .. } => "the conversation was summarised to free context",
        Compaction::Dropped { .. } => "old turns were removed to free context",
        Compaction::Trimmed { .. } => "old tool results were shortened to free context",
    }
}
