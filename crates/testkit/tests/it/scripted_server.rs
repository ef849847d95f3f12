//! The scripted server, met by a bare client.

use std::{io::ErrorKind, net::TcpStream};

use attache_testkit::scripted_server::{Answer, Gate, ScriptedServer};
use serde_json::json;

use crate::client::Client;

#[test]
fn an_answer_has_its_status_headers_and_body() {
    let server = ScriptedServer::start();
    let body = json!({ "error": "slow down" });
    server.answer(Answer::new().status(429).header("retry-after", "2").json(&body));
    server.answer(Answer::new().status(502).html("<h1>Bad gateway</h1>"));
    let mut client = Client::connect(&server);
    let reply = client.send("/v1/messages?beta=true", r#"{"a":1}"#).reply().unwrap();
    assert_eq!((reply.status, reply.text()), (429, body.to_string().as_str()));
    assert_eq!(reply.header("retry-after"), Some("2"));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let page = client.ask("/");
    assert_eq!((page.status, page.text()), (502, "<h1>Bad gateway</h1>"));
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let request = server.wait_for_request(1);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!((request.query.as_str(), request.json()), ("beta=true", json!({ "a": 1 })));
    assert_eq!(request.header("Host"), Some("test"));
    assert!(server.wait_for_request(2).arrived >= request.arrived);
    server.assert_done();
}

#[test]
fn chunks_arrive_as_they_were_cut() {
    let server = ScriptedServer::start();
    let bytes = "data: \"ü€\"\n\n".as_bytes();
    server.answer(Answer::new().chunk(&bytes[..8]).chunk(&bytes[8..10]).chunk(&bytes[10..]));
    server.answer(Answer::new().data(["\"ü€\""]).split_every(1));
    let mut client = Client::connect(&server);
    client.send("/", "").head().unwrap();
    let chunks: Vec<_> = std::iter::from_fn(|| client.chunk().unwrap()).collect();
    assert_eq!(chunks, [&bytes[..8], &bytes[8..10], &bytes[10..]]);
    assert!(std::str::from_utf8(&chunks[0]).is_err(), "the cut is inside a character");
    assert_eq!(client.ask("/").body, bytes);
}

#[test]
fn a_gate_holds_a_stream_until_it_is_let_through() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(Answer::new().data(["1", "2", "3"]).gated(&gate, 1));
    let mut client = Client::connect(&server);
    client.send("/", "").head().unwrap();
    assert_eq!(client.chunk().unwrap().unwrap(), b"data: 1\n\n");
    gate.wait_until_reached(1);
    client.0.get_ref().set_nonblocking(true).unwrap();
    assert_eq!(client.chunk().unwrap_err().kind(), ErrorKind::WouldBlock);
    client.0.get_ref().set_nonblocking(false).unwrap();
    assert_eq!(server.open_requests(), 1);
    gate.pass();
    assert_eq!(client.chunk().unwrap().unwrap(), b"data: 2\n\n");
    gate.wait_until_reached(2);
    gate.open();
    assert_eq!(client.chunk().unwrap().unwrap(), b"data: 3\n\n");
    assert_eq!(client.chunk().unwrap(), None);
    server.wait_until_idle();
    assert_eq!(server.hangups(), 0);
}

#[test]
fn a_connection_breaks_where_the_script_says() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    let stream = Answer::new().data(["1"]);
    server.answer(Answer::new().reset()).answer(Answer::new().refuse());
    server.answer(stream.clone().wait_for(&gate).reset()).answer(stream.close_early());
    server.answer(Answer::new().body("half").close_early());
    let reply = || Client::connect(&server).send("/", "").reply().unwrap_err().kind();
    assert_eq!(reply(), ErrorKind::ConnectionReset);
    assert_eq!(reply(), ErrorKind::UnexpectedEof);
    let mut client = Client::connect(&server);
    client.send("/", "").head().unwrap();
    assert_eq!(client.chunk().unwrap().unwrap(), b"data: 1\n\n");
    gate.open();
    assert_eq!(client.chunk().unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(reply(), ErrorKind::UnexpectedEof);
    assert_eq!(reply(), ErrorKind::UnexpectedEof);
    assert_eq!((server.connections(), server.hangups()), (5, 0));
    server.assert_done();
}

#[test]
fn one_connection_carries_many_requests_each_with_the_answer_of_its_path() {
    let server = ScriptedServer::start();
    for text in ["a1", "a2"] {
        server.answer_on("/a", Answer::new().body(text));
    }
    server.answer_on("/b", Answer::new().chunk("b1")).answer(Answer::new().body("any"));
    server.always_on("/b", Answer::new().body("b again"));
    let mut client = Client::connect(&server);
    for (path, text) in [("/b", "b1"), ("/a", "a1"), ("/c", "any"), ("/a", "a2"), ("/b", "b again")]
    {
        assert_eq!(client.ask(path).text(), text, "{path}");
    }
    client.send("/b", "").send("/b", "");
    assert_eq!(client.reply().unwrap().text(), "b again");
    assert_eq!(client.reply().unwrap().text(), "b again");
    assert_eq!((server.connections(), server.requests().len()), (1, 7));
    server.assert_done();
}

#[test]
fn an_unexpected_request_is_told_what_was_expected_and_remembered() {
    let server = ScriptedServer::start();
    server.answer_on("/v1/messages", Answer::new());
    let reply = Client::connect(&server).ask("/v1/responses");
    assert_eq!(reply.status, 500);
    assert_eq!(reply.text(), "unexpected POST /v1/responses; expected /v1/messages (1)");
    assert_eq!(server.unexpected()[0].path, "/v1/responses");
}

#[test]
fn a_request_in_chunks_is_put_together_and_nonsense_refused() {
    use std::io::Write as _;
    let server = ScriptedServer::start();
    server.always(Answer::new());
    let mut client = Client::connect(&server);
    let request =
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
    client.0.get_mut().write_all(request.as_bytes()).unwrap();
    assert_eq!(client.reply().unwrap().status, 200);
    assert_eq!(server.requests()[0].json(), json!({ "a": 1 }));
    client.0.get_mut().write_all(b"nonsense\r\n\r\n").unwrap();
    assert_eq!(client.reply().unwrap().status, 400);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_client_that_hangs_up_is_noticed_at_a_gate_and_in_an_endless_body() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(Answer::new().data(["1"]).wait_for(&gate)).answer(Answer::new().endless("x"));
    for count in [1, 2] {
        let mut client = Client::connect(&server);
        client.send("/", "").head().unwrap();
        client.chunk().unwrap();
        drop(client);
        server.wait_for_hangup(count);
    }
    assert_eq!(server.open_requests(), 0);
}

#[test]
fn a_large_body_is_made_as_it_is_sent() {
    let server = ScriptedServer::start();
    server.answer(Answer::new().repeat(vec![b'x'; 1 << 20], 50));
    assert_eq!(Client::connect(&server).ask("/").body.len(), 50 << 20);
    server.wait_until_idle();
    assert!(server.bytes_sent() > 50 << 20);
}

#[test]
fn a_server_goes_whatever_its_clients_do() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer_on("/gate", Answer::new().wait_for(&gate));
    server.answer_on("/endless", Answer::new().endless(vec![0; 1 << 16]));
    let idle = Client::connect(&server);
    let (mut waits, mut never_reads) = (Client::connect(&server), Client::connect(&server));
    waits.send("/gate", "");
    never_reads.send("/endless", "");
    server.wait_for_request(2);
    gate.wait_until_reached(1);
    let address = server.address();
    drop(server);
    assert!(waits.reply().is_err());
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
    drop((idle, never_reads));
}
