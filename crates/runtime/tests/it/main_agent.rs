//! The main agent and those it delegates to: in front, in the background, stopped, continued, resumed.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use attache_kernel::run::{
    ModelRequest,
    event::{Attendance, StartedBy},
    limits::ExplicitLimits,
    message::{Message, UserPart},
    outcome::RecoveredFrom,
};
use attache_runtime::{
    internal::{
        host::Subject,
        store::{Options, RunState},
    },
    prelude::*,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

const AGENTS: &str = r#"{
    "worker": {"description": "Works.", "prompt": "You work.", "tools": ["Read"]},
    "slow": {"description": "Works slowly.", "prompt": "You are slow.", "background": true},
    "typed": {"description": "Takes inputs.", "prompt": "Look at ${file}.",
        "inputConfig": {"inputs": {"file": {"type": "string", "description": "f", "required": true}}}}
}"#;

/// What the main agent does, turn by turn; agents echo their task, and wait where they are told to.
#[derive(Debug, Default)]
struct Script {
    main: Mutex<VecDeque<Vec<Act>>>,
    /// Told when there is a further turn; until then the main agent's model thinks.
    more: Notify,
    /// What the main agent was asked, turn by turn.
    asked: Mutex<Vec<ModelRequest>>,
    /// What each task waits for before it is answered.
    gates: Mutex<BTreeMap<String, Arc<Notify>>>,
    /// Told when a task has reached its gate.
    reached: Notify,
}

#[derive(Debug, Clone)]
enum Act {
    Says(&'static str),
    Calls(&'static str, Value),
}

#[derive(Debug, Clone)]
struct Scripted(Arc<Script>);

fn task(prompt: &str) -> Act {
    Act::Calls("Task", json!({"subagent_type": "worker", "prompt": prompt, "description": "work"}))
}

fn in_background(prompt: &str) -> Act {
    Act::Calls(
        "Task",
        json!({"subagent_type": "worker", "prompt": prompt, "description": "work",
            "run_in_background": true}),
    )
}

fn reply(content: Vec<AssistantPart>) -> Reply {
    let usage = Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() };
    Reply { content, stop: StopReason::ToolUse, usage, cost_usd: None }
}

fn call(tool: &str, arguments: &Value) -> AssistantPart {
    AssistantPart::ToolCall {
        call: ToolCall::new(ToolCallId::new(""), tool, arguments.to_string()),
    }
}

/// The texts of the user, in order.
fn told(request: &ModelRequest) -> Vec<String> {
    let text = |message: &Arc<Message>| match &**message {
        Message::User { content } => match content.as_slice() {
            [UserPart::Text { text }] => Some(text.clone()),
            _ => None,
        },
        Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    };
    request.messages.messages().iter().filter_map(text).collect()
}

impl Model for Scripted {
    fn call<'a>(&'a self, asked: ModelCall<'a>, _: Chunks<'a>) -> ModelFuture<'a> {
        let script = Arc::clone(&self.0);
        let request = asked.request.clone();
        Box::pin(async move {
            let is_main =
                !request.tools.iter().any(|tool| tool.name.to_string() == "complete_task");
            if is_main {
                script.asked.lock().unwrap().push(request);
                let acts = loop {
                    let next = script.main.lock().unwrap().pop_front();
                    match next {
                        Some(acts) => break acts,
                        None => script.more.notified().await,
                    }
                };
                let parts = acts.iter().map(|act| match act {
                    Act::Says(text) => AssistantPart::text(*text),
                    Act::Calls(tool, arguments) => call(tool, arguments),
                });
                return Ok(reply(parts.collect()));
            }
            let task = told(&request).pop().unwrap();
            let gate = script.gates.lock().unwrap().get(&task).cloned();
            if let Some(gate) = gate {
                script.reached.notify_one();
                gate.notified().await;
            }
            Ok(reply(vec![call("complete_task", &json!({"result": format!("did {task}")}))]))
        })
    }
}

