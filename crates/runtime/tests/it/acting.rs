//! Calls that act: what is found out before they are judged, and what they put out while they go on.

use std::sync::{Arc, Mutex};

use attache_kernel::{
    rights::{
        filter::ToolSet,
        rule::RealPath,
        tool_name::{BuiltinTool, ToolName},
    },
    run::{event::Event, outcome::Status},
};
use attache_runtime::internal::{
    approvals::{ApprovalAnswer, ApprovalFuture, Approvals, Approver, Question},
    executor::Patience,
    store::{FileStore, Options, Secrets},
    tasks::{Runs, Start},
    tool::{
        Concurrency, Foresight, ForesightFuture, Repeatability, Tool, ToolContext, ToolFuture,
        ToolOutput, ToolSpec,
    },
};
use attache_testkit::{
    assignment::assignment,
    scripted_model::{ScriptedModel, calls, completes},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const KEY: &str = "sk-very-secret-key";

/// Puts out its pieces, and knows beforehand what it will do.
#[derive(Debug)]
struct Acting {
    spec: ToolSpec,
    pieces: Vec<&'static str>,
    /// After so many looks, a call would do the same each time.
    settles_after: u32,
    foreseen: Mutex<u32>,
    seen: Arc<Mutex<Vec<Foresight>>>,
}

impl Acting {
    fn new(pieces: Vec<&'static str>) -> Self {
        let spec = ToolSpec {
            name: BuiltinTool::WriteFile.into(),
            description: "Acts.".into(),
            parameters: json!({"type": "object"}).into(),
            concurrency: Concurrency::Exclusive,
            repetition: Repeatability::Once,
        };
        Self { spec, pieces, settles_after: 1, foreseen: Mutex::default(), seen: Arc::default() }
    }
}

impl Tool for Acting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn asks(&self, _: &Value) -> Option<String> {
        Some("it acts".to_owned())
    }

    fn foresee<'a>(&'a self, _: &'a Value, _: &'a ToolContext) -> Option<ForesightFuture<'a>> {
        Some(Box::pin(async {
            let mut times = self.foreseen.lock().unwrap();
            *times = (*times + 1).min(self.settles_after);
            let paths = vec![RealPath::new(Some("a.txt"), "/workspace/a.txt")];
            Foresight { paths, preview: Some(format!("preview {times}")), ..Foresight::default() }
        }))
    }

    fn call<'a>(&'a self, _: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async {
            self.seen.lock().unwrap().push(Foresight::clone(&context.foresight));
            for piece in &self.pieces {
                context.output.send(*piece);
                tokio::task::yield_now().await;
            }
            ToolOutput::text("acted")
        })
    }
}

/// Approves everything, and keeps what it was shown.
#[derive(Debug, Default)]
struct Watching(Mutex<Vec<Option<String>>>);

impl Approver for Watching {
    fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        self.0.lock().unwrap().push(question.preview);
        Box::pin(std::future::ready(ApprovalAnswer::Once))
    }
}

/// What a run with one call of the tool shows, what its journal holds, and what was asked.
async fn act(tool: Acting) -> (Vec<Event>, Vec<Event>, Vec<Option<String>>) {
    let folder = TempDir::new().unwrap();
    let options = Options { secrets: Secrets::new([KEY]), ..Options::default() };
    let store = Arc::new(FileStore::new(folder.path().join("sessions"), options));
    let tool: Arc<dyn Tool> = Arc::new(tool);
    let runs = Runs::with_tools(store.clone(), Patience::default(), [tool]);
    let rights = ToolSet::of_host([ToolName::Builtin(BuiltinTool::WriteFile)]);
    let model =
        ScriptedModel::new([calls("write_file", &json!({"path": "a.txt"})), completes("done")]);
    let mut start = Start::new(assignment("act"), rights, Arc::new(model), folder.path());
    let approver = Arc::new(Watching::default());
    start.approvals = Approvals::new(approver.clone());
    let (handle, mut events) = runs.start_watched(start, None).await.unwrap();
    let mut shown = Vec::new();
    while let Some(event) = events.next().await {
        shown.push(event.event.clone());
    }
    assert_eq!(handle.result().await.unwrap().status, Status::Goal);
    let transcript = store.read(handle.id().as_str()).unwrap();
    let journalled = transcript.entries.into_iter().map(|entry| entry.event).collect();
    let asked = approver.0.lock().unwrap().clone();
    (shown, journalled, asked)
}

