//! Runs driven by hand: every reply is scripted, every event is written down, and after each step the
//! transcript so far must make the very same run.

mod compaction;
mod endings;
mod forks;
mod grace;
mod openings;
mod properties;
mod resuming;
mod tools;
mod waiting;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::{ModelRequest, PendingCall, Reply, Run, Step, ToolOutput};
use crate::run::assignment::{
    Assignment, CallGuard, Effect, Environment, Finish, ModelLimits, RunRequest, SessionSource,
    SharedGuard, SubAgentSource, ToolSpec,
};
use crate::{
    agent::definition::{Definition, RunConfig},
    id::{AgentName, RunId, SessionId, ToolCallId},
    model::{choice::ChosenBy, usage::Usage},
    rights::{
        filter::WithheldTool,
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        event::{Event, StopReason},
        message::{AssistantPart, Message, ToolCall, ToolResult, UserPart},
        outcome::{ModelUsed, Outcome},
        transcript::{Entry, Header, Line, Replay},
    },
};

/// A run whose model and tools are played by the test.
pub(super) struct Script {
    pub(super) run: Run,
    pub(super) now_ms: u64,
    pub(super) lines: Vec<Line>,
    shadow: Replay,
}

struct NoRemovals;

impl CallGuard for NoRemovals {
    fn check(&self, tool: &ToolName, arguments: &Value) -> Result<(), String> {
        let command = arguments["command"].as_str().unwrap_or_default();
        if *tool == ToolName::Builtin(BuiltinTool::Shell) && command.starts_with("rm") {
            return Err("`rm` is not allowed".to_owned());
        }
        Ok(())
    }
}

pub(super) fn guard() -> SharedGuard {
    Arc::new(NoRemovals)
}

fn tool(tool: BuiltinTool, effect: Effect) -> ToolSpec {
    ToolSpec {
        name: tool.into(),
        description: format!("{} for tests", tool.as_str()),
        parameters: json!({"type": "object"}),
        effect,
    }
}

/// Ten turns, a hundred seconds, ten seconds of grace.
pub(super) fn assignment() -> Assignment {
    let mut definition = Definition::named(AgentName::new("tester"));
    definition.prompt_config.system_prompt = Some("You test in ${cwd}.".to_owned());
    definition.run_config = RunConfig {
        max_time_seconds: 100,
        max_turns: 10,
        grace_period_seconds: 10,
        max_tokens: None,
        max_cost_usd: None,
    };
    Assignment {
        agent_id: RunId::new("agent-1"),
        session_id: SessionId::new("session-1"),
        parent_id: None,
        resumed_from: None,
        source: SessionSource::SubAgent(SubAgentSource::of(&definition.agent_type)),
        depth: 1,
        definition: Arc::new(definition),
        finish: Finish::CompleteTask,
        task: "Test it.".to_owned(),
        description: None,
        inputs: Map::new(),
        environment: Environment { cwd: "/work".to_owned(), today: "2026-11-05".to_owned() },
        model: ModelUsed {
            id: "scripted".to_owned(),
            provider: "testkit".to_owned(),
            chosen_by: ChosenBy::Parent,
        },
        model_limits: ModelLimits::default(),
        tools: vec![
            tool(BuiltinTool::ReadFile, Effect::ReadOnly),
            tool(BuiltinTool::GrepFiles, Effect::ReadOnly),
            tool(BuiltinTool::Shell, Effect::Mutating),
        ],
        withheld_tools: vec![WithheldTool {
            tool: BuiltinTool::WriteFile.as_str().to_owned(),
            reason: "the agent is not trusted".to_owned(),
        }],
        shown_tools: None,
    }
}

pub(super) fn with_limits(edit: impl FnOnce(&mut RunConfig)) -> Assignment {
    let mut assignment = assignment();
    edit(&mut Arc::make_mut(&mut assignment.definition).run_config);
    assignment
}

pub(super) fn main_agent() -> Assignment {
    Assignment { finish: Finish::TextAnswer, ..assignment() }
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> AssistantPart {
    AssistantPart::ToolCall { call: ToolCall::new(ToolCallId::new(id), name, arguments) }
}

pub(super) fn complete(id: &str, result: &str) -> AssistantPart {
    call(id, "complete_task", &json!({"result": result}).to_string())
}

pub(super) fn read(id: &str, path: &str) -> AssistantPart {
    call(id, "read_file", &json!({"path": path}).to_string())
}

pub(super) fn reply(content: Vec<AssistantPart>) -> Reply {
    Reply {
        content,
        stop: StopReason::EndTurn,
        usage: Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() },
        cost_usd: Some(0.25),
    }
}

