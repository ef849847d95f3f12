//! A tool that starts agents below the run it works for, through the same front door.

use std::sync::Arc;

use attache_kernel::run::assignment::Assignment;
use attache_runtime::prelude::*;
use attache_testkit::scripted_model::{ScriptedModel, calls, completes, hangs};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const AGENTS: &str = r#"{
    "boss": {"description": "d", "prompt": "You delegate.", "tools": ["Read", "spawn"]},
    "worker": {"description": "d", "prompt": "You work.", "tools": ["Read", "Grep"]}
}"#;

/// Starts the agent it is given, and answers with what it hands back.
#[derive(Debug)]
struct Spawn {
    spec: ToolSpec,
    /// Tells what was started.
    started: UnboundedSender<Arc<Assignment>>,
}

impl Spawn {
    fn new() -> (Self, UnboundedReceiver<Arc<Assignment>>) {
        let (started, seen) = unbounded_channel();
        let spec = ToolSpec {
            name: ToolName::Host("spawn".to_owned()),
            description: "Starts an agent.".into(),
            parameters: json!({"type": "object"}).into(),
            concurrency: Concurrency::Parallel,
            repetition: Repeatability::Once,
        };
        (Self { spec, started }, seen)
    }
}

impl Tool for Spawn {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let delegate = context.delegate.as_ref().unwrap();
            let agent = arguments["agent"].as_str().unwrap();
            let order = Order { model: Some("small".into()), ..Order::new(agent, "work") };
            match delegate.start(order).await {
                Ok((child, _)) => {
                    self.started.send(Arc::clone(child.assignment())).unwrap();
                    let result = child.result().await.unwrap();
                    ToolOutput::text(format!("{}: {}", result.status.as_str(), result.result))
                }
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }
}

struct Office {
    _folder: TempDir,
    runtime: Runtime,
    started: UnboundedReceiver<Arc<Assignment>>,
}

fn office(max_depth: u32, small: ScriptedModel) -> Office {
    let folder = TempDir::new().unwrap();
    let usage = |tokens| Usage { input_tokens: tokens, ..Usage::default() };
    let spawning = calls("spawn", &json!({"agent": "worker"})).using(usage(100));
    let big = ScriptedModel::new([spawning, completes("reported").using(usage(10))]);
    let (spawn, started) = Spawn::new();
    let runtime = Runtime::builder(folder.path())
        .agents_json(AGENTS)
        .tool(spawn)
        .model("big", big)
        .model("small", small)
        .max_depth(max_depth)
        .build()
        .unwrap();
    Office { _folder: folder, runtime, started }
}

impl Office {
    async fn begin(&self) -> RunHandle {
        let order = Order { model: Some("big".into()), ..Order::new("boss", "delegate") };
        self.runtime.start(self.runtime.prepare(order).await.unwrap()).await.unwrap()
    }
}

async fn answers_of(handle: &RunHandle) -> Vec<String> {
    let mut events = handle.events(1);
    let mut answers = Vec::new();
    while let Some(event) = events.next().await {
        if let Event::ToolReturned { tool_name, result, .. } = &event.event
            && tool_name == "spawn"
        {
            answers.push(result.text.clone());
        }
    }
    answers
}

#[tokio::test]
async fn a_child_is_narrower_deeper_and_counted() {
    let usage = Usage { input_tokens: 7, ..Usage::default() };
    let mut office = office(2, ScriptedModel::new([completes("done").using(usage)]));
    let boss = office.begin().await;
    let result = boss.result().await.unwrap();
    let child = office.started.recv().await.unwrap();
    assert_eq!(child.parent_id.as_ref(), Some(boss.id()));
    assert_eq!((child.depth, boss.assignment().depth), (2, 1));
    assert_eq!(child.session_id, boss.assignment().session_id);
    // It lists Grep, which its parent does not have.
    let tools: Vec<_> = child.rights.names().map(ToString::to_string).collect();
    assert_eq!(tools, ["read_file"]);
    assert!(child.withheld_tools.iter().any(|withheld| withheld.tool == "grep_files"));
    assert_eq!(answers_of(&boss).await, ["goal: done"]);
    assert_eq!((result.status, result.result.as_str()), (Status::Goal, "reported"));
    assert_eq!((result.total_tokens, result.tree.total_tokens, result.tree.agents), (110, 117, 2));
}

#[tokio::test]
async fn too_deep_is_an_error_for_the_model() {
    let office = office(1, ScriptedModel::new([completes("never")]));
    let boss = office.begin().await;
    let result = boss.result().await.unwrap();
    assert_eq!(answers_of(&boss).await, ["Sub-agents are not enabled in this nested context"]);
    assert_eq!((result.status, result.tree.agents), (Status::Goal, 1));
}

#[tokio::test]
async fn stopping_the_parent_stops_the_child() {
    let mut office = office(2, ScriptedModel::new([hangs()]));
    let boss = office.begin().await;
    let child = office.started.recv().await.unwrap();
    let child = office.runtime.handle(&child.agent_id).unwrap();
    boss.cancel();
    assert_eq!(boss.result().await.unwrap().status, Status::Aborted);
    assert_eq!(child.result().await.unwrap().status, Status::Aborted);
    assert_eq!(office.runtime.runs(), []);
}
