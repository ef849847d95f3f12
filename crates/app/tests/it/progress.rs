//! Progress in plain lines, as a pipe gets them.

use attache_testkit::scripted_server::{ScriptedServer, WireApi};
use serde_json::json;

use crate::providers::{completes, lab, looks};

#[test]
fn a_recovered_run_says_so_in_text_and_counts_no_turn_beyond_its_limit() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    server.answer(api.answer(&looks(100)));
    server.answer(api.answer(&completes("Found.")));
    let project = lab(&server, api, "");
    let ran = project.run(&["run", "Explore", "where?", "--max-turns", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("[Explore] Grace turn ("), "{}", ran.stderr);
    assert!(ran.stderr.contains(", recovered from max_turns (goal, 1 turn, "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Turn 2/1"), "{}", ran.stderr);
}

#[test]
fn calls_that_failed_and_starts_without_a_task_are_told() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    let first = looks(100).then_tool_call("call_2", "read_file", &json!({ "path": "nope.rs" }));
    server.answer(api.answer(&first));
    server.answer(api.answer(&completes("Found.")));
    let project = lab(&server, api, "");
    project.file(
        ".attache/agents/asker.md",
        "---\nname: asker\ndescription: d\npromptConfig: {query: Look around.}\n---\nx\n",
    );
    let ran = project.run(&["run", "asker"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("✗ read_file \"nope.rs\"  failed after "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Starting: \n"), "{}", ran.stderr);
    let last = ran.stderr.lines().last().unwrap();
    assert!(last.contains("Completed in ") && last.contains("agent-"), "{last}");
}