struct Office {
    folder: TempDir,
    script: Arc<Script>,
    runtime: Runtime,
}

fn office(turns: impl IntoIterator<Item = Vec<Act>>) -> Office {
    office_with(turns, |builder| builder)
}

fn office_with(
    turns: impl IntoIterator<Item = Vec<Act>>,
    change: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
) -> Office {
    let folder = TempDir::new().unwrap();
    let script = Arc::new(Script::default());
    script.main.lock().unwrap().extend(turns);
    let runtime = runtime(&folder, &script, change);
    Office { folder, script, runtime }
}

fn runtime(
    folder: &TempDir,
    script: &Arc<Script>,
    change: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
) -> Runtime {
    let store = FileStore::new(folder.path().join("sessions"), Options::default());
    let builder = Runtime::builder(folder.path())
        .agents_json(AGENTS)
        .store(Arc::new(store))
        .model("scripted", Scripted(Arc::clone(script)));
    change(builder).build().unwrap()
}

impl Office {
    /// What the main agent does next.
    fn then(&self, acts: Vec<Act>) {
        self.script.main.lock().unwrap().push_back(acts);
        self.script.more.notify_one();
    }

    fn gate(&self, task: &str) -> Arc<Notify> {
        let gate = Arc::new(Notify::new());
        self.script.gates.lock().unwrap().insert(task.to_owned(), Arc::clone(&gate));
        gate
    }

    async fn begin(&self) -> RunHandle {
        self.begin_within(ExplicitLimits::default()).await
    }

    async fn begin_within(&self, limits: ExplicitLimits) -> RunHandle {
        let order =
            Order { model: Some("scripted".into()), limits, ..Order::new(Subject::Main, "go") };
        self.runtime.start(self.runtime.prepare(order).await.unwrap()).await.unwrap()
    }

    async fn run(&self) -> (RunHandle, Arc<RunResult>) {
        let handle = self.begin().await;
        let result = handle.result().await.unwrap();
        (handle, result)
    }

    fn asked(&self) -> Vec<ModelRequest> {
        self.script.asked.lock().unwrap().clone()
    }

    /// The answers of the calls of that turn of the main agent, from 1.
    fn answers(&self, turn: usize) -> Vec<String> {
        let asked = self.asked();
        let messages = asked[turn].messages.messages();
        let results = messages.iter().rev().find_map(|message| match &**message {
            Message::Tool { results } => Some(results.iter().map(|it| it.text.clone()).collect()),
            _ => None,
        });
        results.unwrap()
    }
}

async fn events(handle: &RunHandle) -> Vec<Event> {
    let mut events = handle.events(1);
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        all.push(event.event.clone());
    }
    all
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).map_err(|error| format!("{error}: {text}")).unwrap()
}

#[tokio::test]
async fn several_agents_work_at_once_and_answer_in_the_order_of_the_calls() {
    let office =
        office([vec![task("a"), task("b"), task("c")], vec![Act::Says("All three are done.")]]);
    let first = office.gate("a");
    let main = office.begin().await;
    office.script.reached.notified().await;
    // `a` waits; the others end before it.
    let mut events_so_far = main.events(1);
    let mut ended = 0;
    while ended < 2 {
        let event = events_so_far.next().await.unwrap();
        ended += u32::from(matches!(event.event, Event::SubAgentEnd { success: true, .. }));
    }
    first.notify_one();
    let result = main.result().await.unwrap();
    assert_eq!((result.status, result.result.as_str()), (Status::Goal, "All three are done."));
    let answers = office.answers(1);
    let results: Vec<_> = answers.iter().map(|it| json_of(it)["result"].clone()).collect();
    assert_eq!(results, [json!("did a"), json!("did b"), json!("did c")]);
    let mut keys: Vec<String> = json_of(&answers[0]).as_object().unwrap().keys().cloned().collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "agent_id",
            "duration_seconds",
            "result",
            "status",
            "total_tokens",
            "total_tool_use_count",
            "turns_used"
        ]
    );
    // Two turns of the main agent, one of each of the others, 11 tokens each.
    assert_eq!((result.tree.agents, result.tree.total_tokens), (4, 55));
    let started = events(&main).await.into_iter().filter_map(|event| match event {
        Event::SubAgentStart { name, origin, attendance, .. } => Some((name, origin, attendance)),
        _ => None,
    });
    let expected = ("worker".to_owned(), StartedBy::Main, Attendance::Foreground);
    assert_eq!(started.collect::<Vec<_>>(), vec![expected; 3]);
}

