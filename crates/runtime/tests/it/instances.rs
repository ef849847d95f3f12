//! Instances that do not do what they should: whatever they say, the run ends and tells why.

use std::sync::Arc;

use attache_runtime::{internal::bridge::Instances, prelude::*};
use attache_testkit::scripted_model::{ScriptedModel, completes};
use serde_json::json;
use tempfile::TempDir;

const AGENTS: &str =
    r#"{"far": {"description": "d", "prompt": "p", "executionMode": "full_codex", "tools": []}}"#;

/// What becomes of a run whose instance is that script.
async fn run_by(script: &str) -> (TempDir, Runtime, RunResult) {
    let folder = TempDir::new().unwrap();
    let instances = Instances {
        program: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        setup: Arc::new(|_| json!({})),
    };
    let model = ScriptedModel::new([completes("never")]);
    let runtime = Runtime::builder(folder.path())
        .agents_json(AGENTS)
        .model("small", model)
        .instances(instances)
        .build()
        .unwrap();
    let order = Order { model: Some("small".into()), ..Order::new("far", "work") };
    let handle = runtime.start(runtime.prepare(order).await.unwrap()).await.unwrap();
    let result = handle.result().await.unwrap();
    (folder, runtime, RunResult::clone(&result))
}

const HELLO: &str = r#"echo '{"type":"hello","protocol":2,"version":"1","pid":1}';"#;

#[tokio::test]
async fn whatever_an_instance_says_the_run_ends_and_tells_why() {
    let started = r#"{"seq":2,"ts":"t","at_ms":0,"event":{"type":"started"}}"#;
    let again = r#"{"seq":3,"ts":"t","at_ms":0,"event":{"type":"started"}}"#;
    let entries =
        |list: &str| format!(r#"echo '{{"type":"entries","request":1,"entries":[{list}]}}';"#);
    for (script, told) in [
        ("exit 3".to_owned(), "exit code 3"),
        ("echo no luck >&2; exit 1".to_owned(), "no luck"),
        ("echo garbage".to_owned(), "sent `garbage`, which is not a message of the bridge"),
        (r#"echo '{"type":"nonsense"}'"#.to_owned(), "unknown variant `nonsense`"),
        (
            r#"echo '{"type":"hello","protocol":9,"version":"9.0","pid":1}'; cat"#.to_owned(),
            "speaks version 9 of the bridge, not 2",
        ),
        (entries(started), "did not begin with hello"),
        (
            format!("{HELLO} {} cat", entries(&format!("{started},{again}"))),
            "event 3, which does not fit",
        ),
        (format!("{HELLO} {} cat", entries(&started.replace(":2", ":1"))), "event 1 after event 1"),
        (format!(r#"{HELLO} echo '{{"type":"refused","message":"no room"}}'; cat"#), "no room"),
        ("kill -SEGV $$".to_owned(), "SIGSEGV"),
    ] {
        let (_folder, runtime, result) = run_by(&script).await;
        assert_eq!(result.status, Status::Error, "{script}: {result:?}");
        let error = result.error.clone().unwrap();
        assert!(error.contains(told), "{script}: {error}");
        // The journal has the end, and the run can go on.
        assert!(runtime.earlier(result.agent_id.as_str()).await.is_ok());
        let states = runtime.store().list().await.unwrap();
        assert_eq!(states.len(), 1);
    }
}

#[tokio::test]
async fn without_a_way_to_start_one_the_order_is_refused() {
    let folder = TempDir::new().unwrap();
    let model = ScriptedModel::new([completes("never")]);
    let runtime =
        Runtime::builder(folder.path()).agents_json(AGENTS).model("small", model).build().unwrap();
    let order = Order { model: Some("small".into()), ..Order::new("far", "work") };
    let error = runtime.prepare(order).await.unwrap_err();
    assert!(error.to_string().contains("full_codex"), "{error}");
    assert!(error.hint().is_some());
}
