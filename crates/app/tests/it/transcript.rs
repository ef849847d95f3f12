//! `attache transcript`.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
};

use attache_testkit::{other_writer::OtherWriter, project::TestProject};

use crate::project;

const GOLDEN: &str = include_str!("../../../kernel/tests/it/golden/transcript.jsonl");
const ID: &str = "agent-7f9c2d1e";

fn write(project: &TestProject, id: &str, content: &str) -> PathBuf {
    let content = content.replacen(ID, id, 1);
    project.file(&format!("~/.attache/sessions/0198a3c4/{id}.jsonl"), content)
}

/// The first lines of the golden transcript.
fn lines(number: usize) -> String {
    GOLDEN.split_inclusive('\n').take(number).collect()
}

#[test]
fn a_run_is_shown_for_people() {
    let project = project();
    write(&project, ID, GOLDEN);
    for id in [ID, "agent-7f", "last"] {
        let ran = project.run(&["transcript", id]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        for part in [
            "Explore agent-7f9c2d1e (completed)",
            "Where is the tool filter?",
            "gpt-5 on openai (chosen by: definition)",
            "2026-11-05 10:00:00 UTC",
            "shell: the agent is not trusted",
            "~/.attache/sessions/0198a3c4/agent-7f9c2d1e.jsonl",
            "Turn 1/30",
            "  I look for it.\n",
            "900 ms · 2,550 tokens in (1,950 cached) · 105 out · $0.2500",
            "  → grep_files \"ToolFilter\"  42 ms\n",
            "    src/tool_filter.rs:12: pub struct ToolFilter\n",
            "the full output: /work/.attache/full.txt",
            "Turn 2/30",
            "goal: 2 turns, 1.9 s, 1 call, 5,310 tokens, $0.5000\n\nIn `src/tool_filter.rs`, line 12.\n",
        ] {
            assert!(ran.stdout.contains(part), "{part:?} is not in\n{}", ran.stdout);
        }
        assert!(!ran.stdout.contains("A search will do."), "thinking is for --full");
    }
}

#[test]
fn full_shows_thinking_prompts_and_whole_results() {
    let project = project();
    let long = "src/tool_filter.rs:12: pub struct ToolFilter\\nsecond line\\nthird line";
    let content = GOLDEN.replace("src/tool_filter.rs:12: pub struct ToolFilter", long);
    write(&project, ID, &content);
    let brief = project.run(&["transcript", ID]).stdout;
    assert!(brief.contains("pub struct ToolFilter (+2 lines)\n") && !brief.contains("third line"));
    let full = project.run(&["transcript", ID, "--full"]).stdout;
    for part in ["A search will do.", "third line", "You explore /work."] {
        assert!(full.contains(part), "{part:?} is not in\n{full}");
    }
}

#[test]
fn json_prints_the_lines_as_they_are() {
    let project = project();
    write(&project, ID, &format!("{GOLDEN}{{\"type\":\"eve"));
    let ran = project.run(&["transcript", ID, "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), GOLDEN));
}

#[test]
fn a_run_that_was_cut_off_says_so() {
    let project = project();
    write(&project, ID, &lines(6));
    let ran = project.run(&["transcript", ID]);
    assert_eq!(ran.code, Some(0));
    for part in ["(interrupted)", "→ grep_files \"ToolFilter\"  no answer yet", "--resume"] {
        assert!(ran.stdout.contains(part), "{part:?} is not in\n{}", ran.stdout);
    }
}

#[test]
fn what_models_and_tools_write_cannot_steer_the_terminal() {
    let project = project();
    let hostile = "\\u001b[2J\\u001b]0;title\\u0007I look\\u202e for it.";
    write(&project, ID, &GOLDEN.replace("I look for it.", hostile));
    let shown = project.run(&["transcript", ID, "--full"]).stdout;
    assert!(shown.contains("I look\\u202e for it."), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']));
}

#[test]
fn an_unknown_id_names_the_nearest_and_the_newest() {
    let project = project();
    let ran = project.run(&["transcript", "last"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("there are no transcripts yet"));
    write(&project, ID, GOLDEN);
    write(&project, "agent-7f9caaaa", GOLDEN);
    for id in ["agent-7f9c2d1x", "../../etc/passwd", ""] {
        let ran = project.run(&["transcript", id]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{id}");
        assert!(ran.stderr.contains(ID), "{}", ran.stderr);
    }
    let ran = project.run(&["transcript", "agent-7f9c"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("give more of the id: agent-7f9c2d1e, agent-7f9caaaa"));
}

#[test]
fn a_damaged_transcript_is_an_error_with_its_line() {
    let project = project();
    write(&project, ID, &format!("{}nonsense\n{}", lines(2), lines(3)));
    let ran = project.run(&["transcript", ID]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("line 3 of"), "{}", ran.stderr);
    assert_eq!(project.run(&["transcript", ID, "--json"]).code, Some(0));
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn follow_goes_on_until_the_run_ends() {
    let project = project();
    let golden: Vec<&str> = GOLDEN.split_inclusive('\n').collect();
    for options in [&["--follow"][..], &["--follow", "--json"]] {
        let path = write(&project, ID, &lines(4));
        let writer = OtherWriter::holding(&path);
        let arguments = [&["transcript", ID], options].concat();
        let mut child = project.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        let mut until = |word: &str| {
            while !seen.contains(word) {
                assert!(output.read_line(&mut seen).unwrap() > 0, "it ended too early: {seen}");
            }
        };
        let json = options.len() == 2;
        until(if json { "turn_started" } else { "Turn 1/30" });
        // A line that comes in two parts is shown once it is whole.
        let (first, second) = golden[4].split_at(100);
        append(&path, first);
        append(&path, second);
        until("I look for it.");
        append(&path, &golden[5..].concat());
        output.read_to_string(&mut seen).unwrap();
        assert!(child.wait().unwrap().success());
        if json {
            assert_eq!(seen, GOLDEN);
        } else {
            assert!(seen.contains("(running)") && seen.contains("goal: 2 turns"), "{seen}");
        }
        writer.end();
    }
}

#[test]
fn following_a_run_that_is_over_shows_it() {
    let project = project();
    write(&project, ID, GOLDEN);
    let followed = project.run(&["transcript", ID, "--follow"]);
    assert_eq!(followed.stdout, project.run(&["transcript", ID]).stdout);
}

#[test]
fn what_a_resumed_run_goes_on_from_is_no_open_call() {
    let project = project();
    let earlier = r#"{"role":"assistant","content":[{"type":"tool_call","call":{"id":"old","name":"list_dir","arguments":"{}"}}]},{"role":"tool","results":[{"call_id":"old","text":"src/"}]},{"role":"user""#;
    let content = lines(4).replacen(r#"{"role":"user""#, earlier, 1);
    write(&project, ID, &content);
    let shown = project.run(&["transcript", ID, "--full"]).stdout;
    assert!(shown.contains("  → list_dir {}\n    src/\n"), "{shown}");
    assert!(!shown.contains("no answer yet"), "{shown}");
}

#[test]
fn images_are_named_and_their_bytes_are_not_printed() {
    let project = project();
    let images = r#""is_error":false,"images":[{"media_type":"image/png","data":"aVZCT1J3MEtHZ28"}],"artifacts""#;
    let content = GOLDEN.replacen(r#""is_error":false,"artifacts""#, images, 1);
    assert_ne!(content, GOLDEN);
    write(&project, ID, &content);
    for options in [&[][..], &["--full"]] {
        let shown = project.run(&[&["transcript", ID], options].concat()).stdout;
        assert!(shown.contains("    [image/png]\n"), "{shown}");
        assert!(!shown.contains("aVZCT1J3MEtHZ28"), "{shown}");
    }
}

#[test]
fn what_went_to_make_room_is_told_in_a_line() {
    let project = project();
    let event = |seq: u32, event: &str| {
        format!(
            "{{\"type\":\"event\",\"seq\":{seq},\"ts\":\"\",\"at_ms\":999,\"event\":{event}}}\n"
        )
    };
    let content = lines(8)
        + &event(8, r#"{"type":"compacted","call_ids":["call_1"],"freed_bytes":44}"#)
        + &event(
            9,
            r#"{"type":"summary_requested","messages":4,"message":{"role":"user","content":[{"type":"text","text":"Sum it up."}]}}"#,
        )
        + &event(
            10,
            r#"{"type":"replied","message":{"role":"assistant","content":[{"type":"text","text":"All of it."},{"type":"tool_call","call":{"id":"z","name":"shell","arguments":"{}"}}]},"verdicts":[{"type":"answer","text":"no"}],"stop":"end_turn","usage":{"input_tokens":7},"cost_usd":null}"#,
        )
        + &event(
            11,
            r#"{"type":"compacted","kind":"summarised","summary":"All of it.","messages_replaced":2,"freed_bytes":2048}"#,
        )
        + &event(12, r#"{"type":"compacted","kind":"dropped","turns_dropped":3,"freed_bytes":10}"#);
    write(&project, ID, &content);
    let shown = project.run(&["transcript", ID]).stdout;
    let expected = "  1 old result cut down, 44 B freed\n  a summary is requested\n  All of it.\n  \
        0 ms · 7 tokens in · 0 out\n  the summary replaces 2 messages, 2.0 KB freed\n  \
        3 old turns dropped, 10 B freed\n";
    assert!(shown.contains(expected), "{shown}");
    assert!(!shown.contains("no answer yet"), "{shown}");
}

#[test]
fn follow_ends_when_the_writer_is_gone() {
    let project = project();
    let path = write(&project, ID, &lines(6));
    let writer = OtherWriter::holding(&path);
    let mut child =
        project.command(&["transcript", ID, "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("Turn 1/30") {
        assert!(output.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    writer.end();
    output.read_to_string(&mut seen).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(seen.contains("interrupted: it was cut off"), "{seen}");
}

#[test]
fn a_file_of_many_megabytes_is_shown() {
    let project = project();
    let long = "x".repeat(5 << 20);
    let path = write(&project, ID, &GOLDEN.replace("In `src/tool_filter.rs`, line 12.", &long));
    assert!(File::open(&path).unwrap().metadata().unwrap().len() > 10 << 20);
    assert!(project.run(&["transcript", ID]).stdout.contains(&long));
    fs::remove_file(path).unwrap();
}

#[test]
fn what_was_searched_for_is_shown_in_words() {
    let project = project();
    project.file("a.txt", "zebra\n");
    assert_eq!(project.run(&["run", "Explore", "where is the zebra"]).code, Some(0));
    let shown = project.run(&["transcript", "last"]).stdout;
    let searches: Vec<&str> = shown.lines().filter(|line| line.contains("→ grep_files")).collect();
    assert!(searches.iter().any(|line| line.contains("→ grep_files \"zebra\"")), "{shown}");
    assert!(searches.iter().all(|line| !line.contains("\\b")), "{shown}");
    let full = project.run(&["transcript", "last", "--full"]).stdout;
    assert!(full.contains("\"pattern\""), "{full}");
}
