//! Handles on runs: results for many, events from any number on, slow readers, children, the queue.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use attache_kernel::{
    id::RunId,
    model::usage::Usage,
    rights::{filter::ToolSet, tool_name::BuiltinTool},
    run::{assignment::Assignment, event::Event, outcome::Status},
};
use attache_runtime::internal::{
    executor::Patience,
    model::{Chunks, Model, ModelCall, ModelFuture},
    store::{FileStore, Options, RunState},
    tasks::{RunHandle, Runs, RuntimeDropped, Start, TreeBudgetStart, TreeLimits},
};
use attache_testkit::{
    assignment::assignment,
    scripted_model::{ScriptedModel, calls, completes},
};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::Semaphore;

struct House {
    folder: TempDir,
    runtime: Runs,
}

impl House {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("a.txt"), "forty-two\n").unwrap();
        let store = FileStore::new(folder.path().join("sessions"), Options::default());
        Self { runtime: Runs::new(Arc::new(store), Patience::default()), folder }
    }

    fn prepared(&self, id: &str, model: impl Model + 'static) -> Start {
        let assignment = Assignment { agent_id: RunId::new(id), ..assignment("test it") };
        let rights = ToolSet::of_host([BuiltinTool::ReadFile.into()]);
        Start::new(assignment, rights, Arc::new(model), self.folder.path())
    }

    async fn start(&self, id: &str, model: impl Model + 'static) -> RunHandle {
        self.runtime.start(self.prepared(id, model)).await.unwrap()
    }
}

/// Reads so often, then completes.
fn reads(times: usize) -> ScriptedModel {
    let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
    let read = |number| {
        calls("read_file", &json!({"path": "a.txt", "offset": number + 1})).using(usage.clone())
    };
    let turns = (0..times).map(read).chain([completes("done")]);
    ScriptedModel::new(turns.collect::<Vec<_>>())
}

/// Answers nothing until it is let.
#[derive(Debug)]
struct Held {
    model: ScriptedModel,
    gate: Arc<Semaphore>,
}

impl Model for Held {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        Box::pin(async move {
            self.gate.acquire().await.unwrap().forget();
            self.model.call(call, chunks).await
        })
    }
}

/// Never answers.
#[derive(Debug)]
struct Silent;

impl Model for Silent {
    fn call<'a>(&'a self, _: ModelCall<'a>, _: Chunks<'a>) -> ModelFuture<'a> {
        Box::pin(pending())
    }
}

async fn seqs(handle: &RunHandle, from: u64) -> Vec<u64> {
    let mut events = handle.events(from);
    let mut seqs = Vec::new();
    while let Some(event) = events.next().await {
        seqs.push(event.seq);
    }
    seqs
}

#[tokio::test]
async fn everyone_who_waits_gets_the_result_also_afterwards() {
    let house = House::new();
    let handle = house.start("agent-1", reads(1)).await;
    let (one, other) = tokio::join!(handle.result(), handle.result());
    assert_eq!(one, other);
    assert_eq!(one.unwrap().result, "done");
    assert_eq!(handle.result().await.unwrap().status, Status::Goal);
    assert_eq!(handle.result_so_far().unwrap().turns_used, 2);
    assert_eq!(house.runtime.runs(), []);
}

#[tokio::test]
async fn events_are_replayed_from_any_number_and_then_live() {
    let house = House::new();
    let gate = Arc::new(Semaphore::new(0));
    let handle = house.start("agent-1", Held { model: reads(3), gate: Arc::clone(&gate) }).await;
    let mut early = handle.events(1);
    gate.add_permits(2);
    // Two turns have gone by, the third waits.
    let mut seen = Vec::new();
    while !matches!(seen.last(), Some(Event::TurnStarted { turn: 3, .. })) {
        seen.push(early.next().await.unwrap().event.clone());
    }
    let late = tokio::spawn({
        let handle = handle.clone();
        async move { seqs(&handle, 5).await }
    });
    gate.add_permits(2);
    while let Some(event) = early.next().await {
        seen.push(event.event.clone());
    }
    let all = seqs(&handle, 1).await;
    assert_eq!(all.first(), Some(&1));
    assert!(all.is_sorted_by(|one, next| one < next));
    assert!(matches!(seen.last(), Some(Event::Ended { .. })));
    let recorded = |event: &&Event| event.is_recorded();
    assert_eq!(seen.iter().filter(recorded).count(), all.len());
    let expected: Vec<u64> = all.iter().copied().filter(|seq| *seq >= 5).collect();
    let mut late = late.await.unwrap();
    late.retain(|seq| all.contains(seq));
    assert_eq!(late, expected);
}

