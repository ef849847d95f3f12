//! Remote models over real HTTP on loopback: a scripted server speaks the four wire APIs, faults included.

mod answers;
mod connections;
mod faults;
mod keys;
mod prefix;
mod requests;

use std::{sync::Arc, time::Duration};

use attache_kernel::{
    model::price::Price,
    rights::{filter::ToolSet, tool_name::BuiltinTool},
    run::{
        Demand, ModelFailure, ModelRequest, Reply, Run,
        assignment::Assignment,
        event::activity::{EventType, SubagentActivityEvent},
        message::Message,
        outcome::RunResult,
        tool_spec::{Concurrency, Repeatability, ToolSpec},
        transcript::fold,
    },
};
use attache_runtime::internal::{
    events::TreeEvents,
    executor::Patience,
    model::{
        Chunk, Model, ModelCall,
        http::HttpClient,
        provider::{ApiKey, Provider, ProviderDescription},
        remote::RemoteModel,
        wire::{Traits, WireApi},
    },
    store::{FileStore, Options, Secrets},
    tasks::{RunHandle, Runs, Start},
};
use attache_testkit::{
    assignment::assignment,
    scripted_server::{Answer, ScriptedServer, Turn, WireApi as Api, text, tool_call},
};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// The key every provider of these tests is called with.
const KEY: &str = "sk-lab/0123456789abcdef";
/// What only ever stands in an answer that breaks off.
const HALF: &str = "half-received";

/// The same API, as the runtime names it.
fn wire(api: Api) -> WireApi {
    match api {
        Api::Chat => WireApi::Chat,
        Api::Responses => WireApi::Responses,
        Api::Anthropic => WireApi::Anthropic,
        Api::Gemini => WireApi::Gemini,
    }
}

fn described(api: Api, base_url: &str) -> ProviderDescription {
    ProviderDescription {
        id: "lab".to_owned(),
        wire_api: wire(api),
        base_url: Some(base_url.to_owned()),
        key: Some(ApiKey { secret: KEY.into(), from: "LAB_API_KEY".to_owned() }),
        ..ProviderDescription::default()
    }
}

fn model_of(description: ProviderDescription, traits: Traits, price: Option<Price>) -> RemoteModel {
    let provider = Arc::new(Provider::new(description).unwrap());
    RemoteModel::new(provider, &HttpClient::default(), traits, price).unwrap()
}

fn model_at(api: Api, server: &ScriptedServer) -> RemoteModel {
    model_of(described(api, &server.base_url()), Traits::default(), None)
}

/// A model that is asked by hand, without a run.
struct Asking<'a> {
    model: &'a RemoteModel,
    assignment: Assignment,
    tools: Vec<ToolSpec>,
    demand: Demand,
    messages: Vec<Message>,
}

/// What came back.
#[derive(Debug)]
struct Heard {
    answer: Result<Reply, ModelFailure>,
    text: String,
    thoughts: String,
}

impl Heard {
    fn reply(self) -> Reply {
        self.answer.unwrap()
    }

    fn failure(self) -> ModelFailure {
        self.answer.unwrap_err()
    }
}

impl<'a> Asking<'a> {
    fn new(model: &'a RemoteModel) -> Self {
        let messages = vec![Message::system("You test."), Message::user("test it")];
        Self {
            model,
            assignment: assignment("test it"),
            tools: vec![read_file()],
            demand: Demand::Free,
            messages,
        }
    }

    async fn hear(&self) -> Heard {
        let request = ModelRequest {
            messages: self.messages.iter().cloned().map(Arc::new).collect(),
            tools: self.tools.clone().into(),
            demand: self.demand,
            attempt: 1,
            not_before: Duration::ZERO,
            deadline: None,
        };
        let (mut text, mut thoughts) = (String::new(), String::new());
        let mut take = |chunk| match chunk {
            Chunk::Text(piece) => text.push_str(&piece),
            Chunk::Thought(piece) => thoughts.push_str(&piece),
            Chunk::Alive | Chunk::Counted { .. } => {}
        };
        let call = ModelCall::of_run(&request, &self.assignment);
        let answer = self.model.call(call, &mut take).await;
        Heard { answer, text, thoughts }
    }
}

/// Asks for one answer.
async fn ask(model: &RemoteModel) -> Heard {
    Asking::new(model).hear().await
}

fn read_file() -> ToolSpec {
    ToolSpec {
        name: BuiltinTool::ReadFile.into(),
        description: "Reads a file.".into(),
        parameters: json!({
            "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
        })
        .into(),
        concurrency: Concurrency::Parallel,
        repetition: Repeatability::Repeatable,
    }
}

fn reads(id: &str, path: &str) -> Turn {
    tool_call(id, "read_file", &json!({"path": path}))
}