#[tokio::test]
async fn agents_below_cannot_delegate_and_the_request_names_the_agents() {
    let office = office([vec![task("a")], vec![Act::Says("ok")]]);
    let (_, result) = office.run().await;
    assert_eq!(result.status, Status::Goal);
    let request = &office.asked()[0];
    let tool = |name: &str| request.tools.iter().find(|tool| tool.name.to_string() == name);
    let task = tool("Task").unwrap();
    for line in ["- worker: Works.", "- slow: Works slowly.", "- Explore: "] {
        assert!(task.description.contains(line), "{}", task.description);
    }
    assert!(tool("subagent_list").is_some() && tool("complete_task").is_none());
    assert_eq!(task.parameters["required"], json!(["subagent_type", "prompt", "description"]));
    let child = json_of(&office.answers(1)[0])["agent_id"].as_str().unwrap().to_owned();
    let header = office.runtime.store().read(&child).await.unwrap().header.run;
    let tools: Vec<_> = header.tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!((header.depth, tools), (1, vec!["read_file".to_owned()]));
    assert!(header.parent_id.is_some());
}

#[tokio::test]
async fn a_background_agent_is_announced_once_and_the_main_agent_answers_after_it() {
    let office = office([
        vec![in_background("a")],
        vec![Act::Says("It is on its way.")],
        vec![Act::Says("It found what we need.")],
    ]);
    let gate = office.gate("a");
    let main = office.begin().await;
    let mut seen = main.events(1);
    loop {
        let event = seen.next().await.unwrap();
        if matches!(&event.event, Event::Awaiting { agents } if agents.len() == 1) {
            break;
        }
    }
    gate.notify_one();
    let result = main.result().await.unwrap();
    assert_eq!(result.result, "It found what we need.");
    let launched = json_of(&office.answers(1)[0]);
    assert_eq!(
        (&launched["status"], &launched["description"]),
        (&json!("async_launched"), &json!("work"))
    );
    let asked = office.asked();
    let announced: Vec<_> =
        told(&asked[2]).into_iter().filter(|text| text.contains("did a")).collect();
    assert_eq!(announced.len(), 1, "{announced:?}");
    assert!(announced[0].contains(launched["agent_id"].as_str().unwrap()));
}

#[tokio::test]
async fn what_a_call_has_returned_is_not_announced_again() {
    let office = office([vec![in_background("a"), in_background("b")]]);
    let (first, gate) = (office.gate("a"), office.gate("b"));
    let main = office.begin().await;
    // The next turns need the ids.
    let mut seen = main.events(1);
    let mut ids = Vec::new();
    while ids.len() < 2 {
        if let Event::SubAgentStart { agent_id, attendance, .. } = &seen.next().await.unwrap().event
        {
            assert_eq!(*attendance, Attendance::Background);
            ids.push(agent_id.to_string());
        }
    }
    let output =
        |id: &str, block: bool| Act::Calls("TaskOutput", json!({"agent_id": id, "block": block}));
    office.then(vec![output(&ids[0], true), output(&ids[1], false)]);
    office.then(vec![Act::Calls("TaskStop", json!({"agent_id": ids[1]}))]);
    office.then(vec![Act::Says("done")]);
    // It ends while the call waits for it.
    let is_asked = |event: &Event| matches!(event, Event::ToolStarted { tool_name, .. } if tool_name == "TaskOutput");
    while !is_asked(&seen.next().await.unwrap().event) {}
    first.notify_one();
    let result = main.result().await.unwrap();
    drop(gate);
    assert_eq!((result.status, result.result.as_str()), (Status::Goal, "done"));
    let answers = office.answers(2);
    assert_eq!(json_of(&answers[0])["result"], "did a");
    assert_eq!(json_of(&answers[1])["status"], "running");
    assert_eq!(json_of(&office.answers(3)[0])["status"], "aborted");
    assert_eq!(office.asked().len(), 4);
    assert_eq!(told(&office.asked()[3]), ["go"]);
}

