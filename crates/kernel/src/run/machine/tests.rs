//! Runs driven by hand: every reply is scripted, every event is written down, and after each step the
//! transcript so far must make the very same run.

mod compaction;
mod endings;
mod forks;
mod grace;
mod judging;
mod letters;
mod openings;
mod properties;
mod resuming;
mod tools;
mod waiting;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{ModelRequest, PendingCall, Question, Reply, Run, Step, ToolAnswer};
use crate::{
    agent::definition::{Definition, RunConfig},
    id::{AgentName, RunId, SessionId, ToolCallId},
    model::{choice::ChosenBy, usage::Usage},
    rights::{
        filter::WithheldTool,
        permission::{CallGuard, Foresight, Permission, SharedGuard},
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        assignment::{Assignment, Finish, RunRequest, TemplateFacts},
        event::{ApprovalDecision, Event, StopReason},
        limits::{RunLimits, TreeAllowance},
        message::{AssistantPart, Message, ToolCall, ToolResult, UserPart},
        outcome::{ModelUsed, Outcome},
        tool_spec::{Concurrency, Repeatability, ToolSpec},
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

/// Refuses `rm`, and wants `make` to be approved.
struct NoRemovals;

impl CallGuard for NoRemovals {
    fn check(&self, tool: &ToolName, arguments: &Value, _: &Foresight) -> Permission {
        let command = arguments["command"].as_str().unwrap_or_default();
        match tool.builtin() {
            Some(BuiltinTool::Shell | BuiltinTool::ReadFile) if command.starts_with("rm") => {
                Permission::Deny { reason: "`rm` is not allowed".to_owned() }
            }
            Some(BuiltinTool::Shell | BuiltinTool::ReadFile) if command.starts_with("make") => {
                Permission::Ask { reason: "`make` runs what the project says".to_owned() }
            }
            _ => Permission::Allow,
        }
    }
}

/// Refuses everything.
struct NothingAnyMore;

impl CallGuard for NothingAnyMore {
    fn check(&self, _tool: &ToolName, _arguments: &Value, _: &Foresight) -> Permission {
        Permission::Deny { reason: "trust was withdrawn".to_owned() }
    }
}

pub(super) fn refusing() -> SharedGuard {
    Arc::new(NothingAnyMore)
}

pub(super) fn guard() -> SharedGuard {
    Arc::new(NoRemovals)
}

fn tool(tool: BuiltinTool, concurrency: Concurrency, repetition: Repeatability) -> ToolSpec {
    ToolSpec {
        name: tool.into(),
        description: format!("{} for tests", tool.as_str()).into(),
        parameters: json!({"type": "object"}).into(),
        concurrency,
        repetition,
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
    let model = ModelUsed {
        id: "scripted".to_owned(),
        provider: "testkit".to_owned(),
        chosen_by: ChosenBy::Parent,
        asked: None,
    };
    let ids = (RunId::new("agent-1"), SessionId::new("session-1"));
    Assignment {
        environment: TemplateFacts { cwd: "/work".to_owned(), today: "2026-11-05".to_owned() },
        withheld_tools: vec![WithheldTool {
            tool: BuiltinTool::WriteFile.as_str().to_owned(),
            reason: "the agent is not trusted".to_owned(),
        }],
        ..Assignment::new(ids, Arc::new(definition), "Test it.", model).with_tools(vec![
            tool(BuiltinTool::ReadFile, Concurrency::Parallel, Repeatability::Repeatable),
            tool(BuiltinTool::GrepFiles, Concurrency::Parallel, Repeatability::Repeatable),
            tool(BuiltinTool::Shell, Concurrency::Exclusive, Repeatability::Once),
        ])
    }
}

pub(super) fn with_limits(edit: impl FnOnce(&mut RunLimits)) -> Assignment {
    let mut assignment = assignment();
    edit(&mut assignment.limits);
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
        let output = ToolAnswer { text: text.to_owned(), ..ToolAnswer::default() };
        self.begins(id);
        self.does(|run, now| run.tool_returned(&ToolCallId::new(id), output, now));
        self
    }

    pub(super) fn begins(&mut self, id: &str) -> Vec<Event> {
        self.does(|run, now| run.begin_call(&ToolCallId::new(id), now))
    }

    /// Somebody answers the open question.
    pub(super) fn decides(
        &mut self,
        decision: ApprovalDecision,
        words: Option<&str>,
    ) -> Vec<Event> {
        let id = self.question().request_id;
        let words = words.map(str::to_owned);
        self.does(|run, now| run.approval_answered(&id, decision, words, now))
    }

    pub(super) fn question(&self) -> Question {
        match self.run.next_step() {
            Step::Ask(question) => *question,
            other => panic!("nobody is asked: {other:?}"),
        }
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

    /// The ids of the calls that are under way.
    pub(super) fn under_way(&self) -> Vec<String> {
        match self.run.next_step() {
            Step::CallTools(calls) => calls.iter().map(|call| call.id.to_string()).collect(),
            other => panic!("no tools are called: {other:?}"),
        }
    }

    /// The ids of the calls without an answer.
    pub(super) fn open(&self) -> Vec<String> {
        self.run.state.calls.open().map(|(_, call)| call.id.to_string()).collect()
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