#[tokio::test]
async fn a_reader_that_falls_behind_is_caught_up_from_the_journal() {
    let house = House::new();
    let mut prepared = house.prepared("agent-1", reads(600));
    prepared.assignment.limits.max_turns = 1000;
    let handle = house.runtime.start(prepared).await.unwrap();
    let mut slow = handle.events(1);
    // It reads nothing until the run is over: 600 turns make thousands of events.
    let result = handle.result().await.unwrap();
    assert_eq!((result.status, result.turns_used), (Status::Goal, 601));
    assert!(
        slow.waiting() <= 1024,
        "{} events are held for a reader that does not read",
        slow.waiting()
    );
    let mut seen = Vec::new();
    while let Some(event) = slow.next().await {
        if event.event.is_recorded() {
            seen.push(event.seq);
        }
    }
    assert_eq!(seen, seqs(&handle, 1).await);
    assert!(seen.len() > 2000, "{}", seen.len());
}

#[tokio::test]
async fn arguments_and_totals_come_with_replayed_events_too() {
    let house = House::new();
    let handle = house.start("agent-1", reads(1)).await;
    let mut live = handle.events(1);
    let mut shown = Vec::new();
    while let Some(event) = live.next().await {
        shown.extend(event.activity());
    }
    let mut again = handle.events(1);
    let mut replayed = Vec::new();
    while let Some(event) = again.next().await {
        replayed.extend(event.activity());
    }
    assert_eq!(shown, replayed);
    let call = shown.iter().find(|shown| shown.data.contains_key("arguments")).unwrap();
    assert_eq!(call.data["arguments"]["path"], "a.txt");
    assert_eq!(shown.last().unwrap().data["turns_used"], 2);
}

#[tokio::test]
async fn a_message_is_read_with_the_next_turn_once() {
    let house = House::new();
    let gate = Arc::new(Semaphore::new(0));
    let handle = house.start("agent-1", Held { model: reads(2), gate: Arc::clone(&gate) }).await;
    let mut events = handle.events(1);
    while !matches!(events.next().await.unwrap().event, Event::TurnStarted { .. }) {}
    handle.inbox().message("look at b.txt, too").unwrap();
    gate.add_permits(3);
    handle.result().await.unwrap();
    let mut said = Vec::new();
    while let Some(event) = events.next().await {
        match &event.event {
            Event::Announced { message, .. } => said.push(format!("{message:?}")),
            Event::TurnStarted { turn, .. } => said.push(turn.to_string()),
            _ => {}
        }
    }
    // The turn had begun, the model had not been called for it.
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[1].contains("look at b.txt, too"), "{said:?}");
    assert_eq!((said[0].as_str(), said[2].as_str()), ("2", "3"));
    assert!(handle.inbox().message("too late").is_err());
}

#[tokio::test]
async fn cancelling_a_parent_cancels_its_children() {
    let house = House::new();
    let parent = house.start("agent-1", Silent).await;
    let mut child = house.prepared("agent-2", Silent);
    child.parent = Some(parent.clone());
    let child = house.runtime.start(child).await.unwrap();
    let alone = house.start("agent-3", reads(1)).await;
    parent.cancel();
    let (parent, child) = (parent.result().await.unwrap(), child.result().await.unwrap());
    assert_eq!((parent.status, child.status), (Status::Aborted, Status::Aborted));
    assert_eq!(alone.result().await.unwrap().status, Status::Goal);
}

#[tokio::test]
async fn what_children_use_is_in_their_parents_tree() {
    let house = House::new();
    let gate = Arc::new(Semaphore::new(0));
    let parent = house.start("agent-1", Held { model: reads(0), gate: Arc::clone(&gate) }).await;
    let mut tokens = 0;
    for id in ["agent-2", "agent-3"] {
        let mut child = house.prepared(id, reads(2));
        child.parent = Some(parent.clone());
        let child = house.runtime.start(child).await.unwrap().result().await.unwrap();
        tokens += child.total_tokens;
        assert_eq!(child.tree.agents, 1);
    }
    gate.add_permits(1);
    let parent = parent.result().await.unwrap();
    assert!(tokens > 0);
    assert_eq!(parent.tree.agents, 3);
    assert_eq!(parent.tree.total_tokens, parent.total_tokens + tokens);
}

