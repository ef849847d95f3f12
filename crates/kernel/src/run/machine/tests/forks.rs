//! What a run takes over from the one that asked for it.

use super::*;
use crate::{
    agent::definition::OutputConfig,
    run::{fork::Fork, outcome::Status, state::State},
};

const BOUNDARY: &str = "### FORKING CONVERSATION CONTEXT ###\n### ENTERING SUB-AGENT ROUTINE ###\n\
    Entered sub-agent context\n\nPLEASE NOTE:\n\
    - The messages above this point are from the main thread prior to sub-agent execution.\n\
    - Context messages may include tool_use blocks for tools not available in sub-agent context.\n\
    - Only complete the specific sub-agent task you have been assigned below.";

fn thinking() -> AssistantPart {
    AssistantPart::Thinking { text: "hm".to_owned(), signature: None, provider_data: None }
}

/// A parent that has read a file and is in the middle of a command.
fn parent(assignment: Assignment) -> Script {
    let mut parent = Script::begin(assignment);
    parent.replies(vec![thinking(), read("a", "x")]).returns("a", "text");
    parent.replies(vec![thinking(), AssistantPart::text("I delegate."), call("b", "shell", "{}")]);
    assert_eq!(parent.open().len(), 1);
    parent
}

/// A planner that may only read.
fn planner() -> Assignment {
    let mut assignment = assignment();
    let definition = Arc::make_mut(&mut assignment.definition);
    definition.agent_type = AgentName::new("planner");
    definition.prompt_config.system_prompt = Some("You plan in ${cwd}.".to_owned());
    assignment.task = "Plan it.".to_owned();
    assignment.tools.truncate(1);
    assignment
}

fn forked(parent: &Script, assignment: Assignment) -> Script {
    let fork = Some(Fork::from_parent(&parent.run));
    Script::begun(Run::new(RunRequest { assignment, fork, guard: guard() }).unwrap())
}

fn messages(script: &Script) -> Vec<Message> {
    script.run.conversation().messages().iter().map(|message| (**message).clone()).collect()
}

/// What the parent asked last, before it delegated.
fn asked(parent: &Script) -> Vec<Message> {
    let mut messages = messages(parent);
    messages.pop();
    messages
}

#[test]
fn a_fork_repeats_what_its_parent_asked() {
    let parent = parent(main_agent());
    let fork = forked(&parent, planner());
    let messages = messages(&fork);
    let (before, after) = messages.split_at(asked(&parent).len());
    assert_eq!(before, asked(&parent));
    let task = "From here on you are `planner`. Your instructions, in the place of those at the \
        beginning:\n\nYou plan in /work.\n\nOf the tools you have only: read_file. When the task is \
        done, answer in text without calling a tool: only that answer is handed back.\n\nYour \
        task:\n\nPlan it.";
    let told = [Message::assistant("I delegate."), Message::user(BOUNDARY), Message::user(task)];
    assert_eq!(after, told);
    assert_eq!(fork.offered(), ["read_file", "grep_files", "shell"]);
}

#[test]
fn seeing_a_tool_gives_no_right_to_it() {
    let mut fork = forked(&parent(main_agent()), planner());
    fork.replies(vec![
        call("1", "shell", "{}"),
        call("2", "write_file", "{}"),
        call("3", "nonsense", "{}"),
        read("4", "y"),
    ]);
    assert_eq!(fork.open().len(), 1);
    fork.returns("4", "fine");
    let expected = [
        ("1", "`shell` is not available to you: it belongs to the conversation before your task."),
        ("2", "`write_file` is not available to you: the agent is not trusted."),
        ("3", "There is no tool `nonsense`. Available: read_file."),
        ("4", "fine"),
    ];
    assert_eq!(fork.results(), results(&expected));
}

#[test]
fn a_fork_of_the_main_agent_hands_in_a_text() {
    let mut fork = forked(&parent(main_agent()), planner());
    fork.says("The plan.");
    let outcome = fork.outcome();
    assert_eq!(
        (outcome.ending.status, outcome.ending.result.as_str()),
        (Status::Goal, "The plan.")
    );
    // A model that calls what others call has handed in as well.
    let mut fork = forked(&parent(main_agent()), planner());
    fork.replies(vec![complete("1", "The plan.")]);
    let outcome = fork.outcome();
    assert_eq!(
        (outcome.ending.status, outcome.ending.result.as_str()),
        (Status::Goal, "The plan.")
    );
}