fn completes() -> Turn {
    tool_call("done-1", "complete_task", &json!({"result": "all is well"}))
}

/// The beginning of an answer, up to its first words; its end never comes.
fn begun(api: Api) -> Answer {
    let pieces = match api {
        Api::Chat => 2,
        Api::Responses => 5,
        Api::Anthropic => 4,
        Api::Gemini => 1,
    };
    api.answer(&text([HALF, " and the rest"])).keep(pieces)
}

/// Whole runs through the runtime, against one server, with transcripts on disk.
struct Lab {
    api: Api,
    server: Arc<ScriptedServer>,
    model: Arc<RemoteModel>,
    runtime: Runs,
    project: TempDir,
    home: TempDir,
}

/// A run that is over.
#[derive(Debug)]
struct Finished {
    result: RunResult,
    events: Vec<SubagentActivityEvent>,
    /// The run as its transcript makes it.
    run: Run,
    /// The transcript as a text.
    written: String,
}

impl Lab {
    fn new(api: Api) -> Self {
        let server = ScriptedServer::start();
        let model = model_at(api, &server);
        Self::with(api, server, model)
    }

    fn with(api: Api, server: ScriptedServer, model: RemoteModel) -> Self {
        let (project, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let options = Options { secrets: Secrets::new([KEY]), ..Options::default() };
        let store = FileStore::new(home.path().join("sessions"), options);
        let runtime = Runs::new(Arc::new(store), Patience::default());
        Self { api, server: Arc::new(server), model: Arc::new(model), runtime, project, home }
    }

    /// Waits until the client has hung up on an answer.
    async fn hung_up(&self) {
        self.server_says(|server| server.wait_for_hangup(1)).await;
    }

    /// Waits for the server, and lets everything else go on meanwhile.
    async fn server_says(&self, wait: impl FnOnce(&ScriptedServer) + Send + 'static) {
        let server = Arc::clone(&self.server);
        tokio::task::spawn_blocking(move || wait(&server)).await.unwrap();
    }

    /// Answers the next request with that turn.
    fn turn(&self, turn: &Turn) -> &Self {
        self.server.answer(self.api.answer(turn));
        self
    }

    fn file(&self, name: &str, content: &str) -> &Self {
        std::fs::write(self.project.path().join(name), content).unwrap();
        self
    }

    async fn run(&self) -> Finished {
        self.run_with(|_| {}).await
    }

    async fn run_with(&self, change: impl FnOnce(&mut Start)) -> Finished {
        self.finished(self.start_with(change).await).await
    }

    async fn start_with(&self, change: impl FnOnce(&mut Start)) -> (RunHandle, TreeEvents) {
        let rights =
            ToolSet::of_host([BuiltinTool::ReadFile.into(), BuiltinTool::GlobFiles.into()]);
        let model = Arc::clone(&self.model) as Arc<dyn Model>;
        let mut start = Start::new(assignment("test it"), rights, model, self.project.path());
        change(&mut start);
        self.runtime.start_watched(start, None).await.unwrap()
    }

    async fn finished(&self, (handle, mut events): (RunHandle, TreeEvents)) -> Finished {
        let mut seen = Vec::new();
        while let Some(event) = events.next().await {
            seen.extend(event.activity());
        }
        let result = RunResult::clone(&*handle.result().await.unwrap());
        let transcript = self.runtime.store().read(handle.id().as_str()).await.unwrap();
        let written = std::fs::read_to_string(&transcript.path).unwrap();
        let run = fold(transcript.into_lines()).unwrap();
        Finished { result, events: seen, run, written }
    }
}

impl Finished {
    fn of_type(&self, event_type: EventType) -> Vec<&Map<String, Value>> {
        let events = self.events.iter().filter(|event| event.event_type == event_type);
        events.map(|event| &event.data).collect()
    }

    /// What was shown, in order, but for pieces of messages.
    fn story(&self) -> Vec<EventType> {
        let types = self.events.iter().map(|event| event.event_type);
        types
            .filter(|kind| !matches!(kind, EventType::TextChunk | EventType::ThoughtChunk))
            .collect()
    }

    /// The attempts that were announced, and why.
    fn retries(&self) -> Vec<(u64, String)> {
        let retry = |data: &&Map<String, Value>| {
            (data["attempt"].as_u64().unwrap(), data["reason"].as_str().unwrap().to_owned())
        };
        self.of_type(EventType::Retry).iter().map(retry).collect()
    }

    fn error(&self) -> &str {
        self.result.error.as_deref().unwrap_or_default()
    }
}

/// Does the same on all four APIs at once.
async fn everywhere<F: Future<Output = ()>>(scenario: impl Fn(Api) -> F) {
    join_all(Api::ALL.map(scenario)).await;
}
