//! Runs driven step by step, without an executor: a real run, real tools, any model.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use attache_kernel::{
    agent::definition::{Definition, OutputConfig},
    id::{AgentName, RunId},
    rights::{
        permission::{CallGuard, Foresight, Permission, SharedGuard},
        tool_name::ToolName,
    },
    run::{
        Run, Step, ToolAnswer,
        assignment::{Assignment, RunRequest},
        event::Event,
        limits::RunLimits,
        outcome::Outcome,
        transcript::{Entry, Header, Line},
    },
};
use attache_runtime::internal::{
    model::{Chunk, Model, ModelCall},
    tool::{
        AnswerForm, FileGuard, Tool, ToolContext, artifacts::Artifacts, catalogue::builtin_tools,
        workspace::Workspace,
    },
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::assignment::assignment_of;

struct AllowAll;

impl CallGuard for AllowAll {
    fn check(&self, _tool: &ToolName, _arguments: &Value, _: &Foresight) -> Permission {
        Permission::Allow
    }
}

pub fn allow_all() -> SharedGuard {
    Arc::new(AllowAll)
}

/// A task to be done in a folder.
#[derive(Clone, Debug)]
pub struct Task {
    pub folder: PathBuf,
    pub assignment: Assignment,
}

/// How it was done.
#[derive(Debug)]
pub struct Done {
    pub run: Run,
    pub outcome: Outcome,
    /// The pieces of text, as they arrived.
    pub said: Vec<String>,
    /// The transcript.
    pub lines: Vec<Line>,
}

impl Task {
    pub fn new(folder: &Path, task: &str) -> Self {
        let definition = Definition::named(AgentName::new("Explore"));
        let tools = builtin_tools().iter().map(|tool| tool.spec().clone()).collect();
        let assignment = assignment_of(definition, task).with_tools(tools);
        Self { folder: folder.to_owned(), assignment }
    }

    #[must_use]
    pub fn with_tools(mut self, names: &[&str]) -> Self {
        self.assignment.tools.retain(|spec| names.contains(&spec.name.to_string().as_str()));
        self
    }

    #[must_use]
    pub fn edit(mut self, edit: impl FnOnce(&mut Definition)) -> Self {
        edit(Arc::make_mut(&mut self.assignment.definition));
        self.assignment.limits = RunLimits::from(&self.assignment.definition.run_config);
        self
    }

    #[must_use]
    pub fn with_output(self, schema: Value) -> Self {
        self.edit(|definition| {
            definition.output_config = Some(OutputConfig {
                output_name: "output".to_owned(),
                description: "What was found".to_owned(),
                schema,
            });
        })
    }

    /// Does it with that model.
    pub fn done_by(&self, model: &dyn Model) -> Done {
        let request =
            RunRequest { assignment: self.assignment.clone(), fork: None, guard: allow_all() };
        let (run, opened) = Run::new(request).unwrap();
        Driver::new(&self.folder, run).drive(opened, model)
    }

    /// Goes on after a run with another task.
    pub fn resumed_by(&self, earlier: &Run, task: &str, model: &dyn Model) -> Done {
        let assignment = earlier.assignment().resumed_as(RunId::new("agent-2"), task);
        let (run, opened) = earlier.resume(assignment, allow_all()).unwrap();
        Driver::new(&self.folder, run).drive(opened, model)
    }
}

impl Done {
    /// The transcript as a file.
    pub fn written(&self) -> String {
        let lines = self.lines.iter().map(|line| line.to_json().unwrap() + "\n");
        lines.collect()
    }
}

struct Driver {
    run: Run,
    lines: Vec<Line>,
    said: Vec<String>,
    now: Duration,
    runtime: Runtime,
    tools: Vec<Arc<dyn Tool>>,
    context: ToolContext,
    _scratch: TempDir,
}

impl Driver {
    fn new(folder: &Path, run: Run) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let header = Header::new("2026-11-05T10:00:00Z", run.assignment().clone());
        Self {
            lines: vec![Line::Header(Box::new(header))],
            run,
            said: Vec::new(),
            now: Duration::ZERO,
            runtime: Builder::new_current_thread().build().unwrap(),
            tools: builtin_tools(),
            context: ToolContext::new(
                Workspace::new(folder).unwrap(),
                Artifacts::new(scratch.path().join("artifacts")),
                FileGuard::unrestricted(),
            ),
            _scratch: scratch,
        }
    }

    fn record(&mut self, events: Vec<Event>) {
        for event in events {
            let seq = u64::try_from(self.lines.len()).unwrap();
            let entry = Entry::new(seq, "2026-11-05T10:00:00Z", self.now, event);
            self.lines.push(Line::Event(entry));
        }
    }

    fn drive(mut self, opened: Vec<Event>, model: &dyn Model) -> Done {
        if model.wants_structured_results() {
            self.context.answer_form = AnswerForm::TextAndData;
        }
        self.record(opened);
        for _ in 0..100 {
            self.now += Duration::from_millis(1);
            let events = match self.run.next_step() {
                Step::Start => self.run.start(self.now),
                Step::TakeOver => self.run.taken_over(self.now),
                Step::CallModel(request) => {
                    let assignment = self.run.assignment().clone();
                    let call = ModelCall::of_run(&request, &assignment);
                    let said = &mut self.said;
                    let mut take = |chunk| match chunk {
                        Chunk::Text(text) | Chunk::Thought(text) => said.push(text),
                        Chunk::Alive | Chunk::Counted { .. } => {}
                    };
                    let answer = self.runtime.block_on(model.call(call, &mut take));
                    self.now = self.now.max(request.not_before);
                    drop(request);
                    match answer {
                        Ok(reply) => self.run.model_replied(reply, self.now),
                        Err(failure) => self.run.model_failed(failure, 0.5, self.now),
                    }
                }
                Step::BeginCalls => self.run.begin_calls(self.now),
                Step::Await => panic!("nothing is announced here"),
                Step::Ask(question) => panic!("nobody can be asked: {question:?}"),
                Step::CallTools(calls) => {
                    let call = calls.into_iter().next().unwrap();
                    let tool =
                        self.tools.iter().find(|tool| tool.spec().name == call.tool).unwrap();
                    let output = self.runtime.block_on(tool.call(call.arguments, &self.context));
                    let output = ToolAnswer {
                        text: output.text,
                        is_error: output.is_error,
                        images: output.images,
                        data: output.data,
                        ..ToolAnswer::default()
                    };
                    self.run.tool_returned(&call.id, output, self.now)
                }
                Step::Finished(outcome) => {
                    let Self { run, said, lines, .. } = self;
                    return Done { run, outcome: *outcome, said, lines };
                }
            };
            self.record(events);
        }
        panic!("the run does not end");
    }
}

/// A folder with these files.
pub fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}
