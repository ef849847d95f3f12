//! `attache mcp`: the real server, spoken to by hand.

mod client;
mod host_offers;
mod hostile;
mod http;
mod install;
mod long_calls;
mod resources;

use std::{
    fs,
    time::{Duration, Instant},
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi},
};
use serde_json::{Value, json};

use self::client::{Client, text};
use crate::{
    project,
    providers::{completes, lab, looks},
};

const API: WireApi = WireApi::Chat;
const TOOLS: [&str; 6] =
    ["Task", "TaskOutput", "TaskStop", "subagent_list", "subagent_describe", "subagent_run"];

fn task(prompt: &str) -> Value {
    json!({"subagent_type": "Explore", "prompt": prompt, "description": "look around"})
}

/// A project whose model looks around and then answers.
fn answering(server: &ScriptedServer, answers: &[&str]) -> TestProject {
    for answer in answers {
        server.answer(API.answer(&completes(answer)));
    }
    lab(server, API, "")
}

#[test]
fn a_full_model_name_without_its_maker_is_an_error_that_names_the_ways_out() {
    let project = project().with_env("OPENAI_API_KEY", "sk-nobody-is-asked");
    let mut client = Client::start(&project, &[]);
    let mut full = task("look");
    full["model"] = json!("claude-sonnet-5");
    let answer = client.call("Task", full);
    for way in ["ANTHROPIC_API_KEY", "attache login anthropic", "[model_aliases]"] {
        assert!(text(&answer).contains(way), "{way}: {answer}");
    }
    assert_eq!(answer["isError"], true, "{answer}");
}

/// The headers of all transcripts.
fn headers(project: &TestProject) -> Vec<Value> {
    let mut headers = Vec::new();
    let sessions = fs::read_dir(project.home().join(".attache/sessions")).unwrap();
    for session in sessions {
        for file in fs::read_dir(session.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let transcript = fs::read_to_string(path).unwrap();
                headers.push(serde_json::from_str(transcript.lines().next().unwrap()).unwrap());
            }
        }
    }
    headers
}

#[test]
fn wrong_calls_are_tool_errors_that_say_what_to_do() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let unknown = client.ask("tools/call", json!({"name": "Tusk", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("Tusk"), "{unknown}");
    for (tool, arguments, told) in [
        ("Task", json!({}), "missing field"),
        ("Task", json!({"subagent_type": "Explorr", "prompt": "x", "description": "d"}), "Explore"),
        ("subagent_run", json!({"name": "nobody", "task": "x"}), "Sub-agent execution failed"),
        ("subagent_run", json!({"name": 7, "task": "x"}), "failed to parse function arguments"),
        ("subagent_describe", json!({"name": "nobody"}), "nobody"),
        ("TaskOutput", json!({"agent_id": "agent-0"}), "No task found"),
        ("TaskStop", json!({"agent_id": "../../etc/passwd"}), "No task found"),
    ] {
        let result = client.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(text(&result).contains(told), "{tool}: {result}");
    }
    let (code, said) = client.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
}

#[test]
fn without_agents_there_is_no_server() {
    let project = project();
    for key in ["subagents.enabled", "tools.subagent_tools"] {
        let ran = project.run(&["mcp", "-c", &format!("{key}=false")]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(&format!("set {key} = true")), "{ran:?}");
    }
}

#[test]
fn the_tools_are_those_of_the_main_agent_with_schemas_and_annotations() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
    }
    let description = tools[0]["description"].as_str().unwrap();
    assert!(description.contains("- Explore: "), "{description}");
    assert!(description.contains("run_in_background"), "{description}");
    assert!(!description.contains("you are told"), "nobody tells a client: {description}");
    assert_eq!(tools[3]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[0]["annotations"]["destructiveHint"], true);
}

#[test]
fn clients_of_every_version_of_the_protocol_are_served() {
    let project = project();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::silent(&project, &[]);
        let hello = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"}});
        let greeted = client.ask("initialize", hello);
        assert_eq!(greeted["result"]["protocolVersion"], version, "{greeted}");
        client.tell("notifications/initialized", json!({}));
        let listed = client.call("subagent_list", json!({}));
        assert!(text(&listed).contains("Explore"), "{version}: {listed}");
    }
    let mut client = Client::modern(&project, &[], json!({}));
    let listed = client.call("subagent_list", json!({}));
    assert!(text(&listed).contains("Explore"), "2026-07-28: {listed}");
}

