//! Approvals by elicitation: the client asks its user whether a call may begin.
//!
//! Invariants: a question is asked within the request that the run works for, and ends with it. An answer that
//! cannot be read is a no.

use attache_kernel::run::Question;
use attache_runtime::approvals::{ApprovalAnswer, ApprovalFuture, Approver};
use rmcp::{
    Peer, RoleServer,
    model::{ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction},
};
use serde_json::json;
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};
use tokio_util::sync::CancellationToken;

/// The longest preview that a user is shown.
const LONGEST: usize = 4000;

/// Whether a client can ask its user.
pub(super) fn is_offered(capabilities: Option<&ClientCapabilities>) -> bool {
    let offered = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    offered.is_some_and(|offered| offered.form.is_some() || offered.url.is_none())
}

/// Hands questions to the request that the run works for.
#[derive(Debug)]
pub(super) struct ClientApprover {
    questions: UnboundedSender<Asked>,
}

/// A question, and where its answer goes.
#[derive(Debug)]
pub(super) struct Asked {
    question: Question,
    answer: oneshot::Sender<ApprovalAnswer>,
}

impl ClientApprover {
    /// An approver, and where its questions arrive.
    pub(super) fn new() -> (Self, UnboundedReceiver<Asked>) {
        let (questions, asked) = unbounded_channel();
        (Self { questions }, asked)
    }
}

impl Approver for ClientApprover {
    fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let no = || ApprovalAnswer::No { words: "the client has gone".to_owned() };
            if self.questions.send(Asked { question, answer }).is_err() {
                return no();
            }
            answered.await.unwrap_or_else(|_| no())
        })
    }
}

/// Asks the user of the client, one question after the other. It never ends by itself.
pub(super) async fn ask_all(peer: &Peer<RoleServer>, mut asked: UnboundedReceiver<Asked>) {
    while let Some(Asked { question, answer }) = asked.recv().await {
        let answered = match form(&question) {
            Some(form) => peer.create_elicitation(form).await.map_or_else(
                |error| ApprovalAnswer::No { words: format!("nobody could be asked: {error}") },
                |result| understood(&result),
            ),
            None => ApprovalAnswer::No { words: "nobody could be asked".to_owned() },
        };
        // The run may have gone on without it.
        drop(answer.send(answered));
    }
    std::future::pending::<()>().await;
}

/// What the user is shown.
fn form(question: &Question) -> Option<ElicitRequestParams> {
    let shown = question.preview.clone().unwrap_or_else(|| question.arguments.to_string());
    let shown: String = shown.chars().take(LONGEST).collect();
    let message = format!(
        "The agent {} wants to use {}: {}\n\n{shown}",
        question.agent_type, question.tool, question.reason
    );
    let decision = json!({
        "type": "string",
        "title": "May it?",
        "oneOf": [
            {"const": "once", "title": "Yes, this once"},
            {"const": "session", "title": "Yes, and the same again in this session"},
            {"const": "no", "title": "No"},
        ],
    });
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
        _ => ApprovalAnswer::No { words: "the user said no".to_owned() },
    }
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