#[test]
fn a_fork_of_a_subagent_hands_in_as_that_does() {
    let parent = parent(assignment());
    let mut fork = forked(&parent, planner());
    assert_eq!(messages(&fork)[..4], asked(&parent));
    assert_eq!(fork.offered(), ["read_file", "grep_files", "shell", "complete_task"]);
    assert!(fork.last_said().contains("call `complete_task` with your whole answer"));
    fork.says("The plan.");
    assert!(fork.last_said().starts_with("You called no tool."));
}

#[test]
fn where_no_cache_can_be_shared_a_fork_has_its_own_instructions_and_tools() {
    let mut other_model = planner();
    other_model.model.id = "another".to_owned();
    let mut other_provider = planner();
    other_provider.model.provider = "another".to_owned();
    let mut own_form = planner();
    Arc::make_mut(&mut own_form.definition).output_config = Some(OutputConfig {
        output_name: "plan".to_owned(),
        description: String::new(),
        schema: json!({"type": "array"}),
    });
    for assignment in [other_model, other_provider, own_form] {
        for parent in [parent(main_agent()), parent(super::assignment())] {
            let fork = forked(&parent, assignment.clone());
            let messages = messages(&fork);
            let Message::System { text } = &messages[0] else { panic!("{messages:?}") };
            assert!(text.starts_with("You plan in /work.\n\n"), "{text}");
            assert_eq!(messages[1..4], asked(&parent)[1..]);
            let told = [
                Message::assistant("I delegate."),
                Message::user(BOUNDARY),
                Message::user("Plan it."),
            ];
            assert_eq!(messages[4..], told);
            assert_eq!(fork.offered(), ["read_file", "complete_task"]);
        }
    }
}

#[test]
fn results_of_calls_that_are_gone_go_too() {
    let result = |id: &str| ToolResult {
        call_id: ToolCallId::new(id),
        text: "r".to_owned(),
        is_error: false,
        images: Vec::new(),
        artifacts: Vec::new(),
        data: None,
    };
    let assistant = |content: Vec<AssistantPart>| Message::Assistant { content };
    let settled = assistant(vec![thinking(), read("a", "x")]);
    let opened = Event::Opened {
        messages: [
            Message::system("parent"),
            Message::user("do"),
            settled.clone(),
            Message::Tool { results: vec![result("a"), result("orphan")] },
            assistant(vec![call("lost", "Task", "{}")]),
        ]
        .map(Arc::new)
        .to_vec(),
        opening: None,
        background: Vec::new(),
        reopened: None,
    };
    let (mut run, _) =
        Run::new(RunRequest { assignment: main_agent(), fork: None, guard: guard() }).unwrap();
    run.state = State::default();
    run.happened(opened, Duration::ZERO);
    let fork = Fork::from_parent(&run).settled(true);
    let fork: Vec<_> = fork.iter().map(|message| (**message).clone()).collect();
    let kept = Message::Tool { results: vec![result("a")] };
    assert_eq!(fork, [Message::system("parent"), Message::user("do"), settled, kept]);
}

/// What a child takes over of a conversation, a word for each part: texts as they are, `?x` thoughts, `x()` calls
/// and `=x` results.
fn taken_over(conversation: &[&str]) -> Vec<String> {
    let part = |word: &str| match (word.strip_prefix('?'), word.strip_suffix("()")) {
        (Some(_), _) => thinking(),
        (None, Some(id)) => read(id, "x"),
        (None, None) => AssistantPart::text(word.replace('_', " ")),
    };
    let result = |id: &str| ToolResult {
        call_id: ToolCallId::new(id),
        text: "r".to_owned(),
        is_error: false,
        images: Vec::new(),
        artifacts: Vec::new(),
        data: None,
    };
    let message = |line: &&str| {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        Arc::new(match line.split(' ').next().unwrap() {
            "user:" => Message::user(words.join(" ")),
            "tool:" => Message::Tool {
                results: words.iter().map(|word| result(word.trim_start_matches('='))).collect(),
            },
            _ => Message::Assistant { content: words.iter().map(|word| part(word)).collect() },
        })
    };
    let (run, _) =
        Run::new(RunRequest { assignment: main_agent(), fork: None, guard: guard() }).unwrap();
    let mut fork = Fork::from_parent(&run);
    fork.messages = conversation.iter().map(message).collect();
    let shown = |part: &AssistantPart| match part {
        AssistantPart::Text { text, .. } => text.replace(' ', "_"),
        AssistantPart::Thinking { .. } => "?".to_owned(),
        AssistantPart::ToolCall { call } => format!("{}()", call.id),
    };
    let written = |message: &Arc<Message>| match &**message {
        Message::User { .. } | Message::System { .. } => "user".to_owned(),
        Message::Assistant { content } => content.iter().map(shown).collect::<Vec<_>>().join(" "),
        Message::Tool { results } => {
            let ids: Vec<_> = results.iter().map(|result| format!("={}", result.call_id)).collect();
            ids.join(" ")
        }
    };
    fork.settled(false).iter().map(written).collect()
}

