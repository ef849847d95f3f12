//! What a call did to files before it was stopped is in the journal and in the result.

use std::{future::pending, sync::Arc, time::Duration};

use attache_kernel::{
    rights::{
        filter::ToolSet,
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        event::Event,
        file_change::{FileChange, FileVersion},
        outcome::Status,
    },
};
use attache_runtime::{
    internal::{
        approvals::{Approvals, ApproveAll},
        executor::Patience,
        store::{FileStore, Options},
        tasks::{Runs, Start},
        tool::{Concurrency, Repeatability, Tool, ToolContext, ToolFuture, ToolSpec},
    },
    prelude::RunResult,
};
use attache_testkit::{
    assignment::assignment,
    scripted_model::{ScriptedModel, calls, completes},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Changes a file, and never returns.
#[derive(Debug)]
struct Hanging {
    spec: ToolSpec,
    changed: Arc<Notify>,
}

fn change() -> FileChange {
    let after = Some(FileVersion { text: None, executable: false });
    FileChange { path: "a.txt".to_owned(), before: None, after, moved_from: None }
}

impl Tool for Hanging {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        let done = context.changes.record(|| Ok::<_, ()>(()), change());
        assert_eq!(done, Some(Ok(())));
        self.changed.notify_one();
        Box::pin(pending())
    }
}

enum Then {
    Cancel,
    Wait,
}

/// The result of a run whose call hangs, and the text and changes that its journal has of the call.
async fn stopped(then: Then) -> (Arc<RunResult>, String, Vec<FileChange>) {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(FileStore::new(folder.path().join("sessions"), Options::default()));
    // What the tool is going to say it wrote.
    std::fs::write(folder.path().join("a.txt"), "x").unwrap();
    let changed = Arc::new(Notify::new());
    let spec = ToolSpec {
        name: BuiltinTool::WriteFile.into(),
        description: "Changes a file.".into(),
        parameters: json!({"type": "object"}).into(),
        concurrency: Concurrency::Exclusive,
        repetition: Repeatability::Once,
    };
    let tool: Arc<dyn Tool> = Arc::new(Hanging { spec, changed: Arc::clone(&changed) });
    let patience = Patience { tool: Duration::from_secs(5), ..Patience::default() };
    let runs = Runs::with_tools(store.clone(), patience, [tool]);
    let rights = ToolSet::of_host([ToolName::Builtin(BuiltinTool::WriteFile)]);
    let model =
        ScriptedModel::new([calls("write_file", &json!({"path": "a.txt"})), completes("done")]);
    let mut start = Start::new(assignment("act"), rights, Arc::new(model), folder.path());
    start.approvals = Approvals::new(Arc::new(ApproveAll));
    let handle = runs.start(start).await.unwrap();
    tokio::select! {
        () = changed.notified() => {}
        result = handle.result() => panic!("the call never began: {result:?}"),
    }
    if matches!(then, Then::Cancel) {
        handle.cancel();
    }
    let result = handle.result().await.unwrap();
    let transcript = store.read(handle.id().as_str()).unwrap();
    let returned = transcript.entries.into_iter().find_map(|entry| match entry.event {
        Event::ToolReturned { result, changes, .. } => Some((result.text, changes)),
        _ => None,
    });
    let (text, changes) = returned.unwrap();
    (result, text, changes)
}

#[tokio::test]
async fn a_call_that_is_cancelled_tells_what_it_had_changed() {
    let (result, text, changes) = stopped(Then::Cancel).await;
    assert_eq!(result.status, Status::Aborted);
    assert_eq!(changes, [change()]);
    assert_eq!(text, "it was stopped after it had changed a.txt");
    assert_eq!(result.changes.as_ref().unwrap().files, ["a.txt"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_tells_what_it_had_changed() {
    let (result, text, changes) = stopped(Then::Wait).await;
    assert_eq!(result.status, Status::Goal);
    assert_eq!(changes, [change()]);
    assert!(text.starts_with("write_file did not finish within 5 s"), "{text}");
    assert_eq!(result.changes.as_ref().unwrap().files, ["a.txt"]);
}
