//! Calls: which go to a tool, how the others are answered, and what repetition leads to.

use super::*;
use crate::run::outcome::{RecoveredFrom, Status};

fn answer_to(name: &str, arguments: &str) -> String {
    let mut script = Script::begin(assignment());
    script.replies(vec![call("a", name, arguments)]);
    let mut texts = script.results();
    assert_eq!(script.run.outcome(), None);
    texts.pop().unwrap().1
}

#[test]
fn calls_go_to_their_tools_under_their_own_names() {
    let mut script = Script::begin(assignment());
    script.replies(vec![call("a", "Read", "{\"path\": \"x\"}"), call("b", " Bash ", "")]);
    let pending = |id: &str, tool: BuiltinTool, arguments| PendingCall {
        id: ToolCallId::new(id),
        tool: tool.into(),
        arguments,
    };
    assert_eq!(script.run.next_step(), Step::BeginCalls);
    script.does(Run::begin_calls);
    let read = pending("a", BuiltinTool::ReadFile, json!({"path": "x"}));
    assert_eq!(script.run.next_step(), Step::CallTools(vec![read]));
    script.returns("a", "text").does(Run::begin_calls);
    let shell = pending("b", BuiltinTool::Shell, json!({}));
    assert_eq!(script.run.next_step(), Step::CallTools(vec![shell]));
}

#[test]
fn unknown_tools_are_answered_with_the_nearest_names() {
    assert_eq!(
        answer_to("read_fil", "{}"),
        "There is no tool `read_fil`. Did you mean `read_file`? \
         Available: read_file, grep_files, shell, complete_task."
    );
    assert_eq!(
        answer_to("", "{}"),
        "There is no tool ``. Available: read_file, grep_files, shell, complete_task."
    );
}

#[test]
fn withheld_tools_are_refused_with_the_reason() {
    assert_eq!(
        answer_to("Write", "{}"),
        "`Write` is not available to you: the agent is not trusted."
    );
}

#[test]
fn a_tool_of_a_server_that_is_missing_is_refused_with_the_reason() {
    let mut assignment = assignment();
    let (tool, reason) = ("mcp__notes__*".to_owned(), "login needed".to_owned());
    assignment.withheld_tools.push(WithheldTool { tool, reason });
    let mut script = Script::begin(assignment);
    script.replies(vec![call("a", "mcp__notes__add", "{}"), call("b", "mcp__other__add", "{}")]);
    let results = script.results();
    assert_eq!(results[0].1, "`mcp__notes__add` is not available to you: login needed.");
    assert!(results[1].1.starts_with("There is no tool `mcp__other__add`."), "{results:?}");
}

#[test]
fn arguments_that_are_no_object_are_answered_with_the_problem() {
    assert_eq!(
        answer_to("shell", "{\"command\": \"l"),
        "The arguments of `shell` cannot be used: not valid JSON: EOF while parsing a string at line \
         1 column 14."
    );
    assert_eq!(
        answer_to("shell", "[]"),
        "The arguments of `shell` cannot be used: a JSON object is needed, not an array."
    );
}

#[test]
fn arguments_of_delegation_tools_that_are_no_object_are_answered_as_they_answer() {
    let task = tool(BuiltinTool::Task, Concurrency::Parallel, Repeatability::Once);
    let mut script = Script::begin(assignment().with_tools(vec![task]));
    script.replies(vec![call("a", "Task", "{\"prompt\": \"l")]);
    let answer = &script.results()[0].1;
    assert!(answer.starts_with("failed to parse function arguments: not valid JSON"), "{answer}");
}

#[test]
fn parallel_calls_are_answered_in_order_and_once() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "1"), call("b", "nothing", "{}"), read("c", "3")]);
    script.returns("c", "third");
    assert_eq!(script.open(), ["a"]);
    let again = script
        .does(|run, now| run.tool_returned(&ToolCallId::new("c"), ToolAnswer::default(), now));
    assert_eq!(again, []);
    let strange = script
        .does(|run, now| run.tool_returned(&ToolCallId::new("b"), ToolAnswer::default(), now));
    assert_eq!(strange, []);
    script.returns("a", "first");
    let texts = script.results();
    let ids: Vec<_> = texts.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!((texts[0].1.as_str(), texts[2].1.as_str()), ("first", "third"));
    assert_eq!(script.model_request().attempt, 1);
}

