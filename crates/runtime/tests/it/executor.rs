//! The one loop: what it does with models that hang, fail and drip, tools that are slow or forbidden,
//! clocks, cancellation and journals. Time is paused: no test waits.

mod approvals;
mod compaction;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use attache_kernel::{
    agent::definition::Definition,
    id::AgentName,
    rights::{
        permission::{CallGuard, Foresight, Permission, SharedGuard},
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        Run,
        assignment::{Assignment, RunRequest},
        event::{ApprovalDecision, Event, activity::EventType},
        message::Image,
        outcome::{Outcome, RecoveredFrom, Status},
        transcript::{Entry, Header, Line, fold},
    },
};
use attache_runtime::internal::{
    approvals::{ApprovalAnswer, ApprovalFuture, Approvals, Approver, Question},
    events::{EventLog, Events},
    executor::{Execution, Patience, drive},
    model::{Chunk, Chunks, Model, ModelCall, ModelFuture},
    store::{JournalWriter, StoreError, StoreFuture},
    tasks::Links,
    tool::{
        Concurrency, FileGuard, Repeatability, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
        artifacts::Artifacts, catalogue::builtin_tools, workspace::Workspace,
    },
};
use attache_testkit::{
    assignment::assignment_of,
    scripted_model::{ScriptedModel, calls, completes, fails_for_now, hangs, says},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

/// Keeps the entries, and says so before anyone sees them.
#[derive(Debug, Clone, Default)]
struct Kept {
    entries: Arc<Mutex<Vec<Entry>>>,
    full_after: Option<usize>,
}

impl JournalWriter for Kept {
    fn append<'a>(&'a mut self, new: &'a [Entry]) -> StoreFuture<'a, ()> {
        let mut entries = self.entries.lock().unwrap();
        let written = if self.full_after.is_some_and(|most| entries.len() + new.len() > most) {
            Err(StoreError::Full {
                path: "agent-1.jsonl".into(),
                source: std::io::Error::other("no space left"),
            })
        } else {
            entries.extend_from_slice(new);
            Ok(())
        };
        Box::pin(std::future::ready(written))
    }

    fn location(&self) -> String {
        "memory".to_owned()
    }
}

/// A tool that does what a closure says.
struct Doing {
    spec: ToolSpec,
    time_limit: Option<Duration>,
    work: Box<dyn Fn(Value, ToolContext) -> ToolFuture<'static> + Send + Sync>,
}

impl std::fmt::Debug for Doing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Doing")
    }
}

impl Tool for Doing {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn time_limit(&self, _arguments: &Value, usual: Duration) -> Duration {
        self.time_limit.unwrap_or(usual)
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        (self.work)(arguments, context.clone())
    }
}

fn tool(
    builtin: BuiltinTool,
    concurrency: Concurrency,
    work: impl Fn(Value, ToolContext) -> ToolFuture<'static> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: builtin.into(),
        description: "Does it.".into(),
        parameters: json!({"type": "object"}).into(),
        concurrency,
        repetition: match concurrency {
            Concurrency::Parallel => Repeatability::Repeatable,
            Concurrency::Exclusive => Repeatability::Once,
        },
    };
    Arc::new(Doing { spec, time_limit: None, work: Box::new(work) })
}

/// Gives the same answer about every call.
struct Always(Permission);

impl CallGuard for Always {
    fn check(&self, _: &ToolName, _: &Value, _: &Foresight) -> Permission {
        self.0.clone()
    }
}

struct World {
    folder: TempDir,
    tools: Vec<Arc<dyn Tool>>,
    cancel: CancellationToken,
    journal: Kept,
    events: EventLog,
    definition: Definition,
    context_window: Option<u64>,
    guard: SharedGuard,
    approvals: Approvals,
}

