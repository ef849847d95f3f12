//! Beginning calls: each is judged in the moment it is to go to its tool.
//!
//! A call that is allowed begins, one that is refused is answered with the reason, and one that needs
//! approval is asked about before it counts as begun. A refusal wins over an approval, and an approval
//! holds for what was shown: if the call would do something else by now, it is asked about again.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Hands, PendingCall, Run,
    calls::{Approval, OpenCall},
    decide::answered,
    milliseconds, prose,
};
use crate::{
    id::{QuestionId, ToolCallId},
    rights::{
        permission::{Foresight, Permission},
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        event::{ApprovalDecision, Event},
        message::ToolCall,
        tool_spec::{Concurrency, Repeatability},
    },
};

/// How often somebody is asked about a call whose effect is another one each time.
const MOST_QUESTIONS: u32 = 3;

impl Run {
    /// The calls that are judged next: those that [`Run::begin_calls`] or [`Run::taken_over`] looks at.
    pub fn calls_to_judge(&self) -> Vec<PendingCall> {
        let next = match self.hands {
            Hands::Driven => self.next_group(),
            Hands::Rebuilt => Vec::new(),
        };
        let is_due = |call: &OpenCall| match self.hands {
            Hands::Driven => next.contains(&call.id),
            Hands::Rebuilt => call.is_under_way() || call.is_asked(),
        };
        let due = self.open_calls().filter(|(_, open)| is_due(open));
        due.filter_map(|(call, open)| {
            let arguments = call.arguments().ok()?.clone();
            Some(PendingCall { id: open.id.clone(), tool: open.tool()?.clone(), arguments })
        })
        .collect()
    }

    /// Takes what was found out about calls that are to be judged; it replaces what was known before.
    pub fn foresee(&mut self, foreseen: BTreeMap<ToolCallId, Foresight>) {
        self.foreseen = foreseen;
    }

    /// What was found out about a call before it was judged.
    pub fn foresight(&self, id: &ToolCallId) -> Option<&Foresight> {
        self.foreseen.get(id)
    }