#[tokio::test]
async fn an_agent_is_stopped_after_what_waits_for_it_in_the_same_turn() {
    let office = office([vec![in_background("a")]]);
    let gate = office.gate("a");
    let main = office.begin().await;
    let mut seen = main.events(1);
    let id = loop {
        if let Event::SubAgentStart { agent_id, .. } = &seen.next().await.unwrap().event {
            break agent_id.to_string();
        }
    };
    let of = |tool| Act::Calls(tool, json!({"agent_id": id}));
    office.then(vec![of("TaskOutput"), of("TaskStop")]);
    office.then(vec![Act::Says("done")]);
    let is_asked = |event: &Event| matches!(event, Event::ToolStarted { tool_name, .. } if tool_name == "TaskOutput");
    while !is_asked(&seen.next().await.unwrap().event) {}
    gate.notify_one();
    assert_eq!(main.result().await.unwrap().result, "done");
    let answers = office.answers(2);
    let results: Vec<_> = answers.iter().map(|answer| json_of(answer)["result"].clone()).collect();
    assert_eq!(results, ["did a", "did a"], "{answers:?}");
}

#[tokio::test]
async fn stopping_the_main_agent_stops_everything_below_it() {
    let office = office([vec![in_background("a"), task("b")]]);
    let (_a, _b) = (office.gate("a"), office.gate("b"));
    let main = office.begin().await;
    office.script.reached.notified().await;
    office.script.reached.notified().await;
    main.cancel();
    let result = main.result().await.unwrap();
    assert_eq!((result.status, result.tree.agents), (Status::Aborted, 3));
    let ends = events(&main)
        .await
        .into_iter()
        .filter(|event| matches!(event, Event::SubAgentEnd { success: false, .. }));
    assert_eq!(ends.count(), 2);
    assert_eq!(office.runtime.runs(), Vec::<RunId>::new());
    for run in office.runtime.store().list().await.unwrap() {
        assert_eq!(run.state, RunState::Interrupted, "{run:?}");
    }
}

#[tokio::test]
async fn with_one_slot_agents_take_turns() {
    let turns = [vec![task("a"), task("b"), task("c")], vec![Act::Says("ok")]];
    let office = office_with(turns, |builder| builder.max_concurrent(1));
    let (_, result) = office.run().await;
    assert_eq!((result.status, result.tree.agents), (Status::Goal, 4));
}

#[tokio::test]
async fn wrong_calls_are_answered_with_what_to_do() {
    let wrong = |arguments: Value| Act::Calls("Task", arguments);
    let office = office([
        vec![
            wrong(json!({"subagent_type": "wroker", "prompt": "p", "description": "d"})),
            wrong(json!({"subagent_type": "worker", "description": "d"})),
            wrong(
                json!({"subagent_type": "worker", "prompt": "p", "description": "d", "resume": "agent-x"}),
            ),
            wrong(json!({"subagent_type": "typed", "prompt": "p", "description": "d"})),
            wrong(
                json!({"subagent_type": "typed", "prompt": "p", "description": "d", "inputs": {"file": 1}}),
            ),
            Act::Calls("TaskOutput", json!({"agent_id": "agent-x"})),
            Act::Calls("subagent_run", json!({"name": "nobody", "task": "t"})),
            Act::Calls("subagent_describe", json!({"nam": "worker"})),
        ],
        vec![Act::Says("ok")],
    ]);
    let (_, result) = office.run().await;
    assert_eq!((result.status, result.tree.agents), (Status::Goal, 1));
    let answers = office.answers(1);
    for (answer, parts) in answers.iter().zip([
        &["wroker", "worker"][..],
        &["failed to parse function arguments: missing field `prompt`"],
        &["No task found with that agent_id: agent-x"],
        &["input `file` is required"],
        &["input `file` must be of type string, not 1"],
        &["not_found"],
        &["Sub-agent execution failed: ", "nobody"],
        &["failed to parse function arguments: unknown field `nam`"],
    ]) {
        for part in parts {
            assert!(answer.contains(part), "{part}: {answer}");
        }
    }
}

