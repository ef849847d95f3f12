//! `web_search` against a scripted provider on this machine.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use attache_runtime::internal::tool::{
    Tool as _, ToolOutput,
    web_search::{SearchKey, SearchProvider, SearchSetup, SearchSetupError, WebSearch},
};
use serde_json::{Value, json};

use super::Fixture;

const KEY: &str = "search-key-1234";

/// A provider that gives every request the same answer, and remembers head and body of what it was asked.
struct Provider {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    fn new(status: &'static str, body: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, body) = (Arc::clone(&asked), body.to_string());
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let mut reader = BufReader::new(connection.try_clone().unwrap());
                let (mut request, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    let lower = line.to_lowercase();
                    if let Some(bytes) = lower.strip_prefix("content-length:") {
                        length = bytes.trim().parse().unwrap();
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                    request.push_str(&lower);
                }
                let mut sent = vec![0; length];
                reader.read_exact(&mut sent).unwrap();
                request.push_str(&String::from_utf8(sent).unwrap());
                seen.lock().unwrap().push(request);
                let bytes = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {bytes}\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\n\r\n"
                );
                connection.write_all((head + &body).as_bytes()).unwrap();
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn search(&self, provider: SearchProvider, arguments: Value) -> ToolOutput {
        let key = provider.key_variable().map(|_| key());
        let setup = SearchSetup::new(provider, Some(&self.address), key, "SEARCH_KEY").unwrap();
        searched(setup, arguments)
    }
}

fn key() -> SearchKey {
    SearchKey { secret: KEY.into(), from: "SEARCH_KEY".to_owned() }
}

fn searched(setup: SearchSetup, arguments: Value) -> ToolOutput {
    let fixture = Fixture::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(WebSearch::new(setup).call(arguments, &fixture.context))
}

fn results(excerpt: &str) -> Value {
    json!([
        {"title": "The <strong>Rust</strong> book", "url": "https://doc.rust-lang.org/book/", excerpt: "Learn &amp; <b>grow</b>"},
        {"title": "Other", "url": "https://example.com/a", excerpt: ""},
    ])
}

#[test]
fn settings_that_cannot_search_say_what_to_set() {
    use SearchProvider::{Brave, Searxng, Tavily};
    for (provider, address, key, expected) in [
        (Brave, None, None, SearchSetupError::NoKey("SEARCH_KEY".to_owned())),
        (Searxng, None, None, SearchSetupError::NoAddress),
        (Searxng, Some("ftp://x"), None, SearchSetupError::NotAnAddress),
        (Tavily, Some("x"), Some(key()), SearchSetupError::NotAnAddress),
        (Tavily, Some("http://example.com"), Some(key()), SearchSetupError::InTheClear),
    ] {
        let error = SearchSetup::new(provider, address, key, "SEARCH_KEY").unwrap_err();
        assert_eq!(error, expected);
    }
}

#[test]
fn arguments_that_cannot_be_read_are_refused_before_anything_is_sent() {
    let provider = Provider::new("200 OK", &json!({"results": []}));
    for arguments in [json!({}), json!({"query": ""}), json!({"query": "x", "allowed_domains": 1})]
    {
        let output = provider.search(SearchProvider::Searxng, arguments);
        assert!(output.is_error, "{output:?}");
    }
    assert_eq!(provider.asked(), Vec::<String>::new());
}

#[test]
fn every_provider_gives_titles_addresses_and_excerpts() {
    for (which, body, sent) in [
        (
            SearchProvider::Brave,
            json!({"web": {"results": results("description")}}),
            ["get /?q=rust+book&count=20 ", "x-subscription-token: search-key-1234"],
        ),
        (
            SearchProvider::Tavily,
            json!({"results": results("content")}),
            ["{\"query\":\"rust book\"", "authorization: bearer search-key-1234"],
        ),
        (
            SearchProvider::Searxng,
            json!({"results": results("content")}),
            ["get /search?q=rust+book&format=json ", "accept: application/json"],
        ),
    ] {
        let provider = Provider::new("200 OK", &body);
        let output = provider.search(which, json!({"query": "rust book"}));
        assert_eq!(
            output.text,
            "1. The Rust book\n   https://doc.rust-lang.org/book/\n   Learn & grow\n2. Other\n   https://example.com/a"
        );
        let asked = provider.asked();
        assert!(sent.iter().all(|part| asked[0].contains(part)), "{asked:?}");
    }
}

#[test]
fn domains_are_kept_or_left_out_with_everything_below_them() {
    let provider = Provider::new("200 OK", &json!({"results": results("content")}));
    let search = |arguments: Value| provider.search(SearchProvider::Searxng, arguments).text;
    let kept = search(json!({"query": "x", "allowed_domains": ["rust-lang.org"]}));
    assert!(kept.contains("doc.rust-lang.org") && !kept.contains("example.com"), "{kept}");
    let left = search(json!({"query": "x", "blocked_domains": ["rust-lang.org"]}));
    assert!(!left.contains("doc.rust-lang.org") && left.contains("example.com"), "{left}");
    assert_eq!(search(json!({"query": "x", "allowed_domains": ["lang.org"]})), "no results");
}

#[test]
fn what_goes_wrong_is_told_without_the_key_and_no_redirect_is_followed() {
    for (status, body, expected) in [
        ("401 Unauthorized", json!({}), "refused the key in `SEARCH_KEY`"),
        ("429 Too Many Requests", json!({}), "wait before you search again"),
        ("302 Found", json!({}), "302 Found"),
        ("200 OK", json!({"answer": 1}), "no list of results"),
        ("200 OK", json!("x".repeat(3 << 20)), "longer than 2 MB"),
    ] {
        let provider = Provider::new(status, &body);
        let output = provider.search(SearchProvider::Tavily, json!({"query": "x"}));
        assert!(output.is_error && output.text.contains(expected), "{output:?}");
        assert!(!output.text.contains(KEY), "{output:?}");
    }
    let setup =
        SearchSetup::new(SearchProvider::Brave, Some("http://127.0.0.1:1"), Some(key()), "K");
    let output = searched(setup.unwrap(), json!({"query": "x"}));
    assert!(output.is_error && !output.text.contains(KEY), "{output:?}");
}
