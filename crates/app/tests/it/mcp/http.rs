//! `attache mcp --http`: the real server over real connections, with honest clients and others.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer},
};
use serde_json::{Value, json};

use super::{API, task};
use crate::{
    project,
    providers::{completes, lab},
};

/// A server, and where it listens.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(project: &TestProject, arguments: &[&str]) -> Self {
        let mut words = vec!["mcp", "--http", "127.0.0.1:0"];
        words.extend(arguments);
        let mut child = project
            .command(&words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.and_then(|line| line.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        Self { child, address }
    }

    fn client(&self) -> HttpClient {
        HttpClient { address: self.address, headers: Vec::new(), session: None, next_id: 1 }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// A client that writes HTTP by hand, with one connection for each request.
#[derive(Clone)]
struct HttpClient {
    address: SocketAddr,
    headers: Vec<(&'static str, String)>,
    session: Option<String>,
    next_id: u64,
}

struct Answer {
    status: u16,
    head: String,
    messages: Vec<Value>,
    body: String,
}

impl HttpClient {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Opens a connection and sends a request.
    fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let mut lines = vec![
            format!("{method} {path} HTTP/1.1"),
            "connection: close".to_owned(),
            "accept: application/json, text/event-stream".to_owned(),
            "content-type: application/json".to_owned(),
            format!("content-length: {}", body.len()),
        ];
        if !self.headers.iter().any(|(name, _)| *name == "host") {
            lines.push(format!("host: {}", self.address));
        }
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        lines.extend(self.session.iter().map(|session| format!("mcp-session-id: {session}")));
        let head = format!("{}\r\n\r\n", lines.join("\r\n"));
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses does not read the body.
        stream.write_all(body.as_bytes()).unwrap_or_default();
        stream
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut all = Vec::new();
        // A server that refuses may close before everything was sent.
        self.send(method, path, body).read_to_end(&mut all).map(drop).unwrap_or_default();
        let all = String::from_utf8_lossy(&all).into_owned();
        let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let messages = body.lines().filter_map(|line| line.strip_prefix("data: {"));
        let messages = messages.map(|rest| serde_json::from_str(&format!("{{{rest}")).unwrap());
        Answer {
            status: status.unwrap_or_default(),
            head: head.to_ascii_lowercase(),
            messages: messages.collect(),
            body: body.to_owned(),
        }
    }

    fn post(&self, message: &Value) -> Answer {
        self.request("POST", "/mcp", &message.to_string())
    }

    /// Says hello and remembers the session.
    fn greet(mut self) -> Self {
        let answer = self.post(&hello());
        assert_eq!(answer.status, 200, "{}", answer.body);
        let session = answer.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        self.session = Some(session.unwrap().to_owned());
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&told).status, 202);
        self
    }

    fn message(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
    }

    fn called(&mut self, tool: &str, arguments: &Value) -> Value {
        self.message("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request and returns the answer to it.
    fn answered(&self, message: &Value) -> Value {
        let answer = self.post(message);
        let result = answer.messages.iter().find(|answer| answer["id"] == message["id"]);
        result.unwrap_or_else(|| panic!("{} {}", answer.status, answer.body)).clone()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let message = self.message(method, params);
        self.answered(&message)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let message = self.called(tool, arguments);
        self.answered(&message)["result"].clone()
    }
}

fn hello() -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

#[test]
fn a_server_that_others_can_reach_needs_a_token() {
    let project = project();
    for (arguments, told) in [
        (vec!["mcp", "--http", "0.0.0.0:0"], "a token is required"),
        (vec!["mcp", "--http", "nowhere"], "write an address"),
        (vec!["mcp", "--http", "0", "--token-file", "missing"], "cannot read the token"),
        (vec!["mcp", "--http", "0", "--token-file", "missing"], "ATTACHE_MCP_TOKEN"),
        (vec!["mcp", "--token-file", "x"], "--http"),
    ] {
        let ran = project.run(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{arguments:?}: {ran:?}");
    }
    project.file("empty", "  \n");
    let ran = project.run(&["mcp", "--http", "0", "--token-file", "empty"]);
    assert!(ran.stderr.contains("the token is empty"), "{ran:?}");
}

#[test]
fn pages_strangers_and_large_bodies_are_refused() {
    let project = project().with_env("ATTACHE_MCP_TOKEN", "open sesame");
    let server = Server::start(&project, &["--allow-host", "agents.example"]);
    let known = || server.client().with("authorization", "Bearer open sesame");
    let hello = hello();
    let status = |client: HttpClient| client.post(&hello).status;
    assert_eq!(status(server.client()), 401);
    assert_eq!(status(server.client().with("authorization", "Bearer sesame")), 401);
    assert_eq!(status(known().with("host", "evil.example")), 403);
    assert_eq!(status(known().with("origin", "https://evil.example")), 403);
    assert_eq!(status(known().with("origin", "http://localhost:3000")), 200);
    assert_eq!(status(known().with("host", "agents.example")), 200);
    assert_eq!(known().request("POST", "/", "{}").status, 404);
    assert_eq!(known().request("PUT", "/mcp", "{}").status, 405);
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "x".repeat(5 << 20)});
    assert_eq!(known().post(&large).status, 413);
    assert_ne!(known().request("POST", "/mcp", "{").status, 200);
    let mut lost = known();
    lost.session = Some("no-such-session".to_owned());
    assert_eq!(lost.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status, 404);
    assert_eq!(status(known()), 200);
}

#[test]
fn clients_without_a_token_see_only_the_runs_of_their_session() {
    let model = ScriptedServer::start();
    model.answer(API.answer(&completes("Mine.")));
    let project = lab(&model, API, "");
    let server = Server::start(&project, &[]);
    let (mut one, mut other) = (server.client().greet(), server.client().greet());
    let result = one.call("Task", &task("look"));
    assert_eq!(result["structuredContent"]["result"], "Mine.", "{result}");
    let id = json!({"agent_id": result["structuredContent"]["agent_id"]});
    assert_eq!(one.call("TaskOutput", &id)["structuredContent"]["result"], "Mine.");
    for tool in ["TaskOutput", "TaskStop"] {
        let refused = other.call(tool, &id);
        assert_eq!(refused["structuredContent"]["status"], "not_found", "{refused}");
    }
    let mut resumed = task("go on");
    resumed["resume"] = id["agent_id"].clone();
    let refused = other.call("Task", &resumed);
    assert_eq!(refused["structuredContent"]["status"], "not_found", "{refused}");
    let uri = format!("attache://runs/{}", id["agent_id"].as_str().unwrap());
    for (method, uri) in [
        ("resources/read", uri.clone()),
        ("resources/read", format!("{uri}/transcript")),
        ("resources/subscribe", uri),
    ] {
        let answered = one.ask(method, &json!({"uri": uri}));
        assert!(answered["result"].is_object(), "{method}: {answered}");
        let refused = other.ask(method, &json!({"uri": uri}));
        assert_eq!(refused["error"]["code"], -32002, "{method}: {refused}");
    }
    let listed = |client: &mut HttpClient| {
        client.ask("resources/list", &json!({}))["result"]["resources"].as_array().map(Vec::len)
    };
    assert_eq!((listed(&mut one), listed(&mut other)), (Some(2), Some(0)));
}

#[test]
fn clients_with_the_same_token_share_their_runs_also_tomorrow() {
    let model = ScriptedServer::start();
    model.answer(API.answer(&completes("Ours.")));
    let project = lab(&model, API, "");
    project.file("token", "open sesame\n");
    project.file("other", "another\n");
    let greeted = |server: &Server, token: &str| {
        server.client().with("authorization", &format!("Bearer {token}")).greet()
    };
    let server = Server::start(&project, &["--token-file", "token"]);
    let result = greeted(&server, "open sesame").call("Task", &task("look"));
    let id = json!({"agent_id": result["structuredContent"]["agent_id"]});
    let again = greeted(&server, "open sesame").call("TaskOutput", &id);
    assert_eq!(again["structuredContent"]["result"], "Ours.", "{again}");
    drop(server);
    let server = Server::start(&project, &["--token-file", "token"]);
    let again = greeted(&server, "open sesame").call("TaskOutput", &id);
    assert_eq!(again["structuredContent"]["result"], "Ours.", "{again}");
    drop(server);
    let server = Server::start(&project, &["--token-file", "other"]);
    let refused = greeted(&server, "another").call("TaskOutput", &id);
    assert_eq!(refused["structuredContent"]["status"], "not_found", "{refused}");
}

#[test]
fn a_client_that_hangs_up_ends_its_run() {
    let model = ScriptedServer::start();
    let gate = Gate::new();
    model.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&model, API, "");
    let server = Server::start(&project, &[]);
    let mut client = server.client().greet();
    let message = client.called("Task", &task("look"));
    let stream = client.send("POST", "/mcp", &message.to_string());
    gate.wait_until_reached(1);
    drop(stream);
    model.wait_for_hangup(1);
    let tasks = project.json(&["tasks", "--all", "--json"]);
    assert_eq!(tasks[0]["ended_as"], "aborted", "{tasks}");
}

