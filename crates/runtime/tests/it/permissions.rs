//! What becomes of calls under rules, modes and policies: real tools, a scripted model.

use std::{
    os::unix::fs::symlink,
    sync::{Arc, Mutex},
};

use attache_kernel::rights::permission::{ApprovalPolicy, AutoApproval};
use attache_runtime::prelude::*;
use attache_testkit::scripted_model::{ScriptedModel, calls, completes};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Gives the same answer to everything, and keeps the reasons for which it was asked.
#[derive(Debug, Default)]
struct Asked {
    reasons: Mutex<Vec<String>>,
    says_yes: bool,
}

impl Approver for Asked {
    fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        self.reasons.lock().unwrap().push(question.reason);
        let no = ApprovalAnswer::No { words: "not today".to_owned() };
        Box::pin(std::future::ready(if self.says_yes { ApprovalAnswer::Once } else { no }))
    }
}

/// What a run did with one call.
struct Done {
    answer: String,
    is_error: bool,
    asked: Vec<String>,
    folder: TempDir,
}

/// Lets an agent with those keys make one call.
async fn done(policy: Policy, keys: Value, tool: &str, arguments: &Value) -> Done {
    done_with(policy, keys, tool, arguments, AutoApproval::AsConfigured).await
}

async fn done_with(
    policy: Policy,
    keys: Value,
    tool: &str,
    arguments: &Value,
    auto_approval: AutoApproval,
) -> Done {
    let folder = TempDir::new().unwrap();
    for (path, text) in [("README.md", "token here\n"), (".env", "token=secret\n")] {
        std::fs::write(folder.path().join(path), text).unwrap();
    }
    symlink(".env", folder.path().join("link")).unwrap();
    let mut agent = json!({"description": "d", "prompt": "p"});
    agent.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let runtime = Runtime::builder(folder.path())
        .agents_json(json!({ "worker": agent }).to_string())
        .model("script", ScriptedModel::new([calls(tool, arguments), completes("done")]))
        .permissions(policy)
        .build()
        .unwrap();
    let says_yes = auto_approval == AutoApproval::Everything;
    let approver = Arc::new(Asked { says_yes, ..Asked::default() });
    let order = Order {
        model: Some("script".into()),
        approver: Some(approver.clone()),
        auto_approval,
        ..Order::new("worker", "work")
    };
    let prepared = runtime.prepare(order).await.unwrap();
    let handle = runtime.start(prepared).await.unwrap();
    handle.result().await.unwrap();
    let mut events = handle.events(1);
    let mut returned = None;
    while let Some(event) = events.next().await {
        if let Event::ToolReturned { result, .. } = &event.event {
            returned.get_or_insert((result.text.clone(), result.is_error));
        }
    }
    let (answer, is_error) = returned.unwrap();
    let asked = approver.reasons.lock().unwrap().clone();
    Done { answer, is_error, asked, folder }
}

fn denying(entries: &[&str]) -> Policy {
    let mut policy = Policy::default();
    let rules = entries.iter().flat_map(|entry| PermissionRule::restricting(entry, "test").0);
    policy.rules.deny.extend(rules);
    policy
}

fn asking(entries: &[&str]) -> Policy {
    let mut policy = Policy::default();
    let rules = entries.iter().flat_map(|entry| PermissionRule::restricting(entry, "test").0);
    policy.rules.ask.extend(rules);
    policy
}

fn allowing(entries: &[&str]) -> Policy {
    let mut policy = Policy::default();
    let rules = entries.iter().map(|entry| PermissionRule::allowing(entry, "test").unwrap());
    policy.rules.allow.extend(rules);
    policy
}

#[tokio::test]
async fn commands_that_only_read_are_not_asked_about_and_others_are() {
    let call = json!({"command": "cat README.md"});
    let done_it = done(Policy::default(), json!({}), "shell", &call).await;
    assert!(done_it.answer.contains("token here"), "{}", done_it.answer);
    assert!(done_it.asked.is_empty());

    let call = json!({"command": "touch made"});
    let refused = done(Policy::default(), json!({}), "shell", &call).await;
    assert_eq!(refused.asked, ["`touch` is not known to be read-only"]);
    assert!(refused.is_error && refused.answer.contains("not today"), "{}", refused.answer);
    assert!(!refused.folder.path().join("made").exists());

    let allowed = done(allowing(&["Bash(touch *)"]), json!({}), "shell", &call).await;
    assert!(allowed.asked.is_empty() && allowed.folder.path().join("made").exists());
}

#[tokio::test]
async fn an_agent_that_may_not_ask_is_refused_without_a_question() {
    let call = json!({"command": "touch made"});
    let keys = json!({"approvalMode": "suppress"});
    let refused = done(Policy::default(), keys, "shell", &call).await;
    assert!(refused.asked.is_empty());
    assert!(refused.answer.contains("may not ask"), "{}", refused.answer);
}