#[tokio::test]
async fn an_agent_is_continued_with_all_it_knew_and_a_running_one_reads_a_message() {
    let office = office([vec![task("first")]]);
    let gate = office.gate("wait");
    let main = office.begin().await;
    let mut seen = main.events(1);
    let id = loop {
        if let Event::SubAgentStart { agent_id, .. } = &seen.next().await.unwrap().event {
            break agent_id.to_string();
        }
    };
    let resume = |id: &str, prompt: &str| {
        Act::Calls(
            "Task",
            json!({"subagent_type": "worker", "prompt": prompt, "description": "d", "resume": id}),
        )
    };
    office.then(vec![resume(&id, "second"), in_background("wait")]);
    let background = loop {
        if let Event::SubAgentStart { agent_id, attendance: Attendance::Background, .. } =
            &seen.next().await.unwrap().event
        {
            break agent_id.to_string();
        }
    };
    // Its task is asked about before the message comes.
    office.script.reached.notified().await;
    office.then(vec![resume(&background, "and this too")]);
    office.then(vec![Act::Says("waiting")]);
    office.then(vec![Act::Says("ok")]);
    let mut sent = false;
    while !sent {
        if let Event::ToolReturned { result, .. } = &seen.next().await.unwrap().event {
            sent = result.text.contains("message_sent");
        }
    }
    gate.notify_one();
    let result = main.result().await.unwrap();
    assert_eq!(result.status, Status::Goal, "{result:?}");
    let answers = office.answers(2);
    let second = json_of(&answers[0]);
    assert_eq!(second["result"], "did second");
    let earlier = office.runtime.store().read(second["agent_id"].as_str().unwrap()).await.unwrap();
    assert_eq!(earlier.header.run.resumed_from, Some(RunId::new(id)));
    // The message was read before the result counted: the agent did that as well.
    let last = told(office.asked().last().unwrap()).pop().unwrap();
    assert!(last.contains("did and this too"), "{last}");
}

#[tokio::test]
async fn an_agent_in_front_can_be_sent_to_the_background() {
    let office = office([vec![task("a")], vec![Act::Says("meanwhile")], vec![Act::Says("ok")]]);
    let gate = office.gate("a");
    let main = office.begin().await;
    office.script.reached.notified().await;
    let ids = office.runtime.runs();
    let child = ids.into_iter().find(|id| id != main.id()).unwrap();
    office.runtime.handle(&child).unwrap().send_to_background();
    let mut seen = main.events(1);
    while !matches!(seen.next().await.unwrap().event, Event::Awaiting { .. }) {}
    gate.notify_one();
    assert_eq!(main.result().await.unwrap().result, "ok");
    assert_eq!(json_of(&office.answers(1)[0])["status"], "async_launched");
    let last = told(&office.asked()[2]).pop().unwrap();
    assert!(last.contains("did a"), "{last}");
}

