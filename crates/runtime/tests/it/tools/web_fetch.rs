//! `web_fetch` over real connections on this machine, which has to be allowed for that.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use attache_runtime::internal::tool::{
    Tool as _, ToolOutput,
    web_fetch::{WebAccess, WebFetch},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Fixture;

/// A site that answers each path with one raw response, and remembers what it was asked.
struct Site {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn new(answer: impl Fn(&str, u16) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let connection = connection.unwrap();
                let path = path_asked(&connection);
                seen.lock().unwrap().push(path.clone());
                let mut connection = connection;
                // Whoever has read enough hangs up.
                connection.write_all(&answer(&path, port)).unwrap_or_default();
            }
        });
        Self { port, asked }
    }

    fn fetch(&self, host: &str, path: &str, private_hosts: &[&str]) -> ToolOutput {
        fetch(&format!("http://{host}:{}{path}", self.port), private_hosts)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn path_asked(connection: &TcpStream) -> String {
    let mut lines = BufReader::new(connection).lines();
    let first = lines.next().unwrap().unwrap();
    for line in lines {
        if line.unwrap().is_empty() {
            break;
        }
    }
    first.split(' ').nth(1).unwrap().to_owned()
}

fn page(content_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

fn redirect(to: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .into_bytes()
}

fn fetch(url: &str, private_hosts: &[&str]) -> ToolOutput {
    let private_hosts = private_hosts.iter().map(ToString::to_string).collect();
    let tool = WebFetch::new(WebAccess { private_hosts, ..WebAccess::default() });
    let fixture = Fixture::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(tool.call(json!({"url": url}), &fixture.context))
}

#[test]
fn nothing_of_this_machine_or_a_private_network_is_asked_unless_it_is_allowed() {
    let site = Site::new(|_, _| page("text/plain", "secret"));
    let port = site.port;
    let ways = [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://LOCALHOST.:{port}/"),
        format!("http://x.localhost:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://0x7f000001:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0177.0.0.1:{port}/"),
        format!("http://0.0.0.0:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ];
    for url in ways {
        let output = fetch(&url, &["other.example"]);
        assert!(
            output.is_error && output.text.contains("not on the public network"),
            "{url}: {}",
            output.text
        );
    }
    assert_eq!(site.asked(), [""; 0]);
    // The same is asked once it is allowed.
    let output = site.fetch("127.0.0.1", "/", &["127.0.0.1"]);
    assert!(!output.is_error && output.text.ends_with("secret"), "{}", output.text);
    let output = site.fetch("localhost", "/", &["localhost"]);
    assert!(!output.is_error && output.text.ends_with("secret"), "{}", output.text);
}

#[test]
fn a_name_that_leads_to_this_machine_is_refused_where_it_is_resolved() {
    // The machine's own name has an address here, as a rule one of a private network or loopback.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let site = Site::new(|_, _| page("text/plain", "secret"));
    let output = site.fetch(name.trim(), "/", &[]);
    assert!(output.is_error, "{}", output.text);
    assert_eq!(site.asked(), [""; 0]);
}

#[test]
fn redirects_on_the_same_host_are_followed_and_others_are_told() {
    let site = Site::new(|path, _| match path {
        "/a" => redirect("/b"),
        "/b" => page("text/html", "<h1>Arrived</h1>"),
        "/away" => redirect("http://10.1.2.3/secret"),
        "/file" => redirect("file:///etc/passwd"),
        "/nowhere" => redirect("http://"),
        _ => redirect("/loop"),
    });
    let allowed = &["127.0.0.1"];
    let output = site.fetch("127.0.0.1", "/a", allowed);
    assert!(!output.is_error && output.text.contains("# Arrived"), "{}", output.text);
    assert!(output.text.contains("/b · 200 OK"), "{}", output.text);
    let output = site.fetch("127.0.0.1", "/away", allowed);
    assert!(
        output.is_error && output.text.contains("another host: http://10.1.2.3/secret"),
        "{}",
        output.text
    );
    let output = site.fetch("127.0.0.1", "/file", allowed);
    assert!(output.is_error && output.text.contains("not a web address"), "{}", output.text);
    let output = site.fetch("127.0.0.1", "/nowhere", allowed);
    assert!(output.is_error, "{}", output.text);
    let output = site.fetch("127.0.0.1", "/loop", allowed);
    assert!(output.is_error && output.text.contains("more than 10 redirects"), "{}", output.text);
}

#[test]
fn a_page_without_end_is_cut_and_the_cut_is_told() {
    let site = Site::new(|_, _| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n";
        [head.as_slice(), &vec![b'x'; 8 << 20]].concat()
    });
    let output = site.fetch("127.0.0.1", "/", &["127.0.0.1"]);
    assert!(output.text.len() < 64 * 1024, "{}", output.text.len());
    assert!(output.text.contains("5242880 bytes, cut there"), "{:?}", output.text.lines().next());
    assert_eq!(output.artifacts.len(), 1);
}

#[test]
fn a_page_that_is_not_there_is_an_error_with_its_text() {
    let site = Site::new(|_, _| {
        b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 4\r\nconnection: close\r\n\r\ngone".to_vec()
    });
    let output = site.fetch("127.0.0.1", "/", &["127.0.0.1"]);
    assert!(
        output.is_error && output.text.contains("404") && output.text.ends_with("gone"),
        "{}",
        output.text
    );
}

#[test]
fn what_is_not_a_web_address_is_refused() {
    for url in [
        "file:///etc/passwd",
        "ftp://a.example",
        "javascript:x",
        "a.example",
        "http://u:p@a.example",
        "",
    ] {
        let output = fetch(url, &[]);
        assert!(output.is_error, "{url}: {}", output.text);
    }
}

#[test]
fn cancelling_does_not_wait_for_the_page() {
    // It takes the connection and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    let tool = WebFetch::new(WebAccess {
        private_hosts: vec!["127.0.0.1".to_owned()],
        ..WebAccess::default()
    });
    let mut fixture = Fixture::new();
    let cancel = CancellationToken::new();
    fixture.context.cancel = cancel.clone();
    let waiting = thread::spawn(move || {
        let connection = listener.accept().unwrap();
        cancel.cancel();
        connection
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let output = runtime.block_on(tool.call(json!({"url": url}), &fixture.context));
    assert!(output.is_error && output.text.contains("cancelled"), "{}", output.text);
    drop(waiting.join().unwrap());
}
