//! A run: one agent from its task to its result, as a machine that decides and never waits.
//!
//! [`Run::next_step`] says what to do next: call the model, let calls begin, ask somebody, call these
//! tools, or nothing more. The driver feeds the answer back and gets the events that follow from it. A
//! run changes by events alone, so its transcript rebuilds it at any point. It ends within its limits,
//! for any answer of the model.

mod admit;
mod begin;
mod budget;
mod calls;
mod clock;
mod compaction;
mod complete_task;
mod decide;
mod envelope;
mod feed;
pub mod fork;
mod handed_in;
pub mod inputs;
mod judge;
mod opening;
mod prose;
mod repetition;
mod resume;
pub mod retry;
mod shown;
pub mod state;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::complete_task::check_schema;
pub use self::{
    budget::{Expected, Spent},
    feed::{Reply, ToolAnswer},
    retry::{ModelFailure, Stage},
};
use self::{
    calls::{Approval, OpenCall},
    complete_task::AnswerCheck,
    inputs::InputProblem,
    judge::Judge,
    state::{Phase, State},
};
use crate::{
    id::{AgentName, QuestionId, RunId, ToolCallId},
    rights::{
        permission::{CallGuard, Foresight, Permission, SharedGuard},
        tool_name::ToolName,
    },
    run::{
        assignment::{Assignment, Finish, RunRequest},
        conversation::Conversation,
        event::Event,
        file_change,
        message::{Message, ToolCall},
        outcome::{Ending, Outcome, Status},
        tool_spec::ToolSpec,
    },
};

/// One agent from its task to its result.
pub struct Run {
    assignment: Arc<Assignment>,
    state: State,
    judge: Judge,
    hands: Hands,
    /// What was found out about the calls that are judged next.
    foreseen: BTreeMap<ToolCallId, Foresight>,
    offered: Arc<[ToolSpec]>,
    offered_in_grace: Arc<[ToolSpec]>,
    /// The tokens that the offered tools take in a request, by their size.
    tools_bytes: u64,
}

/// In whose hands a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hands {
    /// Its driver began it or has taken it over.
    Driven,
    /// It was rebuilt from its transcript. Calls that had begun are judged again before it goes on.
    Rebuilt,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Begin: call [`Run::start`] as soon as there is a place for the run.
    Start,
    /// Go on where a transcript ends: call [`Run::taken_over`]. Only a run that was rebuilt asks for it.
    TakeOver,
    /// Call the model, and feed back its answer or its failure.
    CallModel(ModelRequest),
    /// Let the next calls begin: call [`Run::begin_calls`], which judges each of them now.
    BeginCalls,
    /// Ask somebody whether a call may begin, and feed back the answer with
    /// [`Run::approval_answered`]. The wall clock is paused.
    Ask(Box<Question>),
    /// Make these calls, which have begun, side by side, and feed back what they return.
    CallTools(Vec<PendingCall>),
    /// Wait until something is announced: a background agent ends, or somebody writes.
    Await,
    /// Nothing: the run is over.
    Finished(Box<Outcome>),
}

/// Everything a model call needs.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The conversation. Drop it before feeding back the answer: then adding to it copies nothing.
    pub messages: Conversation,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model is free to call one of them.
    pub demand: Demand,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// When to call, on the run's clock; a retry is not due at once.
    pub not_before: Duration,
    /// When to give up and call [`Run::clock`], on the run's clock.
    pub deadline: Option<Duration>,
}

/// What a model is asked to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Demand {
    /// Nothing in particular.
    #[default]
    Free,
    /// One of the tools on offer: in a last chance there is only `complete_task`.
    AnyTool,
}

/// A call that is not answered yet.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCall {
    /// The call.
    pub id: ToolCallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments, a JSON object.
    pub arguments: Value,
}

/// A question whether a call may begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The id of the question. A question that is asked again after a takeover keeps it.
    pub request_id: QuestionId,
    /// The run that wants to make the call.
    pub agent_id: RunId,
    /// The name of its agent.
    pub agent_type: AgentName,
    /// The call.
    pub call_id: ToolCallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments, a JSON object.
    pub arguments: Value,
    /// Why the call needs approval.
    pub reason: String,
    /// The command or the diff, where there is one to show.
    pub preview: Option<String>,
}

/// Why a run cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The inputs do not fit the definition.
    #[error("{}", listed(.0))]
    Inputs(Vec<InputProblem>),
    /// The definition's output schema is not a schema.
    #[error("the output schema of `{agent}` is not valid: {problem}")]
    OutputSchema {
        /// The agent.
        agent: String,
        /// What is wrong.
        problem: String,
    },
    /// With its variables filled in, the prompt is larger than any model takes.
    #[error("the prompt of `{agent}` has {bytes} bytes once its variables are filled in")]
    PromptTooLarge {
        /// The agent.
        agent: String,
        /// Its size.
        bytes: usize,
    },
    /// A tool is offered twice, or under the name that ends a run.
    #[error("the tool `{0}` cannot be offered: the name is taken")]
    NameTaken(ToolName),
}

