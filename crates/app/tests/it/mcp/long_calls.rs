//! Calls that go on between requests: as tasks, and in rounds of questions.

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, tool_call},
};
use serde_json::{Value, json};

use super::{API, client::Client, task};
use crate::providers::{completes, lab};

const FIXER: &str =
    r#"{"fixer": {"description": "Fixes.", "prompt": "You fix.", "tools": ["Read", "Write"]}}"#;

fn tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

fn fix() -> Value {
    json!({"subagent_type": "fixer", "prompt": "fix it", "description": "fix it"})
}

/// A project in which an agent writes a file.
fn writing(server: &ScriptedServer) -> TestProject {
    let write = json!({"path": "new.txt", "content": "new\n"});
    server.answer(API.answer(&tool_call("call_1", "write_file", &write)));
    server.answer(API.answer(&completes("Done.")));
    lab(server, API, "")
}

/// Asks for a task until that holds of it.
fn until(client: &mut Client, id: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
    loop {
        let got = client.ask("tasks/get", json!({"taskId": id}));
        let got = got.get("result").cloned().unwrap_or_else(|| panic!("{got}"));
        if is_so(&got) {
            return got;
        }
    }
}

#[test]
fn a_client_with_tasks_gets_one_and_fetches_its_result_also_from_the_next_server() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&completes("It is in src.")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let mut client = Client::able(&project, &[], tasks());
    let begun = client.call("Task", task("where is it?"));
    assert_eq!(begun["status"], "working", "{begun}");
    let id = begun["taskId"].clone();
    gate.wait_until_reached(1);
    let got = until(&mut client, &id, |got| got["statusMessage"].is_string());
    assert!(got["statusMessage"].as_str().unwrap().contains("Explore"), "{got}");
    gate.open();
    let done = until(&mut client, &id, |got| got["status"] != "working");
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["result"]["structuredContent"]["result"], "It is in src.", "{done}");
    client.end();
    let mut client = Client::able(&project, &[], tasks());
    let again = until(&mut client, &id, |_| true);
    assert_eq!(again["status"], "completed", "{again}");
    assert_eq!(again["result"]["structuredContent"]["result"], "It is in src.", "{again}");
    let unknown = client.ask("tasks/get", json!({"taskId": "agent-none"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn a_call_that_cannot_begin_and_one_in_the_background_are_no_tasks() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("Done.")));
    let project = lab(&server, API, "");
    let mut client = Client::able(&project, &[], tasks());
    let refused =
        client.call("Task", json!({"subagent_type": "nobody", "prompt": "x", "description": "d"}));
    assert_eq!(refused["isError"], true, "{refused}");
    let mut order = task("look");
    order["run_in_background"] = json!(true);
    let launched = client.call("Task", order);
    assert_eq!(launched["structuredContent"]["status"], "async_launched", "{launched}");
}

#[test]
fn a_cancelled_task_stops_its_run() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let mut client = Client::able(&project, &[], tasks());
    let begun = client.call("Task", task("look"));
    gate.wait_until_reached(1);
    let acknowledged = client.ask("tasks/cancel", json!({"taskId": begun["taskId"]}));
    assert!(acknowledged["error"].is_null(), "{acknowledged}");
    server.wait_for_hangup(1);
    let got = until(&mut client, &begun["taskId"], |got| got["status"] != "working");
    assert_eq!(got["status"], "cancelled", "{got}");
}

#[test]
fn a_task_asks_for_approval_and_goes_on_with_the_answer() {
    let server = ScriptedServer::start();
    let project = writing(&server);
    let mut able = tasks();
    able["elicitation"] = json!({});
    let mut client = Client::able(&project, &["--agents", FIXER], able);
    let begun = client.call("Task", fix());
    let id = &begun["taskId"];
    let asks = until(&mut client, id, |got| got["status"] != "working");
    assert_eq!(asks["status"], "input_required", "{asks}");
    let (name, request) = asks["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create", "{request}");
    assert!(request["params"]["message"].as_str().unwrap().contains("+new"), "{request}");
    assert!(!project.root().join("new.txt").exists());
    let answers = json!({name: {"action": "accept", "content": {"decision": "once"}}, "x": 7});
    let told = client.ask("tasks/update", json!({"taskId": id, "inputResponses": answers}));
    assert!(told["error"].is_null(), "{told}");
    let done = until(&mut client, id, |got| got["status"] == "completed");
    assert_eq!(done["result"]["structuredContent"]["result"], "Done.", "{done}");
    assert!(project.root().join("new.txt").exists());
}

#[test]
fn the_newest_version_answers_questions_in_rounds() {
    for (answer, is_written) in [
        (json!({"action": "accept", "content": {"decision": "once"}}), true),
        (json!({"action": "decline"}), false),
        (json!("nonsense"), false),
    ] {
        let server = ScriptedServer::start();
        let project = writing(&server);
        let able = json!({"elicitation": {"form": {}}});
        let mut client = Client::modern(&project, &["--agents", FIXER], able);
        let asks = client.call("Task", fix());
        assert_eq!(asks["resultType"], "input_required", "{asks}");
        let (name, request) = asks["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert!(request["params"]["message"].as_str().unwrap().contains("+new"), "{request}");
        let again = |state: &Value, answers: Value| {
            json!({
                "name": "Task", "arguments": fix(), "requestState": state, "inputResponses": answers,
            })
        };
        let forged = client.ask("tools/call", again(&json!("forged"), json!({})));
        assert_eq!(forged["error"]["code"], -32602, "{forged}");
        let done = client.ask("tools/call", again(&asks["requestState"], json!({name: answer})));
        assert_eq!(done["result"]["structuredContent"]["result"], "Done.", "{done}");
        assert_eq!(project.root().join("new.txt").exists(), is_written, "{answer}");
    }
}

#[test]
fn the_newest_version_without_elicitation_decides_at_once() {
    let server = ScriptedServer::start();
    let project = writing(&server);
    let mut client = Client::modern(&project, &["--agents", FIXER], json!({}));
    let result = client.call("Task", fix());
    assert_eq!(result["structuredContent"]["result"], "Done.", "{result}");
    assert!(!project.root().join("new.txt").exists());
}