#[tokio::test]
async fn a_turn_that_is_stopped_leaves_the_background_agents_alone() {
    let office = office([vec![in_background("back")], vec![task("front")], vec![Act::Says("ok")]]);
    let (back, _front) = (office.gate("back"), office.gate("front"));
    let main = office.begin().await;
    office.script.reached.notified().await;
    office.script.reached.notified().await;
    main.stop_turn();
    let mut seen = main.events(1);
    let mut ended = Vec::new();
    let waits_for = loop {
        match &seen.next().await.unwrap().event {
            Event::SubAgentEnd { success, .. } => ended.push(*success),
            Event::Awaiting { agents } => break agents.len(),
            _ => {}
        }
    };
    assert_eq!(
        (ended, waits_for),
        (vec![false], 1),
        "only the one that was waited for was stopped"
    );
    // Nothing is under way, so nothing is stopped.
    main.stop_turn();
    back.notify_one();
    let result = main.result().await.unwrap();
    assert_eq!((result.status, result.result.as_str()), (Status::Goal, "ok"));
    let last = told(office.asked().last().unwrap()).pop().unwrap();
    assert!(last.contains("did back"), "{last}");
}

#[tokio::test]
async fn a_turn_that_is_stopped_is_the_end_where_nothing_goes_on() {
    let office = office([vec![task("front")]]);
    let _front = office.gate("front");
    let main = office.begin().await;
    office.script.reached.notified().await;
    main.stop_turn();
    let result = main.result().await.unwrap();
    assert_eq!(result.status, Status::Aborted, "{result:?}");
}

#[tokio::test]
async fn after_a_crash_the_main_agent_learns_once_what_became_of_its_agents() {
    let office =
        office([vec![in_background("done"), in_background("cut")], vec![Act::Says("waiting")]]);
    let _cut = office.gate("cut");
    let done = office.gate("done");
    let main = office.begin().await;
    let id = main.id().to_string();
    office.script.reached.notified().await;
    office.script.reached.notified().await;
    let mut seen = main.events(1);
    while !matches!(seen.next().await.unwrap().event, Event::Awaiting { .. }) {}
    let Office { folder, script, runtime: first } = office;
    // The process ends in the moment in which one of the agents has ended and nobody was told.
    first.settled().await;
    drop((first, seen));
    main.result().await.unwrap_err();
    drop(main);
    done.notify_one();
    script.main.lock().unwrap().extend([vec![Act::Says("I know.")], vec![Act::Says("Still.")]]);
    let second = runtime(&folder, &script, |builder| builder);
    let go_on = |id: String| {
        let second = second.clone();
        async move {
            let earlier = second.earlier(&id).await.unwrap();
            let order = Order { model: Some("scripted".into()), ..Order::new(earlier, "go on") };
            second.start(second.prepare(order).await.unwrap()).await.unwrap()
        }
    };
    let resumed = go_on(id).await;
    let result = resumed.result().await.unwrap();
    assert_eq!(result.result, "I know.", "{result:?}");
    let again = go_on(resumed.id().to_string()).await.result().await.unwrap();
    assert_eq!(again.result, "Still.");
    let asked = script.asked.lock().unwrap().clone();
    let last = told(asked.last().unwrap());
    let about = last.iter().filter(|text| text.contains("interrupted")).count();
    assert_eq!(about, 1, "{last:?}");
}

/// A conversation was left, and its agent went on by itself.
#[tokio::test]
async fn the_main_agent_learns_the_result_of_an_agent_that_went_on_without_it() {
    let office = office([vec![in_background("cut")], vec![Act::Says("waiting")]]);
    let cut = office.gate("cut");
    let main = office.begin().await;
    let id = main.id().to_string();
    office.script.reached.notified().await;
    let mut seen = main.events(1);
    while !matches!(seen.next().await.unwrap().event, Event::Awaiting { .. }) {}
    let child = office.runtime.runs().into_iter().find(|run| run != main.id()).unwrap();
    let cut_off = office.runtime.handle(&child).unwrap();
    let Office { folder, script, runtime: first } = office;
    first.settled().await;
    drop((first, seen));
    main.result().await.unwrap_err();
    cut_off.result().await.unwrap_err();
    drop((main, cut_off));
    cut.notify_one();
    let second = runtime(&folder, &script, |builder| builder);
    let go_on = |id: String| {
        let second = second.clone();
        async move {
            let earlier = second.earlier(&id).await.unwrap();
            let order = Order { model: Some("scripted".into()), ..Order::new(earlier, "go on") };
            second
                .start(second.prepare(order).await.unwrap())
                .await
                .unwrap()
                .result()
                .await
                .unwrap()
        }
    };
    let went_on = go_on(child.to_string()).await;
    script.main.lock().unwrap().push_back(vec![Act::Says("I know.")]);
    go_on(id).await;
    let asked = script.asked.lock().unwrap().clone();
    let last = told(asked.last().unwrap());
    let about = last.iter().find(|text| text.contains("What became of")).unwrap();
    assert!(about.contains(went_on.agent_id.as_str()), "{about}");
    assert!(about.contains("\"goal\"") && !about.contains("interrupted"), "{about}");
}