#[tokio::test]
async fn files_that_a_rule_denies_are_shown_by_no_tool() {
    for (tool, arguments) in [
        ("read_file", json!({"path": ".env"})),
        ("grep_files", json!({"pattern": "token"})),
        ("shell", json!({"command": "cat .env"})),
        ("shell", json!({"command": "grep -r token ."})),
        ("shell", json!({"command": "cat ./.e*"})),
        ("edit_file", json!({"path": ".env", "old_string": "tokem=secret", "new_string": ""})),
    ] {
        let tried = done(denying(&["Read(.env)"]), json!({}), tool, &arguments).await;
        assert!(!tried.answer.contains("secret"), "{tool} {arguments}: {}", tried.answer);
    }
    let control = done(Policy::default(), json!({}), "read_file", &json!({"path": ".env"})).await;
    assert!(control.answer.contains("secret"), "{}", control.answer);
    let control =
        done(Policy::default(), json!({}), "shell", &json!({"command": "cat .env"})).await;
    assert!(control.answer.contains("secret"), "{}", control.answer);
}

#[tokio::test]
async fn files_that_a_rule_asks_about_are_not_shown_before_somebody_said_yes() {
    let policy = || asking(&["Read(.env)"]);
    for path in [".env", "link", "./link"] {
        let call = json!({ "path": path });
        let refused = done(policy(), json!({}), "read_file", &call).await;
        assert_eq!(refused.asked.len(), 1, "{path}: {:?}", refused.asked);
        assert!(!refused.answer.contains("secret"), "{path}: {}", refused.answer);
        let yes = AutoApproval::Everything;
        let approved = done_with(policy(), json!({}), "read_file", &call, yes).await;
        assert!(approved.answer.contains("secret"), "{path}: {}", approved.answer);
    }
    let call = json!({"pattern": "token"});
    let searched = done(policy(), json!({}), "grep_files", &call).await;
    assert!(searched.asked.is_empty(), "{:?}", searched.asked);
    assert!(searched.answer.contains("token here"), "{}", searched.answer);
    assert!(!searched.answer.contains("secret"), "{}", searched.answer);
    assert!(searched.answer.contains("were left out"), "{}", searched.answer);
    let control = done(Policy::default(), json!({}), "grep_files", &call).await;
    assert!(control.answer.contains("secret"), "{}", control.answer);
    assert!(!control.answer.contains("were left out"), "{}", control.answer);
}

#[tokio::test]
async fn a_path_that_cannot_be_judged_is_told_as_that() {
    let call = json!({"path": "sub/../README.md"});
    let refused = done(denying(&["Read(.env)"]), json!({}), "read_file", &call).await;
    assert!(refused.answer.contains("write the path without `..`"), "{}", refused.answer);
}

#[tokio::test]
async fn edits_are_accepted_in_the_workspace_and_asked_about_at_protected_paths() {
    let keys = json!({"permissionMode": "acceptEdits"});
    let write = |path: &str| json!({"path": path, "content": "x"});
    let made = done(Policy::default(), keys.clone(), "write_file", &write("a.txt")).await;
    assert!(made.asked.is_empty() && made.folder.path().join("a.txt").exists());
    let path = ".claude/settings.json";
    let asked = done(Policy::default(), keys.clone(), "write_file", &write(path)).await;
    assert_eq!(asked.asked, ["`.claude/settings.json` is a protected path"]);
    assert!(!asked.folder.path().join(path).exists());
    let untrusted = Policy { approval: ApprovalPolicy::Untrusted, ..Policy::default() };
    assert_eq!(done(untrusted, keys, "write_file", &write("a.txt")).await.asked, ["it writes"]);
}

#[tokio::test]
async fn a_write_that_cannot_succeed_says_so_without_a_question() {
    let edit = json!({"path": "README.md", "old_string": "tokem hire", "new_string": "x"});
    let tried = done(Policy::default(), json!({}), "edit_file", &edit).await;
    assert!(tried.asked.is_empty(), "{:?}", tried.asked);
    assert!(tried.is_error && !tried.answer.contains("not today"), "{}", tried.answer);
}

#[tokio::test]
async fn without_a_sandbox_nothing_is_approved_for_being_in_it() {
    let call = json!({"command": "touch made"});
    let never = Policy { approval: ApprovalPolicy::Never, ..Policy::default() };
    for (policy, keys, auto) in [
        (never, json!({}), AutoApproval::AsConfigured),
        (Policy::default(), json!({}), AutoApproval::InSandbox),
        (
            Policy::default(),
            json!({"approvalMode": "auto_approve_in_sandbox"}),
            AutoApproval::AsConfigured,
        ),
    ] {
        let tried = done_with(policy, keys, "shell", &call, auto).await;
        let reason = "`touch` is not known to be read-only, and there is no sandbox here";
        assert_eq!(tried.asked, [reason]);
    }
}
