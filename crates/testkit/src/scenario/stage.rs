//! The stage of a scenario: a copy of its `input/`, a real runtime on it for each run, and the people
//! around a run: who answers questions, writes messages, cancels.
//!
//! Besides the built-in tools there is `add_note`: it appends a line to `notes.txt` and must be approved.

use std::{
    collections::VecDeque,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use attache_kernel::run::{event::activity::SubagentActivityEvent, message::Message};
use attache_runtime::{internal::host::Subject, prelude::*};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::script::{Interlude, Meanwhile, RunScript, Script};
use crate::scripted_model::ScriptedModel;

const MODEL: &str = "scripted";

/// Where a scenario is played.
#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
}

/// A run that was played.
#[derive(Debug)]
pub(super) struct Played {
    /// What it showed.
    pub events: Vec<SubagentActivityEvent>,
    /// The messages of the last request to the model.
    pub told: Vec<Arc<Message>>,
    pub result: Arc<RunResult>,
}

impl Stage {
    /// A stage with a copy of that folder, or an empty one.
    pub(super) fn set(input: &Path) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        if input.exists() {
            copy(input, folder.path());
        }
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Plays one run to its end, after that earlier run.
    pub(super) async fn play(
        &self,
        script: &Script,
        run: &RunScript,
        earlier: Option<&str>,
    ) -> Played {
        let (turns, interludes) = run.turns();
        let written = turns.len();
        let model = Arc::new(ScriptedModel::new(turns));
        let runtime = self.runtime(script, &model);
        let people =
            Arc::new(People { answers: Mutex::new(run.answers().collect()), ..People::default() });
        let subject: Subject = match (earlier, &run.agent) {
            (Some(id), _) => runtime.earlier(id).await.expect("the run can go on").into(),
            (None, agent) => agent.clone().expect("the first run has an agent").into(),
        };
        let approver: Arc<dyn Approver> = people.clone();
        let order = Order {
            model: earlier.is_none().then(|| MODEL.to_owned()),
            limits: run.limits(),
            today: Some("2026-01-01".to_owned()),
            approver: Some(approver),
            ..Order::new(subject, run.task.clone())
        };
        let prepared = runtime.prepare(order).await.expect("the order is good");
        let handle = runtime.start(prepared).await.expect("the run starts");
        let mut shown = handle.events(1);
        let mut events = Vec::new();
        let read = async {
            while let Some(event) = shown.next().await {
                events.extend(event.activity());
            }
            handle.result().await.expect("the run ends")
        };
        let result = tokio::select! {
            biased;
            result = read => result,
            never = interfere(&interludes, &handle) => match never {},
        };
        runtime.settled().await;
        let requests = model.requests();
        assert!(requests.len() <= written, "the model is asked for a turn after its last one");
        assert_eq!(model.turns_left(), 0, "the model is not asked for all of its turns");
        people.assert_done();
        let told = requests.last().map(|request| request.messages.messages().to_vec());
        Played { events, told: told.unwrap_or_default(), result }
    }

    /// A runtime as a process of its own would have it.
    fn runtime(&self, script: &Script, model: &Arc<ScriptedModel>) -> Runtime {
        let mut builder = Runtime::builder(self.folder())
            .tool(AddNote::new(self.folder().join("notes.txt")))
            .model(MODEL, Watched(Arc::clone(model)));
        let agents = self.folder().join("agents");
        if agents.exists() {
            builder = builder.agents_dir(agents);
        }
        if let Some(json) = script.agents_json() {
            builder = builder.agents_json(json);
        }
        builder.build().expect("a runtime can be built")
    }
}

/// Nothing of this kind exists.
enum Never {}

/// Does what is done while the model is at its turns.
async fn interfere(interludes: &[Interlude], handle: &RunHandle) -> Never {
    for Interlude { arrived, doing, go } in interludes {
        arrived.notified().await;
        match doing {
            // The turn never ends: the run is stopped in the middle of it.
            Meanwhile::Cancel => handle.cancel(),
            Meanwhile::Message(text) => {
                handle.inbox().message(text).expect("the inbox is open");
                go.notify_one();
            }
        }
    }
    std::future::pending().await
}

/// The scripted model, as the runtime and the runner share it.
#[derive(Debug)]
struct Watched(Arc<ScriptedModel>);

impl Model for Watched {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        self.0.call(call, chunks)
    }
}

/// Who is asked: answers from the script, and remembers what it had no answer for.
#[derive(Debug, Default)]
struct People {
    answers: Mutex<VecDeque<ApprovalAnswer>>,
    unexpected: Mutex<Vec<String>>,
}

impl Approver for People {
    fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let answer = answer.unwrap_or_else(|| {
            let asked = format!("{} ({})", question.tool, question.reason);
            self.unexpected.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
            ApprovalAnswer::Abort
        });
        Box::pin(std::future::ready(answer))
    }
}

impl People {
    fn assert_done(&self) {
        let unexpected = self.unexpected.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(unexpected.is_empty(), "questions without an answer: {}", unexpected.join(", "));
        let left = self.answers.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert_eq!(left, 0, "answers that nobody asked for");
    }
}

/// Appends a line to a file, if somebody approves.
#[derive(Debug)]
struct AddNote {
    spec: ToolSpec,
    notes: PathBuf,
}

impl AddNote {
    fn new(notes: PathBuf) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        });
        let name = ToolName::Host("add_note".to_owned());
        let spec = ToolSpec::acting(name, "Appends a line to notes.txt.", parameters);
        Self { spec, notes }
    }
}

impl Tool for AddNote {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn asks(&self, _: &Value) -> Option<String> {
        Some("it changes notes.txt".to_owned())
    }

    fn call<'a>(&'a self, arguments: Value, _: &'a ToolContext) -> ToolFuture<'a> {
        let text = arguments.get("text").and_then(Value::as_str).unwrap_or_default();
        let mut notes = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.notes)
            .expect("the notes can be opened");
        writeln!(notes, "{text}").expect("a note can be written");
        Box::pin(std::future::ready(ToolOutput::text("noted")))
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("the input can be read") {
        let entry = entry.expect("the input can be read");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file can be copied");
        }
    }
}