#[test]
fn an_agent_runs_and_its_result_is_structured_and_can_be_fetched_again() {
    let server = ScriptedServer::start();
    let project = answering(&server, &["It is in src."]);
    let mut client = Client::start(&project, &[]);
    let result = client.call("Task", task("where is it?"));
    assert_eq!(result["isError"], false, "{result}");
    let values = &result["structuredContent"];
    assert_eq!((&values["status"], &values["result"]), (&json!("goal"), &json!("It is in src.")));
    assert_eq!(&serde_json::from_str::<Value>(text(&result)).unwrap(), values);
    let again = client.call("TaskOutput", json!({"agent_id": values["agent_id"]}));
    assert_eq!(again["structuredContent"]["result"], "It is in src.");
    // Another server of the same user reaches it, too.
    drop(client);
    let mut client = Client::start(&project, &[]);
    let again = client.call("TaskOutput", json!({"agent_id": values["agent_id"]}));
    assert_eq!(again["structuredContent"]["result"], "It is in src.", "{again}");
    let headers = headers(&project);
    assert_eq!(headers.len(), 1);
    assert_eq!(headers[0]["run"]["source"], "mcp", "{}", headers[0]);
    assert_eq!(headers[0]["run"]["depth"], 1, "{}", headers[0]);
}

#[test]
fn subagent_run_returns_the_structured_result_of_the_specification() {
    let server = ScriptedServer::start();
    let project = answering(&server, &["Done."]);
    let mut client = Client::start(&project, &[]);
    let result = client.call("subagent_run", json!({"name": "explore", "task": "look"}));
    assert_eq!(
        result["structuredContent"],
        json!({"agent_name": "Explore", "task": "look", "success": true, "output": "Done.", "error": null})
    );
}

#[test]
fn agents_are_listed_and_described() {
    let project = project();
    project.agent("reviewer", "description: Reviews diffs.");
    let mut client = Client::start(&project, &[]);
    let listed = client.call("subagent_list", json!({}));
    let agents = listed["structuredContent"]["agents"].as_array().unwrap();
    assert_eq!(agents[0], json!({"name": "reviewer", "description": "Reviews diffs."}));
    let described = client.call("subagent_describe", json!({"name": "reviewer"}));
    assert_eq!(described["structuredContent"]["instructions"], "You are reviewer.");
}

#[test]
fn each_agent_is_a_tool_of_its_own_where_that_is_wanted() {
    let server = ScriptedServer::start();
    let project = answering(&server, &["Fine.", "Fine, too."]);
    project.agent("task", "description: Has a name that is taken.");
    project.file(
        ".attache/agents/checker.md",
        "---\nname: Checker\ndescription: Checks.\ninputConfig:\n  inputs:\n    file:\n      \
         description: The file.\n      type: string\n      required: true\n---\nCheck ${file}.\n",
    );
    let mut client = Client::start(&project, &["--tool-per-agent"]);
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = |name: &str| {
        let found = tools.iter().find(|tool| tool["name"] == name);
        found.unwrap_or_else(|| panic!("no tool {name}: {listed}"))
    };
    assert_eq!(tool("agent-task")["title"], "task");
    assert_eq!(tool("explore")["inputSchema"]["required"], json!(["prompt"]));
    assert_eq!(tool("checker")["inputSchema"]["required"], json!(["file"]));
    let refused = client.call("checker", json!({}));
    assert_eq!(refused["isError"], true, "{refused}");
    let result = client.call("checker", json!({"file": "main.rs"}));
    assert_eq!(result["structuredContent"]["result"], "Fine.", "{result}");
    let result = client.call("explore", json!({"prompt": "look around"}));
    assert_eq!(result["structuredContent"]["result"], "Fine, too.", "{result}");
}

#[test]
fn a_cancelled_request_stops_its_run_which_can_be_resumed() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&looks(100)));
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let mut client = Client::start(&project, &[]);
    let id = client.begin("Task", task("look"));
    gate.wait_until_reached(1);
    client.tell("notifications/cancelled", json!({"requestId": id, "reason": "no patience"}));
    server.wait_for_hangup(1);
    let run = headers(&project)[0]["run"]["agent_id"].clone();
    let output = client.call("TaskOutput", json!({"agent_id": run}));
    assert_eq!(output["structuredContent"]["status"], "aborted", "{output}");
    server.answer(API.answer(&completes("Now it is done.")));
    let resumed = client.call(
        "Task",
        json!({"subagent_type": "Explore", "prompt": "go on", "description": "go on", "resume": run}),
    );
    assert_eq!(resumed["structuredContent"]["result"], "Now it is done.", "{resumed}");
}

#[test]
fn a_client_that_vanishes_ends_the_run_it_waits_for() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let mut client = Client::start(&project, &[]);
    client.begin("Task", task("look"));
    gate.wait_until_reached(1);
    let (code, _) = client.end();
    assert_eq!(code, Some(0));
    let tasks = project.json(&["tasks", "--all", "--json"]);
    assert_eq!(tasks[0]["status"], "interrupted", "{tasks}");
    assert_eq!(tasks[0]["ended_as"], "aborted", "its end was not written: {tasks}");
}

