//! Messages to agents of other processes: each is read once, whoever is killed when.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
};

use attache_testkit::scripted_server::{Gate, Request, ScriptedServer, text};
use serde_json::{Value, json};

use super::{AGENTS, API, Background, looks_at, output, waiting_server};
use crate::providers::{completes, lab, looks};

/// The texts that people said in a request, in order.
fn said(request: &Request) -> Vec<String> {
    let request = request.json();
    let messages = request["messages"].as_array().unwrap().iter();
    let parts = messages.filter(|message| message["role"] == "user").flat_map(|message| {
        match &message["content"] {
            Value::String(text) => vec![text.clone()],
            Value::Array(parts) => {
                parts.iter().filter_map(|part| Some(part["text"].as_str()?.to_owned())).collect()
            }
            _ => Vec::new(),
        }
    });
    parts.collect()
}

/// How often that was said.
fn times(request: &Request, text: &str) -> usize {
    said(request).iter().filter(|said| *said == text).count()
}

#[test]
fn a_hundred_messages_of_ten_senders_arrive_once_and_in_order() {
    let gate = Gate::new();
    let server = waiting_server(&gate, &[looks(100), completes("Read.")]);
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(1);
    thread::scope(|scope| {
        for sender in 0..10 {
            let (project, id) = (&project, &run.id);
            scope.spawn(move || {
                for number in 0..10 {
                    let text = format!("message {number} of {sender}");
                    let sent = project.json(&["send", id, &text, "--json"]);
                    assert_eq!(sent["agent_id"], id.as_str(), "{sent}");
                }
            });
        }
    });
    gate.open();
    assert_eq!(output(&project, &run.id).stdout, "Read.\n");
    let second = server.wait_for_request(2);
    let read: Vec<String> =
        said(&second).into_iter().filter(|text| text.starts_with("message ")).collect();
    assert_eq!(read.len(), 100);
    for sender in 0..10 {
        let of_sender: Vec<_> =
            read.iter().filter(|text| text.ends_with(&format!(" of {sender}"))).collect();
        let sent: Vec<_> = (0..10).map(|number| format!("message {number} of {sender}")).collect();
        assert_eq!(of_sender, sent.iter().collect::<Vec<_>>());
    }
    server.assert_done();
}

#[test]
fn an_answer_handed_in_while_a_message_is_on_its_way_is_not_the_last() {
    let gate = Gate::new();
    let server = waiting_server(&gate, &[completes("Too early."), completes("With the news.")]);
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(1);
    let sent = project.run_with_input(&["send", &run.id, "-"], "there is news");
    assert_eq!((sent.code, sent.stdout), (Some(0), format!("{}\n", run.id)));
    gate.open();
    assert_eq!(output(&project, &run.id).stdout, "With the news.\n");
    let second = server.wait_for_request(2);
    assert_eq!(times(&second, "there is news"), 1, "{:?}", said(&second));
    let whole = String::from_utf8(second.body).unwrap();
    assert!(whole.contains("Not accepted yet"), "{whole}");
    server.assert_done();
}

#[test]
fn a_message_to_a_run_that_has_ended_resumes_it() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("First.")));
    server.answer(API.answer(&completes("Second.")));
    let project = lab(&server, API, "");
    let run = project.json(&["run", "Explore", "where?", "--json", "-q"]);
    let id = run["agent_id"].as_str().unwrap();
    let sent = project.run(&["send", id, "and", "then?", "-q"]);
    let next = sent.stdout.trim_end();
    assert!(sent.code == Some(0) && next.starts_with("agent-") && next != id, "{sent:?}");
    assert_eq!(output(&project, next).stdout, "Second.\n");
    assert_eq!(times(&server.wait_for_request(2), "and then?"), 1);
    assert_eq!(project.run(&["send", id, " "]).code, Some(2));
    server.assert_done();
}

/// Messages that a killed run did not read were sent before the one that resumes it.
#[test]
fn a_message_that_resumes_a_run_comes_after_those_that_nobody_read() {
    let gate = Gate::new();
    let server = waiting_server(&gate, &[completes("never")]);
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(1);
    for text in ["first", "second"] {
        assert_eq!(project.run(&["send", &run.id, text, "-q"]).code, Some(0));
    }
    run.signal("-KILL");
    project.run(&["output", &run.id, "--wait"]);
    server.answer(API.answer(&completes("All read.")));
    let sent = project.run(&["send", &run.id, "third", "-q"]);
    let next = sent.stdout.trim_end();
    assert_eq!(output(&project, next).stdout, "All read.\n");
    let said = said(&server.wait_for_request(2));
    assert_eq!(said, ["where?", "first", "second", "third"]);
    // What goes on from the journal has the same order.
    server.answer(API.answer(&completes("Again.")));
    assert_eq!(project.run(&["run", "--resume", next, "fourth", "-q"]).stdout, "Again.\n");
    let again = self::said(&server.wait_for_request(3));
    assert_eq!(again, ["where?", "first", "second", "third", "fourth"]);
    server.assert_done();
}