#[tokio::test]
async fn the_events_of_a_tree_come_in_order() {
    let office = office([vec![task("a"), task("b")], vec![Act::Says("ok")]]);
    let order = Order { model: Some("scripted".into()), ..Order::new(Subject::Main, "go") };
    let prepared = office.runtime.prepare(order).await.unwrap();
    let (main, mut events) = office.runtime.start_watched(prepared).await.unwrap();
    let mut ended = 0;
    let mut is_over = false;
    while let Some(event) = events.next().await {
        assert!(!is_over, "{event:?}");
        let is_main = event.run.agent_id == *main.id();
        match &event.event {
            Event::Ended { .. } if !is_main => ended += 1,
            Event::ToolReturned { tool_name, .. } if tool_name == "Task" => {
                assert!(is_main && ended > 0, "{event:?}");
            }
            Event::Ended { .. } => is_over = true,
            _ => {}
        }
    }
    assert_eq!((ended, is_over), (2, true));
}

#[tokio::test]
async fn the_three_tools_of_subagents_list_describe_and_run() {
    let office = office([
        vec![
            Act::Calls("subagent_list", json!({})),
            Act::Calls("subagent_list", json!({"query": "slowly"})),
            Act::Calls("subagent_describe", json!({"name": "WORKER"})),
            Act::Calls("subagent_run", json!({"name": "worker", "task": "t"})),
        ],
        vec![Act::Says("ok")],
    ]);
    let (_, result) = office.run().await;
    assert_eq!(result.status, Status::Goal);
    let answers: Vec<Value> = office.answers(1).iter().map(|it| json_of(it)).collect();
    assert_eq!(answers[0]["total"], 5);
    assert_eq!(answers[1]["agents"][0]["name"], "slow");
    assert_eq!(answers[2]["instructions"], "You work.");
    assert_eq!(
        answers[3],
        json!({"agent_name": "worker", "task": "t", "success": true, "output": "did t", "error": null})
    );
}

const ONE_SECOND: ExplicitLimits = ExplicitLimits {
    max_time_seconds: Some(1),
    max_turns: None,
    grace_period_seconds: None,
    max_tokens: None,
    max_cost_usd: None,
};

#[tokio::test]
async fn the_time_of_the_main_agent_bounds_its_waiting_for_background_agents() {
    let office = office([
        vec![in_background("a")],
        vec![Act::Says("It is on its way.")],
        vec![Act::Says("It was stopped.")],
    ]);
    let _shut = office.gate("a");
    let main = office.begin_within(ONE_SECOND).await;
    let result = main.result().await.unwrap();
    assert_eq!((result.status, result.result.as_str()), (Status::Goal, "It was stopped."));
    assert_eq!(result.recovered_from, Some(RecoveredFrom::Timeout));
    let launched = json_of(&office.answers(1)[0]);
    let said = told(&office.asked()[2]);
    let told = said.iter().find(|text| text.contains("A background agent has ended")).unwrap();
    assert!(told.contains(launched["agent_id"].as_str().unwrap()), "{told}");
    assert!(told.contains("aborted"), "{told}");
}