#[test]
fn agents_of_one_turn_start_together_and_other_calls_keep_their_order() {
    let starts = |builtin: BuiltinTool| tool(builtin, Concurrency::Parallel, Repeatability::Once);
    let agent = || {
        let mut tools = assignment().tools;
        tools.extend([starts(BuiltinTool::Task), starts(BuiltinTool::SubagentRun)]);
        assignment().with_tools(tools)
    };
    let task = |id: &str| call(id, "Task", "{}");
    let shell = |id: &str| call(id, "shell", "{\"command\": \"ls\"}");
    let groups = |calls: Vec<AssistantPart>| {
        let mut script = Script::begin(agent());
        script.replies(calls);
        let mut groups = Vec::new();
        while script.run.next_step() == Step::BeginCalls {
            script.does(Run::begin_calls);
            let Step::CallTools(begun) = script.run.next_step() else { panic!("none began") };
            let begun: Vec<String> = begun.iter().map(|call| call.id.to_string()).collect();
            for id in begun.iter().rev() {
                script.returns(id, id);
            }
            groups.push(begun.join(" "));
        }
        let answered: Vec<String> = script.results().into_iter().map(|(id, _)| id).collect();
        (groups, answered.join(" "))
    };
    let one = groups(vec![task("a"), shell("b"), task("c"), shell("d"), read("e", "1")]);
    assert_eq!(one, (vec!["a c".into(), "b".into(), "d".into(), "e".into()], "a b c d e".into()));
    let run = call("d", "subagent_run", "{}");
    let two = groups(vec![shell("a"), task("b"), shell("c"), run, read("e", "1")]);
    assert_eq!(two, (vec!["a".into(), "b d".into(), "c".into(), "e".into()], "a b c d e".into()));
}

#[test]
fn ids_that_are_taken_or_missing_get_a_number() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "1"), read("a", "2"), read("", "3"), read("b", "4")]);
    let ids = |script: &Script| script.open();
    assert_eq!(ids(&script), ["a", "a-2", "call-3", "b"]);
    for id in ids(&script) {
        script.returns(&id, "text");
    }
    script.replies(vec![read("a", "5"), read("a-5", "6")]);
    assert_eq!(ids(&script), ["a-5", "a-5-6"]);
}

#[test]
fn empty_texts_are_left_out_of_the_conversation() {
    let mut script = Script::begin(assignment());
    script.replies(vec![AssistantPart::text("\n"), read("a", "x")]);
    let last = script.run.conversation().messages().last().unwrap().clone();
    let content = vec![read("a", "x")];
    assert_eq!(*last, Message::Assistant { content });
}

#[test]
fn what_tools_leave_behind_is_listed_at_the_end() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x")]);
    let artifact = crate::run::message::Artifact {
        path: "/tmp/full.txt".to_owned(),
        description: "the full text".to_owned(),
    };
    let output = ToolAnswer {
        text: "cut".to_owned(),
        artifacts: vec![artifact.clone()],
        ..ToolAnswer::default()
    };
    script.begins("a");
    script.does(|run, now| run.tool_returned(&ToolCallId::new("a"), output, now));
    script.replies(vec![complete("b", "x")]);
    assert_eq!(script.outcome().artifacts, [artifact]);
}

#[test]
fn a_call_made_three_times_gets_a_remark_and_six_times_a_last_chance() {
    let mut script = Script::begin(assignment());
    script.reads("1", "x").reads("2", "x");
    assert_eq!(script.results(), results(&[("2", "text")]));
    script.replies(vec![call("3", "read_file", "{ \"path\":\"x\" }")]);
    script.returns("3", "text");
    assert_eq!(
        script.results(),
        results(&[(
            "3",
            "text\n\n[The same call with the same arguments, 3 times in a row. Do something else, or \
             finish with what you have.]"
        )])
    );
    script.reads("4", "x").reads("5", "x");
    assert_eq!(script.offered().len(), 4);
    script.reads("6", "x");
    assert!(script.last_said().starts_with("You are repeating the same call."));
    script.replies(vec![complete("7", "stuck")]);
    assert_eq!(script.outcome().ending.recovered_from, Some(RecoveredFrom::Loop));
}

#[test]
fn a_loop_that_is_not_broken_is_an_error_that_says_so() {
    let mut script = Script::begin(assignment());
    for id in 0..6 {
        script.reads(&format!("{id}"), "x");
    }
    script.replies(vec![read("7", "x")]).replies(vec![read("8", "x")]);
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::Error);
    assert_eq!(
        ending.error.as_deref(),
        Some("stuck in a loop: `read_file` was called 6 times in a row with the same arguments")
    );
}

#[test]
fn another_call_in_between_is_no_loop_but_the_same_turn_again_is() {
    let mut script = Script::begin(assignment());
    for id in 0..4 {
        script.reads(&format!("a{id}"), "x").reads(&format!("b{id}"), "y");
    }
    assert_eq!(script.offered().len(), 4);
    let mut script = Script::begin(assignment());
    for id in 0..6 {
        let (a, b) = (format!("a{id}"), format!("b{id}"));
        script.replies(vec![read(&a, "x"), read(&b, "y")]);
        script.returns(&a, "text").returns(&b, "text");
    }
    assert_eq!(script.offered(), ["complete_task"]);
}

