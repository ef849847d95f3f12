//! `attache usage`: what all runs spent.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use attache_testkit::project::TestProject;
use serde_json::{Value, json};

use crate::project;

const GOLDEN: &str = include_str!("../../../kernel/tests/it/golden/transcript.jsonl");

/// The header of a run of that agent on that model.
fn header(agent: &str, model: &str, provider: &str) -> String {
    let mut header: Value = serde_json::from_str(GOLDEN.lines().next().unwrap()).unwrap();
    header["run"]["definition"]["agentType"] = json!(agent);
    header["run"]["model"] = json!({"id": model, "provider": provider, "chosen_by": "definition"});
    format!("{header}\n")
}

/// An answer with ten tokens in, two of them cached, and one out.
fn reply(ts: &str, cost: Option<f64>) -> String {
    let mut line: Value = serde_json::from_str(GOLDEN.lines().nth(4).unwrap()).unwrap();
    line["ts"] = json!(ts);
    line["event"]["cost_usd"] = json!(cost);
    line["event"]["usage"] = json!({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 3, "reasoning_tokens": 1, "server_tool_use": null, "service_tier": null});
    format!("{line}\n")
}

fn transcript(project: &TestProject, id: &str, content: impl AsRef<[u8]>) -> PathBuf {
    project.file(&format!("~/.attache/sessions/s-1/{id}.jsonl"), content)
}

/// `{key: [runs, tokens, cost]}` of the rows.
fn rows(usage: &Value, key: &str) -> Value {
    let row = |row: &Value| {
        let name = row[key].as_str().unwrap().to_owned();
        (name, json!([row["runs"], row["total_tokens"], row["cost_usd"]]))
    };
    Value::Object(usage["rows"].as_array().unwrap().iter().map(row).collect())
}

#[test]
fn before_anything_was_spent_it_says_so() {
    let project = project();
    let ran = project.run(&["usage"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.starts_with("nothing was spent yet"), "{}", ran.stdout);
    let usage = project.json(&["usage", "--json"]);
    assert_eq!(usage["rows"], json!([]));
    assert_eq!((&usage["total"]["runs"], &usage["total"]["cost_usd"]), (&json!(0), &json!(0.0)));
    transcript(&project, "agent-1", GOLDEN);
    let ran = project.run(&["usage", "--since", "2026-11-06", "--until", "2026-11-07"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "nothing was spent in that time\n"));
}

#[test]
fn a_row_has_every_field_and_a_total() {
    let project = project();
    transcript(&project, "agent-1", GOLDEN);
    let sums = json!({"runs": 1, "input_tokens": 5100, "output_tokens": 210, "cache_read_input_tokens": 3900,
        "cache_creation_input_tokens": 0, "reasoning_tokens": 40, "total_tokens": 5310, "cost_usd": 0.5,
        "known_cost_usd": 0.5});
    let mut row =
        json!({"day": "2026-11-05", "agent": "Explore", "model": "gpt-5", "provider": "openai"});
    for (key, value) in sums.as_object().unwrap() {
        row[key] = value.clone();
    }
    let expected = json!({"rows": [row], "total": sums, "skipped": []});
    assert_eq!(project.json(&["usage", "--json"]), expected);
}

#[test]
fn a_real_run_is_counted() {
    let project = project();
    project.file("src/a.py", "def tool_filter(): pass\n");
    assert_eq!(project.run(&["run", "Explore", "tool filter", "-q"]).code, Some(0));
    let usage = project.json(&["usage", "--json", "--since", "today"]);
    assert_eq!(rows(&usage, "model"), json!({"offline": [1, 0, 0.0]}));
    let ran = project.run(&["usage", "--by", "model"]);
    assert!(ran.stdout.contains("\noffline  "), "its name is said once: {}", ran.stdout);
}

#[test]
fn it_adds_up_by_whatever_is_asked_for() {
    let project = project();
    let one = [header("Explore", "gpt-5", "openai"), reply("2026-11-05T10:00:00Z", Some(0.25))];
    let two = [header("Explore", "sonnet", "anthropic"), reply("2026-11-05T11:00:00Z", Some(0.5))];
    let three = [header("reviewer", "gpt-5", "azure"), reply("2026-11-06T11:00:00Z", Some(1.0))];
    for (id, lines) in [("a", one), ("b", two), ("c", three)] {
        transcript(&project, id, lines.concat());
    }
    let by = |by: &str| project.json(&["usage", "--json", "--by", by]);
    let expected = json!({"2026-11-05": [2, 22, 0.75], "2026-11-06": [1, 11, 1.0]});
    assert_eq!(rows(&by("day"), "day"), expected);
    let expected = json!({"Explore": [2, 22, 0.75], "reviewer": [1, 11, 1.0]});
    assert_eq!(rows(&by("agent"), "agent"), expected);
    // One model of two providers is two.
    let expected =
        json!({"azure": [1, 11, 1.0], "openai": [1, 11, 0.25], "anthropic": [1, 11, 0.5]});
    assert_eq!(rows(&by("model"), "provider"), expected);
    assert_eq!(by("agent")["rows"][0].get("day"), None, "only what was asked for");
    assert_eq!(by("day")["total"]["runs"], 3);
    let both = by("model,agent");
    assert_eq!(both, project.json(&["usage", "--json", "--by", "model", "--by", "agent"]));
    assert_eq!(both["rows"].as_array().unwrap().len(), 3);
    let text = project.run(&["usage", "--by", "model,agent,model"]).stdout;
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..4], ["MODEL", "AGENT", "RUNS", "COST"]);
    assert_eq!(lines[1][..6], ["gpt-5", "on", "azure", "reviewer", "1", "$1.0000"]);
    assert_eq!(lines[4][..3], ["TOTAL", "3", "$1.7500"]);
    let ran = project.run(&["usage", "--by", "week"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("day, agent, model"), "{}", ran.stderr);
}

