//! Runs as resources, agents as prompts, and what is told when agents change.

use attache_testkit::scripted_server::{Gate, ScriptedServer};
use serde_json::{Value, json};

use super::{API, answering, client::Client, task};
use crate::{
    project,
    providers::{completes, lab},
};

#[test]
fn a_result_and_its_transcript_are_fetched_again_as_resources() {
    let server = ScriptedServer::start();
    let project = answering(&server, &["It is in src."]);
    let mut client = Client::start(&project, &[]);
    for uri in
        ["attache://runs/agent-0", "attache://runs/", "file:///etc/passwd", "attache://runs/../x"]
    {
        let wrong = client.ask("resources/read", json!({"uri": uri}));
        assert!(wrong["error"]["code"].is_i64(), "{uri}: {wrong}");
    }
    assert_eq!(client.ask("resources/list", json!({}))["result"]["resources"], json!([]));
    let result = client.call("Task", task("where is it?"));
    let id = result["structuredContent"]["agent_id"].as_str().unwrap().to_owned();
    let listed = client.ask("resources/list", json!({}));
    let uris: Vec<&str> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris, [format!("attache://runs/{id}"), format!("attache://runs/{id}/transcript")]);
    let mut read = |uri: &str| {
        let read = client.ask("resources/read", json!({"uri": uri}));
        read["result"]["contents"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{read}"))
            .to_owned()
    };
    let result: Value = serde_json::from_str(&read(uris[0])).unwrap();
    assert_eq!((&result["result"], &result["status"]), (&json!("It is in src."), &json!("goal")));
    let transcript = read(uris[1]);
    let first: Value = serde_json::from_str(transcript.lines().next().unwrap()).unwrap();
    assert_eq!(first["run"]["agent_id"], id.as_str());
    let templates = client.ask("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 2);
}

#[test]
fn a_client_is_told_when_a_run_it_subscribed_to_has_changed() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&completes("Found it.")).gated(&gate, 0));
    server.answer(API.answer(&completes("Found it, too.")));
    let project = lab(&server, API, "");
    let mut client = Client::start(&project, &[]);
    let wrong = client.ask("resources/subscribe", json!({"uri": "attache://runs/agent-0"}));
    assert!(wrong["error"]["code"].is_i64(), "{wrong}");
    let mut order = task("look");
    order["run_in_background"] = json!(true);
    let launched = client.call("Task", order);
    let message = launched["structuredContent"]["message"].as_str().unwrap_or_default();
    let id = launched["structuredContent"]["agent_id"].as_str().unwrap().to_owned();
    let uri = format!("attache://runs/{id}");
    assert!(message.contains("TaskOutput") && message.contains(&uri), "{launched}");
    client.begin("Task", task("look"));
    let began = client.wait_for(|message| message["method"] == "notifications/message");
    let other = began["params"]["data"]["agent_id"].as_str().unwrap().to_owned();
    let other = format!("attache://runs/{other}/transcript");
    for uri in [&uri, &other] {
        let subscribed = client.ask("resources/subscribe", json!({"uri": uri}));
        assert!(subscribed["error"].is_null(), "{subscribed}");
    }
    gate.open();
    for uri in [&uri, &other] {
        let is_updated = |message: &Value| {
            message["method"] == "notifications/resources/updated"
                && message["params"]["uri"] == **uri
        };
        if !client.notices.iter().any(is_updated) {
            client.wait_for(is_updated);
        }
    }
}

#[test]
fn runs_are_listed_by_the_next_server_too() {
    let server = ScriptedServer::start();
    let project = answering(&server, &["It is in src."]);
    let mut client = Client::start(&project, &[]);
    let result = client.call("Task", task("where is it?"));
    let id = result["structuredContent"]["agent_id"].as_str().unwrap().to_owned();
    client.end();
    server.answer(API.answer(&completes("Not for hosts.")));
    assert_eq!(project.run(&["run", "Explore", "look"]).code, Some(0));
    let mut client = Client::start(&project, &[]);
    let listed = client.ask("resources/list", json!({}));
    let uris: Vec<&Value> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| &resource["uri"])
        .collect();
    assert_eq!(uris, [&format!("attache://runs/{id}"), &format!("attache://runs/{id}/transcript")]);
}

#[test]
fn agents_are_prompts_that_hand_the_task_over() {
    let project = project();
    project.agent("reviewer", "description: Reviews diffs.");
    let mut client = Client::start(&project, &[]);
    let wrong = client.ask("prompts/get", json!({"name": "nobody"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let listed = client.ask("prompts/list", json!({}));
    let prompts = listed["result"]["prompts"].as_array().unwrap();
    let prompt = prompts.iter().find(|prompt| prompt["name"] == "reviewer").unwrap();
    assert_eq!(prompt["description"], "Reviews diffs.");
    assert_eq!(prompt["arguments"][0]["name"], "task");
    let got = client.ask(
        "prompts/get",
        json!({"name": "reviewer", "arguments": {"task": "Look at the last commit."}}),
    );
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("subagent_type \"reviewer\""), "{text}");
    assert!(text.contains("Look at the last commit."), "{text}");
}

#[test]
fn a_client_is_told_when_agents_change() {
    let project = project();
    project.agent("reviewer", "description: Reviews diffs.");
    let mut client = Client::start(&project, &[]);
    // The folders are watched before the first request after the greeting is answered.
    client.ask("tools/list", json!({}));
    project.agent("tester", "description: Tests.");
    client.wait_for(|message| message["method"] == "notifications/tools/list_changed");
    client.wait_for(|message| message["method"] == "notifications/prompts/list_changed");
    let listed = client.call("subagent_list", json!({}));
    assert!(listed.to_string().contains("tester"), "{listed}");
}

#[test]
fn the_log_tells_of_runs_unless_the_client_wants_less() {
    let server = ScriptedServer::start();
    let project = answering(&server, &["One.", "Two."]);
    let mut client = Client::start(&project, &[]);
    let logged = |client: &Client| {
        let told = client.notices.iter().filter(|it| it["method"] == "notifications/message");
        told.map(|it| it["params"]["data"].clone()).collect::<Vec<_>>()
    };
    let result = client.call("Task", task("look"));
    let told = logged(&client);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["agent_id"], result["structuredContent"]["agent_id"], "{told:?}");
    let set = client.ask("logging/setLevel", json!({"level": "error"}));
    assert!(set["error"].is_null(), "{set}");
    client.call("Task", task("look"));
    assert_eq!(logged(&client).len(), 1);
}