#[test]
fn a_turn_of_very_many_calls_is_cut_and_costs_no_more_for_each() {
    let mut script = Script::begin(assignment());
    let calls = (0..40_000).map(|number| read(&format!("c{number}"), &number.to_string()));
    let mut run =
        Run::new(RunRequest { assignment: assignment(), fork: None, guard: guard() }).unwrap().0;
    run.start(Duration::ZERO);
    let events = run.model_replied(reply(calls.collect()), Duration::ZERO);
    let answered =
        events.iter().filter(|event| matches!(event, Event::ToolReturned { .. })).count();
    assert_eq!(answered, 40_000 - 1024);
    let begun = run.begin_calls(Duration::ZERO);
    assert_eq!(begun.len(), 1024);
    let few = (0..1030).map(|number| {
        let arguments = json!({"number": number}).to_string();
        call(&format!("c{number}"), "complete_task", &arguments)
    });
    script.replies(few.collect());
    let texts = script.results();
    assert!(texts[1023].1.contains("the argument is missing"), "{:?}", texts[1023]);
    assert_eq!(texts[1024].1, "Not executed: at most 1024 calls in a turn.");
}

#[test]
fn refused_calls_are_a_loop_too() {
    let mut script = Script::begin(assignment());
    for id in 0..6 {
        script.replies(vec![call(&format!("{id}"), "nothing", "{")]);
    }
    assert_eq!(script.offered(), ["complete_task"]);
    assert!(script.results()[0].1.contains("6 times in a row"));
}

#[test]
fn signatures_and_provider_data_are_sent_back_unchanged() {
    let mut script = Script::begin(assignment());
    let mut signed = ToolCall::new(ToolCallId::new("a"), "read_file", "{}");
    signed.provider_data = Some(json!({"thought_signature": "x"}));
    let content = vec![
        AssistantPart::Thinking {
            text: "hm".to_owned(),
            signature: Some("s".to_owned()),
            provider_data: Some(json!({"encrypted": "e"})),
        },
        AssistantPart::ToolCall { call: signed },
    ];
    script.replies(content.clone()).returns("a", "text");
    let request = script.model_request();
    let kept = &request.messages.messages()[2];
    assert_eq!(**kept, Message::Assistant { content });
}

#[test]
fn the_files_of_a_turn_are_known_if_they_were_kept_after_the_last_change() {
    use crate::run::{files_then::FilesThen, transcript::Entry};
    let entries = |events: &[&str]| -> Vec<Entry> {
        let parsed = events.iter().zip(1..).map(|(event, seq)| {
            let event = match event.split_once(' ') {
                Some(("turn", turn)) => json!({"type": "turn_started", "turn": turn.parse::<u32>().unwrap(),
                    "grace": false, "progress": {"turns_completed": 0, "max_turns": 9,
                        "elapsed_seconds": 0, "max_seconds": 9}}),
                Some(("kept", turn)) => {
                    json!({"type": "files_kept", "turn": turn.parse::<u32>().unwrap(), "tree": format!("tree-{turn}")})
                }
                Some((_, tool)) => json!({"type": "tool_started", "call_id": "a", "tool_name": tool}),
                None => Value::Null,
            };
            Entry::new(seq, "t", Duration::ZERO, serde_json::from_value(event).unwrap())
        });
        parsed.collect()
    };
    let tree = |name: &str| FilesThen::Tree(name.to_owned());
    let resumed = assignment().resumed_as(RunId::new("agent-2"), "go on");
    let work = ["turn 1", "call read_file", "turn 2", "call shell", "turn 3", "kept 2", "turn 4"];
    for (turn, run, events, expected) in [
        (1, assignment(), &work[..], FilesThen::AsBegun),
        (2, assignment(), &work, tree("tree-2")),
        (3, assignment(), &work, tree("tree-2")),
        // A transcript of an earlier version, and a tool that nobody knows.
        (2, assignment(), &work[..5], FilesThen::Unknown),
        (1, assignment(), &["turn 1", "call mcp__a__b"], FilesThen::Unknown),
        (
            3,
            assignment(),
            &["turn 1", "call shell", "kept 1", "turn 2", "call shell"],
            FilesThen::Unknown,
        ),
        // It began with what another run had left.
        (1, resumed.clone(), &["turn 1", "call read_file"], FilesThen::Unknown),
        (1, resumed, &["turn 1", "kept 0", "call read_file"], tree("tree-0")),
    ] {
        assert_eq!(FilesThen::after(turn, &run, &entries(events)), expected, "{turn}: {events:?}");
    }
}