impl World {
    fn new() -> Self {
        let mut definition = Definition::named(AgentName::new("tester"));
        definition.prompt_config.system_prompt = Some("You test.".to_owned());
        Self {
            folder: TempDir::new().unwrap(),
            tools: Vec::new(),
            cancel: CancellationToken::new(),
            journal: Kept::default(),
            events: EventLog::default(),
            definition,
            context_window: None,
            guard: Arc::new(Always(Permission::Allow)),
            approvals: Approvals::default(),
        }
    }

    fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    fn header(&self) -> Header {
        Header::new("then", self.assignment())
    }

    fn assignment(&self) -> Assignment {
        let tools = self.tools.iter().map(|tool| tool.spec().clone()).collect();
        let mut assignment = assignment_of(self.definition.clone(), "test it").with_tools(tools);
        assignment.model_limits.context_window = self.context_window;
        assignment
    }

    async fn run(&self, model: Arc<dyn Model>) -> Result<(Run, Outcome), StoreError> {
        let guard = Arc::clone(&self.guard);
        let request = RunRequest { assignment: self.assignment(), fork: None, guard };
        let (run, opening) = Run::new(request).unwrap();
        self.drive(run, opening, 1, model).await
    }

    async fn drive(
        &self,
        run: Run,
        opening: Vec<Event>,
        next_seq: u64,
        model: Arc<dyn Model>,
    ) -> Result<(Run, Outcome), StoreError> {
        let tools: BTreeMap<ToolName, Arc<dyn Tool>> =
            self.tools.iter().map(|tool| (tool.spec().name.clone(), Arc::clone(tool))).collect();
        drive(Execution {
            run,
            opening,
            next_seq,
            model,
            tools: Arc::new(tools),
            context: ToolContext {
                cancel: self.cancel.clone(),
                ..ToolContext::new(
                    Workspace::new(self.folder.path()).unwrap(),
                    Artifacts::new(self.folder.path().join("artifacts")),
                    FileGuard::unrestricted(),
                )
            },
            approvals: self.approvals.clone(),
            journal: Box::new(self.journal.clone()),
            events: self.events.clone(),
            links: Links::default(),
            patience: Patience::default(),
        })
        .await
        .map_err(|broken| broken.error)
    }

    async fn outcome(&self, model: ScriptedModel) -> Outcome {
        self.run(Arc::new(model)).await.unwrap().1
    }

    fn entries(&self) -> Vec<Entry> {
        self.journal.entries.lock().unwrap().clone()
    }
}

fn shown(mut events: Events) -> Vec<EventType> {
    let seen = std::iter::from_fn(|| events.try_next());
    seen.filter_map(|event| event.activity()).map(|activity| activity.event_type).collect()
}

fn quick(text: &'static str) -> Arc<dyn Tool> {
    tool(BuiltinTool::ReadFile, Concurrency::Parallel, move |_, _| {
        Box::pin(std::future::ready(ToolOutput::text(text)))
    })
}

#[tokio::test(start_paused = true)]
async fn from_task_to_result_everything_is_journalled_then_shown() {
    let world = World::new().with(quick("forty-two"));
    let watching = world.events.read(1);
    let model = ScriptedModel::new([
        calls("read_file", &json!({"path": "a"})).then_says("looking"),
        completes("it is 42"),
    ]);
    let (run, outcome) = world.run(Arc::new(model)).await.unwrap();
    assert_eq!((outcome.ending.status, outcome.ending.result.as_str()), (Status::Goal, "it is 42"));
    assert_eq!((outcome.turns_used, outcome.tool_uses), (2, 1));
    let entries = world.entries();
    assert!(entries.iter().map(|entry| entry.seq).is_sorted_by(|one, next| one < next));
    assert!(matches!(entries[0].event, Event::Opened { .. }));
    assert!(matches!(entries.last().unwrap().event, Event::Ended { .. }));
    let shown = shown(watching);
    assert_eq!(
        (shown.first(), shown.last()),
        (Some(&EventType::Started), Some(&EventType::Completed))
    );
    // What lies in the journal is the run.
    let header = Line::Header(Box::new(world.header()));
    let lines = std::iter::once(header).chain(entries.into_iter().map(Line::Event));
    assert_eq!(fold(lines).unwrap(), run);
}

