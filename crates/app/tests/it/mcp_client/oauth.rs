//! `attache mcp login` and runs with a login: the real program against a small authorization server on loopback.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{ScriptedServer, WireApi},
};
use serde_json::{Value, json};

use super::calls;
use crate::providers::{completes, lab};

/// The server of the tests, and a project that uses it as `notes`.
pub(super) struct Notes {
    server: Child,
    url: String,
    model: ScriptedServer,
    pub(super) project: TestProject,
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

pub(super) fn notes(how: &[&str]) -> Notes {
    notes_with(how, "")
}

fn notes_with(how: &[&str], keys: &str) -> Notes {
    let model = ScriptedServer::start();
    let project = lab(&model, WireApi::Chat, "");
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/oauth.py");
    let mut server = Command::new("python3")
        .arg(script)
        .args(how)
        .env("WITNESS", project.root().join("requests.jsonl"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{written}\n[mcp_servers.notes]\nurl = \"{url}\"\n{keys}\n")).unwrap();
    project.agent("helper", "description: d");
    Notes { server, url, model, project }
}

/// How the browser's answer comes back.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Browser,
    Pasted,
}

/// The answer to a GET without following redirects.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn location(answer: &str) -> String {
    let header = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then_some(value)
    });
    header.unwrap_or_else(|| panic!("{answer}")).trim().to_owned()
}

impl Notes {
    /// Logs in like a user whose browser follows the address that is printed.
    fn log_in(&self, options: &[&str], way: Way) -> Ran {
        self.log_in_with(options, |redirected| match way {
            Way::Browser => {
                get(&redirected);
                None
            }
            Way::Pasted => Some(redirected),
        })
    }

    /// The same, with something else done with the browser's last address; a text is pasted.
    fn log_in_with(&self, options: &[&str], then: impl Fn(String) -> Option<String>) -> Ran {
        let mut words = vec!["mcp", "login", "notes"];
        words.extend(options);
        let mut command = self.project.command(&words);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut stderr = String::new();
        let mut input = child.stdin.take();
        let mut line = String::new();
        while told.read_line(&mut line).unwrap() > 0 {
            stderr.push_str(&line);
            // Only then the program waits.
            if line.contains("waiting for the browser") {
                let url = stderr.lines().find_map(|line| line.trim().strip_prefix("http://"));
                let answer = get(&format!("http://{}", url.unwrap()));
                let pasted = then(location(&answer));
                if let (Some(text), Some(mut input)) = (pasted, input.take()) {
                    writeln!(input, "{text}").unwrap();
                }
            }
            line.clear();
        }
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        Ran { code: child.wait().unwrap().code(), stdout, stderr }
    }

    /// A run whose model calls the tool of the server, and what it is told.
    pub(super) fn run(&self) -> (Ran, String) {
        self.model.answer(WireApi::Chat.answer(&calls("mcp__notes__whoami", &json!({}))));
        self.model.answer(WireApi::Chat.answer(&completes("done")));
        let ran = self.project.run(&["run", "helper", "do it", "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let requests = self.model.requests();
        let last: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
        let messages = last["messages"].as_array().unwrap();
        let answer = messages.iter().find(|message| message["role"] == "tool").unwrap();
        (ran, answer["content"].as_str().unwrap().to_owned())
    }

    /// The status of a call with that token.
    fn knock(&self, token: &str) -> u16 {
        let rest = self.url.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "POST /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(super) fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.project.root().join("requests.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(super) fn requests_to(&self, path: &str) -> usize {
        self.requests().iter().filter(|request| request["path"] == path).count()
    }

    fn state(&self) -> Value {
        self.project.json(&["mcp", "list", "--json"])[0].clone()
    }

    /// The files of logins, below the home.
    fn files(&self) -> Vec<PathBuf> {
        let folder = self.project.home().join(".attache/mcp_logins");
        let folders = fs::read_dir(folder).into_iter().flatten().flatten();
        folders.map(|found| found.path().join("login.json")).filter(|path| path.exists()).collect()
    }

    /// Everything that was written below the home but the logins themselves.
    fn written(&self) -> String {
        fn walk(folder: &Path, text: &mut String) {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() && !path.ends_with("mcp_logins") {
                    walk(&path, text);
                } else if let Ok(found) = fs::read_to_string(&path) {
                    text.push_str(&found);
                }
            }
        }
        let mut text = String::new();
        walk(&self.project.home().join(".attache"), &mut text);
        text
    }
}

#[test]
fn a_user_logs_in_and_agents_use_the_server() {
    for (how, way) in [
        (&["good"][..], Way::Browser),
        (&["events"], Way::Pasted),
        (&["legacy"], Way::Browser),
        (&["basic"], Way::Pasted),
    ] {
        let notes = notes(how);
        let state = notes.state();
        assert_eq!(
            (&state["state"], &state["login"]),
            (&json!("login_needed"), &Value::Null),
            "{state}"
        );
        let ran = notes.log_in(&["--json"], way);
        assert_eq!(ran.code, Some(0), "{how:?}: {ran:?}");
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(result["login"]["renewable"], true, "{result}");
        assert_eq!(result["login"]["scopes"], json!(["notes:read"]), "{result}");
        let state = notes.state();
        assert_eq!(
            (&state["state"], &state["tools"]),
            (&json!("ready"), &json!(["mcp__notes__whoami"])),
            "{state}"
        );
        assert_eq!(state["login"]["until"], result["login"]["until"]);
        let (ran, answer) = notes.run();
        // The server repeats the token; nobody gets to see it.
        assert_eq!(answer, "you sent ***", "{how:?}");
        let requests = String::from_utf8(notes.model.requests()[0].body.clone()).unwrap();
        assert!(requests.contains("You send ***."), "{requests}");
        let everything = format!("{}{}{ran:?}{result}{state}{requests}", notes.written(), answer);
        assert!(!everything.contains("0123456789"), "{how:?}: {everything}");
    }
}

#[test]
fn a_login_is_a_private_file_for_one_address_and_logout_removes_it() {
    let notes = notes(&[]);
    assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0));
    let files = notes.files();
    assert_eq!(files.len(), 1);
    assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = notes.project.home().join(".attache/mcp_logins");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    for words in [&["mcp", "list"][..], &["doctor"]] {
        let shown = notes.project.run(words).stdout;
        assert!(shown.contains("1 tool, logged in until 2"), "{shown}");
    }