fn pieces(events: &[Event]) -> Vec<&str> {
    let pieces = events.iter().filter_map(|event| match event {
        Event::ToolOutputChunk { text, .. } => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

#[tokio::test]
async fn what_is_foreseen_is_shown_to_whoever_is_asked_and_to_the_call() {
    let tool = Acting::new(Vec::new());
    let seen = Arc::clone(&tool.seen);
    let (_, journalled, asked) = act(tool).await;
    assert_eq!(asked, [Some("preview 1".to_owned())]);
    let in_journal = journalled.iter().find_map(|event| match event {
        Event::ApprovalRequested { preview, .. } => preview.clone(),
        _ => None,
    });
    assert_eq!(in_journal.as_deref(), Some("preview 1"));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].preview.as_deref(), Some("preview 1"));
    assert_eq!(seen[0].paths, [RealPath::new(Some("a.txt"), "/workspace/a.txt")]);
}

#[tokio::test]
async fn an_approval_holds_for_what_was_shown_alone() {
    // The file changed between the question and the call: it is asked about again.
    let tool = Acting { settles_after: 2, ..Acting::new(Vec::new()) };
    let seen = Arc::clone(&tool.seen);
    let (_, _, asked) = act(tool).await;
    assert_eq!(asked, [Some("preview 1".to_owned()), Some("preview 2".to_owned())]);
    assert_eq!(seen.lock().unwrap()[0].preview.as_deref(), Some("preview 2"));
    // One that never settles is refused in the end.
    let tool = Acting { settles_after: u32::MAX, ..Acting::new(Vec::new()) };
    let seen = Arc::clone(&tool.seen);
    let (_, _, asked) = act(tool).await;
    assert_eq!((asked.len(), seen.lock().unwrap().len()), (3, 0));
}

#[tokio::test]
async fn output_is_shown_as_it_comes_and_is_in_no_journal() {
    let (shown, journalled, _) = act(Acting::new(vec!["one\n", "two\n"])).await;
    assert_eq!(pieces(&shown), ["one\n", "two\n"]);
    let position = |wanted: fn(&Event) -> bool| shown.iter().position(wanted).unwrap();
    let began = position(|event| matches!(event, Event::ToolStarted { .. }));
    let piece = position(|event| matches!(event, Event::ToolOutputChunk { .. }));
    let ended = position(|event| matches!(event, Event::ToolReturned { .. }));
    assert!(began < piece && piece < ended);
    assert!(pieces(&journalled).is_empty());
}

#[tokio::test]
async fn a_key_in_two_pieces_of_output_is_masked() {
    let (shown, ..) = act(Acting::new(vec!["key: sk-very-", "secret-key\n", "sk-ve"])).await;
    let all = pieces(&shown).concat();
    assert!(!all.contains("secret-key"), "{all}");
    assert!(all.starts_with("key: ") && all.ends_with("\nsk-ve"), "{all}");
}

#[tokio::test]
async fn nobody_waits_for_a_slow_watcher() {
    // Far more than can wait: the call returns all the same.
    let (shown, ..) = act(Acting::new(vec!["x"; 5_000])).await;
    assert!(pieces(&shown).concat().len() <= 5_000);
}

/// What a command wrote before its call was stopped is in the journal, for the agent that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn the_output_of_a_command_that_is_stopped_is_kept() {
    for tool in ["shell", "exec_command"] {
        let folder = TempDir::new().unwrap();
        let store = Arc::new(FileStore::new(folder.path().join("sessions"), Options::default()));
        let runs = Runs::new(store.clone(), Patience::default());
        let rights = [BuiltinTool::Shell, BuiltinTool::ExecCommand].map(ToolName::Builtin);
        let command = json!({"command": "echo early; exec sleep 1000"});
        let model = ScriptedModel::new([calls(tool, &command), completes("never")]);
        let rights = ToolSet::of_host(rights);
        let mut start = Start::new(assignment("act"), rights, Arc::new(model), folder.path());
        start.approvals = Approvals::new(Arc::new(Watching::default()));
        let (handle, mut events) = runs.start_watched(start, None).await.unwrap();
        while let Some(event) = events.next().await {
            if matches!(&event.event, Event::ToolOutputChunk { text, .. } if text == "early\n") {
                handle.cancel();
            }
        }
        assert_eq!(handle.result().await.unwrap().status, Status::Aborted);
        let transcript = store.read(handle.id().as_str()).unwrap();
        let told = transcript.entries.into_iter().find_map(|entry| match entry.event {
            Event::ToolReturned { result, .. } => Some((result.text, result.is_error)),
            _ => None,
        });
        let expected = "early\n[stopped before it ended: the run was cancelled]".to_owned();
        assert_eq!(told, Some((expected, true)), "{tool}");
    }
}
