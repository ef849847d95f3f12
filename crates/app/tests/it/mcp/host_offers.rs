//! What a host may offer: its user's answers, its folders, its own model.

use std::fs;

use attache_testkit::{
    project::TestProject,
    scripted_server::{ScriptedServer, tool_call},
};
use serde_json::{Value, json};

use super::{
    API,
    client::{Client, text},
    headers,
};
use crate::{
    project,
    providers::{completes, lab},
};

const FIXER: &str =
    r#"{"fixer": {"description": "Fixes.", "prompt": "You fix.", "tools": ["Read", "Write"]}}"#;

/// A project in which an agent writes a file.
fn writing(server: &ScriptedServer) -> TestProject {
    let write = json!({"path": "new.txt", "content": "new\n"});
    server.answer(API.answer(&tool_call("call_1", "write_file", &write)));
    server.answer(API.answer(&completes("Done.")));
    lab(server, API, "")
}

fn fix() -> Value {
    json!({"subagent_type": "fixer", "prompt": "fix it", "description": "fix it"})
}

#[test]
fn without_elicitation_a_call_that_must_be_asked_is_refused_at_once() {
    let server = ScriptedServer::start();
    let project = writing(&server);
    let mut client = Client::start(&project, &["--agents", FIXER]);
    let result = client.call("Task", fix());
    assert_eq!(result["structuredContent"]["result"], "Done.", "{result}");
    assert!(!project.root().join("new.txt").exists());
    let told = String::from_utf8_lossy(&server.requests()[1].body).into_owned();
    assert!(told.contains("nobody is there to ask"), "{told}");
}

#[test]
fn the_user_of_the_host_decides_about_a_call() {
    for (answer, is_written) in [
        (json!({"action": "accept", "content": {"decision": "once"}}), true),
        (json!({"action": "accept", "content": {"decision": "no"}}), false),
        (json!({"action": "decline"}), false),
        (json!({"action": "cancel"}), false),
    ] {
        let server = ScriptedServer::start();
        let project = writing(&server);
        let mut client = Client::able(&project, &["--agents", FIXER], json!({"elicitation": {}}));
        let id = client.begin("Task", fix());
        let asked = client.wait_for(|message| message["method"] == "elicitation/create");
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(message.contains("fixer") && message.contains("+new"), "{message}");
        let decision = &asked["params"]["requestedSchema"]["properties"]["decision"];
        // The one form that a client of 2025-06-18 shows as a choice.
        assert_eq!(decision["enum"], json!(["once", "session", "no"]), "{asked}");
        assert_eq!(decision["enumNames"].as_array().map(Vec::len), Some(3), "{asked}");
        assert!(decision.get("oneOf").is_none(), "{asked}");
        assert!(!project.root().join("new.txt").exists(), "before anybody said yes");
        client.reply(&asked, answer.clone());
        let result = client.answer(id);
        assert_eq!(result["result"]["structuredContent"]["result"], "Done.", "{result}");
        assert_eq!(project.root().join("new.txt").exists(), is_written, "{answer}");
    }
}

#[test]
fn the_root_of_the_host_is_the_workspace() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("Done.")));
    let project = lab(&server, API, "");
    let elsewhere = project.home().join("else where");
    fs::create_dir_all(&elsewhere).unwrap();
    let mut client = Client::able(&project, &[], json!({"roots": {"listChanged": true}}));
    let asked = client.wait_for(|message| message["method"] == "roots/list");
    let uri = format!("file://{}", elsewhere.display()).replace(' ', "%20");
    // A call that comes before the answer waits for it.
    let task = json!({"subagent_type": "Explore", "prompt": "look", "description": "look"});
    let id = client.begin("Task", task);
    client.reply(&asked, json!({"roots": [{"uri": uri}]}));
    let answer = client.answer(id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let cwd = &headers(&project)[0]["run"]["environment"]["cwd"];
    assert_eq!(cwd.as_str().unwrap(), elsewhere.to_str().unwrap());
}

