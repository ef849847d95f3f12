//! What a call of `attache mcp` costs beside a server that does nothing: both over pipes, calls in turn.
//!
//! `cargo bench -p attache --bench mcp`. Compare the two; times depend on the machine.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may fail")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use attache_testkit::scripted_server::{ScriptedServer, WireApi, tool_call};
use serde_json::{Value, json};
use tempfile::TempDir;

const ROUNDS: usize = 301;
/// The argument with which this program is the server that does nothing.
const NOTHING: &str = "--do-nothing";

/// Answers every request with the same result, without reading more than its id.
fn do_nothing() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(id) = message.get("id") {
            let result = json!({"content": [{"type": "text", "text": "{}"}], "protocolVersion": "2025-06-18",
                "capabilities": {}, "serverInfo": {"name": "nothing", "version": "0"}});
            writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result})).unwrap();
            out.flush().unwrap();
        }
    }
}

struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn start(command: &mut Command) -> Self {
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = streams.spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let mut client = Self { server, input, output: BufReader::new(output), next: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "0"}});
        client.ask("initialize", &hello);
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(client.input, "{told}").unwrap();
        client
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.next {
                return message;
            }
        }
    }

    fn timed(&mut self, tool: &str, arguments: &Value) -> Duration {
        let params = json!({"name": tool, "arguments": arguments});
        let began = Instant::now();
        let answer = self.ask("tools/call", &params);
        let elapsed = began.elapsed();
        assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{answer}");
        elapsed
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    if std::env::args().any(|argument| argument == NOTHING) {
        return do_nothing();
    }
    let folder = TempDir::new().unwrap();
    let model = ScriptedServer::start();
    let done = tool_call("call_1", "complete_task", &json!({"result": "done"}));
    model.always(WireApi::Chat.answer(&done));
    let mut attache = Command::new(env!("CARGO_BIN_EXE_attache"));
    attache
        .args(["mcp", "-c", "model=m", "-c", "model_provider=lab"])
        .args(["-c", &format!("model_providers.lab.base_url=\"{}\"", model.base_url())])
        .args(["-c", "model_providers.lab.wire_api=\"chat\""])
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path());
    let mut ours = Client::start(&mut attache);
    let mut theirs = Client::start(Command::new(std::env::current_exe().unwrap()).arg(NOTHING));
    let task = json!({"subagent_type": "Explore", "prompt": "look", "description": "look"});
    let nothing = json!({});
    let (mut listed, mut ran, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(theirs.timed("nothing", &nothing));
        listed.push(ours.timed("subagent_list", &nothing));
        ran.push(ours.timed("Task", &task));
    }
    let (listed, ran, bare) = (median(listed), median(ran), median(bare));
    let ratio = |time: Duration| time.as_secs_f64() / bare.as_secs_f64();
    println!("a call of a server that does nothing:  {bare:.1?}");
    println!("subagent_list:                         {listed:.1?}, ratio {:.1}", ratio(listed));
    println!("Task, an agent of one turn:            {ran:.1?}, ratio {:.1}", ratio(ran));
}