fn listed(problems: &[InputProblem]) -> String {
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    problems.join("; ")
}

/// A guard that passes nothing: what a run that was rebuilt has until it is given one.
struct RefuseAll;

impl CallGuard for RefuseAll {
    fn check(&self, _: &ToolName, _: &Value, _: &Foresight) -> Permission {
        Permission::Deny { reason: "this run has no tools yet".to_owned() }
    }
}

impl Run {
    /// A run that has not begun, and the event that opens its transcript.
    pub fn new(request: RunRequest) -> Result<(Self, Vec<Event>), RunError> {
        let RunRequest { mut assignment, fork, guard } = request;
        let declared = assignment.definition.input_config.as_ref();
        let problems = inputs::problems(declared, &assignment.inputs);
        if !problems.is_empty() {
            return Err(RunError::Inputs(problems));
        }
        if let Some(fork) = &fork {
            fork.share_with(&mut assignment);
        }
        if let Some(bytes) = opening::too_large(&assignment) {
            let agent = assignment.definition.agent_type.to_string();
            return Err(RunError::PromptTooLarge { agent, bytes });
        }
        let mut run = Self::unopened(assignment, guard)?;
        let opened = opening::opened(&run.assignment, fork.as_ref());
        let events = run.happened(opened, Duration::ZERO);
        Ok((run, events))
    }

    /// A run with nothing in its conversation yet.
    pub(crate) fn unopened(assignment: Assignment, guard: SharedGuard) -> Result<Self, RunError> {
        let output = assignment.definition.output_config.as_ref();
        let output = output.filter(|_| assignment.finish == Finish::CompleteTask);
        let answer_check = AnswerCheck::new(output).map_err(|problem| RunError::OutputSchema {
            agent: assignment.definition.agent_type.to_string(),
            problem,
        })?;
        let in_grace: Vec<_> = match assignment.finish {
            Finish::CompleteTask => vec![complete_task::spec(output)],
            Finish::TextAnswer => Vec::new(),
        };
        let own: Vec<_> = assignment.tools.iter().chain(&in_grace).cloned().collect();
        let mut names: Vec<_> = own.iter().map(|spec| &spec.name).collect();
        names.sort();
        if let Some([taken, _]) = names.array_windows().find(|[one, other]| one == other) {
            return Err(RunError::NameTaken((*taken).clone()));
        }
        let offered = assignment.shown_tools.clone().unwrap_or(own);
        Ok(Self {
            judge: Judge::new(&assignment, guard, answer_check),
            assignment: Arc::new(assignment),
            state: State::default(),
            hands: Hands::Driven,
            foreseen: BTreeMap::new(),
            tools_bytes: bytes_of(&offered),
            offered: offered.into(),
            offered_in_grace: in_grace.into(),
        })
    }

    /// A run as its transcript makes it, with no right to call anything.
    pub(crate) fn unguarded(assignment: Assignment) -> Result<Self, RunError> {
        let run = Self::unopened(assignment, Arc::new(RefuseAll))?;
        Ok(Self { hands: Hands::Rebuilt, ..run })
    }

    /// A run as it was when its state was written down, with no right to call anything.
    pub fn restored(assignment: Assignment, state: State) -> Result<Self, RunError> {
        let run = Self::unguarded(assignment)?;
        Ok(Self { state, ..run })
    }

    /// The same with the guard of every further call.
    #[must_use]
    pub fn with_guard(mut self, guard: SharedGuard) -> Self {
        self.judge.guard = guard;
        self
    }

    /// What to do next. Asking changes nothing.
    pub fn next_step(&self) -> Step {
        let is_undecided = self.decide(self.state.now_ms).is_some();
        let is_unjudged = self.hands == Hands::Rebuilt && self.state.phase == Phase::Tools;
        if is_undecided || is_unjudged {
            return Step::TakeOver;
        }
        match (self.state.phase, self.outcome()) {
            (Phase::New, _) => Step::Start,
            (Phase::Tools, _) => self.next_of_calls(),
            (Phase::Awaiting, _) => Step::Await,
            (Phase::Ended, Some(outcome)) => Step::Finished(Box::new(outcome)),
            (
                Phase::Model
                | Phase::Summary
                | Phase::SummaryOver
                | Phase::Between
                | Phase::TurnOver
                | Phase::Ended,
                _,
            ) => Step::CallModel(self.model_request()),
        }
    }

    fn model_request(&self) -> ModelRequest {
        let tools = match self.state.grace {
            Some(_) => &self.offered_in_grace,
            None => &self.offered,
        };
        let is_last_chance = self.state.grace.is_some() && self.state.phase == Phase::Model;
        ModelRequest {
            messages: self.conversation().clone(),
            demand: if is_last_chance && !tools.is_empty() {
                Demand::AnyTool
            } else {
                Demand::Free
            },
            tools: tools.clone(),
            attempt: self.state.failures + 1,
            not_before: Duration::from_millis(self.state.not_before_ms),
            deadline: self.deadline(),
        }
    }