#[test]
fn a_host_without_sampling_lends_no_model() {
    let project = project();
    let mut client = Client::able(&project, &["--model", "host"], json!({}));
    let result = client.call("subagent_run", json!({"name": "Explore", "task": "look"}));
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("no `sampling`"), "{result}");
}

#[test]
fn a_host_that_samples_without_tools_is_told_of_them_in_words() {
    let project = project();
    project.file("notes.txt", "The answer is 42.\n");
    let mut client = Client::able(&project, &["--model", "host"], json!({"sampling": {}}));
    let id =
        client.begin("subagent_run", json!({"name": "Explore", "task": "what is the answer?"}));
    let is_asked = |message: &Value| message["method"] == "sampling/createMessage";
    let says = |text: &str| {
        let content = json!({"type": "text", "text": text});
        json!({"role": "assistant", "model": "host-1", "stopReason": "endTurn", "content": content})
    };
    let asked = client.wait_for(is_asked);
    let params = &asked["params"];
    assert!(params.get("tools").is_none(), "{params}");
    let system = params["systemPrompt"].as_str().unwrap();
    assert!(system.contains(r#""tool":"read_file""#), "{system}");
    let call = r#"{"tool": "read_file", "arguments": {"path": "notes.txt"}}"#;
    client.reply(&asked, says(&format!("I look.\n```json\n{call}\n```")));
    let asked = client.wait_for(is_asked);
    let last = asked["params"]["messages"].as_array().unwrap().last().unwrap();
    assert!(last.to_string().contains("read_file answered"), "{last}");
    assert!(last.to_string().contains("The answer is 42."), "{last}");
    client.reply(&asked, says(r#"{"tool": "complete_task", "arguments": {"result": "42"}}"#));
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["output"], "42", "{answer}");
}

#[test]
fn agents_run_on_the_hosts_own_model() {
    let project = project();
    project.file("notes.txt", "The answer is 42.\n");
    let mut client =
        Client::able(&project, &["--model", "host"], json!({"sampling": {"tools": {}}}));
    let id =
        client.begin("subagent_run", json!({"name": "Explore", "task": "what is the answer?"}));
    let is_asked = |message: &Value| message["method"] == "sampling/createMessage";
    let asked = client.wait_for(is_asked);
    let params = &asked["params"];
    assert!(params["systemPrompt"].as_str().is_some_and(|prompt| !prompt.is_empty()), "{params}");
    assert!(
        params["messages"][0]["content"].to_string().contains("what is the answer?"),
        "{params}"
    );
    let tools = params["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "complete_task"), "{params}");
    let call = |name: &str, input: Value| {
        json!({
            "role": "assistant", "model": "host-1", "stopReason": "toolUse",
            "content": [{"type": "tool_use", "id": format!("id-{name}"), "name": name, "input": input}],
        })
    };
    client.reply(&asked, call("read_file", json!({"path": "notes.txt"})));
    let asked = client.wait_for(is_asked);
    let last = asked["params"]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["type"], "tool_result", "{last}");
    assert_eq!(last["content"][0]["toolUseId"], "id-read_file", "{last}");
    assert!(last.to_string().contains("The answer is 42."), "{last}");
    client.reply(&asked, call("complete_task", json!({"result": "42"})));
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["output"], "42", "{answer}");
    assert_eq!(headers(&project)[0]["run"]["model"]["id"], "host");
}

#[test]
fn a_host_that_refuses_to_sample_fails_the_run_and_not_the_server() {
    let project = project();
    let mut client =
        Client::able(&project, &["--model", "host"], json!({"sampling": {"tools": {}}}));
    let id = client.begin("subagent_run", json!({"name": "Explore", "task": "look"}));
    let asked = client.wait_for(|message| message["method"] == "sampling/createMessage");
    let refusal = json!({
        "jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "the user said no"},
    });
    client.write(refusal.to_string().as_bytes());
    let answer = client.answer(id);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer["result"]).contains("the host refused: the user said no"), "{answer}");
    assert_eq!(client.call("subagent_list", json!({}))["isError"], false);
}