#[tokio::test]
async fn a_background_agent_that_ends_after_the_last_turn_is_announced_in_the_last_chance() {
    let office = office([
        vec![in_background("a")],
        vec![Act::Says("It is on its way.")],
        vec![Act::Says("It found what we need.")],
    ]);
    let gate = office.gate("a");
    let two = ExplicitLimits { max_turns: Some(2), ..ExplicitLimits::default() };
    let main = office.begin_within(two).await;
    let mut seen = main.events(1);
    while !matches!(seen.next().await.unwrap().event, Event::Awaiting { .. }) {}
    gate.notify_one();
    let result = main.result().await.unwrap();
    assert_eq!((result.status, result.result.as_str()), (Status::Goal, "It found what we need."));
    assert_eq!(result.recovered_from, Some(RecoveredFrom::MaxTurns));
    assert!(told(&office.asked()[2]).iter().any(|text| text.contains("did a")));
}

#[tokio::test]
async fn a_call_whose_agent_was_stopped_with_it_tells_how_to_continue_the_agent() {
    let both = [false, true];
    for cancels in both {
        let office = office([vec![task("a")], vec![Act::Says("It was stopped.")]]);
        let _shut = office.gate("a");
        let limits = if cancels { ExplicitLimits::default() } else { ONE_SECOND };
        let main = office.begin_within(limits).await;
        office.script.reached.notified().await;
        if cancels {
            main.cancel();
        }
        let result = main.result().await.unwrap();
        let status = if cancels { Status::Aborted } else { Status::Goal };
        assert_eq!((result.status, result.turns_used), (status, 1));
        let events = events(&main).await;
        let child = events.iter().find_map(|event| match event {
            Event::SubAgentStart { agent_id, .. } => Some(agent_id.to_string()),
            _ => None,
        });
        let answer = events.iter().find_map(|event| match event {
            Event::ToolReturned { result, .. } => Some(result.clone()),
            _ => None,
        });
        let answer = answer.unwrap();
        let told = json_of(&answer.text);
        assert_eq!(told["agent_id"].as_str(), child.as_deref());
        assert_eq!((&told["status"], answer.is_error), (&json!("aborted"), true));
        assert!(told["result"].is_string() && told["partial"] == json!(true), "{told}");
    }
}

#[tokio::test]
async fn what_cannot_be_delegated_is_told_with_what_there_is() {
    let describe = |name: &str| Act::Calls("subagent_describe", json!({ "name": name }));
    let office = office([
        vec![
            task(" "),
            Act::Calls("subagent_run", json!({"name": "worker", "task": ""})),
            describe("nix"),
            describe("workr"),
        ],
        vec![Act::Says("ok")],
    ]);
    office.run().await;
    let answers = office.answers(1);
    assert_eq!(answers[0], "there is no task: `prompt` is empty");
    assert_eq!(answers[1], "Sub-agent execution failed: there is no task: `task` is empty");
    assert!(!answers[2].contains("Did you mean"), "{}", answers[2]);
    assert!(answers[3].contains("Did you mean `worker`?"), "{}", answers[3]);
    for answer in &answers[2..] {
        assert!(answer.contains("Available: ") && answer.contains("slow"), "{answer}");
    }
}

#[tokio::test]
async fn results_that_were_cleaned_up_are_read_from_the_journal() {
    let office = office([vec![in_background("a")]]);
    let main = office.begin().await;
    let mut seen = main.events(1);
    let id = loop {
        if let Event::SubAgentStart { agent_id, .. } = &seen.next().await.unwrap().event {
            break agent_id.to_string();
        }
    };
    let child = office.runtime.handle(&RunId::new(id.as_str()));
    if let Some(child) = child {
        child.result().await.unwrap();
    }
    office.runtime.cleanup_old_tasks(std::time::Duration::ZERO);
    office.then(vec![Act::Calls("TaskOutput", json!({"agent_id": id}))]);
    office.then(vec![Act::Says("done")]);
    assert_eq!(main.result().await.unwrap().result, "done");
    let last = office.asked().pop().unwrap();
    let said = format!("{:?}", last.messages.messages());
    assert_eq!(said.matches("did a").count(), 1, "{said}");
}
