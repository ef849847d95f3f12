//! Approvals by elicitation: the client asks its user whether a call may begin.
//!
//! Invariants: a question is asked within the request that the run works for, and ends with it; a call that goes
//! on between requests keeps it for a while ([`super::calls`]). An answer that cannot be read is a no.

use std::time::Duration;

use attache_kernel::run::Question;
use attache_runtime::internal::approvals::{
    ApprovalAnswer, ApprovalFuture, Approver, Form, FormAnswer, FormFuture,
};
use rmcp::{
    Peer, RoleServer,
    model::{
        ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction, ProtocolVersion,
    },
};
use serde_json::json;
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};
use tokio_util::sync::CancellationToken;

/// The longest preview that a user is shown.
const LONGEST: usize = 4000;

/// The answers there are.
const DECISIONS: [(&str, &str); 3] = [
    ("once", "Yes, this once"),
    ("session", "Yes, and the same again in this session"),
    ("no", "No"),
];

/// Whether a client can ask its user.
pub(super) fn is_offered(capabilities: Option<&ClientCapabilities>) -> bool {
    let offered = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    offered.is_some_and(|offered| offered.form.is_some() || offered.url.is_none())
}

/// How a choice is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wording {
    /// Each value with its title, since 2025-11-25.
    Titled,
    /// Values, and their names beside them: all that 2025-06-18 knows.
    Listed,
}

impl Wording {
    /// What clients of that version read.
    pub(super) fn for_version(version: Option<&ProtocolVersion>) -> Self {
        let is_new = version
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2025_11_25.as_str());
        if is_new { Self::Titled } else { Self::Listed }
    }
}

/// Hands questions to the request that the run works for.
#[derive(Debug)]
pub(super) struct ClientApprover {
    questions: UnboundedSender<Asked>,
    /// Timeout for an answer; `None` waits as long as the request lasts.
    patience: Option<Duration>,
}

/// A question, and where its answer goes.
#[derive(Debug)]
pub(super) enum Asked {
    /// Whether a call may begin.
    Approval(Box<Question>, oneshot::Sender<ApprovalAnswer>),
    /// Values that an MCP server of the agent wants to have.
    Form(Box<Form>, oneshot::Sender<FormAnswer>),
}

impl Asked {
    /// Whether nobody waits for the answer any more.
    pub(super) fn is_withdrawn(&self) -> bool {
        match self {
            Self::Approval(_, answer) => answer.is_closed(),
            Self::Form(_, answer) => answer.is_closed(),
        }
    }

    /// What the user is shown.
    pub(super) fn form(&self, wording: Wording) -> Option<ElicitRequestParams> {
        match self {
            Self::Approval(question, _) => form(question, wording),
            Self::Form(form, _) => passed_on(form),
        }
    }

    /// Hands the client's answer over; one that cannot be read is a no.
    pub(super) fn answer(self, result: Result<&ElicitResult, String>) {
        // The run may have gone on without it.
        match self {
            Self::Approval(_, answer) => {
                let no = |words| ApprovalAnswer::No { words };
                drop(answer.send(result.map_or_else(no, understood)));
            }
            Self::Form(_, answer) => {
                drop(answer.send(result.map_or(FormAnswer::Cancelled, filled)));
            }
        }
    }
}

impl ClientApprover {
    /// An approver, and where its questions arrive.
    pub(super) fn new(patience: Option<Duration>) -> (Self, UnboundedReceiver<Asked>) {
        let (questions, asked) = unbounded_channel();
        (Self { questions, patience }, asked)
    }
}

impl Approver for ClientApprover {
    fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let no = || ApprovalAnswer::No { words: "the client has gone".to_owned() };
            let asked = Asked::Approval(Box::new(question), answer);
            if self.questions.send(asked).is_err() {
                return no();
            }
            let Some(patience) = self.patience else {
                return answered.await.unwrap_or_else(|_| no());
            };
            let late = || ApprovalAnswer::No { words: "nobody answered in time".to_owned() };
            let answer = tokio::time::timeout(patience, answered).await;
            answer.map_or_else(|_| late(), |answer| answer.unwrap_or_else(|_| no()))
        })
    }

    fn fill_in(&self, form: Form) -> FormFuture<'_> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            if self.questions.send(Asked::Form(Box::new(form), answer)).is_err() {
                return FormAnswer::Declined;
            }
            let answered = async { answered.await.unwrap_or(FormAnswer::Cancelled) };
            match self.patience {
                None => answered.await,
                Some(patience) => {
                    tokio::time::timeout(patience, answered).await.unwrap_or(FormAnswer::Cancelled)
                }
            }
        })
    }
}

