//! Waiting for an answer costs no run time, also not the runs that wait for the agent that asked.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use attache_kernel::run::{
    ModelRequest,
    limits::ExplicitLimits,
    message::{Message, UserPart},
    outcome::RecoveredFrom,
};
use attache_runtime::{internal::host::Subject, prelude::*};
use serde_json::{Value, json};
use tempfile::TempDir;

const AGENTS: &str = r#"{
    "boss": {"description": "Delegates.", "prompt": "You delegate.", "tools": ["Task", "Bash"],
        "maxTimeSeconds": 10},
    "worker": {"description": "Works.", "prompt": "You work.", "tools": ["Bash"],
        "maxTimeSeconds": 10}
}"#;

/// Much longer than any run of these tests may take.
const AN_HOUR: Duration = Duration::from_hours(1);

/// Says no after an hour.
#[derive(Debug)]
struct Slow;

impl Approver for Slow {
    fn ask(&self, _: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        Box::pin(async {
            tokio::time::sleep(AN_HOUR).await;
            ApprovalAnswer::No { words: "no".to_owned() }
        })
    }
}

#[derive(Debug, Clone)]
enum Act {
    Says(&'static str),
    Calls(&'static str, Value),
    /// Waits for the result of the agent that was started last.
    AwaitsOutput,
    /// Thinks for that long before it says the text.
    Thinks(Duration, &'static str),
}

/// What agents do, by their tasks and turn by turn.
#[derive(Debug)]
struct ByTask(Mutex<BTreeMap<&'static str, VecDeque<Act>>>);

fn first_task(request: &ModelRequest) -> String {
    let text = |message: &Arc<Message>| match &**message {
        Message::User { content } => match content.as_slice() {
            [UserPart::Text { text }] => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    request.messages.messages().iter().find_map(text).unwrap()
}

/// The agent that the last answer to a call names.
fn last_agent(request: &ModelRequest) -> String {
    let answer = request.messages.messages().iter().rev().find_map(|message| match &**message {
        Message::Tool { results } => results.first().map(|result| result.text.clone()),
        _ => None,
    });
    let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
    answer["agent_id"].as_str().unwrap().to_owned()
}

impl Model for ByTask {
    fn call<'a>(&'a self, asked: ModelCall<'a>, _: Chunks<'a>) -> ModelFuture<'a> {
        let task = first_task(asked.request);
        let mut script = self.0.lock().unwrap();
        let (_, acts) = script.iter_mut().find(|(known, _)| task.contains(**known)).unwrap();
        let act = acts.pop_front().unwrap_or(Act::Says("nothing more"));
        let (thought, part) = match act {
            Act::Says(text) => (Duration::ZERO, AssistantPart::text(text)),
            Act::Thinks(time, text) => (time, AssistantPart::text(text)),
            Act::Calls(tool, arguments) => (Duration::ZERO, call(tool, &arguments)),
            Act::AwaitsOutput => {
                let id = last_agent(asked.request);
                let arguments = json!({"agent_id": id, "timeout": 36_000});
                (Duration::ZERO, call("TaskOutput", &arguments))
            }
        };
        Box::pin(async move {
            tokio::time::sleep(thought).await;
            let usage = Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() };
            Ok(Reply { content: vec![part], stop: StopReason::EndTurn, usage, cost_usd: None })
        })
    }
}

fn call(tool: &str, arguments: &Value) -> AssistantPart {
    AssistantPart::ToolCall {
        call: ToolCall::new(ToolCallId::new(""), tool, arguments.to_string()),
    }
}

fn task(agent: &str, prompt: &str, in_background: bool) -> Act {
    Act::Calls(
        "Task",
        json!({"subagent_type": agent, "prompt": prompt, "description": "work",
            "run_in_background": in_background}),
    )
}

fn asks() -> Act {
    Act::Calls("shell", json!({"command": "touch made.txt"}))
}

fn hands_in() -> Act {
    Act::Calls("complete_task", json!({"result": "asked"}))
}

/// What becomes of a main agent that has ten seconds.
async fn run(script: impl IntoIterator<Item = (&'static str, Vec<Act>)>) -> RunResult {
    let folder = TempDir::new().unwrap();
    let script = script.into_iter().map(|(task, acts)| (task, acts.into())).collect();
    let runtime = Runtime::builder(folder.path())
        .agents_json(AGENTS)
        .model("by-task", ByTask(Mutex::new(script)))
        .max_depth(2)
        .build()
        .unwrap();
    let limits = ExplicitLimits { max_time_seconds: Some(10), ..ExplicitLimits::default() };
    let order = Order {
        model: Some("by-task".into()),
        limits,
        approver: Some(Arc::new(Slow)),
        ..Order::new(Subject::Main, "go")
    };
    let handle = runtime.start(runtime.prepare(order).await.unwrap()).await.unwrap();
    RunResult::clone(&*handle.result().await.unwrap())
}

fn assert_waited(result: &RunResult) {
    assert_eq!((result.status, result.result.as_str()), (Status::Goal, "done"), "{result:?}");
    assert_eq!(result.recovered_from, None, "{result:?}");
    assert!(result.total_duration_ms >= 3_600_000, "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_an_agent_in_front_costs_its_parents_no_time() {
    let result = run([
        ("go", vec![task("worker", "ask", false), Act::Says("done")]),
        ("ask", vec![asks(), hands_in()]),
    ]);
    assert_waited(&result.await);
    let result = run([
        ("go", vec![task("boss", "delegate", false), Act::Says("done")]),
        ("delegate", vec![task("worker", "ask", false), hands_in()]),
        ("ask", vec![asks(), asks(), hands_in()]),
    ]);
    assert_waited(&result.await);
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_background_agent_costs_no_time_while_it_is_waited_for() {
    let ask = || ("ask", vec![asks(), hands_in()]);
    let start = || task("worker", "ask", true);
    // Until the agent has ended.
    let script = vec![start(), Act::Says("later"), Act::Says("done")];
    assert_waited(&run([("go", script), ask()]).await);
    // For its output.
    let script = vec![start(), Act::AwaitsOutput, Act::Says("done")];
    assert_waited(&run([("go", script), ask()]).await);
}

#[tokio::test(start_paused = true)]
async fn who_works_while_a_background_agent_asks_uses_time() {
    let thinks = Act::Thinks(Duration::from_secs(20), "never");
    let result = run([
        ("go", vec![task("worker", "ask", true), thinks, Act::Says("in time")]),
        ("ask", vec![asks(), hands_in()]),
    ]);
    let result = result.await;
    assert_eq!((result.status, result.result.as_str()), (Status::Goal, "in time"), "{result:?}");
    assert_eq!(result.recovered_from, Some(RecoveredFrom::Timeout));
}
