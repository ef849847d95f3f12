//! Clients that do not keep to the protocol: the server answers, or passes over it, and goes on.

use serde_json::{Value, json};

use super::client::Client;
use crate::project;

/// The server still answers.
fn is_well(client: &mut Client) {
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(6), "{listed}");
}

#[test]
fn garbage_is_passed_over() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let deep = "[".repeat(100_000);
    for line in ["", "{", "hello", "\u{0}\u{1}", "[]", "null", "1", "\"text\"", &deep] {
        client.write(line.as_bytes());
    }
    client.write(b"\xff\xfe\xfd");
    is_well(&mut client);
}

#[test]
fn a_giant_or_broken_message_is_refused_under_its_id() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let text = "x".repeat(20 << 20);
    let giant =
        json!({"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": {"name": text}});
    client.write(giant.to_string().as_bytes());
    let refused = client.answer(900);
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    client.write(br#"{"jsonrpc":"2.0","id":901,"method":"tools/list","params":{"id":1},}"#);
    let refused = client.answer(901);
    assert_eq!(refused["error"]["code"], -32700, "{refused}");
    is_well(&mut client);
}

#[test]
fn unknown_methods_and_wrong_types_are_errors() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let unknown = client.ask("tools/burn", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    for params in
        [json!({"name": 7}), json!([]), json!("x"), json!({"name": "Task", "arguments": []})]
    {
        let wrong = client.ask("tools/call", params.clone());
        assert_eq!(wrong["error"]["code"], -32602, "{params}: {wrong}");
    }
    client.tell("notifications/cancelled", json!({"requestId": 4_711}));
    client.tell("notifications/nonsense", json!({"deep": {"er": [1, 2]}}));
    client.write(br#"{"jsonrpc": "2.0", "id": 77, "result": {"unasked": true}}"#);
    is_well(&mut client);
}

#[test]
fn what_comes_before_the_greeting_ends_the_server_or_is_refused() {
    let project = project();
    let mut client = Client::silent(&project, &[]);
    client.write(
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Task"}})
            .to_string()
            .as_bytes(),
    );
    if let Some(answer) = client.receive() {
        assert!(answer["error"]["code"].is_i64(), "{answer}");
    }
    client.leave();
    while let Some(more) = client.receive() {
        assert!(more.get("result").is_none_or(Value::is_null), "{more}");
    }
}