impl Script {
    pub(super) fn begin(assignment: Assignment) -> Self {
        let request = RunRequest { assignment, fork: None, guard: guard() };
        Self::begun(Run::new(request).unwrap())
    }

    pub(super) fn begun((run, opened): (Run, Vec<Event>)) -> Self {
        let header = Header::new("2026-11-05T10:00:00Z", run.assignment().clone());
        let line = Line::Header(Box::new(header.clone()));
        let mut script = Self {
            run,
            now_ms: 0,
            lines: vec![written_and_read(&line)],
            shadow: Replay::new(header).unwrap(),
        };
        script.record(opened);
        assert_eq!(script.run.next_step(), Step::Start);
        let started = script.run.start(script.now());
        script.record(started);
        script
    }

    pub(super) fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms)
    }

    /// Writes the events down, reads them back, and holds the run they make against the run itself.
    pub(super) fn record(&mut self, events: Vec<Event>) -> Vec<Event> {
        for event in &events {
            let seq = u64::try_from(self.lines.len()).unwrap();
            let entry = Entry::new(seq, "2026-11-05T10:00:00Z", self.now(), event.clone());
            let line = written_and_read(&Line::Event(entry));
            if let Line::Event(entry) = &line {
                self.shadow.take_in(entry).unwrap();
            }
            self.lines.push(line);
        }
        assert_eq!(*self.shadow.run(), self.run);
        events
    }

    pub(super) fn does(
        &mut self,
        act: impl FnOnce(&mut Run, Duration) -> Vec<Event>,
    ) -> Vec<Event> {
        let now = self.now();
        let events = act(&mut self.run, now);
        self.record(events)
    }

    pub(super) fn passes(&mut self, milliseconds: u64) -> &mut Self {
        self.now_ms += milliseconds;
        self
    }

    pub(super) fn replies(&mut self, content: Vec<AssistantPart>) -> &mut Self {
        self.answers(reply(content))
    }

    pub(super) fn answers(&mut self, reply: Reply) -> &mut Self {
        self.does(|run, now| run.model_replied(reply, now));
        self
    }

    pub(super) fn says(&mut self, text: &str) -> &mut Self {
        self.replies(vec![AssistantPart::text(text)])
    }

    pub(super) fn returns(&mut self, id: &str, text: &str) -> &mut Self {
        let output = ToolOutput { text: text.to_owned(), ..ToolOutput::default() };
        self.does(|run, now| run.tool_returned(&ToolCallId::new(id), output, now));
        self
    }

    /// One turn of one call that its tool answers.
    pub(super) fn reads(&mut self, id: &str, path: &str) -> &mut Self {
        self.replies(vec![read(id, path)]).returns(id, "text")
    }

    pub(super) fn model_request(&self) -> ModelRequest {
        match self.run.next_step() {
            Step::CallModel(request) => request,
            other => panic!("the model is not called: {other:?}"),
        }
    }

    pub(super) fn offered(&self) -> Vec<String> {
        let request = self.model_request();
        request.tools.iter().map(|spec| spec.name.to_string()).collect()
    }

    pub(super) fn pending(&self) -> Vec<PendingCall> {
        match self.run.next_step() {
            Step::CallTools(calls) => calls,
            other => panic!("no tools are called: {other:?}"),
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        match self.run.next_step() {
            Step::Finished(outcome) => *outcome,
            other => panic!("the run is not over: {other:?}"),
        }
    }

    /// The last message, if it is a user's.
    pub(super) fn last_said(&self) -> String {
        match self.run.conversation().messages().last().unwrap().as_ref() {
            Message::User { content } => match &content[..] {
                [UserPart::Text { text }] => text.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    /// The newest results, as id and text.
    pub(super) fn results(&self) -> Vec<(String, String)> {
        let pair = |result: &ToolResult| (result.call_id.to_string(), result.text.clone());
        self.run
            .conversation()
            .from_the_end()
            .find_map(|message| match message.as_ref() {
                Message::Tool { results } => Some(results.iter().map(pair).collect()),
                _ => None,
            })
            .unwrap()
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.lines.iter().filter_map(|line| match line {
            Line::Event(entry) => Some(&entry.event),
            Line::Header(_) => None,
        })
    }
}

fn written_and_read(line: &Line) -> Line {
    Line::parse(&line.to_json().unwrap()).unwrap()
}

pub(super) fn results(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(id, text): &(&str, &str)| ((*id).to_owned(), (*text).to_owned());
    pairs.iter().map(owned).collect()
}