    // Another address gets no token, although it is the same server under another path.
    let before = notes.requests().len();
    let config = notes.project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&config).unwrap();
    fs::write(&config, written.replace(&notes.url, &format!("{}?b", notes.url))).unwrap();
    assert_ne!(notes.state()["state"], "ready");
    let later: Vec<_> = notes.requests().split_off(before);
    assert!(
        !later.is_empty() && later.iter().all(|sent| sent["authorization"].is_null()),
        "{later:?}"
    );
    fs::write(&config, written).unwrap();

    // A file that others can read is not used.
    fs::set_permissions(&files[0], fs::Permissions::from_mode(0o644)).unwrap();
    let state = notes.state();
    assert_eq!(state["state"], "login_needed", "{state}");
    assert!(state["reason"].as_str().unwrap().contains("others can read"), "{state}");
    fs::set_permissions(&files[0], fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(notes.state()["state"], "ready");

    let out = notes.project.run(&["mcp", "logout", "notes"]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(0), "logged out from notes\n"));
    assert!(notes.files().is_empty());
    assert!(out.stderr.contains("not revoked (the server names no address for it)"), "{out:?}");
    let again = notes.project.run(&["mcp", "logout", "notes"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "there is no login to notes\n"));
    let shown = notes.project.run(&["doctor"]).stdout;
    assert!(
        shown.contains("notes: login needed") && shown.contains("attache mcp login notes"),
        "{shown}"
    );
    // A server that is removed leaves no tokens behind.
    assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0));
    assert_eq!(notes.files().len(), 1);
    assert_eq!(notes.project.run(&["mcp", "remove", "notes"]).code, Some(0));
    assert!(notes.files().is_empty());
}

#[test]
fn logout_revokes_the_tokens_where_the_server_offers_it() {
    for how in [&["revokes"][..], &["revokes", "basic"]] {
        let notes = notes(how);
        assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0));
        let kept = fs::read_to_string(&notes.files()[0]).unwrap();
        let out = notes.project.run(&["mcp", "logout", "notes", "--json"]);
        let said: Value = serde_json::from_str(&out.stdout).unwrap();
        assert_eq!(said, json!({"name": "notes", "removed": true, "revoked": true}), "{out:?}");
        assert!(notes.files().is_empty() && out.stderr.is_empty(), "{out:?}");
        let requests = notes.requests();
        let revoked: Vec<_> =
            requests.iter().filter(|request| request["path"] == "/revoke").collect();
        let hints: Vec<_> = revoked
            .iter()
            .map(|request| request["body"].as_str().unwrap())
            .map(|body| (body.contains("token=rt-1-"), body.contains("token_type_hint=refresh")))
            .collect();
        assert_eq!(hints, [(true, true), (false, false)], "{how:?}: {revoked:?}");
        for request in revoked {
            assert_eq!(request["authorization"].is_string(), how.contains(&"basic"), "{request}");
        }
        // A copy of the file is worth nothing now.
        let token = kept.split('"').find(|word| word.starts_with("at-1-")).unwrap();
        assert_eq!(notes.knock(token), 401);
    }
}