#[test]
fn unresolved_calls_are_taken_out_in_every_shape_and_their_text_stays() {
    for (conversation, expected) in [
        // Everything is answered: nothing changes.
        (&["user: go", "model: hm a()", "tool: =a"][..], &["user", "hm a()", "=a"][..]),
        (&["user: go", "model: ? a() b()", "tool: =a =b"], &["user", "? a() b()", "=a =b"]),
        // The last message is all open: with text, without, with nothing but blanks, with a thought.
        (&["user: go", "model: hm a()"], &["user", "hm"]),
        (&["user: go", "model: a()"], &["user"]),
        (&["user: go", "model: _ a()"], &["user"]),
        (&["user: go", "model: ? a()"], &["user"]),
        (&["user: go", "model: ? hm a() ho b()"], &["user", "hm ho"]),
        // Some of its calls are answered.
        (&["user: go", "model: hm a() b()", "tool: =a"], &["user", "hm a()", "=a"]),
        (&["user: go", "model: a() b() c()", "tool: =b"], &["user", "b()", "=b"]),
        (&["user: go", "model: ? a() b()", "tool: =b"], &["user", "b()", "=b"]),
        // An open call in the middle: what came after it stays.
        (
            &["user: go", "model: hm a()", "user: stop", "model: ho b()", "tool: =b"],
            &["user", "hm", "user", "ho b()", "=b"],
        ),
        (&["user: go", "model: a()", "user: stop", "model: ho"], &["user", "user", "ho"]),
        // Results without a call.
        (&["user: go", "tool: =x", "model: a()", "tool: =a =y"], &["user", "a()", "=a"]),
        // The same call answered in two messages.
        (&["user: go", "model: a() b()", "tool: =a", "tool: =b"], &["user", "a() b()", "=a", "=b"]),
        (&["user: go", "model: hm"], &["user", "hm"]),
        (&[], &[]),
    ] {
        assert_eq!(taken_over(conversation), expected, "{conversation:?}");
    }
}

#[test]
fn what_was_taken_over_may_go_to_make_room_and_the_task_may_not() {
    let fork = forked(&parent(main_agent()), planner());
    let opened = fork.events().next().unwrap();
    assert!(matches!(opened, Event::Opened { opening: Some(1), .. }), "{opened:?}");
    let mut assignment = planner();
    assignment.model_limits.context_window = Some(20_000);
    let mut long = Script::begin(main_agent());
    long.replies(vec![read("a", "x")]).returns("a", &"text ".repeat(4000));
    long.replies(vec![call("b", "shell", "{}")]);
    let mut fork = forked(&long, assignment);
    let mut full = reply(vec![read("c", "y")]);
    full.usage.input_tokens = 19_000;
    fork.answers(full).returns("c", "more");
    let compacted = fork.events().any(|event| matches!(event, Event::Compacted { .. }));
    assert!(compacted, "{:?}", fork.events().last());
    let messages = messages(&fork);
    assert_eq!(messages[0], asked(&long)[0]);
    let told = |message: &Message| format!("{message:?}").contains("You plan in /work.");
    assert!(messages.iter().any(told), "{messages:?}");
    assert!(!format!("{messages:?}").contains("text text text"));
}

#[test]
fn a_fork_that_is_resumed_repeats_the_same_beginning() {
    let mut fork = forked(&parent(main_agent()), planner());
    fork.reads("1", "y");
    let again = fork.run.assignment().resumed_as(RunId::new("agent-2"), "And then?");
    let resumed = Script::begun(fork.run.resume(again, guard()).unwrap());
    assert_eq!(messages(&resumed)[..messages(&fork).len()], messages(&fork));
    assert_eq!(resumed.offered(), fork.offered());
}