    /// A question that is open comes first, then what has begun, then what may begin.
    fn next_of_calls(&self) -> Step {
        if let Some(question) = self.open_calls().find_map(|(call, open)| self.question(call, open))
        {
            return Step::Ask(Box::new(question));
        }
        let pending = |(call, open): (&ToolCall, &OpenCall)| {
            Some(PendingCall {
                id: open.id.clone(),
                tool: open.tool().filter(|_| open.is_under_way())?.clone(),
                arguments: call.arguments().cloned().unwrap_or_default(),
            })
        };
        let pending: Vec<_> = self.open_calls().filter_map(pending).collect();
        if pending.is_empty() { Step::BeginCalls } else { Step::CallTools(pending) }
    }

    fn question(&self, call: &ToolCall, open: &OpenCall) -> Option<Question> {
        let Approval::Asked { request_id, reason, preview } = &open.approval else {
            return None;
        };
        Some(Question {
            request_id: request_id.clone(),
            agent_id: self.assignment.agent_id.clone(),
            agent_type: self.assignment.definition.agent_type.clone(),
            call_id: open.id.clone(),
            tool: open.tool()?.clone(),
            arguments: call.arguments().cloned().unwrap_or_default(),
            reason: reason.clone(),
            preview: preview.clone(),
        })
    }

    /// The calls without an answer, each as the model made it and as it stands.
    fn open_calls(&self) -> impl Iterator<Item = (&ToolCall, &OpenCall)> {
        let mut calls = self.last_calls().into_iter().flatten().enumerate();
        self.state.calls.open().filter_map(move |(position, open)| {
            let call = calls.find(|(number, _)| *number == position)?;
            Some((call.1, open))
        })
    }

    /// The calls of the model's last message.
    fn last_calls(&self) -> Option<impl Iterator<Item = &ToolCall>> {
        self.state
            .conversation
            .from_the_end()
            .find(|message| matches!(message.as_ref(), Message::Assistant { .. }))
            .map(|message| message.calls())
    }

    /// When the time is up, on the run's clock; none while the clock stands or nothing runs.
    pub fn deadline(&self) -> Option<Duration> {
        let deadline = match (self.state.phase, &self.state.grace) {
            (Phase::New | Phase::Ended, _) => None,
            (_, Some(grace)) => Some(grace.until_ms),
            (_, None) => self.state.clock.deadline_ms(self.assignment.limits.max_time_ms()),
        };
        deadline.map(Duration::from_millis)
    }

    /// Whether the run's clock stands: somebody is being asked about one of its calls, or an agent that it
    /// waits for waits for an answer.
    pub fn clock_stands(&self) -> bool {
        self.state.clock.is_paused()
    }

    /// What is to be done, by whom and with what.
    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// The same, to be kept.
    pub fn shared_assignment(&self) -> &Arc<Assignment> {
        &self.assignment
    }

    /// The state, to be written down or compared.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The conversation so far; while the model is asked for a summary, what it is asked.
    pub fn conversation(&self) -> &Conversation {
        self.state.summary.as_ref().map_or(&self.state.conversation, |turn| &turn.asked)
    }

    /// Whether the run is over.
    pub fn has_ended(&self) -> bool {
        self.state.phase == Phase::Ended
    }

    /// The time of the last event, on the run's clock: where a run that is taken over goes on.
    pub fn last_moment(&self) -> Duration {
        Duration::from_millis(self.state.now_ms)
    }

    /// How a run is told that stopped in the middle because nobody could go on with it.
    pub fn broken_off(&self, error: String) -> Outcome {
        // A run whose very end could not be written down has its result already.
        let ended = self.state.ending.as_ref().map(|ending| ending.result.clone());
        let result = ended.unwrap_or_else(|| self.state.last_text.clone());
        let ending = Ending {
            status: Status::Error,
            recovered_from: None,
            partial: !result.is_empty(),
            result,
            output: None,
            error: Some(error),
        };
        self.ended_with(ending)
    }

    /// How the run ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.state.ending.clone().map(|ending| self.ended_with(ending))
    }

    fn ended_with(&self, ending: Ending) -> Outcome {
        Outcome {
            ending,
            turns_used: self.state.turns_asked(),
            duration_ms: self.state.clock.elapsed_ms(self.state.now_ms),
            tool_uses: self.state.tool_uses,
            usage: self.state.usage.clone(),
            cost_usd: self.state.cost.usd(),
            artifacts: self.state.artifacts.clone(),
            changes: file_change::sum(&self.state.changes),
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Run")
            .field("assignment", &self.assignment)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Two runs are the same if they do the same and have come equally far.
impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        self.assignment == other.assignment && self.state == other.state
    }
}

/// The tokens of these tools in a request, by their size.
fn bytes_of(tools: &[ToolSpec]) -> u64 {
    let bytes = |spec: &ToolSpec| spec.description.len() + spec.parameters.text().len();
    let bytes: usize = tools.iter().map(bytes).sum();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Whole milliseconds, the precision of a transcript.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
