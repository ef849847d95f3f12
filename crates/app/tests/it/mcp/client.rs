//! A client that writes the protocol by hand, right and wrong.

#![expect(clippy::needless_pass_by_value, reason = "arguments are written in place")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use attache_testkit::project::TestProject;
use serde_json::{Value, json};

/// A client of `attache mcp` over its standard input and output.
pub(super) struct Client {
    pub(super) server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// What the server sent beside the answers.
    pub(super) notices: Vec<Value>,
    capabilities: Value,
    /// What every request says of the client, where there is no greeting.
    meta: Option<Value>,
}

impl Client {
    /// A client of the version without a greeting, with those capabilities.
    pub(super) fn modern(project: &TestProject, arguments: &[&str], capabilities: Value) -> Self {
        let mut client = Self::silent(project, arguments);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        client
    }

    /// A client that has not said anything yet.
    pub(super) fn silent(project: &TestProject, arguments: &[&str]) -> Self {
        let mut words = vec!["mcp"];
        words.extend(arguments);
        Self::of_command(project.command(&words))
    }

    fn of_command(mut command: Command) -> Self {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let input = server.stdin.take();
        let capabilities = json!({});
        let (notices, meta) = (Vec::new(), None);
        Self { server, input, output, next_id: 1, notices, capabilities, meta }
    }

    /// A client that was greeted.
    pub(super) fn start(project: &TestProject, arguments: &[&str]) -> Self {
        Self::able(project, arguments, json!({}))
    }

    /// The same with those capabilities.
    pub(super) fn able(project: &TestProject, arguments: &[&str], capabilities: Value) -> Self {
        let mut client = Self::silent(project, arguments);
        client.capabilities = capabilities;
        let greeted = client.greet();
        assert_eq!(greeted["result"]["serverInfo"]["name"], "attache", "{greeted}");
        client
    }

    /// Says hello, and returns the answer.
    pub(super) fn greet(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        });
        let answer = self.ask("initialize", params);
        self.tell("notifications/initialized", json!({}));
        answer
    }

    /// Writes a line as it is.
    pub(super) fn write(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// Sends a request, and returns its number.
    pub(super) fn send(&mut self, method: &str, mut params: Value) -> u64 {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(request.to_string().as_bytes());
        id
    }

    /// Sends a notification.
    pub(super) fn tell(&mut self, method: &str, params: Value) {
        let notice = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(notice.to_string().as_bytes());
    }

    /// The next message of the server; none at its end.
    pub(super) fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let message = || serde_json::from_str(&line);
        (!line.is_empty()).then(|| message().unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// The answer to a request; what comes before it is kept among the notices.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive().unwrap_or_else(|| panic!("no answer to {id}"));
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.notices.push(message);
        }
    }

    /// The next message for which that holds.
    pub(super) fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.receive().unwrap();
            if wanted(&message) {
                return message;
            }
            self.notices.push(message);
        }
    }

    /// Answers a request of the server.
    pub(super) fn reply(&mut self, request: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.write(answer.to_string().as_bytes());
    }

    /// Sends a request and waits for the answer.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Begins to call a tool.
    pub(super) fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and returns the result.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments);
        let answer = self.answer(id);
        answer.get("result").cloned().unwrap_or_else(|| panic!("{tool}: {answer}"))
    }

    /// Goes away.
    pub(super) fn leave(&mut self) {
        drop(self.input.take());
    }

    /// Goes away, and returns how the server ends and what it said on standard error.
    pub(super) fn end(mut self) -> (Option<i32>, String) {
        self.leave();
        let mut said = String::new();
        let mut stderr = self.server.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
        (self.server.wait().unwrap().code(), said)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended already.
        self.server.kill().unwrap_or_default();
        self.server.wait().map(drop).unwrap_or_default();
    }
}

/// The text of a tool's answer.
pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}