#[tokio::test(start_paused = true)]
async fn read_only_calls_run_side_by_side() {
    let barrier = Arc::new(Barrier::new(3));
    let meeting = Arc::clone(&barrier);
    // Each call waits for the two others: one after another they would never return.
    let world =
        World::new().with(tool(BuiltinTool::ReadFile, Concurrency::Parallel, move |_, _| {
            let meeting = Arc::clone(&meeting);
            Box::pin(async move {
                meeting.wait().await;
                ToolOutput::text("met")
            })
        }));
    let turn = calls("read_file", &json!({"path": "a"}))
        .then_calls("read_file", &json!({"path": "b"}))
        .then_calls("read_file", &json!({"path": "c"}));
    let outcome = world.outcome(ScriptedModel::new([turn, completes("done")])).await;
    assert_eq!((outcome.ending.status, outcome.tool_uses), (Status::Goal, 3));
}

#[tokio::test(start_paused = true)]
async fn mutating_calls_run_one_after_another_in_order() {
    let under_way = Arc::new(AtomicUsize::new(0));
    let order = Arc::new(Mutex::new(Vec::new()));
    let (counter, seen) = (Arc::clone(&under_way), Arc::clone(&order));
    let world = World::new().with(tool(
        BuiltinTool::WriteFile,
        Concurrency::Exclusive,
        move |arguments, _| {
            let (counter, seen) = (Arc::clone(&counter), Arc::clone(&seen));
            Box::pin(async move {
                assert_eq!(counter.fetch_add(1, Ordering::SeqCst), 0, "two writes at once");
                tokio::task::yield_now().await;
                counter.fetch_sub(1, Ordering::SeqCst);
                seen.lock().unwrap().push(arguments["n"].as_i64().unwrap());
                ToolOutput::text("written")
            })
        },
    ));
    let turn = calls("write_file", &json!({"n": 1}))
        .then_calls("write_file", &json!({"n": 2}))
        .then_calls("write_file", &json!({"n": 3}));
    world.outcome(ScriptedModel::new([turn, completes("done")])).await;
    assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_stopped_and_the_model_is_told() {
    let world = World::new().with(tool(BuiltinTool::ReadFile, Concurrency::Parallel, |_, _| {
        Box::pin(std::future::pending())
    }));
    let model = Arc::new(ScriptedModel::new([
        calls("read_file", &json!({"path": "a"})),
        completes("gave up"),
    ]));
    let (_, outcome) = world.run(Arc::clone(&model) as Arc<dyn Model>).await.unwrap();
    assert_eq!(outcome.ending.status, Status::Goal);
    let told = format!("{:?}", model.requests()[1].messages);
    assert!(told.contains("did not finish within 120 s"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_called_again_and_its_silence_is_told() {
    let world = World::new();
    let watching = world.events.read(1);
    let outcome = world.outcome(ScriptedModel::new([hangs(), completes("at last")])).await;
    assert_eq!(outcome.ending.status, Status::Goal);
    assert!(shown(watching).contains(&EventType::Retry));
    let told = world.entries().iter().any(|entry| {
        matches!(&entry.event, Event::Retrying { reason, .. } if reason.contains("nothing for 90 s"))
    });
    assert!(told);
}

#[tokio::test(start_paused = true)]
async fn failures_that_pass_are_tried_again_and_lasting_ones_end_the_run() {
    let mut world = World::new();
    let turns = [fails_for_now("529"), fails_for_now("reset"), completes("third time")];
    assert_eq!(world.outcome(ScriptedModel::new(turns)).await.ending.status, Status::Goal);
    world.journal = Kept::default();
    let many = std::iter::repeat_with(|| fails_for_now("overloaded")).take(20);
    let ending = world.outcome(ScriptedModel::new(many)).await.ending;
    assert_eq!(ending.status, Status::Error);
    assert!(ending.error.unwrap().contains("overloaded"));
}

#[tokio::test(start_paused = true)]
async fn time_up_while_the_model_hangs_leads_to_a_last_chance() {
    let mut world = World::new();
    world.definition.run_config.max_time_seconds = 30;
    let watching = world.events.read(1);
    let outcome = world.outcome(ScriptedModel::new([hangs(), completes("in time")])).await;
    assert_eq!(outcome.ending.status, Status::Goal);
    assert_eq!(outcome.ending.recovered_from, Some(RecoveredFrom::Timeout));
    assert!(shown(watching).contains(&EventType::GracePeriodStart));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_never_answers_ends_with_its_limits_and_keeps_what_was_said() {
    let mut world = World::new();
    world.definition.run_config.max_time_seconds = 30;
    world.definition.run_config.grace_period_seconds = 10;
    let half =
        says("so far I know").in_chunks([Chunk::Text("so far I know".to_owned())]).then_hangs();
    let began = tokio::time::Instant::now();
    let outcome = world.outcome(ScriptedModel::new([half, hangs(), hangs()])).await;
    assert_eq!((outcome.ending.status, outcome.ending.partial), (Status::Timeout, true));
    assert_eq!(outcome.ending.result, "so far I know");
    assert_eq!(began.elapsed(), Duration::from_secs(40));
}

#[tokio::test(start_paused = true)]
async fn time_up_while_a_tool_runs_stops_it() {
    let stopped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&stopped);
    let mut world =
        World::new().with(tool(BuiltinTool::ReadFile, Concurrency::Parallel, move |_, context| {
            let count = Arc::clone(&count);
            Box::pin(async move {
                // What outlives the call sees its token.
                tokio::spawn(async move {
                    context.cancel.cancelled().await;
                    count.fetch_add(1, Ordering::SeqCst);
                });
                std::future::pending().await
            })
        }));
    world.definition.run_config.max_time_seconds = 30;
    let turns = [calls("read_file", &json!({"path": "a"})), completes("enough")];
    let outcome = world.outcome(ScriptedModel::new(turns)).await;
    assert_eq!(outcome.ending.recovered_from, Some(RecoveredFrom::Timeout));
    tokio::task::yield_now().await;
    assert_eq!(stopped.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_run_at_once_wherever_it_is() {
    for turns in [
        vec![hangs()],
        vec![says("half").in_chunks([Chunk::Text("half".to_owned())]).then_hangs()],
        vec![calls("read_file", &json!({"path": "a"}))],
        vec![fails_for_now("again")],
    ] {
        let world =
            World::new().with(tool(BuiltinTool::ReadFile, Concurrency::Parallel, |_, _| {
                Box::pin(std::future::pending())
            }));
        let cancel = world.cancel.clone();
        let (outcome, ()) = tokio::join!(world.outcome(ScriptedModel::new(turns)), async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            cancel.cancel();
        });
        assert_eq!(outcome.ending.status, Status::Aborted);
        assert!(matches!(world.entries().last().unwrap().event, Event::Ended { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn pieces_of_text_are_shown_and_not_journalled() {
    let world = World::new();
    let watching = world.events.read(1);
    let turn = completes("x").in_chunks([
        Chunk::Text("a".to_owned()),
        Chunk::Thought("b".to_owned()),
        Chunk::Alive,
        Chunk::Text("c".to_owned()),
    ]);
    world.outcome(ScriptedModel::new([turn])).await;
    let shown = shown(watching);
    assert_eq!(shown.iter().filter(|kind| **kind == EventType::TextChunk).count(), 2);
    assert_eq!(shown.iter().filter(|kind| **kind == EventType::ThoughtChunk).count(), 1);
    assert!(world.entries().iter().all(|entry| entry.event.is_recorded()));
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_is_full_stops_the_run_and_shows_nothing_more() {
    for most in 0..6 {
        let mut world = World::new().with(quick("x"));
        world.journal.full_after = Some(most);
        let watching = world.events.read(1);
        let turns = [calls("read_file", &json!({"path": "a"})), completes("done")];
        let error = world.run(Arc::new(ScriptedModel::new(turns))).await.unwrap_err();
        assert!(error.report().contains("no space left"));
        assert!(shown(watching).len() <= most, "nobody saw what was not written");
    }
}

#[tokio::test(start_paused = true)]
async fn images_of_a_tool_reach_the_conversation() {
    let image = Image { media_type: "image/png".to_owned(), data: "QUJD".to_owned() };
    let seen = image.clone();
    let camera = tool(BuiltinTool::ViewImage, Concurrency::Parallel, move |_, _| {
        let output = ToolOutput { images: vec![seen.clone()], ..ToolOutput::text("a picture") };
        Box::pin(std::future::ready(output))
    });
    let world = World::new().with(camera);
    let model = ScriptedModel::new([calls("view_image", &json!({"path": "a"})), completes("seen")]);
    assert_eq!(world.outcome(model).await.ending.status, Status::Goal);
    let entries = world.entries();
    let journalled = entries.iter().find_map(|entry| match &entry.event {
        Event::ToolReturned { result, .. } => Some(result.images.clone()),
        _ => None,
    });
    assert_eq!(journalled, Some(vec![image]));
}

/// A model that is a program: it wants answers as values.
#[derive(Debug)]
struct Program(ScriptedModel);

impl Model for Program {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        self.0.call(call, chunks)
    }

    fn wants_structured_results(&self) -> bool {
        true
    }
}

/// Nothing is written twice for a language model: only a program gets answers as values.
#[tokio::test]
async fn only_a_program_gets_answers_as_values() {
    for is_program in [false, true] {
        let is_list_dir = |tool: &Arc<dyn Tool>| tool.spec().name == BuiltinTool::ListDir.into();
        let world = World::new().with(builtin_tools().into_iter().find(is_list_dir).unwrap());
        std::fs::write(world.folder.path().join("a.txt"), "x").unwrap();
        let script = ScriptedModel::new([calls("list_dir", &json!({})), completes("seen")]);
        let model: Arc<dyn Model> =
            if is_program { Arc::new(Program(script)) } else { Arc::new(script) };
        let (_, outcome) = world.run(model).await.unwrap();
        assert_eq!(outcome.ending.status, Status::Goal);
        let entries = world.entries();
        let (text, data) = entries.iter().find_map(returned).unwrap();
        assert_eq!(text, "a.txt  1 B");
        let values = json!({"files": [{"path": "a.txt"}]});
        assert_eq!(data, is_program.then_some(values));
    }
}

fn returned(entry: &Entry) -> Option<(String, Option<Value>)> {
    match &entry.event {
        Event::ToolReturned { result, .. } => {
            Some((result.text.clone(), result.data.as_deref().cloned()))
        }
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_nobody_gave_is_answered_and_the_run_goes_on() {
    let world = World::new();
    let model = Arc::new(ScriptedModel::new([
        calls("shell", &json!({"command": "rm -rf /"})),
        completes("fine"),
    ]));
    let (_, outcome) = world.run(Arc::clone(&model) as Arc<dyn Model>).await.unwrap();
    assert_eq!((outcome.ending.status, outcome.tool_uses), (Status::Goal, 0));
}

#[tokio::test]
async fn a_thousand_runs_at_once() {
    let world = Arc::new(World::new().with(quick("x")));
    let runs: Vec<_> = (0..1000)
        .map(|_| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                let turns = [calls("read_file", &json!({"path": "a"})), completes("done")];
                world.outcome(ScriptedModel::new(turns)).await.ending.status
            })
        })
        .collect();
    for run in runs {
        assert_eq!(run.await.unwrap(), Status::Goal);
    }
}