#[test]
fn logout_says_when_the_tokens_could_not_be_revoked() {
    for (how, told) in [
        ("broken-revoke", "cannot reach the revocation endpoint: temporarily_unavailable: not ***"),
        ("plain-revoke", "the revocation endpoint `http://login.example/revoke` is not used"),
    ] {
        let notes = notes(&[how]);
        assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0), "{how}");
        let out = notes.project.run(&["mcp", "logout", "notes"]);
        assert_eq!((out.code, out.stdout.as_str()), (Some(0), "logged out from notes\n"), "{how}");
        assert!(out.stderr.contains(told) && out.stderr.contains("until they expire"), "{out:?}");
        assert!(notes.files().is_empty(), "{how}");
    }
    // The tokens of a server that is removed are revoked as well.
    let notes = notes(&["revokes"]);
    assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0));
    let out = notes.project.run(&["mcp", "remove", "notes"]);
    assert_eq!((out.code, notes.requests_to("/revoke")), (Some(0), 2), "{out:?}");
}

#[test]
fn a_token_that_has_expired_or_was_revoked_is_renewed_once() {
    for how in ["expires", "revoked"] {
        let notes = notes(&[how]);
        assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0));
        let (_, answer) = notes.run();
        assert_eq!(answer, "you sent ***", "{how}");
        assert_eq!(notes.requests_to("/token"), 2, "{how}");
        // The renewed token is kept: the next run asks for none.
        notes.run();
        assert_eq!(notes.requests_to("/token"), 2, "{how}");
        let kept = fs::read_to_string(&notes.files()[0]).unwrap();
        assert!(kept.contains("at-") && !kept.contains("at-1-"), "{how}: {kept}");
    }
}

#[test]
fn a_run_without_a_login_says_what_to_do_and_does_not_wait() {
    let notes = notes(&[]);
    let (ran, answer) = notes.run();
    assert!(ran.stderr.contains("run `attache mcp login notes`"), "{}", ran.stderr);
    assert!(answer.contains("attache mcp login notes"), "the model: {answer}");
    assert_eq!(notes.requests_to("/register"), 0);
}

#[test]
fn a_refresh_token_that_is_dead_ends_the_login() {
    let notes = notes(&["expires", "dead-refresh"]);
    assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0));
    let (ran, _) = notes.run();
    let told = &ran.stderr;
    assert!(
        told.contains("login has expired") && told.contains("attache mcp login notes"),
        "{told}"
    );
    assert!(told.contains("no such token: ***"), "{told}");
    assert!(notes.files().is_empty());
    // It is not tried again.
    let tried = notes.requests_to("/token");
    assert_eq!(notes.state()["state"], "login_needed");
    assert_eq!(notes.requests_to("/token"), tried);
}

#[test]
fn a_renewal_that_fails_for_now_keeps_the_login() {
    let notes = notes(&["expires", "broken-refresh", "revoked"]);
    assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0));
    let (_, answer) = notes.run();
    assert!(answer.contains("cannot be renewed now"), "{answer}");
    assert_eq!(notes.files().len(), 1);
}

#[test]
fn a_call_beyond_the_scopes_names_those_to_ask_for() {
    let notes = notes(&["scope"]);
    assert_eq!(notes.log_in(&[], Way::Browser).code, Some(0));
    let (_, answer) = notes.run();
    assert!(answer.contains("attache mcp login notes --scopes notes:read,notes:write"), "{answer}");
}

#[test]
fn hostile_metadata_and_endpoints_end_the_login_before_anything_is_sent() {
    for (how, told, asks_for_tokens) in [
        ("other-issuer", "names `https://evil.example` as its issuer", false),
        ("other-resource", "for another server: https://other.example/mcp", false),
        ("plain-token", "`http://login.example/token` is not used: it is not encrypted", false),
        ("plain-issuer", "`http://10.1.2.3/` is not used", false),
        ("script", "the authorization endpoint `javascript:alert(1)` is not used", false),
        ("redirect-metadata", "does not say how to log in", false),
        ("garbage-metadata", "something that is not JSON", false),
        ("no-pkce", "does not support PKCE", false),
        ("no-registration", "oauth.client_id", false),
        ("no-oauth", "does not say how to log in", false),
        ("open", "it needs no login", false),
        ("garbage-token", "the token endpoint answers with something that is not JSON", true),
        ("redirect-token", "a redirect, which is not followed", true),
        ("giant-token", "more than 256 KB", true),
        ("denied", "the authorization was refused: access_denied", false),
    ] {
        let notes = notes(&[how]);
        let ran = notes.log_in(&[], Way::Browser);
        assert_eq!(ran.code, Some(1), "{how}: {ran:?}");
        assert!(ran.stderr.contains(told), "{how}: {}", ran.stderr);
        assert_eq!(notes.requests_to("/token") > 0, asks_for_tokens, "{how}");
        assert!(notes.files().is_empty(), "{how}");
    }
}