#[test]
fn a_message_to_a_run_that_is_being_resumed_reaches_the_one_that_goes_on() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("First.")));
    let project = lab(&server, API, "");
    let first = project.json(&["run", "Explore", "where?", "--json", "-q"]);
    let first = first["agent_id"].as_str().unwrap();
    server.answer(API.answer(&looks(100)).gated(&gate, 0));
    server.answer(API.answer(&completes("With the news.")));
    let second = Background::start(&project, &["--resume", first, "go on"]);
    server.wait_for_request(2);
    let sent = project.json(&["send", first, "there is news", "--json"]);
    assert_eq!(sent["agent_id"], second.id.as_str(), "{sent}");
    gate.open();
    assert_eq!(output(&project, &second.id).stdout, "With the news.\n");
    assert_eq!(times(&server.wait_for_request(3), "there is news"), 1);
    // After its end, too, the message goes on from what came last; a resume by name says what it leaves out.
    server.answer(API.answer(&completes("Third.")));
    let third = project.json(&["send", first, "and then?", "--json"]);
    assert_eq!(output(&project, third["agent_id"].as_str().unwrap()).stdout, "Third.\n");
    let fourth = server.wait_for_request(4);
    assert_eq!((times(&fourth, "there is news"), times(&fourth, "and then?")), (1, 1));
    server.answer(API.answer(&completes("Another way.")));
    let again = project.run(&["run", "--resume", first, "once more"]);
    let notice = format!("notice: {} has gone on from {first} already", second.id);
    assert!(again.code == Some(0) && again.stderr.contains(&notice), "{again:?}");
    server.assert_done();
}

/// The tools that a request offers, of those that a subagent in the background does not get.
fn offered(request: &Request) -> Vec<&'static str> {
    let request = request.json();
    let tools: Vec<&str> =
        request["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    let unsafe_alone = ["Task", "TodoWrite", "apply_patch", "write_file"];
    unsafe_alone.into_iter().filter(|tool| tools.contains(tool)).collect()
}

#[test]
fn a_main_agent_that_a_message_resumes_has_its_tools() {
    let server = ScriptedServer::start();
    for said in ["First.", "Second.", "Third."] {
        server.answer(API.answer(&text([said])));
    }
    let project = lab(&server, API, "");
    let main = project.json(&["exec", "begin", "--json", "-q"]);
    let sent = project.json(&["send", main["agent_id"].as_str().unwrap(), "go on", "--json"]);
    let next = sent["agent_id"].as_str().unwrap();
    assert_eq!(output(&project, next).stdout, "Second.\n");
    assert_eq!(project.run(&["exec", "--resume", next, "and on", "-q"]).stdout, "Third.\n");
    let all = offered(&server.wait_for_request(1));
    assert_eq!(all, ["Task", "TodoWrite", "apply_patch", "write_file"]);
    assert_eq!(offered(&server.wait_for_request(2)), all);
    assert_eq!(offered(&server.wait_for_request(3)), all);
    server.assert_done();
}

/// What a run in the background may not call is no part of what its later runs may not call.
#[test]
fn a_subagent_that_was_resumed_in_the_background_has_its_tools_again_in_front() {
    let server = ScriptedServer::start();
    for text in ["First.", "Second.", "Third.", "Fourth."] {
        server.answer(API.answer(&completes(text)));
    }
    let project = lab(&server, API, "");
    let smith = ["--agents", AGENTS];
    let first = project.json(&[&["run", "smith", "begin", "--json", "-q"], &smith[..]].concat());
    let first = first["agent_id"].as_str().unwrap();
    let second = project.json(&[&["send", first, "go on", "--json"], &smith[..]].concat());
    let second = second["agent_id"].as_str().unwrap();
    assert_eq!(output(&project, second).stdout, "Second.\n");
    let third = ["run", "--background", "--resume", second, "and on", "--json"];
    let third = project.json(&[&third[..], &smith].concat());
    let third = third["agent_id"].as_str().unwrap();
    assert_eq!(output(&project, third).stdout, "Third.\n");
    let fourth = ["run", "--resume", third, "the end", "-q"];
    assert_eq!(project.run(&[&fourth[..], &smith].concat()).stdout, "Fourth.\n");
    let offered: Vec<_> = (1..=4).map(|it| offered(&server.wait_for_request(it))).collect();
    let writers = vec!["apply_patch", "write_file"];
    assert_eq!(offered, [writers.clone(), vec![], vec![], writers]);
    server.assert_done();
}

