//! The formats other programs read: results, events and transcripts, held against golden files and
//! against the examples in `docs/formats`. A golden file changes only with a new format version.

use std::{sync::Arc, time::Duration};

use attache_kernel::{
    agent::definition::{Definition, RunConfig},
    id::{AgentName, RunId, SessionId, ToolCallId},
    model::{choice::ChosenBy, usage::Usage},
    rights::{
        filter::WithheldTool,
        permission::{CallGuard, Foresight, Permission},
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        ModelFailure, Reply, Run, Stage, Step, ToolAnswer,
        assignment::{Assignment, RunRequest, SessionSource, SubAgentSource, TemplateFacts},
        event::{
            ApprovalDecision, Attendance, Event, StartedBy, StopReason,
            activity::{EventType, SubagentActivityEvent},
            compaction::Compaction,
        },
        message::{Artifact, AssistantPart, Message, ToolCall},
        outcome::{Descendants, ModelUsed, RunResult, Status, Surroundings},
        tool_spec::{Concurrency, Repeatability, ToolSpec},
        transcript::{Entry, Header, Line, Replay, fold},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Gives the same answer about every call.
struct Always(Permission);

impl CallGuard for Always {
    fn check(&self, _tool: &ToolName, _arguments: &Value, _: &Foresight) -> Permission {
        self.0.clone()
    }
}

fn assignment() -> Assignment {
    let mut definition = Definition::named(AgentName::new("Explore"));
    definition.when_to_use = Some("Finds its way in a code base.".to_owned());
    definition.prompt_config.system_prompt = Some("You explore ${cwd}.".to_owned());
    definition.run_config = RunConfig {
        max_time_seconds: 120,
        max_turns: 30,
        grace_period_seconds: 60,
        max_tokens: None,
        max_cost_usd: None,
    };
    let ids = (RunId::new("agent-7f9c2d1e"), SessionId::new("0198a3c4"));
    let model = ModelUsed {
        id: "gpt-5".to_owned(),
        provider: "openai".to_owned(),
        chosen_by: ChosenBy::Definition,
        asked: None,
    };
    let task = "Where is the tool filter?";
    let tool = ToolSpec {
        name: BuiltinTool::GrepFiles.into(),
        description: "Searches file contents.".into(),
        parameters: json!({"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]}).into(),
        concurrency: Concurrency::Parallel,
        repetition: Repeatability::Repeatable,
    };
    Assignment {
        parent_id: Some(RunId::new("agent-main")),
        description: Some("Find the tool filter".to_owned()),
        environment: TemplateFacts { cwd: "/work".to_owned(), today: "2026-11-05".to_owned() },
        withheld_tools: vec![WithheldTool {
            tool: BuiltinTool::Shell.as_str().to_owned(),
            reason: "the agent is not trusted".to_owned(),
        }],
        ..Assignment::new(ids, Arc::new(definition), task, model).with_tools(vec![tool])
    }
}

/// Two turns, a search and an answer, and the transcript they leave.
struct Short {
    run: Run,
    lines: Vec<Line>,
}

impl Short {
    fn begin() -> Self {
        Self::guarded(Permission::Allow)
    }

    fn guarded(permission: Permission) -> Self {
        let guard = Arc::new(Always(permission));
        let request = RunRequest { assignment: assignment(), fork: None, guard };
        let (run, opened) = Run::new(request).unwrap();
        let header = Header::new("2026-11-05T10:00:00.000Z", run.assignment().clone());
        let mut short = Self { run, lines: vec![Line::Header(Box::new(header))] };
        short.write(opened, 0);
        short.feed(0, Run::start);
        short
    }

    fn write(&mut self, events: Vec<Event>, at_ms: u64) {
        for event in events {
            self.lines.push(Line::Event(Entry {
                seq: u64::try_from(self.lines.len()).unwrap(),
                ts: timestamp(at_ms),
                at_ms,
                event,
            }));
        }
    }

    fn feed(&mut self, at_ms: u64, feed: impl FnOnce(&mut Run, Duration) -> Vec<Event>) {
        let events = feed(&mut self.run, Duration::from_millis(at_ms));
        self.write(events, at_ms);
    }

    fn search(&mut self) {
        let content = vec![
            AssistantPart::Thinking {
                text: "A search will do.".to_owned(),
                signature: Some("c2ln".to_owned()),
                provider_data: None,
            },
            AssistantPart::text("I look for it."),
            called("call_1", "grep_files", &json!({"pattern": "ToolFilter"})),
        ];
        self.feed(900, |run, now| run.model_replied(reply(content), now));
    }

    fn search_returns(&mut self) {
        let id = ToolCallId::new("call_1");
        let output = ToolAnswer {
            text: "src/tool_filter.rs:12: pub struct ToolFilter".to_owned(),
            artifacts: vec![Artifact {
                path: "/work/.attache/full.txt".to_owned(),
                description: "the full output".to_owned(),
            }],
            ..ToolAnswer::default()
        };
        self.feed(901, |run, now| run.begin_call(&id, now));
        self.feed(943, |run, now| run.tool_returned(&id, output, now));
    }

    fn whole() -> Self {
        let mut short = Self::begin();
        short.search();
        short.search_returns();
        let answer = json!({"result": "In `src/tool_filter.rs`, line 12."});
        let content = vec![called("call_2", "complete_task", &answer)];
        short.feed(1902, |run, now| run.model_replied(reply(content), now));
        short
    }

    fn result(&self) -> RunResult {
        let Step::Finished(outcome) = self.run.next_step() else {
            panic!("the run is not over");
        };
        let surroundings = Surroundings {
            transcript: Some("/home/u/.attache/sessions/0198a3c4/agent-7f9c2d1e.jsonl".to_owned()),
            descendants: Descendants { agents: 2, total_tokens: 1000, cost_usd: Some(0.5) },
            changes: None,
        };
        outcome.into_result(&self.run.assignment().result_of(), surroundings)
    }
}

fn timestamp(at_ms: u64) -> String {
    let (minutes, seconds) = (at_ms / 60_000, at_ms / 1000 % 60);
    format!("2026-11-05T10:{minutes:02}:{seconds:02}.{:03}Z", at_ms % 1000)
}

fn called(id: &str, name: &str, arguments: &Value) -> AssistantPart {
    AssistantPart::ToolCall {
        call: ToolCall::new(ToolCallId::new(id), name, arguments.to_string()),
    }
}

fn reply(content: Vec<AssistantPart>) -> Reply {
    Reply {
        content,
        stop: StopReason::ToolUse,
        usage: Usage {
            input_tokens: 2550,
            output_tokens: 105,
            cache_read_input_tokens: 1950,
            reasoning_tokens: 20,
            ..Usage::default()
        },
        cost_usd: Some(0.25),
    }
}

/// One event of each type, and each way of making room, made by runs where that is easy and by hand where it is not.
fn activities() -> Vec<SubagentActivityEvent> {
    let reason = "a rule in `permissions.ask` covers it".to_owned();
    let mut short = Short::guarded(Permission::Ask { reason });
    let shown = |run: &Run, seq: u64, event: &Event| {
        run.observed(event.clone(), seq, "2026-11-05T10:00:00.000Z").unwrap().activity().unwrap()
    };
    let mut all = vec![
        shown(&short.run, 1, &Event::Queued { ahead: 3 }),
        shown(&short.run, 2, &Event::Started),
    ];
    let piece = "A search".to_owned();
    all.push(shown(&short.run, 4, &Event::ThoughtChunk { text: piece }));
    let piece = "I look".to_owned();
    all.push(shown(&short.run, 5, &Event::TextChunk { text: piece }));
    short.feed(500, |run, now| {
        let failure = ModelFailure::Transient {
            message: "429 Too Many Requests".to_owned(),
            stage: Stage::Request,
            retry_after: Some(Duration::from_secs(2)),
        };
        run.model_failed(failure, 0.5, now)
    });
    short.search();
    let id = ToolCallId::new("call_1");
    short.feed(900, Run::begin_calls);
    let Step::Ask(question) = short.run.next_step() else {
        panic!("nobody is asked");
    };
    let decision = ApprovalDecision::ApprovedOnce;
    short.feed(900, |run, now| run.approval_answered(&question.request_id, decision, None, now));
    short.search_returns();
    short.feed(120_943, Run::clock);
    let answer = vec![called("call_2", "complete_task", &json!({"result": "Found."}))];
    short.feed(121_000, |run, now| run.model_replied(reply(answer), now));
    let mut replay = None;
    for line in &short.lines {
        match (line, &mut replay) {
            (Line::Header(header), _) => replay = Some(Replay::new(*header.clone()).unwrap()),
            (Line::Event(entry), Some(replay)) => all
                .extend(replay.observe(entry.clone()).unwrap().and_then(|event| event.activity())),
            (Line::Event(_), None) => panic!("no header"),
        }
    }
    let output = Event::ToolOutputChunk { call_id: id.clone(), text: "src/tool".to_owned() };
    all.push(shown(&short.run, 21, &output));
    all.extend(compactions(id).map(|event| shown(&short.run, 40, &event)));
    let mut failed = Short::begin();
    failed.feed(50, |run, now| {
        let message = "401: no such key".to_owned();
        run.model_failed(ModelFailure::Fatal { message }, 0.5, now)
    });
    let Some(Line::Event(entry)) = failed.lines.last() else {
        panic!("no event");
    };
    all.push(shown(&failed.run, 5, &entry.event));
    let mut each: Vec<SubagentActivityEvent> = Vec::new();
    for event_type in TYPES {
        let of_type = all.iter().filter(|activity| activity.event_type == event_type);
        let shown = if event_type == EventType::Compacted { 3 } else { 1 };
        for activity in of_type.take(shown) {
            let seq = u64::try_from(each.len()).unwrap() + 1;
            each.push(SubagentActivityEvent { seq, ..activity.clone() });
        }
    }
    each
}

/// Every way of making room.
fn compactions(id: ToolCallId) -> [Event; 3] {
    let summary = "Task: find the tool filter. Found: src/tool_filter.rs:12.".to_owned();
    [
        Compaction::Trimmed { call_ids: vec![id], freed_bytes: 5120 },
        Compaction::Summarised { summary, messages_replaced: 24, freed_bytes: 40_960 },
        Compaction::Dropped { turns_dropped: 6, freed_bytes: 20_480 },
    ]
    .map(Event::Compacted)
}

const TYPES: [EventType; 17] = [
    EventType::Queued,
    EventType::Started,
    EventType::TurnStart,
    EventType::Retry,
    EventType::ThoughtChunk,
    EventType::TextChunk,
    EventType::ApprovalRequested,
    EventType::ApprovalResolved,
    EventType::ToolCallStart,
    EventType::ToolOutputChunk,
    EventType::ToolCallEnd,
    EventType::TurnComplete,
    EventType::Compacted,
    EventType::GracePeriodStart,
    EventType::GracePeriodEnd,
    EventType::Completed,
    EventType::Error,
];

fn lines_of<T: Serialize>(values: &[T]) -> String {
    let lines = values.iter().map(|value| serde_json::to_string(value).unwrap() + "\n");
    lines.collect()
}

#[test]
fn a_result_has_every_field() {
    let result = Short::whole().result();
    let written = serde_json::to_string_pretty(&result).unwrap() + "\n";
    assert_eq!(written, include_str!("golden/result.json"), "{written}");
    assert_eq!(serde_json::from_str::<RunResult>(&written).unwrap(), result);
}

#[test]
fn a_delegating_model_is_told_what_it_needs() {
    let mut result = Short::whole().result();
    let told = |result: &RunResult| serde_json::to_value(result.for_delegator()).unwrap();
    let mut expected = json!({
        "status": "goal", "result": "In `src/tool_filter.rs`, line 12.", "turns_used": 2,
        "duration_seconds": 1.9, "agent_id": "agent-7f9c2d1e", "total_tool_use_count": 1,
        "total_tokens": 5310,
    });
    assert_eq!(told(&result), expected);
    result.status = Status::Timeout;
    result.partial = true;
    result.error = Some("the time limit of 120 s was reached".to_owned());
    expected["status"] = json!("timeout");
    expected["partial"] = json!(true);
    expected["error"] = json!("the time limit of 120 s was reached");
    assert_eq!(told(&result), expected);
}

#[test]
fn an_unknown_cost_in_the_tree_hides_the_cost_of_the_tree() {
    let Step::Finished(outcome) = Short::whole().run.next_step() else {
        panic!("the run is not over");
    };
    let surroundings = Surroundings {
        transcript: None,
        descendants: Descendants { agents: 1, total_tokens: 1, cost_usd: None },
        changes: None,
    };
    let assignment = assignment();
    let result = outcome.into_result(&assignment.result_of(), surroundings);
    assert_eq!((result.cost_usd, result.tree.cost_usd), (Some(0.5), None));
}

#[test]
fn every_type_of_event_is_written_as_it_always_was() {
    let activities = activities();
    let written = lines_of(&activities);
    assert_eq!(written, include_str!("golden/events.jsonl"), "{written}");
    for (line, activity) in written.lines().zip(&activities) {
        let read: SubagentActivityEvent = serde_json::from_str(line).unwrap();
        assert_eq!(read, *activity);
    }
}

#[test]
fn a_transcript_is_written_as_it_always_was() {
    let written = lines_of(&Short::whole().lines);
    assert_eq!(written, include_str!("golden/transcript.jsonl"), "{written}");
}

#[test]
fn an_old_transcript_still_makes_its_run() {
    // The second was written before headers had limits and rights, and when what was zero or not known of
    // the usage was written as well.
    for golden in [
        include_str!("golden/transcript.jsonl"),
        include_str!("golden/transcript-without-rights.jsonl"),
    ] {
        let lines = golden.lines().map(|line| Line::parse(line).unwrap());
        assert_eq!(fold(lines).unwrap(), Short::whole().run);
    }
}

#[test]
fn a_transcript_tells_how_room_was_made() {
    let [trimmed, summarised, dropped] = compactions(ToolCallId::new("call_1"));
    let message = Arc::new(Message::user("Sum it up."));
    let requested = Event::SummaryRequested { message, messages: 26, refusal: None };
    let events = vec![trimmed, requested, summarised, dropped];
    let written = json!([
        {"type": "compacted", "kind": "trimmed", "call_ids": ["call_1"], "freed_bytes": 5120},
        {"type": "summary_requested", "messages": 26, "refusal": null,
            "message": {"role": "user", "content": [{"type": "text", "text": "Sum it up."}]}},
        {"type": "compacted", "kind": "summarised", "messages_replaced": 24, "freed_bytes": 40960,
            "summary": "Task: find the tool filter. Found: src/tool_filter.rs:12."},
        {"type": "compacted", "kind": "dropped", "turns_dropped": 6, "freed_bytes": 20480},
    ]);
    assert_eq!(serde_json::to_value(&events).unwrap(), written);
    assert_eq!(serde_json::from_value::<Vec<Event>>(written).unwrap(), events);
}

#[test]
fn a_parents_transcript_names_its_children() {
    let started = Event::SubAgentStart {
        agent_id: RunId::new("agent-2"),
        name: "Plan".to_owned(),
        description: "Plan the change".to_owned(),
        origin: StartedBy::Main,
        attendance: Attendance::Foreground,
    };
    let ended = Event::SubAgentEnd {
        agent_id: RunId::new("agent-2"),
        name: "Plan".to_owned(),
        success: true,
        origin: StartedBy::SubAgent("Explore".to_owned()),
    };
    assert_eq!(
        serde_json::to_value([started, ended]).unwrap(),
        json!([
            {"type": "sub_agent_start", "agent_id": "agent-2", "name": "Plan",
                "description": "Plan the change", "origin": "main"},
            {"type": "sub_agent_end", "agent_id": "agent-2", "name": "Plan", "success": true,
                "origin": {"sub_agent": "Explore"}},
        ])
    );
}

#[test]
fn where_a_session_comes_from_is_one_word_or_names_the_agent() {
    let sources = [
        SessionSource::Interactive,
        SessionSource::Exec,
        SessionSource::Mcp,
        SessionSource::SubAgent(SubAgentSource::from_name(&AgentName::new("EXPLORE"))),
        SessionSource::SubAgent(SubAgentSource::from_name(&AgentName::new("Plan"))),
        SessionSource::SubAgent(SubAgentSource::from_name(&AgentName::new("C# Expert"))),
    ];
    assert_eq!(
        serde_json::to_value(sources).unwrap(),
        json!(["interactive", "exec", "mcp", {"sub_agent": "explore"}, {"sub_agent": "plan"},
            {"sub_agent": {"custom": "C# Expert"}}])
    );
}

/// Every fenced JSON example of a document, read as what it is an example of.
fn examples<T: DeserializeOwned>(document: &str) -> Vec<T> {
    let blocks = document.split("```json\n").skip(1);
    let blocks = blocks.map(|rest| rest.split_once("```").unwrap().0);
    let values = blocks.flat_map(|block| {
        let values = serde_json::Deserializer::from_str(block).into_iter::<T>();
        values.map(Result::unwrap).collect::<Vec<_>>()
    });
    values.collect()
}

#[test]
fn the_examples_in_the_documents_are_true() {
    let results = examples::<RunResult>(include_str!("../../../../docs/formats/result.md"));
    assert_eq!(results, [Short::whole().result()]);
    let events =
        examples::<SubagentActivityEvent>(include_str!("../../../../docs/formats/events.md"));
    assert_eq!(events, activities());
    let lines = examples::<Line>(include_str!("../../../../docs/formats/transcript.md"));
    assert_eq!(lines, Short::whole().lines);
}