#[test]
fn an_answer_that_belongs_to_another_login_changes_nothing() {
    for how in ["forged", "mix-up"] {
        let notes = notes(&[how]);
        // At the port it is answered and forgotten.
        let ran = notes.log_in_with(&["--timeout", "1s"], |redirected| {
            assert!(get(&redirected).starts_with("HTTP/1.1 404"), "{how}");
            None
        });
        assert_eq!(ran.code, Some(1), "{how}: {ran:?}");
        assert!(ran.stderr.contains("no answer of the browser within 1 s"), "{}", ran.stderr);
        let ran = notes.log_in(&[], Way::Pasted);
        assert!(ran.stderr.contains("does not belong to this login"), "{how}: {}", ran.stderr);
        assert_eq!((ran.code, notes.requests_to("/token")), (Some(1), 0), "{how}");
    }
    let notes = notes(&[]);
    let elsewhere = |redirected: String| Some(redirected.replace("127.0.0.1", "evil.example"));
    let ran = notes.log_in_with(&[], elsewhere);
    assert!(ran.stderr.contains("not the address that the browser was sent to"), "{}", ran.stderr);
    // Garbage at the port does not end it.
    let ran = notes.log_in_with(&[], |redirected| {
        let host = redirected.split('/').nth(2).unwrap();
        for garbage in [
            "\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "POST /callback HTTP/1.1\r\n\r\n",
            "\u{1}\r\n\r\n",
        ] {
            let mut stream = TcpStream::connect(host).unwrap();
            stream.write_all(garbage.as_bytes()).unwrap();
        }
        get(&redirected);
        None
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_client_that_was_registered_by_hand_is_used_with_its_port_and_scopes() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let keys = format!(
        "scopes = [\"notes:all\"]\noauth_resource = \"https://notes.example\"\n\
         oauth = {{ client_id = \"by-hand\", callback_port = {free} }}"
    );
    let notes = notes_with(&["no-registration"], &keys);
    let ran = notes.log_in(&[], Way::Browser);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "client_id=by-hand",
        "scope=notes%3Aall+offline_access",
        "resource=https%3A%2F%2Fnotes.example",
        &format!("redirect_uri=http%3A%2F%2F127.0.0.1%3A{free}%2Fcallback"),
        "/authorize?a=b&response_type=code",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = notes.log_in(&["--scopes", "notes:x,notes:y"], Way::Browser);
    assert!(ran.stderr.contains("scope=notes%3Ax+notes%3Ay+offline_access"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_logged_in_to_is_refused() {
    let project = crate::project();
    project.file(
        "~/.attache/config.toml",
        "[mcp_servers.process]\ncommand = \"x\"\n[mcp_servers.token]\nurl = \"https://a.example\"\n\
         bearer_token_env_var = \"T\"\n[mcp_servers.header]\nurl = \"https://a.example\"\n\
         http_headers = { authorization = \"x\" }\n[mcp_servers.plain]\nurl = \"http://a.example/mcp\"\n",
    );
    for (name, code, told) in [
        ("nothing", 2, "there is no MCP server of that name"),
        ("process", 2, "not a server on the network"),
        ("token", 2, "remove `bearer_token_env_var` from its entry"),
        ("header", 2, "remove `Authorization` from its entry"),
        ("plain", 1, "`http://a.example/mcp` is not used: it is not encrypted"),
    ] {
        let ran = project.run(&["mcp", "login", name]);
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        assert!(ran.stderr.contains(told), "{name}: {}", ran.stderr);
    }
}

#[test]
fn headers_and_the_token_of_an_entry_are_sent_with_every_request() {
    let keys = "bearer_token_env_var = \"NOTES_TOKEN\"\nhttp_headers = { X-Key = \"${NOTES_KEY}\" }\n\
                env_http_headers = { X-Other = \"NOTES_OTHER\" }";
    let mut notes = notes_with(&["open"], keys);
    let unset = notes.state();
    assert!(unset["reason"].as_str().unwrap().contains("is not set"), "{unset}");
    for (name, value) in
        [("NOTES_TOKEN", "t-12345678"), ("NOTES_KEY", "k-1"), ("NOTES_OTHER", "o-1")]
    {
        let project = std::mem::replace(&mut notes.project, crate::project());
        notes.project = project.with_env(name, value);
    }
    assert_eq!(notes.state()["state"], "ready");
    let sent = notes.requests();
    let sent: Vec<_> = sent.iter().filter(|sent| sent["method"] == "POST").collect();
    assert!(sent.len() > 1, "{sent:?}");
    for request in sent {
        assert_eq!(request["authorization"], "Bearer t-12345678", "{request}");
        assert_eq!(request["headers"], json!({"x-key": "k-1", "x-other": "o-1"}), "{request}");
    }
}