#[test]
fn days_are_the_users_own_and_a_run_over_midnight_is_split() {
    // Five hours behind UTC, whatever the machine knows of zones.
    let project = project().with_env("TZ", "EST5");
    let lines = [
        header("Explore", "gpt-5", "openai"),
        reply("2026-11-06T04:59:59.999Z", Some(0.25)),
        reply("2026-11-06T05:00:00.000Z", Some(0.5)),
        reply("2026-11-06T05:00:01.000Z", Some(1.0)),
    ];
    transcript(&project, "agent-1", lines.concat());
    let usage = project.json(&["usage", "--json", "--by", "day"]);
    let expected = json!({"2026-11-05": [1, 11, 0.25], "2026-11-06": [1, 22, 1.5]});
    assert_eq!(rows(&usage, "day"), expected);
    assert_eq!((&usage["total"]["runs"], &usage["total"]["total_tokens"]), (&json!(1), &json!(33)));
    let agent = project.json(&["usage", "--json", "--by", "agent"]);
    assert_eq!(rows(&agent, "agent"), json!({"Explore": [1, 33, 1.75]}));
    let part = |arguments: &[&str]| {
        let usage = project.json(&[&["usage", "--json", "--by", "day"], arguments].concat());
        rows(&usage, "day").as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(part(&["--since", "2026-11-06"]), ["2026-11-06"]);
    assert_eq!(part(&["--until", "2026-11-05"]), ["2026-11-05"]);
    assert_eq!(part(&["--since", "2026-11-05", "--until", "2026-11-06"]).len(), 2);
}

#[test]
fn a_cost_is_whole_or_says_that_it_is_not() {
    let project = project();
    let day = "2026-11-05T10:00:00Z";
    let lines = [
        [header("known", "gpt-5", "openai"), reply(day, Some(0.25)), reply(day, Some(0.5))]
            .concat(),
        [header("partly", "gpt-6", "openai"), reply(day, Some(0.125)), reply(day, None)].concat(),
        [header("unknown", "llama", "lab"), reply(day, None)].concat(),
    ];
    for (id, content) in ["a", "b", "c"].iter().zip(lines) {
        transcript(&project, id, content);
    }
    let usage = project.json(&["usage", "--json", "--by", "agent"]);
    let expected =
        json!({"known": [1, 22, 0.75], "partly": [1, 22, null], "unknown": [1, 11, null]});
    assert_eq!(rows(&usage, "agent"), expected);
    assert_eq!(usage["total"]["cost_usd"], Value::Null);
    assert_eq!(usage["total"]["known_cost_usd"], 0.875);
    let ran = project.run(&["usage", "--by", "agent"]);
    let cost = |agent: &str| {
        let line = ran.stdout.lines().find(|line| line.starts_with(agent)).unwrap();
        line.split("  ").filter(|word| !word.is_empty()).nth(2).unwrap().trim().to_owned()
    };
    let costs = [cost("known"), cost("partly"), cost("unknown"), cost("TOTAL")];
    assert_eq!(costs, ["$0.7500", "≥ $0.1250", "–", "≥ $0.8750"], "{}", ran.stdout);
    assert!(ran.stderr.contains("had no price: gpt-6, llama"), "{}", ran.stderr);
    assert!(ran.stderr.contains("model_prices"), "{}", ran.stderr);
    assert_eq!(project.run(&["usage", "--quiet"]).stderr, "");
}

#[test]
fn an_answer_that_was_lost_leaves_the_cost_open() {
    let project = project();
    let ts = "2026-11-05T10:00:00Z";
    let event = |event: Value| {
        json!({"type": "event", "seq": 9, "ts": ts, "at_ms": 9, "event": event}).to_string() + "\n"
    };
    let begun = header("Explore", "gpt-5", "openai") + &reply(ts, Some(0.25));
    let retried = event(json!({"type": "retrying", "attempt": 2, "max_retries": 5, "delay_ms": 1,
        "reason": "it broke off", "answer_lost": true}));
    let refused = event(json!({"type": "retrying", "attempt": 2, "max_retries": 5, "delay_ms": 1,
        "reason": "busy"}));
    transcript(&project, "agent-1", begun.clone() + &refused);
    let cost = |project: &TestProject| {
        let usage = project.json(&["usage", "--json"]);
        (usage["total"]["cost_usd"].clone(), usage["total"]["known_cost_usd"].clone())
    };
    assert_eq!(cost(&project), (json!(0.25), json!(0.25)));
    transcript(&project, "agent-2", begun + &retried);
    assert_eq!(cost(&project), (Value::Null, json!(0.5)));
    let ran = project.run(&["usage"]);
    assert!(ran.stdout.contains("≥ $0.5000"), "{}", ran.stdout);
    assert!(ran.stderr.contains("one answer broke off"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("had no price"), "{}", ran.stderr);
}

#[test]
fn what_still_runs_or_was_cut_off_counts_and_its_torn_end_does_not() {
    let project = project();
    let begun = header("Explore", "gpt-5", "openai") + &reply("2026-11-05T10:00:00Z", Some(0.25));
    let half = reply("2026-11-05T10:00:01Z", Some(8.0));
    let half = half.split_at(half.len() / 2).0;
    transcript(&project, "running", &begun);
    transcript(&project, "torn", format!("{begun}{half}"));
    transcript(&project, "torn-with-an-end", format!("{begun}{half}\n"));
    let zeros = format!("{begun}\0\0\0\n{}", reply("2026-11-05T10:00:01Z", Some(8.0)));
    transcript(&project, "zeros", zeros);
    transcript(&project, "about-to-begin", "");
    transcript(&project, "no-answer-yet", header("Explore", "gpt-5", "openai"));
    let ran = project.run(&["usage", "--json", "--by", "agent"]);
    assert_eq!(ran.stderr, "");
    let usage: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(rows(&usage, "agent"), json!({"Explore": [4, 44, 1.0]}));
}

#[test]
fn broken_transcripts_are_named_and_stop_nothing() {
    let project = project();
    transcript(&project, "good", GOLDEN);
    let reply = reply("2026-11-05T10:00:00Z", Some(8.0));
    let header = header("Explore", "gpt-5", "openai");
    let newer = r#"{"type":"header","format":99,"whatever":{}}"#;
    let odd_time = reply.replace("2026-11-05T10:00:00Z", "yesterday");
    let half = reply.split_at(reply.len() / 2).0;
    transcript(&project, "b-no-header", &reply);
    transcript(&project, "c-newer", format!("{newer}\n{reply}"));
    transcript(&project, "d-half", format!("{header}{half}\n{reply}"));
    transcript(&project, "e-noise", format!("{header}noise\n{reply}"));
    transcript(&project, "f-time", format!("{header}{odd_time}{reply}"));
    let ran = project.run(&["usage"]);
    assert_eq!(ran.code, Some(0));
    for problem in [
        "line 1 of ",
        "c-newer.jsonl has format 99",
        "line 2 of ",
        "d-half.jsonl is broken",
        "e-noise.jsonl is broken: it is not an object",
        "f-time.jsonl is broken",
    ] {
        assert!(ran.stderr.contains(problem), "{problem}: {}", ran.stderr);
    }
    assert!(ran.stdout.contains("TOTAL"), "{}", ran.stdout);
    let usage = project.json(&["usage", "--json"]);
    assert_eq!(usage["total"]["total_tokens"], 5310, "only the good one");
    let skipped = usage["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 5);
    assert!(skipped[0]["path"].as_str().unwrap().ends_with("/s-1/b-no-header.jsonl"));
    for more in ["g", "h"] {
        transcript(&project, more, "noise\n");
    }
    let ran = project.run(&["usage"]);
    assert!(ran.stderr.ends_with("not counted: 2 more transcripts\n"), "{}", ran.stderr);
}

#[test]
fn a_span_that_cannot_be_is_a_mistake_with_a_remedy() {
    let project = project();
    for wrong in ["soon", "7", "2026-02-30", "1.5d"] {
        let ran = project.run(&["usage", &format!("--since={wrong}")]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{wrong}");
        assert!(ran.stderr.contains("2026-11-01, today"), "{}", ran.stderr);
    }
    let ran = project.run(&["usage", "--since", "2026-11-02", "--until", "2026-11-01"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--until lies before --since"), "{}", ran.stderr);
}

#[test]
fn a_store_that_cannot_be_read_is_an_error() {
    let project = project();
    let sessions = project.file("~/.attache/sessions", "a file");
    fs::set_permissions(&sessions, fs::Permissions::from_mode(0o600)).unwrap();
    let ran = project.run(&["usage"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("cannot read") && ran.stderr.contains("hint:"), "{}", ran.stderr);
}

#[test]
fn what_was_cleaned_away_still_counts() {
    let project = project();
    transcript(&project, "agent-1", GOLDEN);
    transcript(
        &project,
        "agent-2",
        header("Plan", "m", "p") + &reply("2026-11-06T10:00:00Z", None),
    );
    let before = project.json(&["usage", "--json"]);
    let cleaned = project.json(&["clean", "--older-than", "0s", "--json"]);
    assert_eq!(cleaned["removed"].as_array().unwrap().len(), 2);
    assert_eq!(project.json(&["usage", "--json"]), before);
    transcript(&project, "agent-3", GOLDEN);
    let usage = project.json(&["usage", "--json", "--by", "agent"]);
    assert_eq!(rows(&usage, "agent")["Explore"], json!([2, 10620, 1.0]));
}