#[tokio::test]
async fn the_budget_of_a_tree_holds_for_all_its_runs() {
    let house = House::new();
    let gate = Arc::new(Semaphore::new(0));
    let mut root = house.prepared("agent-1", Held { model: reads(3), gate: Arc::clone(&gate) });
    let limits = TreeLimits { max_tokens: Some(1), max_cost_usd: None };
    root.budget = TreeBudgetStart { limits, ..TreeBudgetStart::default() };
    let root = house.runtime.start(root).await.unwrap();
    let mut child = house.prepared("agent-2", reads(30));
    child.parent = Some(root.clone());
    let child = house.runtime.start(child).await.unwrap().result().await.unwrap();
    assert!(child.turns_used < 30, "{child:?}");
    gate.add_permits(5);
    assert!(root.result().await.unwrap().turns_used < 4);
}

/// Notes whose turn it is, then answers like the other.
#[derive(Debug)]
struct Noting {
    id: String,
    order: Arc<Mutex<Vec<String>>>,
    model: Held,
}

impl Model for Noting {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        self.order.lock().unwrap().push(self.id.clone());
        self.model.call(call, chunks)
    }
}

#[tokio::test]
async fn more_runs_than_slots_wait_their_turn() {
    let folder = TempDir::new().unwrap();
    let store = FileStore::new(folder.path().join("sessions"), Options::default());
    let runtime = Runs::new(Arc::new(store), Patience::default()).with_slots(2);
    let house = House { folder, runtime };
    let gate = Arc::new(Semaphore::new(0));
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut handles: Vec<RunHandle> = Vec::new();
    for number in 0..5 {
        let id = format!("agent-{number}");
        let model = Held { model: reads(0), gate: Arc::clone(&gate) };
        let model = Noting { id: id.clone(), order: Arc::clone(&order), model };
        let handle = house.start(&id, model).await;
        // Each has its slot or its place in the queue before the next comes.
        let mut events = handle.events(1);
        while !matches!(
            events.next().await.unwrap().event,
            Event::Queued { .. } | Event::TurnStarted { .. }
        ) {}
        handles.push(handle);
    }
    gate.add_permits(5);
    let mut queued = Vec::new();
    for handle in &handles {
        assert_eq!(handle.result().await.unwrap().status, Status::Goal);
        let mut events = handle.events(1);
        let mut ahead_of_it = None;
        while let Some(event) = events.next().await {
            if let Event::Queued { ahead } = event.event {
                ahead_of_it = Some(ahead);
            }
        }
        queued.push(ahead_of_it);
    }
    assert_eq!(queued, [None, None, Some(0), Some(1), Some(2)]);
    let order = order.lock().unwrap().clone();
    assert_eq!(order, ["agent-0", "agent-1", "agent-2", "agent-3", "agent-4"]);
}

#[tokio::test]
async fn a_queued_run_can_be_cancelled() {
    let folder = TempDir::new().unwrap();
    let store = FileStore::new(folder.path().join("sessions"), Options::default());
    let runtime = Runs::new(Arc::new(store), Patience::default()).with_slots(1);
    let house = House { folder, runtime };
    let _running = house.start("agent-1", Silent).await;
    let queued = house.start("agent-2", reads(0)).await;
    let mut events = queued.events(1);
    while !matches!(events.next().await.unwrap().event, Event::Queued { .. }) {}
    queued.cancel();
    assert_eq!(queued.result().await.unwrap().status, Status::Aborted);
}

#[tokio::test]
async fn dropping_the_runtime_ends_its_runs() {
    let house = House::new();
    let handle = house.start("agent-1", Silent).await;
    let mut events = handle.events(1);
    while !matches!(events.next().await.unwrap().event, Event::TurnStarted { .. }) {}
    let House { folder, runtime } = house;
    drop(runtime);
    assert_eq!(handle.result().await, Err(RuntimeDropped));
    assert!(events.next().await.is_none());
    // Its transcript is there, and nobody holds it.
    let store = FileStore::new(folder.path().join("sessions"), Options::default());
    let transcript = store.read("agent-1").unwrap();
    assert_eq!(transcript.state, RunState::Interrupted);
}
