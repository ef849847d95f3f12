//! `attache exec`: the main agent from the command line, with the agents it delegates to.

use std::collections::BTreeMap;

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{Answer, Gate, ScriptedServer, WireApi, text, tool_call},
};
use serde_json::{Value, json};

use crate::{
    project,
    providers::{completes, lab, used},
    terminal::Terminal,
};

const API: WireApi = WireApi::Chat;
const AGENTS: &str =
    r#"{"worker": {"description": "Works.", "prompt": "You work.", "tools": ["Read"]}}"#;

fn task(prompt: &str) -> Value {
    json!({"subagent_type": "worker", "prompt": prompt, "description": "look around"})
}

/// A project in which the main agent starts two workers and then answers.
pub(crate) fn delegating(server: &ScriptedServer) -> TestProject {
    let both =
        tool_call("call_1", "Task", &task("one")).then_tool_call("call_2", "Task", &task("two"));
    server.answer(API.answer(&both.using(used(1000))));
    server.answer(API.answer(&completes("found it")));
    server.answer(API.answer(&completes("found it")));
    server.answer(API.answer(&text(["Both ", "found it."]).using(used(2000))));
    lab(server, API, "")
}

fn object(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn events(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_recording_replays_with_the_agents_that_were_started() {
    let server = ScriptedServer::start();
    let project = delegating(&server);
    let exec = ["exec", "look everywhere", "--agents", AGENTS, "--json"];
    let first = object(&project.run(&exec));
    let model = format!("replay:{}", first["transcript"].as_str().unwrap());
    let ran = project.run(&[&exec[..], &["--model", &model]].concat());
    let again = object(&ran);
    assert_eq!((&again["status"], &again["result"]), (&first["status"], &first["result"]));
    assert_eq!(again["tree"]["agents"], 3, "{again}");
    // Nothing was asked of the server a second time.
    server.assert_done();
}

/// A main agent that starts workers which end like this, one after another, and then is content.
fn content_with(server: &ScriptedServer, answers: impl IntoIterator<Item = Answer>) -> Ran {
    for answer in answers {
        server.answer(API.answer(&tool_call("call", "Task", &task("look")).using(used(100))));
        server.answer(answer);
    }
    server.answer(API.answer(&text(["All is well."]).using(used(100))));
    let ran = lab(server, API, "").run(&["exec", "look", "--agents", AGENTS]);
    server.assert_done();
    ran
}

fn refused() -> Answer {
    Answer::new().status(400).body(r#"{"error": {"message": "no such thing"}}"#)
}

#[test]
fn an_agent_that_failed_is_in_the_exit_code() {
    let ran = content_with(&ScriptedServer::start(), [refused()]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(1), "All is well."), "{ran:?}");
    let last = ran.stderr.lines().last().unwrap();
    assert!(last.starts_with("failed: `worker` did not reach its goal (error)"), "{ran:?}");
    // The line of the call has the reason, and not the object around it.
    let call = ran.stderr.lines().find(|line| line.contains("✗ Task")).unwrap();
    assert!(call.contains("no such thing") && !call.contains("turns_used"), "{call}");
}

#[test]
fn an_agent_that_made_up_for_a_failure_is_in_the_exit_code_too() {
    let answers = [refused(), API.answer(&completes("found it"))];
    let ran = content_with(&ScriptedServer::start(), answers);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn an_agent_that_succeeded_before_makes_up_for_nothing() {
    let answers = [API.answer(&completes("found it")), refused()];
    let ran = content_with(&ScriptedServer::start(), answers);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn the_last_line_has_what_the_agents_used_together() {
    let answers = [API.answer(&completes("found it").using(used(1000)))];
    let ran = content_with(&ScriptedServer::start(), answers);
    let total = ran.stderr.lines().find(|line| line.contains("with 1 subagent")).unwrap();
    assert!(total.contains("220 tokens, "), "{total}");
    assert!(total.contains("with 1 subagent: 1,230 tokens, "), "{total}");
}

#[test]
fn the_main_agent_delegates_and_answers() {
    let server = ScriptedServer::start();
    let project = delegating(&server);
    project.file("AGENTS.md", "Always say please.");
    let ran = project.run(&["exec", "look everywhere", "--agents", AGENTS, "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result = object(&ran);
    assert_eq!(result["result"], "Both found it.");
    assert_eq!((&result["status"], &result["agent_type"]), (&json!("goal"), &json!("attache")));
    // What the server counted is what the tree has used.
    assert_eq!(
        (&result["tree"]["agents"], &result["tree"]["total_tokens"]),
        (&json!(3), &json!(3240))
    );
    server.assert_done();
    let first = server.requests()[0].json();
    let system = first["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("Always say please."), "{system}");
    let names: Vec<&str> = first["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"Task") && names.contains(&"shell") && !names.contains(&"complete_task")
    );
    let last = server.requests()[3].json();
    let answers: Vec<Value> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(answers.len(), 2);
    for answer in answers {
        assert_eq!((&answer["status"], &answer["result"]), (&json!("goal"), &json!("found it")));
    }
}

#[test]
fn the_stream_has_the_events_of_every_agent_in_order() {
    let server = ScriptedServer::start();
    let project = delegating(&server);
    let format = ["exec", "look", "--agents", AGENTS, "--output-format", "stream-json"];
    let ran = project.run(&format);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = events(&ran);
    let (result, events) = lines.split_last().unwrap();
    assert_eq!(result["type"], "result");
    let main = result["agent_id"].as_str().unwrap();
    let mut last_seq: BTreeMap<&str, u64> = BTreeMap::new();
    let mut ended = 0;
    for event in events {
        let id = event["agent_id"].as_str().unwrap();
        let seq = event["seq"].as_u64().unwrap();
        let before = last_seq.insert(id, seq);
        assert!(before.is_none_or(|before| before <= seq), "{event}");
        if id != main {
            assert_eq!(event["parent_id"], main, "{event}");
            ended += u32::from(event["event_type"] == "COMPLETED");
        } else if event["event_type"] == "TOOL_CALL_END" {
            assert!(ended > 0, "{event}");
        }
    }
    assert_eq!((last_seq.len(), ended), (3, 2));
    let transcript = std::fs::read_to_string(result["transcript"].as_str().unwrap()).unwrap();
    assert_eq!(transcript.matches(r#""type":"sub_agent_start""#).count(), 2);
    assert_eq!(transcript.matches(r#""type":"sub_agent_end""#).count(), 2);
}

#[test]
fn with_detach_the_answer_comes_at_once_and_the_agents_go_on() {
    let server = ScriptedServer::start();
    let api = WireApi::Gemini;
    let (gate, main, agent) = (Gate::new(), api.path("lab-1"), api.path("lab-2"));
    let mut arguments = task("one");
    arguments["run_in_background"] = json!(true);
    server.answer_on(&main, api.answer(&tool_call("call_1", "Task", &arguments)));
    server.answer_on(&main, api.answer(&text(["It is on its way."])));
    server.answer_on(&agent, api.answer(&completes("here it is")).gated(&gate, 0));
    let project = lab(&server, api, "");
    let agents =
        r#"{"worker": {"description": "Works.", "prompt": "You work.", "model": "lab-2"}}"#;
    let ran = project.run(&["exec", "go", "--agents", agents, "--detach"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is on its way.\n"), "{ran:?}");
    let tasks = project.json(&["tasks", "--json"]);
    let worker =
        tasks.as_array().unwrap().iter().find(|run| run["agent_type"] == "worker").unwrap();
    assert_eq!(worker["status"], "running", "{tasks}");
    let told = format!(
        "`worker` continues in the background; result: attache output {}",
        worker["agent_id"].as_str().unwrap()
    );
    assert!(ran.stderr.contains(&told), "{ran:?}");
    gate.open();
    let ran = project.run(&["output", worker["agent_id"].as_str().unwrap(), "--wait"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "here it is\n"), "{ran:?}");
    server.assert_done();
}

#[test]
fn chat_tells_a_slip_from_a_message() {
    let server = ScriptedServer::start();
    let project = lab(&server, API, "");
    server.answer(API.answer(&text(["It is a folder."])));
    let ran = project.run_with_input(&["chat", "--plain"], "/help\n/hlep\n/usr/bin is what?\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is a folder.\n"), "{ran:?}");
    assert!(ran.stderr.contains("/quit, /exit"), "{ran:?}");
    assert!(ran.stderr.contains("there is no command /hlep"), "{ran:?}");
    let ran = project.run_with_input(&["chat", "--plain", "--resume", "agent-none"], "hello\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("agent-none"), "{ran:?}");
    server.assert_done();
}

#[test]
fn chat_goes_on_with_what_was_said() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&text(["Hello."])));
    server.answer(API.answer(&text(["You said hi."])));
    let project = lab(&server, API, "");
    let ran = project.run_with_input(&["chat", "--plain"], "hi\n\nwhat did I say?\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Hello.\nYou said hi.\n"), "{ran:?}");
    let shown = project.run(&["transcript", "last", "--json"]);
    assert!(shown.stdout.contains(r#""source":"interactive""#), "{shown:?}");
    let second = server.requests()[1].json();
    let messages = second["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    server.answer(API.answer(&text(["Still here."])));
    let ran = project.run_with_input(&["chat", "--plain", "--resume"], "and now?\n");
    assert_eq!(ran.stdout, "Still here.\n", "{ran:?}");
    let third = server.requests()[2].json();
    assert_eq!(third["messages"].as_array().unwrap().len(), 6);
    let ran = project.run(&["chat"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--plain"), "{ran:?}");
}

#[test]
fn without_a_provider_the_offline_model_answers() {
    let project = project();
    project.file("src/parser.rs", "pub fn parse_everything() {}\n");
    let ran = project.run(&["exec", "where is parse_everything?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("src/parser.rs"), "{ran:?}");
}

#[test]
fn wrong_usage_is_told() {
    let project = project();
    for (arguments, said) in [
        (&["exec"][..], "there is no task"),
        (&["exec", "x", "--detach", "--background"], "cannot be used with"),
        (&["exec", "x", "--input", "a=b"], "unexpected argument '--input'"),
    ] {
        let ran = project.run_with_input(arguments, "");
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
}

/// A project with an agent for everything about postgres.
fn with_a_database_agent(server: &ScriptedServer) -> TestProject {
    let project = lab(server, API, "");
    project.file(
        "~/.attache/agents/dba.md",
        "---\nname: dba\ndescription: Knows databases.\nkeywords: [postgres]\ntools: [Read]\n---\nYou know.",
    );
    project
}

fn routing(ran: &Ran) -> Value {
    events(ran)[0]["data"]["routing"].clone()
}

#[test]
fn an_agent_that_fits_is_noted_in_the_events() {
    let server = ScriptedServer::start();
    let project = with_a_database_agent(&server);
    server.answer(API.answer(&text(["I can do that."])));
    let stream = ["exec", "tune postgres", "--output-format", "stream-json"];
    let noted = routing(&project.run(&stream));
    assert_eq!(noted, json!({"agent": "dba", "keyword": "postgres", "decision": "noted"}));
    server.answer(API.answer(&completes("tuned")));
    let routed = [&["-c", "subagents.auto_route=true"], &stream[..]].concat();
    assert_eq!(routing(&project.run(&routed))["decision"], "routed");
    server.answer(API.answer(&text(["Hello."])));
    let other = project.run(&["exec", "say hello", "--output-format", "stream-json"]);
    assert_eq!(routing(&other), Value::Null);
}

#[test]
fn at_a_terminal_an_agent_that_fits_is_offered() {
    for (typed, answer, told, decision) in [
        ("y\n", completes("tuned"), "tuned", "accepted"),
        ("\n", text(["I did it."]), "I did it.", "declined"),
    ] {
        let server = ScriptedServer::start();
        let project = with_a_database_agent(&server);
        server.answer(API.answer(&answer));
        let mut terminal = Terminal::with(&project, &["exec", "tune postgres"]);
        terminal.types(typed.as_bytes());
        let (code, screen, _) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        assert!(
            screen.contains("`dba` is for this (keyword `postgres`). Let it do this?"),
            "{screen}"
        );
        assert!(screen.contains(told), "{screen}");
        let shown = project.run(&["transcript", "last", "--json"]);
        assert!(shown.stdout.contains(&format!("\"decision\":\"{decision}\"")), "{shown:?}");
    }
}

#[test]
fn a_prompt_with_a_keyword_is_routed_where_the_settings_say_so() {
    let server = ScriptedServer::start();
    let project = with_a_database_agent(&server);
    server.answer(API.answer(&text(["I can do that."])));
    let ran = project.run(&["exec", "tune postgres"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "I can do that.\n"), "{ran:?}");
    assert!(ran.stderr.contains("`dba` is for this (keyword `postgres`)"), "{ran:?}");
    server.answer(API.answer(&completes("tuned")));
    let ran = project.run(&["-c", "subagents.auto_route=true", "exec", "tune postgres"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "tuned\n"), "{ran:?}");
    assert!(ran.stderr.contains("`dba` gets this"), "{ran:?}");
    // Of several agents with a keyword in the prompt, the one that `suggest` puts first.
    project.agent("aaa", "description: something else\nkeywords: [postgres]");
    server.answer(API.answer(&completes("tuned again")));
    let ran =
        project.run(&["-c", "subagents.auto_route=true", "exec", "tune the postgres database"]);
    assert!(ran.stderr.contains("`dba` gets this"), "{ran:?}");
}

#[test]
fn a_budget_of_the_tree_holds_for_workers_side_by_side() {
    let server = ScriptedServer::start();
    let first = tool_call("call_0", "Task", &task("worker 0"));
    let many = (1..8).fold(first, |calls, number| {
        let prompt = format!("worker {number}");
        calls.then_tool_call(&format!("call_{number}"), "Task", &task(&prompt))
    });
    server.answer(API.answer(&many.using(used(5000))));
    let look = tool_call("call_9", "read_file", &json!({"path": "a.txt"}));
    server.always(API.answer(&look.using(used(400))));
    let project = lab(&server, API, "[subagents]\nmax_tree_tokens = 24000\n");
    project.file("a.txt", "a\n");
    let result = object(&project.run(&["exec", "look", "--agents", AGENTS, "--json", "-q"]));
    let total = result["tree"]["total_tokens"].as_u64().unwrap();
    assert!(total > 12_000 && total <= 24_000, "{result}");
    assert_eq!(result["tree"]["agents"], 9);
    let workers = u64::try_from(server.requests().len()).unwrap() - 1;
    assert_eq!(5010 + workers * 410, total, "what was sent was counted");
}

#[test]
fn a_short_name_that_the_model_asks_for_falls_through_and_says_so() {
    let server = ScriptedServer::start();
    let mut short = task("one");
    short["model"] = json!("sonnet");
    let run = json!({"name": "worker", "task": "two", "model": "opus"});
    let calls = tool_call("call_1", "Task", &short).then_tool_call("call_2", "subagent_run", &run);
    server.answer(API.answer(&calls.using(used(1000))));
    server.answer(API.answer(&completes("found it")));
    server.answer(API.answer(&completes("found it")));
    server.answer(API.answer(&text(["Both."]).using(used(2000))));
    let project = lab(&server, API, "");
    let ran = project.run(&["exec", "look", "--agents", AGENTS]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Both.\n"), "{ran:?}");
    let last = server.requests()[3].json();
    let messages = last["messages"].as_array().unwrap().iter();
    let answers: Vec<&str> = messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    let told: Value = serde_json::from_str(answers[0]).unwrap();
    let notice = "`sonnet` is asked for `worker`, and its maker is not set up: it runs on `lab-1` of `lab` (set model_aliases.sonnet to choose)";
    assert_eq!((&told["status"], &told["notice"]), (&json!("goal"), &json!(notice)), "{told}");
    assert!(ran.stderr.contains(&format!("notice: {notice}")), "{ran:?}");
    let told: Value = serde_json::from_str(answers[1]).unwrap();
    assert!(told["notice"].as_str().unwrap().starts_with("`opus` is asked for `worker`"), "{told}");
    assert_eq!(told["success"], true);
    server.assert_done();
}

#[test]
fn a_model_outside_the_allowlist_is_refused_with_the_list() {
    let server = ScriptedServer::start();
    let mut asked = task("one");
    asked["model"] = json!("sonnet");
    server.answer(API.answer(&tool_call("call_1", "Task", &asked).using(used(1000))));
    server.answer(API.answer(&text(["Not allowed."]).using(used(2000))));
    let project = lab(&server, API, "[subagents]\nmodel_allowlist = [\"lab-1\", \"lab-2\"]\n");
    let ran = project.run(&["exec", "look", "--agents", AGENTS]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Not allowed.\n"), "{ran:?}");
    let answer = server.requests()[1].json().to_string();
    assert!(answer.contains("`sonnet` is not on the allowlist: lab-1, lab-2"), "{answer}");
    server.assert_done();
}

#[test]
fn agents_of_one_turn_start_together_also_around_a_command() {
    let server = ScriptedServer::start();
    let api = WireApi::Gemini;
    let (gate, main, agent) = (Gate::new(), api.path("lab-1"), api.path("lab-2"));
    let calls = tool_call("call_1", "Task", &task("one"))
        .then_tool_call("call_2", "shell", &json!({"command": "echo in between"}))
        .then_tool_call("call_3", "Task", &task("two"));
    server.answer_on(&main, api.answer(&calls));
    server.answer_on(&main, api.answer(&text(["All three."])));
    // Neither agent is answered before both have asked.
    server.answer_on(&agent, api.answer(&completes("found it")).gated(&gate, 0));
    server.answer_on(&agent, api.answer(&completes("found it")).gated(&gate, 0));
    let project = lab(&server, api, "");
    let agents =
        r#"{"worker": {"description": "Works.", "prompt": "You work.", "model": "lab-2"}}"#;
    let run = project.command(&["exec", "go", "--agents", agents, "--approve", "all"]);
    let run = { run }.stdout(std::process::Stdio::piped()).spawn().unwrap();
    gate.wait_until_reached(2);
    gate.open();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "All three.\n");
    let last = server.requests().pop().unwrap().json().to_string();
    let places: Vec<_> = ["call_1", "in between", "call_3"]
        .map(|word| last.rfind(word).or_else(|| last.rfind("found it")))
        .to_vec();
    assert!(places.is_sorted(), "{places:?} in {last}");
    server.assert_done();
}

#[test]
fn when_the_time_is_up_what_was_pending_is_named() {
    let server = ScriptedServer::start();
    let api = WireApi::Gemini;
    let (gate, main, agent) = (Gate::new(), api.path("lab-1"), api.path("lab-2"));
    let mut arguments = task("one");
    arguments["run_in_background"] = json!(true);
    server.answer_on(&main, api.answer(&tool_call("call_1", "Task", &arguments)));
    server.answer_on(&main, api.answer(&text(["It is on its way."])));
    server.answer_on(&main, api.answer(&text(["It was stopped."])));
    server.answer_on(&agent, api.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, api, "");
    let agents =
        r#"{"worker": {"description": "Works.", "prompt": "You work.", "model": "lab-2"}}"#;
    let ran = project.run(&["exec", "go", "--agents", agents, "--timeout", "1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It was stopped.\n"), "{ran:?}");
    let tasks = project.json(&["tasks", "--all", "--json"]);
    let worker =
        tasks.as_array().unwrap().iter().find(|run| run["agent_type"] == "worker").unwrap();
    assert_eq!(worker["status"], "interrupted", "{tasks}");
    let id = worker["agent_id"].as_str().unwrap();
    let told = format!(
        "`worker` was still at work; what it has: attache output {id}, continue it: attache run --resume {id}"
    );
    assert!(ran.stderr.contains(&told), "{ran:?}");
}

#[test]
fn lines_of_agents_come_between_those_of_a_plain_chat() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&tool_call("call_1", "Task", &task("one")).using(used(1000))));
    server.answer(API.answer(&completes("found it")));
    server.answer(API.answer(&text(["It found it."]).using(used(2000))));
    let project = lab(&server, API, "");
    let ran = project.run_with_input(&["chat", "--plain", "--agents", AGENTS], "look\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It found it.\n"), "{ran:?}");
    let place = |words: &str| ran.stderr.find(words).unwrap_or_else(|| panic!("{words}: {ran:?}"));
    let places = ["[attache] → Task", "[worker] Starting: look around", "[worker] Completed"];
    assert!(places.map(place).is_sorted(), "{ran:?}");
    server.assert_done();
}

#[test]
fn a_thousand_agents_do_not_fill_the_prompt_and_those_that_are_used_come_first() {
    let server = ScriptedServer::start();
    let project = lab(&server, API, "");
    for number in 0..1000 {
        let text = format!(
            "---\nname: agent-{number:03}\ndescription: Knows all about subject number {number}.\n---\nYou know."
        );
        project.file(&format!("~/.attache/agents/agent-{number:03}.md"), &text);
    }
    let described = |server: &ScriptedServer| {
        server.answer(API.answer(&text(["Hello."])));
        assert_eq!(project.run(&["exec", "hello"]).code, Some(0));
        let request = server.requests().pop().unwrap().json();
        let tools = request["tools"].as_array().unwrap().clone();
        let task = tools.iter().find(|tool| tool["function"]["name"] == "Task").unwrap();
        task["function"]["description"].as_str().unwrap().to_owned()
    };
    let before = described(&server);
    assert!(before.len() < 5000, "{}", before.len());
    assert!(before.contains("- agent-000: ") && before.contains("- Explore: "), "{before}");
    assert!(before.contains("more: subagent_list with a query)"), "{before}");
    assert!(!before.contains("agent-777"), "{before}");
    server.answer(API.answer(&completes("known")));
    let run = project.run(&["run", "agent-777", "what do you know?", "-q"]);
    assert_eq!(run.stdout, "known\n", "{run:?}");
    let after = described(&server);
    assert!(after.len() < 5000 && after.contains("- agent-777: "), "{after}");
    server.assert_done();
}

#[test]
fn headers_tell_where_a_session_comes_from_and_origins_who_started_an_agent() {
    let server = ScriptedServer::start();
    let below = json!({"subagent_type": "worker", "prompt": "deeper", "description": "dig"});
    let boss = json!({"subagent_type": "boss", "prompt": "delegate", "description": "lead"});
    server.answer(API.answer(&tool_call("call_1", "Task", &boss).using(used(1000))));
    server.answer(API.answer(&tool_call("call_2", "Task", &below).using(used(100))));
    server.answer(API.answer(&completes("dug")));
    server.answer(API.answer(&completes("led")));
    server.answer(API.answer(&text(["Done."]).using(used(2000))));
    let project = lab(&server, API, "subagents.max_depth = 2");
    let agents = r#"{"boss": {"description": "Leads.", "prompt": "You lead."},
        "worker": {"description": "Works.", "prompt": "You work.", "tools": ["Read"]}}"#;
    let ran = project.run(&["exec", "go", "--agents", agents, "-q"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{ran:?}");
    let tasks = project.json(&["tasks", "--all", "--json"]);
    let lines = |agent: &str| -> Vec<Value> {
        let mut tasks = tasks.as_array().unwrap().iter();
        let task = tasks.find(|task| task["agent_type"] == agent).unwrap();
        let text = std::fs::read_to_string(task["transcript"].as_str().unwrap()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for (agent, source, origin) in [
        ("attache", json!("exec"), Some(json!("main"))),
        ("boss", json!({"sub_agent": {"custom": "boss"}}), Some(json!({"sub_agent": "boss"}))),
        ("worker", json!({"sub_agent": {"custom": "worker"}}), None),
    ] {
        let lines = lines(agent);
        assert_eq!(lines[0]["run"]["source"], source, "{agent}");
        let origins: Vec<&Value> = lines
            .iter()
            .filter(|line| {
                let kind = line["event"]["type"].as_str().unwrap_or_default();
                ["sub_agent_start", "sub_agent_end"].contains(&kind)
            })
            .map(|line| &line["event"]["origin"])
            .collect();
        let expected: Vec<&Value> = origin.iter().chain(&origin).collect();
        assert_eq!(origins, expected, "{agent}");
    }
    server.assert_done();
}
