//! Servers on the network that misbehave: what they send is bounded, and the run goes on.

use super::oauth::notes;

/// More than a message may have and what fits into buffers on the way.
const MOST: u64 = 64 << 20;

#[test]
fn a_giant_answer_over_http_is_not_read_to_its_end() {
    for how in [
        "giant-json",
        "endless-json",
        "endless-failure",
        "endless-refusal",
        "endless-event",
        "endless-event-with-id",
    ] {
        let server = notes(&["open", how]);
        let (ran, answer) = server.run();
        assert!(answer.contains("a message of the server is longer than 16 MB"), "{how}: {answer}");
        assert!(answer.contains("the outcome of this call is unknown"), "{how}: {answer}");
        assert!(ran.stderr.len() < 4096, "{how}: {}", ran.stderr);
        let requests = server.requests();
        let calls = requests.iter().filter(|request| {
            request["body"].as_str().is_some_and(|body| body.contains("\"tools/call\""))
        });
        assert_eq!(calls.count(), 1, "{how}: a call is sent once");
        for request in requests.iter().filter(|request| request["path"] == "/sent") {
            assert!(request["bytes"].as_u64().unwrap() < MOST, "{how}: {request}");
        }
    }
}

#[test]
fn a_server_whose_first_answer_is_endless_does_not_start() {
    for how in ["endless-json", "endless-event"] {
        let server = notes(&["open", "at-start", how]);
        let (ran, _) = server.run();
        let told = "a message of the server is longer than 16 MB";
        assert!(ran.stderr.contains(told), "{how}: {}", ran.stderr);
        let requests = server.requests();
        let sent = requests.iter().find(|request| request["path"] == "/sent").unwrap();
        assert!(sent["bytes"].as_u64().unwrap() < MOST, "{how}: {sent}");
    }
}

#[test]
fn an_answer_that_ends_before_its_result_has_an_unknown_outcome() {
    let server = notes(&["open", "cut-event"]);
    let (_, answer) = server.run();
    assert!(answer.contains("the outcome of this call is unknown"), "{answer}");
    assert!(answer.contains("ended its answer before the result"), "{answer}");
}
