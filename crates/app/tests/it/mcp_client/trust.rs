//! Nothing that a project or an agent file describes is started before it is trusted.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::Stdio,
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{calls, script, server};
use crate::providers::{completes, lab};

fn witness(project: &TestProject) -> PathBuf {
    project.root().join("witness.txt")
}

fn model() -> ScriptedServer {
    let model = ScriptedServer::start();
    model.always(WireApi::Chat.answer(&completes("done")));
    model
}

#[test]
fn servers_of_a_project_start_nothing_until_it_is_trusted() {
    let model = model();
    let project = lab(&model, WireApi::Chat, "");
    let servers = json!({"mcpServers": {"lab": {
        "command": "python3", "args": [script()], "env": {"WITNESS": "${PLACE:-witness.txt}"}
    }}});
    project.file(".mcp.json", servers.to_string());
    project.agent("helper", "description: d");
    let ran = project.run(&["run", "helper", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("ignored until the project is trusted"), "{}", ran.stderr);
    assert!(!witness(&project).exists());
    assert_eq!(project.json(&["mcp", "list", "--json", "-q"]), json!([]));

    assert_eq!(project.run(&["trust", "--project", "--yes"]).code, Some(0));
    let ran = project.run(&["run", "helper", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(witness(&project).exists());
    let request = String::from_utf8(model.requests().last().unwrap().body.clone()).unwrap();
    assert!(request.contains("mcp__lab__echo"), "{request}");
}

#[test]
fn what_a_projects_server_says_of_its_tools_is_not_believed() {
    let model = ScriptedServer::start();
    model.answer(WireApi::Chat.answer(&calls("mcp__lab__echo", &json!({"text": "x"}))));
    model.answer(WireApi::Chat.answer(&completes("done")));
    let project = lab(&model, WireApi::Chat, "");
    let servers = json!({"mcpServers": {"lab": {"command": "python3", "args": [script()]}}});
    project.file(".mcp.json", servers.to_string());
    project.agent("helper", "description: d");
    assert_eq!(project.run(&["trust", "--project", "--yes"]).code, Some(0));
    assert_eq!(project.run(&["run", "helper", "x"]).code, Some(0));
    let second = String::from_utf8(model.requests()[1].body.clone()).unwrap();
    assert!(second.contains("not approved"), "{second}");
}

#[test]
fn a_server_of_an_agent_file_starts_only_if_the_agent_is_trusted() {
    let model = model();
    let project = lab(&model, WireApi::Chat, "");
    let servers = format!(
        "description: d\ntools: Read, mcp__own\nmcpServers:\n  - own:\n      command: python3\n      args: [{}]\n      \
         env: {{WITNESS: witness.txt}}\n  - elsewhere",
        script()
    );
    project.agent("helper", &servers);
    let ran = project.run(&["run", "helper", "x"]);
    assert!(ran.stderr.contains("`own` of `helper` is not started"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`elsewhere`, which is not configured"), "{}", ran.stderr);
    assert!(!witness(&project).exists());
    let ran = project.run(&["run", "helper", "x", "--trust"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(witness(&project).exists(), "{ran:?}");
    let request = String::from_utf8(model.requests().last().unwrap().body.clone()).unwrap();
    assert!(request.contains("mcp__own__echo"), "{request}");
}

#[test]
fn a_program_that_is_killed_leaves_no_server() {
    for signal in [Signal::KILL, Signal::TERM] {
        killed_with(signal);
    }
}

fn killed_with(signal: Signal) {
    let gate = Gate::new();
    let model = ScriptedServer::start();
    model.always(WireApi::Chat.answer(&completes("done")).gated(&gate, 0));
    let project = lab(&model, WireApi::Chat, "");
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    let settings = server(&["grandchild"], "env = { WITNESS = \"witness.txt\" }");
    fs::write(&path, format!("{written}\n{settings}")).unwrap();
    project.agent("helper", "description: d");
    let mut child = project
        .command(&["run", "helper", "x", "--output-format", "stream-json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("STARTED"));
    let pids = fs::read_to_string(witness(&project)).unwrap();
    assert_eq!(pids.lines().count(), 2, "{pids}");
    let process = i32::try_from(child.id()).unwrap();
    kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
    child.wait().unwrap();
    for pid in pids.lines() {
        let place = Path::new("/proc").join(pid).join("stat");
        // The helper ends them; each look gives it time.
        let is_gone = (0..100_000).any(|_| {
            let stat = fs::read_to_string(&place);
            !stat.is_ok_and(|stat| !stat.contains(") Z "))
        });
        assert!(is_gone, "{pid} is still running");
    }
    gate.open();
}
