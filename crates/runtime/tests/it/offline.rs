//! The model without a language model, on real folders through the real tools.

use std::{path::Path, sync::Arc, time::Duration};

use attache_kernel::{
    conversation::Conversation,
    definition::{Definition, OutputConfig},
    id::{AgentName, RunId, SessionId},
    message::{AssistantPart, Message},
    model_choice::ChosenBy,
    outcome::{ModelUsed, Outcome, Status},
    run::{
        ModelRequest, Reply, Run, Step, ToolOutput,
        assignment::{
            Assignment, CallGuard, Environment, Finish, ModelLimits, RunRequest, SessionSource,
        },
    },
    tool_name::ToolName,
};
use attache_runtime::{
    artifacts::Artifacts,
    model::{Chunk, Model, ModelCall, offline::OfflineModel},
    tool::{ToolContext, catalogue::builtin_tools},
    workspace::Workspace,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct AllowAll;

impl CallGuard for AllowAll {
    fn check(&self, _tool: &ToolName, _arguments: &Value) -> Result<(), String> {
        Ok(())
    }
}

/// A question to be asked in a folder.
struct Question {
    folder: std::path::PathBuf,
    assignment: Assignment,
}

/// How it was answered.
struct Answered {
    run: Run,
    outcome: Outcome,
    said: Vec<String>,
}

impl Question {
    fn new(folder: &Path, task: &str) -> Self {
        let definition = Definition::named(AgentName::new("Explore"));
        let assignment = Assignment {
            agent_id: RunId::new("agent-1"),
            session_id: SessionId::new("session-1"),
            parent_id: None,
            resumed_from: None,
            source: SessionSource::Exec,
            depth: 1,
            definition: Arc::new(definition),
            finish: Finish::CompleteTask,
            task: task.to_owned(),
            description: None,
            inputs: Map::new(),
            environment: Environment::default(),
            model: ModelUsed {
                id: "offline".to_owned(),
                provider: "offline".to_owned(),
                chosen_by: ChosenBy::Default,
            },
            model_limits: ModelLimits::default(),
            tools: builtin_tools().iter().map(|tool| tool.spec().clone()).collect(),
            withheld_tools: Vec::new(),
        };
        Self { folder: folder.to_owned(), assignment }
    }

    fn with_tools(mut self, names: &[&str]) -> Self {
        self.assignment.tools.retain(|spec| names.contains(&spec.name.to_string().as_str()));
        self
    }

    fn edit(mut self, edit: impl FnOnce(&mut Definition)) -> Self {
        edit(Arc::make_mut(&mut self.assignment.definition));
        self
    }

    fn with_output(self, schema: Value) -> Self {
        self.edit(|definition| {
            definition.output_config = Some(OutputConfig {
                output_name: "output".to_owned(),
                description: "What was found".to_owned(),
                schema,
            });
        })
    }

    fn begin(&self) -> Run {
        let request = RunRequest {
            assignment: self.assignment.clone(),
            fork: None,
            guard: Arc::new(AllowAll),
        };
        Run::new(request).unwrap().0
    }

    fn answered(&self) -> Answered {
        self.drive(self.begin())
    }

    /// The text of a report that reached its goal.
    fn report(&self) -> String {
        let answered = self.answered();
        assert_eq!(answered.outcome.ending.status, Status::Goal, "{:?}", answered.outcome);
        answered.outcome.ending.result
    }

    fn drive(&self, mut run: Run) -> Answered {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let context = ToolContext {
            workspace: Arc::new(Workspace::new(&self.folder).unwrap()),
            cancel: CancellationToken::new(),
            artifacts: Arc::new(Artifacts::new(scratch.path().join("artifacts"))),
        };
        let tools = builtin_tools();
        let mut said = Vec::new();
        let now = Duration::ZERO;
        for _ in 0..20 {
            match run.next_step() {
                Step::Start => drop(run.start(now)),
                Step::TakeOver => drop(run.taken_over(now)),
                Step::CallModel(request) => {
                    let reply = answer(&request, run.assignment(), &mut said);
                    drop(request);
                    run.model_replied(reply, now);
                }
                Step::CallTools(calls) => {
                    for call in calls {
                        let tool = tools.iter().find(|tool| tool.spec().name == call.tool).unwrap();
                        let output = runtime.block_on(tool.call(call.arguments, &context));
                        let output = ToolOutput {
                            text: output.text,
                            is_error: output.is_error,
                            ..ToolOutput::default()
                        };
                        run.tool_returned(&call.id, output, now);
                    }
                }
                Step::Finished(outcome) => return Answered { run, outcome: *outcome, said },
            }
        }
        panic!("the run does not end");
    }
}

fn answer(request: &ModelRequest, assignment: &Assignment, said: &mut Vec<String>) -> Reply {
    let mut take = |chunk: Chunk| match chunk {
        Chunk::Text(text) => said.push(text),
        Chunk::Thought(thought) => panic!("it does not think: {thought}"),
    };
    let call = ModelCall { request, assignment };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(OfflineModel.call(call, &mut take)).unwrap()
}

/// This repository.
fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn sample() {
    for task in [
        "where is the tool filter implemented and what calls it?",
        "how are transcripts folded into a run?",
        concat!("where is the kaf", "ka con", "sumer?"),
        "what is this project?",
    ] {
        println!("=== {task}\n{}\n", Question::new(&repository(), task).report());
    }
}