/// A message may come at any moment of a run's end: it is read, or resumes the run. It is never lost.
#[test]
fn a_message_at_any_moment_of_the_end_is_read_by_somebody() {
    for round in 0..12 {
        let server = ScriptedServer::start();
        let gate = Gate::new();
        server.answer(API.answer(&completes("Early.")).gated(&gate, 0));
        server.always(API.answer(&completes("Late.")));
        let project = lab(&server, API, "");
        let run = Background::start(&project, &["Explore", "where?"]);
        server.wait_for_request(1);
        let mut send = project.command(&["send", &run.id, "news", "--json"]);
        if round % 2 == 0 {
            gate.open();
        }
        let send = send.stdout(Stdio::piped()).spawn().unwrap();
        gate.open();
        let sent = send.wait_with_output().unwrap();
        let sent: Value = serde_json::from_slice(&sent.stdout).unwrap();
        let reader = sent["agent_id"].as_str().unwrap();
        assert_eq!(output(&project, reader).stdout, "Late.\n", "{sent}");
        let read: usize = server.requests().iter().map(|request| times(request, "news")).sum();
        assert_eq!(read, 1, "{sent}");
    }
}

/// The owner is killed while messages are sent to it, again and again; what was sent is in the conversation
/// of the last run once.
#[test]
fn messages_survive_the_death_of_their_reader_and_are_read_once() {
    const ROUNDS: usize = 12;
    let server = ScriptedServer::start();
    let project = lab(&server, API, "");
    let gate = Gate::new();
    let mut requests = 0;
    let mut run: Option<Background> = None;
    let mut last = String::new();
    for round in 0..ROUNDS {
        // Each life has two turns, so that messages are read in some; the last answer never comes.
        let (call, path) = (format!("call_{round}"), if round % 2 == 0 { "." } else { "src" });
        server.answer(API.answer(&looks_at(&call, path)));
        server.answer(API.answer(&completes("never")).gated(&gate, 0));
        let alive = match run.take() {
            Some(run) => run,
            None if last.is_empty() => Background::start(&project, &["Explore", "where?"]),
            None => Background::start(&project, &["--resume", &last, "go on"]),
        };
        // Sometimes the first turn is under way, sometimes the second.
        server.wait_for_request(requests + 1 + round % 2);
        let text = format!("message {round}");
        let send = project.command(&["send", &alive.id, &text, "--json"]);
        let send = { send }.stdout(Stdio::piped()).spawn().unwrap();
        if round % 3 != 0 {
            // After the message is left, or while it is being left.
            alive.signal("-KILL");
        }
        let sent = send.wait_with_output().unwrap();
        let sent: Value = serde_json::from_slice(&sent.stdout).unwrap();
        if round % 3 == 0 {
            alive.signal("-KILL");
        }
        // Whatever the life did not ask for is not left for the next one.
        project.run(&["output", &alive.id, "--wait"]);
        last = alive.id.clone();
        if sent["agent_id"] != alive.id.as_str() {
            let next = sent["agent_id"].as_str().unwrap().to_owned();
            let pid = sent["pid"].to_string();
            assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
            project.run(&["output", &next, "--wait"]);
            last = next;
        }
        server.forget_script();
        requests = server.requests().len();
    }
    server.answer(API.answer(&looks_at("call_last", ".")));
    server.answer(API.answer(&completes("Everything was read.")));
    let end = Background::start(&project, &["--resume", &last, "to the end"]);
    assert_eq!(output(&project, &end.id).stdout, "Everything was read.\n");
    let last = server.requests().pop().unwrap();
    for round in 0..ROUNDS {
        let text = format!("message {round}");
        assert_eq!(times(&last, &text), 1, "{text}: {:?}", said(&last));
    }
}

#[test]
fn a_run_with_unread_messages_is_not_cleaned_away() {
    let gate = Gate::new();
    let server = waiting_server(&gate, &[completes("never")]);
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(1);
    project.run(&["send", &run.id, "unread"]);
    run.signal("-KILL");
    project.run(&["output", &run.id, "--wait"]);
    let tasks = project.json(&["tasks", "--json"]);
    assert_eq!(tasks[0]["unread_messages"], 1, "{tasks}");
    let transcript = tasks[0]["transcript"].as_str().unwrap().to_owned();
    let cleaned = project.json(&["clean", "--older-than", "0m", "--json"]);
    assert_eq!((&cleaned["removed"], &cleaned["unread"]), (&json!([]), &json!(1)), "{cleaned}");
    server.answer(API.answer(&completes("Read now.")));
    assert_eq!(project.run(&["run", "--resume", &run.id, "-q"]).stdout, "Read now.\n");
    assert_eq!(times(&server.wait_for_request(2), "unread"), 1);
    let cleaned = project.json(&["clean", "--older-than", "0m", "--json"]);
    assert_eq!(cleaned["removed"].as_array().unwrap().len(), 2, "{cleaned}");
    assert!(!fs::exists(transcript).unwrap());
    assert_eq!(fs::read_dir(project.home().join(".attache/sessions")).unwrap().count(), 0);
}