/// Asks the user of the client, one question after the other. It never ends by itself.
pub(super) async fn ask_all(
    peer: &Peer<RoleServer>,
    wording: Wording,
    mut asked: UnboundedReceiver<Asked>,
) {
    while let Some(asked) = asked.recv().await {
        let Some(form) = asked.form(wording) else {
            asked.answer(Err("nobody could be asked".to_owned()));
            continue;
        };
        let result = peer.create_elicitation(form).await;
        asked.answer(match &result {
            Ok(result) => Ok(result),
            Err(error) => Err(format!("nobody could be asked: {error}")),
        });
    }
    std::future::pending::<()>().await;
}

/// The form of a server of the agent, as the client shows it to its user.
fn passed_on(form: &Form) -> Option<ElicitRequestParams> {
    let Form { agent_type, server, message, .. } = form;
    let message =
        format!("The MCP server {server}, used by the agent {agent_type}, asks: {message}");
    let form = json!({"mode": "form", "message": message, "requestedSchema": form.schema});
    serde_json::from_value(form).ok()
}

fn filled(result: &ElicitResult) -> FormAnswer {
    let values = result.content.as_ref().and_then(|content| content.as_object());
    match (&result.action, values) {
        (ElicitationAction::Accept, Some(values)) => FormAnswer::Filled(values.clone()),
        (ElicitationAction::Decline, _) => FormAnswer::Declined,
        _ => FormAnswer::Cancelled,
    }
}

/// What the user is shown.
fn form(question: &Question, wording: Wording) -> Option<ElicitRequestParams> {
    let shown = question.preview.clone().unwrap_or_else(|| question.arguments.to_string());
    let shown: String = shown.chars().take(LONGEST).collect();
    let message = format!(
        "The agent {} wants to use {}: {}\n\n{shown}",
        question.agent_type, question.tool, question.reason
    );
    let mut decision = json!({"type": "string", "title": "May it?"});
    match wording {
        Wording::Titled => {
            let titled = DECISIONS.map(|(value, title)| json!({"const": value, "title": title}));
            decision["oneOf"] = json!(titled);
        }
        Wording::Listed => {
            decision["enum"] = json!(DECISIONS.map(|(value, _)| value));
            decision["enumNames"] = json!(DECISIONS.map(|(_, title)| title));
        }
    }
    let form = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {"decision": decision},
            "required": ["decision"],
        },
    });
    serde_json::from_value(form).ok()
}

fn understood(result: &ElicitResult) -> ApprovalAnswer {
    let decision = result.content.as_ref().and_then(|content| content.get("decision")?.as_str());
    match (&result.action, decision) {
        (ElicitationAction::Accept, Some("once")) => ApprovalAnswer::Once,
        (ElicitationAction::Accept, Some("session")) => ApprovalAnswer::Session,
        _ => refused(),
    }
}

fn refused() -> ApprovalAnswer {
    ApprovalAnswer::No { words: "the user said no".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        let result = |action: &str, content: Value| {
            let result = serde_json::from_value(json!({"action": action, "content": content}));
            understood(&result.unwrap())
        };
        for (action, content) in [
            ("accept", json!({})),
            ("accept", json!({"decision": "yes"})),
            ("accept", json!({"decision": true})),
            ("accept", Value::Null),
            ("decline", json!({"decision": "once"})),
            ("cancel", json!({"decision": "session"})),
            ("accept", json!({"decision": "no"})),
        ] {
            let answer = result(action, content.clone());
            assert!(matches!(answer, ApprovalAnswer::No { .. }), "{action} {content}: {answer:?}");
        }
        assert_eq!(result("accept", json!({"decision": "once"})), ApprovalAnswer::Once);
        assert_eq!(result("accept", json!({"decision": "session"})), ApprovalAnswer::Session);
    }
}