    /// Lets the next calls begin: all parallel calls up to the first exclusive one, or that one alone. With
    /// the first call that starts an agent all others that do so begin, wherever they stand.
    ///
    /// While any of them has begun, nobody is asked: questions come one at a time, in the order of the
    /// calls, once those that need none have returned. Calls that were approved begin when no question
    /// is left.
    pub fn begin_calls(&mut self, now: Duration) -> Vec<Event> {
        let mut events = Vec::new();
        let group = self.next_group();
        let is_approved = |run: &Self, id: &ToolCallId| {
            run.state.open_call(id).is_some_and(|call| run.is_approved(call))
        };
        let (approved, others): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|id| is_approved(self, id));
        let mut asking = Vec::new();
        for id in others {
            match self.judged(&id, now) {
                Some(Event::ApprovalRequested { .. }) => asking.push(id),
                Some(event) => events.extend(self.happened(event, now)),
                None => {}
            }
        }
        if self.state.calls.open().any(|(_, call)| call.is_under_way()) {
            return events;
        }
        match asking.first() {
            Some(id) => events.extend(self.begin_call(id, now)),
            None => {
                for id in approved {
                    events.extend(self.begin_call(&id, now));
                }
            }
        }
        events
    }

    /// Judges one call and lets it begin, answers it with the refusal, or asks about it. A call that
    /// has begun, is being asked about or was answered makes no event.
    pub fn begin_call(&mut self, id: &ToolCallId, now: Duration) -> Vec<Event> {
        let waits = |call: &OpenCall| call.started_ms.is_none() && !call.is_asked();
        let event =
            if self.executable(id).is_some_and(waits) { self.judged(id, now) } else { None };
        event.map_or_else(Vec::new, |event| self.happened(event, now))
    }

    /// Somebody answered a question. An approved call is judged once more when it begins; a refused one
    /// is answered with the words; an abort cancels the run.
    pub fn approval_answered(
        &mut self,
        request_id: &QuestionId,
        decision: ApprovalDecision,
        words: Option<String>,
        now: Duration,
    ) -> Vec<Event> {
        let asked = self.state.calls.open().find(|(_, call)| match &call.approval {
            Approval::Asked { request_id: asked, .. } => asked == request_id,
            Approval::NotAsked | Approval::Given { .. } | Approval::Refused { .. } => false,
        });
        let Some(call_id) = asked.map(|(_, call)| call.id.clone()) else {
            return Vec::new();
        };
        let request_id = request_id.clone();
        let event = Event::ApprovalResolved { request_id, call_id, decision, reason: words };
        self.happened(event, now)
    }

    /// Takes over a run that was rebuilt from its transcript, and goes on in its place: what had been
    /// decided but not written is decided again, a call that may have taken effect is answered with
    /// that instead of being made again, and every other call that had begun is judged again. A
    /// question that was open is asked again unless the call is refused now. The clock goes on from
    /// [`Run::last_moment`].
    pub fn taken_over(&mut self, now: Duration) -> Vec<Event> {
        let mut events = self.settle(now);
        self.hands = Hands::Driven;
        let open = self.state.calls.open();
        let ids: Vec<_> = open
            .filter(|(_, call)| call.is_under_way() || call.is_asked())
            .map(|(_, call)| call.id.clone())
            .collect();
        for id in ids {
            if let Some(event) = self.judged_again(&id, now) {
                events.extend(self.happened(event, now));
            }
        }
        events
    }

    fn judged_again(&self, id: &ToolCallId, now: Duration) -> Option<Event> {
        let call = self.executable(id)?;
        if call.is_under_way() && self.repeatability(call) == Repeatability::Once {
            let text = prose::OUTCOME_UNKNOWN.to_owned();
            return Some(answered(call, text, true, milliseconds(now)));
        }
        match self.judged(id, now)? {
            Event::ToolStarted { .. } => None,
            Event::ApprovalRequested { .. } if call.is_asked() => None,
            event => Some(event),
        }
    }

    /// The next calls that may run together and have not begun.
    fn next_group(&self) -> Vec<ToolCallId> {
        let open = || self.state.calls.open().filter_map(|(_, call)| Some((call, call.tool()?)));
        let is_parallel = |tool| self.assignment.concurrency(tool) == Concurrency::Parallel;
        let parallel = open().take_while(|(_, tool)| is_parallel(tool)).count();
        let first = parallel.max(1);
        let delegates = open().take(first).any(|(_, tool)| starts_agent(tool));
        let joins = |(position, tool): (usize, &ToolName)| {
            position < first || (delegates && starts_agent(tool))
        };
        let group = open().enumerate().filter(|(position, (_, tool))| joins((*position, tool)));
        let group = group.map(|(_, (call, _))| call);
        let waiting = group.filter(|call| call.started_ms.is_none() && !call.is_asked());
        waiting.map(|call| call.id.clone()).collect()
    }

    /// What becomes of a call that is to begin now.
    fn judged(&self, id: &ToolCallId, now: Duration) -> Option<Event> {
        let call = self.executable(id)?;
        let tool_name = call.tool_name();
        let arguments = self.made(id)?.arguments().ok()?;
        let unknown = Foresight::default();
        let foresight = self.foresight(id).unwrap_or(&unknown);
        let permission = self.judge.permission(call.tool()?, arguments, foresight);
        let refused =
            |reason: &str| answered(call, prose::refused_call(reason), true, milliseconds(now));
        let event = match permission {
            Permission::Deny { reason } => refused(&reason),
            Permission::Ask { .. } if !self.is_approved(call) && call.asked >= MOST_QUESTIONS => {
                refused("what it would do changed every time somebody was asked")
            }
            Permission::Ask { reason } if !self.is_approved(call) => Event::ApprovalRequested {
                request_id: self.next_question_id(),
                call_id: id.clone(),
                tool_name,
                reason,
                preview: foresight.preview.clone(),
            },
            Permission::Allow | Permission::Ask { .. } => {
                Event::ToolStarted { call_id: id.clone(), tool_name }
            }
        };
        Some(event)
    }

    /// Whether a call was approved, and would still do what was shown.
    fn is_approved(&self, call: &OpenCall) -> bool {
        let Approval::Given { preview: shown } = &call.approval else { return false };
        *shown == self.foresight(&call.id).and_then(|foresight| foresight.preview.clone())
    }

    fn next_question_id(&self) -> QuestionId {
        let number = self.state.questions.saturating_add(1);
        QuestionId::new(format!("{}/{number}", self.assignment.agent_id))
    }

    /// A call of the last reply, as the model made it.
    fn made(&self, id: &ToolCallId) -> Option<&ToolCall> {
        self.open_calls().find(|(_, open)| open.id == *id).map(|(call, _)| call)
    }

    pub(super) fn executable(&self, id: &ToolCallId) -> Option<&OpenCall> {
        self.state.open_call(id).filter(|call| call.tool().is_some())
    }
}

/// Whether a call of that tool starts an agent and waits for it.
fn starts_agent(tool: &ToolName) -> bool {
    matches!(tool.builtin(), Some(BuiltinTool::Task | BuiltinTool::SubagentRun))
}