#[test]
fn a_signal_ends_the_server_and_its_runs_in_order() {
    let model = ScriptedServer::start();
    let gate = Gate::new();
    model.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&model, API, "");
    let mut server = Server::start(&project, &[]);
    let mut client = server.client().greet();
    let message = client.called("Task", &task("look"));
    let waiting = std::thread::spawn(move || client.answered(&message));
    gate.wait_until_reached(1);
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    let tasks = project.json(&["tasks", "--all", "--json"]);
    assert_eq!(tasks[0]["ended_as"], "aborted", "{tasks}");
    // Who waited is told which run it was, and how to go on.
    let told = waiting.join().unwrap()["result"].clone();
    assert_eq!(told["isError"], true, "{told}");
    let words = told["content"][0]["text"].as_str().unwrap();
    for named in [tasks[0]["agent_id"].as_str().unwrap(), "TaskOutput", "resume"] {
        assert!(words.contains(named), "{named}: {words}");
    }
}

#[test]
fn a_large_body_without_a_length_is_refused() {
    let project = project();
    let server = Server::start(&project, &[]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    for _ in 0..4 {
        stream.write_all(chunk.as_bytes()).unwrap();
    }
    stream.write_all(b"4\r\n    \r\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 413"), "{line}");
}

#[test]
fn a_client_that_asks_too_often_waits_also_if_it_only_tries_out_tokens() {
    const REQUESTS: usize = 10_000;
    let project = project().with_env("ATTACHE_MCP_TOKEN", "open sesame");
    let server = Server::start(&project, &[]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let answers = BufReader::new(stream.try_clone().unwrap());
    let request = format!("GET /mcp HTTP/1.1\r\nhost: {}\r\n", server.address);
    let asking = std::thread::spawn(move || {
        for number in 1..=REQUESTS {
            let last = if number == REQUESTS { "connection: close\r\n" } else { "" };
            let tried = format!("{request}authorization: Bearer {number}\r\n{last}\r\n");
            stream.write_all(tried.as_bytes()).unwrap();
        }
    });
    let answers: Vec<String> = answers.lines().map_while(Result::ok).collect();
    asking.join().unwrap();
    // A body ends without a line end.
    let count = |text: &str| answers.iter().filter(|line| line.contains(text)).count();
    let (tried, told_to_wait) = (count("HTTP/1.1 401"), count("HTTP/1.1 429"));
    assert_eq!(tried + told_to_wait, REQUESTS);
    assert!(tried >= 1000 && told_to_wait > 0, "{tried} tried, {told_to_wait} told to wait");
    assert_eq!(count("retry-after: 1"), told_to_wait);
    // It is served again, and its token was not the matter.
    let known = server.client().with("authorization", "Bearer open sesame");
    let mut answered = std::iter::repeat_with(|| known.post(&hello()).status);
    assert_eq!(answered.find(|status| *status != 429), Some(200));
}

#[test]
fn a_session_too_many_is_refused_until_another_one_ends() {
    let project = project();
    let server = Server::start(&project, &[]);
    let hello = hello();
    let mut sessions: Vec<_> = (0..256).map(|_| server.client().greet()).collect();
    for _ in 0..2 {
        let refused = server.client().post(&hello);
        assert_eq!(refused.status, 503, "{}", refused.body);
        assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
        assert!(refused.body.contains("sessions"), "{}", refused.body);
    }
    // Those that there are go on.
    let listed = sessions[255].call("subagent_list", &json!({}));
    assert_eq!(listed["isError"], false, "{listed}");
    assert!(sessions[0].request("DELETE", "/mcp", "").status < 300);
    server.client().greet();
    assert_eq!(server.client().post(&hello).status, 503);
}

#[test]
fn fifty_clients_at_once_are_served_and_leave_nothing_open() {
    let project = project();
    let server = Server::start(&project, &[]);
    let open = || fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count();
    let mut first = server.client().greet();
    first.call("subagent_list", &json!({}));
    let status = format!("/proc/{}/status", server.child.id());
    // In kilobytes.
    let memory = || -> usize {
        let status = fs::read_to_string(&status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    let before = open();
    fifty_at_once(&server);
    let used = memory();
    for _ in 0..3 {
        fifty_at_once(&server);
    }
    let grown = memory().saturating_sub(used);
    assert!(grown < 8 << 10, "{grown} KB of memory stay in use");
    for _ in 0..1000 {
        if open() <= before {
            break;
        }
        first.call("subagent_list", &json!({}));
    }
    assert!(open() <= before, "{} files are open, {before} were", open());
}

fn fifty_at_once(server: &Server) {
    let clients: Vec<_> = (0..50)
        .map(|_| {
            let client = server.client();
            std::thread::spawn(move || {
                let mut client = client.greet();
                let listed = client.call("subagent_list", &json!({}));
                assert_eq!(listed["isError"], false, "{listed}");
                assert!(client.request("DELETE", "/mcp", "").status < 300);
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}