#[test]
fn a_background_run_outlives_the_server_and_is_fetched_from_the_next() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&completes("Found it.")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let mut client = Client::start(&project, &[]);
    let mut order = task("look");
    order["run_in_background"] = json!(true);
    let launched = client.call("Task", order);
    assert_eq!(launched["structuredContent"]["status"], "async_launched", "{launched}");
    let id = launched["structuredContent"]["agent_id"].clone();
    gate.wait_until_reached(1);
    let still = client.call("TaskOutput", json!({"agent_id": id, "block": false}));
    assert_eq!(still["structuredContent"]["status"], "running", "{still}");
    client.end();
    let mut client = Client::start(&project, &[]);
    let wait = client.begin("TaskOutput", json!({"agent_id": id}));
    gate.open();
    let output = client.answer(wait);
    assert_eq!(output["result"]["structuredContent"]["result"], "Found it.", "{output}");
    let header = &headers(&project)[0]["run"];
    assert_eq!((&header["source"], &header["description"]), (&json!("mcp"), &json!("look around")));
}

#[test]
fn a_background_run_is_told_and_stopped() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&looks(100)).gated(&gate, 0));
    let project = lab(&server, API, "");
    let mut client = Client::start(&project, &[]);
    let mut order = task("look");
    order["run_in_background"] = json!(true);
    let launched = client.call("Task", order);
    let id = launched["structuredContent"]["agent_id"].clone();
    gate.wait_until_reached(1);
    let mut message = task("look at the tests, too");
    message["resume"] = id.clone();
    let sent = client.call("Task", message);
    assert_eq!(sent["structuredContent"]["status"], "message_sent", "{sent}");
    let stopped = client.call("TaskStop", json!({"agent_id": id}));
    assert_eq!(stopped["structuredContent"]["status"], "aborted", "{stopped}");
    assert_eq!(stopped["isError"], false, "it was to be stopped: {stopped}");
}

#[test]
fn a_background_run_that_cannot_begin_says_why() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let mut order = task("look");
    order["run_in_background"] = json!(true);
    order["model"] = json!("no-such-model");
    let refused = client.call("Task", order);
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(text(&refused).contains("no-such-model"), "{refused}");
}

#[test]
fn progress_tells_of_turns_and_tools_with_growing_numbers() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&looks(100)));
    server.answer(API.answer(&completes("Done.")));
    let project = lab(&server, API, "");
    let mut client = Client::start(&project, &[]);
    let params =
        json!({"name": "Task", "arguments": task("look"), "_meta": {"progressToken": "p"}});
    client.ask("tools/call", params);
    let told: Vec<&Value> = client
        .notices
        .iter()
        .filter(|notice| notice["method"] == "notifications/progress")
        .map(|notice| &notice["params"])
        .collect();
    assert!(told.iter().all(|told| told["progressToken"] == "p"), "{told:?}");
    let numbers: Vec<f64> = told.iter().map(|told| told["progress"].as_f64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
    let said: Vec<&str> = told.iter().map(|told| told["message"].as_str().unwrap()).collect();
    assert!(said.iter().any(|said| said.contains("turn 1, list_dir")), "{said:?}");
    assert!(said.iter().any(|said| said.contains("turn 2 of")), "{said:?}");
}

#[test]
fn many_runs_at_once_over_one_connection() {
    const RUNS: usize = 64;
    let server = ScriptedServer::start();
    server.always(API.answer(&completes("Done.")));
    let project = lab(&server, API, "");
    let mut client = Client::start(&project, &[]);
    client.call("Task", task("look"));
    let before = settled_descriptors(&mut client, usize::MAX);
    run_at_once(&mut client, RUNS);
    let used = memory(&client);
    run_at_once(&mut client, RUNS);
    run_at_once(&mut client, RUNS);
    let grown = memory(&client).saturating_sub(used);
    assert!(grown < 32 << 10, "{grown} KB of memory stay in use");
    // Connections to the model are kept for a while; files are not.
    let after = settled_descriptors(&mut client, before);
    assert!(after <= before, "{after} files stay open, {before} were");
}

fn run_at_once(client: &mut Client, runs: usize) {
    let mut open: Vec<u64> = (0..runs).map(|_| client.begin("Task", task("look"))).collect();
    while !open.is_empty() {
        let message = client.receive().unwrap();
        if let Some(id) = message["id"].as_u64() {
            assert_eq!(message["result"]["structuredContent"]["result"], "Done.", "{message}");
            open.retain(|open| *open != id);
        }
    }
}

/// The memory that a server has for itself, in kilobytes.
fn memory(client: &Client) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", client.server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The files that a server has open once they are at most so many, or do not become fewer.
fn settled_descriptors(client: &mut Client, wanted: usize) -> usize {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut open = descriptors(client);
    while open > wanted && Instant::now() < deadline {
        client.ask("ping", json!({}));
        open = descriptors(client);
    }
    open
}

/// The files that a server has open, connections aside.
fn descriptors(client: &Client) -> usize {
    let folder = format!("/proc/{}/fd", client.server.id());
    let links =
        fs::read_dir(folder).unwrap().filter_map(|entry| entry.unwrap().path().read_link().ok());
    links.filter(|link| !link.to_string_lossy().starts_with("socket:")).count()
}
