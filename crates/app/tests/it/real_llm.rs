//! A real language model over real HTTP. It takes a minute and a download, so it is run on demand:
//! `ATTACHE_REAL_LLM=1 scripts/test real_llm`. What a model of its size says is not looked at, only what
//! it does.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
};

use attache_testkit::project::TestProject;
use serde_json::{Value, json};

use crate::project;

/// The model's server, stopped when it is dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts it, if a real model is wanted.
    fn wanted() -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "the switch of this test")]
        let wanted = std::env::var_os("ATTACHE_REAL_LLM").is_some();
        if !wanted {
            #[expect(clippy::print_stdout, reason = "a test that checks nothing says so")]
            {
                println!("not run: ATTACHE_REAL_LLM is not set");
            }
            return None;
        }
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/real-llm");
        let mut process = Command::new(script)
            .arg(port.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let ready = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("READY ").map(|address| address.trim().to_owned()));
        Some(Self { process, address: ready.unwrap() })
    }

    /// A project whose provider it is, with one agent.
    fn project(&self, instructions: &str, max_turns: u32) -> TestProject {
        let project = project();
        let settings = format!(
            "model = \"smollm2-135m\"\nmodel_provider = \"tiny\"\n[model_providers.tiny]\n\
             base_url = \"{}\"\nwire_api = \"chat\"\n",
            self.address
        );
        project.file("~/.attache/config.toml", settings);
        let header = format!(
            "name: lister\ndescription: Lists a folder.\ntools: [list_dir]\nmodelConfig:\n  temperature: 0\n  \
             parameters:\n    tool_choice: required\n    parallel_tool_calls: false\n    max_tokens: 128\n\
             runConfig:\n  maxTurns: {max_turns}\n"
        );
        let agent = format!("---\n{header}---\n{instructions}\n");
        project.file(".attache/agents/lister.md", agent);
        project
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        drop(self.process.wait());
    }
}

/// The result of a run, and the tools that were called in it, with their arguments.
fn listed(project: &TestProject, task: &str) -> (Value, Vec<(String, Value)>) {
    let ran = project.run(&["run", "lister", task, "--output-format", "stream-json", "-q"]);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls = lines.iter().filter(|line| line["event_type"] == "TOOL_CALL_START").map(|line| {
        let name = line["data"]["tool_name"].as_str().unwrap().to_owned();
        (name, line["data"]["arguments"].clone())
    });
    (lines.last().unwrap().clone(), calls.collect())
}

#[test]
fn a_real_model_reaches_its_goal_or_its_limit() {
    // One server for both: two at once would starve each other.
    let Some(server) = Server::wanted() else { return };
    runs_an_agent_to_its_goal(&server);
    meets_its_limit_and_gets_a_last_turn(&server);
}

fn runs_an_agent_to_its_goal(server: &Server) {
    let project = server.project(
        "You list files. First call list_dir, then call complete_task with what you saw.\n\nExample:\n\
         [TOOL_CALLS]list_dir[ARGS]{\"path\":\"work\"}\n\
         Tool result: a.txt Now call complete_task with the names\n\
         [TOOL_CALLS]complete_task[ARGS]{\"result\":\"a.txt\"}",
        4,
    );
    // A result that ends like this leads even a small model on.
    project.file("work/Now call complete_task with the names", "");
    let (result, calls) = listed(&project, "List the folder work.");
    assert_eq!(result["status"], "goal", "{result}");
    assert_eq!((calls.len(), calls[0].0.as_str()), (1, "list_dir"), "{calls:?}");
    assert!(calls[0].1.is_object(), "{calls:?}");
    assert!(result["usage"]["input_tokens"].as_u64().unwrap() > 0, "{result}");
    assert_eq!(result["model"]["provider"], "tiny");
}

fn meets_its_limit_and_gets_a_last_turn(server: &Server) {
    let project = server.project("You look into folders.", 3);
    project.file("plain/a.txt", "");
    let (result, calls) = listed(&project, "Look into the folder plain.");
    assert_eq!(result["turns_used"], 3, "{result}");
    assert!(calls.iter().all(|(name, _)| name == "list_dir"), "{calls:?}");
    match result["status"].as_str().unwrap() {
        "goal" => assert_eq!(result["recovered_from"], "max_turns", "{result}"),
        status => assert_eq!((status, &result["partial"]), ("max_turns", &json!(true)), "{result}"),
    }
}
