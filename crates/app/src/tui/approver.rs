//! Who is asked about calls: the user at the screen.
//!
//! Invariant: a question is either answered or withdrawn. One that nobody waits for any more disappears
//! from the screen, and one whose screen is gone is refused.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use attache_kernel::{
    id::{QuestionId, ToolCallId},
    rights::{permission::Foresight, rule::SessionGrant, tool_name::ToolName},
};
use attache_runtime::internal::approvals::{
    ApprovalAnswer, ApprovalFuture, Approver, Field, Form, FormAnswer, FormFuture, Question,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::update::Message;
use crate::commands::run::Approve;

/// Asks on the screen. A copy is the same.
#[derive(Debug, Clone)]
pub(crate) struct ScreenApprover {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    messages: mpsc::UnboundedSender<Message>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    how: Approve,
    /// What was approved for the session, by whichever run asked.
    granted: Vec<SessionGrant>,
    open: BTreeMap<QuestionId, oneshot::Sender<ApprovalAnswer>>,
}

impl ScreenApprover {
    pub(crate) fn new(messages: mpsc::UnboundedSender<Message>, how: Approve) -> Self {
        let state = Mutex::new(State { how, granted: Vec::new(), open: BTreeMap::new() });
        Self { shared: Arc::new(Shared { messages, state }) }
    }

    /// What is done about questions from now on.
    pub(crate) fn set(&self, how: Approve) {
        self.lock().how = how;
    }

    pub(crate) fn how(&self) -> Approve {
        self.lock().how
    }

    /// Hands an answer to the one who asked.
    pub(crate) fn answer(&self, id: &QuestionId, answer: ApprovalAnswer) {
        let asked = self.lock().open.remove(id);
        if let Some(asked) = asked {
            // Nobody waits for an answer to a call that was stopped.
            drop(asked.send(answer));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer that needs nobody.
    fn at_once(&self, grants: &[SessionGrant]) -> Option<ApprovalAnswer> {
        let state = self.lock();
        match state.how {
            Approve::All => Some(ApprovalAnswer::Once),
            Approve::Deny => Some(ApprovalAnswer::No { words: String::new() }),
            Approve::Ask | Approve::Sandbox => {
                let is_granted =
                    !grants.is_empty() && grants.iter().all(|grant| state.granted.contains(grant));
                is_granted.then_some(ApprovalAnswer::Session)
            }
        }
    }
}

/// Withdraws a question when nobody waits for its answer any more.
struct Withdrawing<'a> {
    approver: &'a ScreenApprover,
    id: QuestionId,
}

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        if self.approver.lock().open.remove(&self.id).is_some() {
            let withdrawn = Message::Withdrawn(self.id.clone());
            // A screen that is gone shows nothing.
            self.approver.shared.messages.send(withdrawn).unwrap_or_default();
        }
    }
}

impl ScreenApprover {
    /// Asks for one value of a form; none is a no.
    async fn value(&self, form: &Form, field: &Field, wrong: Option<&str>) -> Option<String> {
        let label = match field.hint() {
            hint if hint.is_empty() => field.title.clone(),
            hint => format!("{} ({hint})", field.title),
        };
        let reason = match wrong {
            Some(wrong) => wrong.to_owned(),
            None if field.description.is_empty() => "it needs this to go on".to_owned(),
            None => field.description.clone(),
        };
        let id = QuestionId::new(format!("{}/form/{}", form.agent_id, field.name));
        let question = Question {
            request_id: id.clone(),
            agent_id: form.agent_id.clone(),
            agent_type: form.agent_type.clone(),
            call_id: ToolCallId::new("form"),
            tool: ToolName::Host(format!("the MCP server {}", form.server)),
            arguments: serde_json::json!({}),
            reason,
            preview: Some(form.message.clone()),
        };
        let (sender, answer) = oneshot::channel();
        self.lock().open.insert(id.clone(), sender);
        let _withdrawing = Withdrawing { approver: self, id };
        self.shared.messages.send(Message::AskedForValue(question, label)).ok()?;
        match answer.await.ok()? {
            ApprovalAnswer::No { words } => Some(words),
            ApprovalAnswer::Once | ApprovalAnswer::Session | ApprovalAnswer::Abort => None,
        }
    }

    async fn filled_in(&self, form: &Form) -> FormAnswer {
        if self.how() == Approve::Deny {
            return FormAnswer::Declined;
        }
        let mut values = serde_json::Map::new();
        for field in &form.fields {
            let mut wrong = None;
            let value = loop {
                let typed = self.value(form, field, wrong.as_deref()).await;
                let Some(typed) = typed else { return FormAnswer::Declined };
                match field.read(&typed) {
                    Ok(value) => break value,
                    Err(why) => wrong = Some(why),
                }
            };
            values.extend(value.map(|value| (field.name.clone(), value)));
        }
        FormAnswer::Filled(values)
    }
}

impl Approver for ScreenApprover {
    fn fill_in(&self, form: Form) -> FormFuture<'_> {
        Box::pin(async move { self.filled_in(&form).await })
    }

    fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        Box::pin(async move {
            let grants =
                SessionGrant::of_call(&question.tool, &question.arguments, &Foresight::default());
            if let Some(answer) = self.at_once(&grants) {
                return answer;
            }
            let id = question.request_id.clone();
            let (sender, answer) = oneshot::channel();
            self.lock().open.insert(id.clone(), sender);
            let _withdrawing = Withdrawing { approver: self, id };
            let gone = || ApprovalAnswer::No { words: "the screen is closed".to_owned() };
            if self.shared.messages.send(Message::Asked(question)).is_err() {
                return gone();
            }
            let answer = answer.await.unwrap_or_else(|_| gone());
            if answer == ApprovalAnswer::Session {
                self.lock().granted.extend(grants);
            }
            answer
        })
    }
}
