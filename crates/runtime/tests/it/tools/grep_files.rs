//! `grep_files`: what matches, in one order, within bounds, and stopping when told.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Fixture, as_nobody, peak_memory_mb};

fn fixture() -> Fixture {
    Fixture::with(&[
        (".gitignore", "target/\n*.log\n"),
        (".hidden/h.rs", "needle\n"),
        ("a.rs", "fn a() {}\nlet needle = 1;\n// end\n"),
        ("b/c.py", "needle\nNeedle\nneedle needle\n"),
        ("b/d.rs", "nothing here\n"),
        ("b/trace.log", "needle\n"),
        ("nested/.gitignore", "skip.rs\n"),
        ("nested/skip.rs", "needle\n"),
        ("nested/take.rs", "needle\n"),
        ("target/t.rs", "needle\n"),
    ])
}

fn grep(fixture: &Fixture, arguments: Value) -> String {
    fixture.text("grep_files", arguments)
}

#[test]
fn lines_are_shown_under_their_files() {
    let fixture = fixture();
    assert_eq!(
        grep(&fixture, json!({"pattern": "needle"})),
        ".hidden/h.rs\n1:needle\n\na.rs\n2:let needle = 1;\n\nb/c.py\n1:needle\n3:needle needle\n\n\
         nested/take.rs\n1:needle"
    );
}

#[test]
fn files_and_counts_are_told_by_path() {
    let fixture = fixture();
    assert_eq!(
        grep(&fixture, json!({"pattern": "needle", "mode": "files"})),
        ".hidden/h.rs\na.rs\nb/c.py\nnested/take.rs"
    );
    assert_eq!(
        grep(&fixture, json!({"pattern": "needle", "mode": "count", "ignore_case": true})),
        ".hidden/h.rs:1\na.rs:1\nb/c.py:3\nnested/take.rs:1"
    );
}

#[test]
fn globs_types_and_paths_narrow_the_search() {
    let fixture = fixture();
    for (arguments, files) in [
        (json!({"glob": "*.rs"}), ".hidden/h.rs\na.rs\nnested/take.rs"),
        (json!({"glob": "!*.rs"}), "b/c.py"),
        (json!({"glob": "b/**"}), "b/c.py"),
        (json!({"glob": "*.{py,rs},!a.rs"}), ".hidden/h.rs\nb/c.py\nnested/take.rs"),
        (json!({"glob": "*.log"}), ""),
        (json!({"glob": ".hidden/*"}), ".hidden/h.rs"),
        (json!({"type": "rust"}), ".hidden/h.rs\na.rs\nnested/take.rs"),
        (json!({"type": "rs"}), ".hidden/h.rs\na.rs\nnested/take.rs"),
        (json!({"type": "py"}), "b/c.py"),
        (json!({"path": "b"}), "b/c.py"),
        (json!({"path": "b", "glob": "b/*.py"}), "b/c.py"),
        (json!({"path": "b/c.py"}), "b/c.py"),
        (json!({"path": "target"}), "target/t.rs"),
        (json!({"path": "b/trace.log"}), "b/trace.log"),
        (json!({"path": ".hidden"}), ".hidden/h.rs"),
    ] {
        let mut whole = json!({"pattern": "needle", "mode": "files"});
        for (name, value) in arguments.as_object().unwrap() {
            whole[name] = value.clone();
        }
        let text = grep(&fixture, whole);
        let found = if text.starts_with("no matches") { "" } else { &text };
        assert_eq!(found, files, "{arguments}");
    }
}

#[test]
fn finding_nothing_says_how_much_was_searched() {
    let fixture = fixture();
    assert_eq!(
        grep(&fixture, json!({"pattern": "absent"})),
        "no matches for absent in . (7 files searched; ignored files and .git are not)"
    );
}

#[test]
fn bad_requests_are_explained() {
    let fixture = fixture();
    let message = fixture.error("grep_files", json!({"pattern": "foo(bar"}));
    assert_eq!(
        message,
        "invalid pattern: regex parse error:\n    foo(bar\n       ^\nerror: unclosed group\n\
         To search for the text itself, set fixed_strings=true."
    );
    for (arguments, message) in [
        (json!({"pattern": "x", "type": "rusty"}), "unknown type rusty; did you mean rust?"),
        (
            json!({"pattern": "x", "type": "qqqqqq"}),
            "unknown type qqqqqq; use glob instead, e.g. *.ext",
        ),
        (
            json!({"pattern": "x", "glob": "{a"}),
            "invalid glob `{a`: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        ),
        (json!({"pattern": "x", "path": "../secret"}), "../secret is outside the workspace"),
        (
            json!({"pattern": "x", "path": "nestd"}),
            "no such file or directory: nestd; did you mean nested?",
        ),
    ] {
        assert_eq!(fixture.error("grep_files", arguments), message);
    }
    let literal = json!({"pattern": "a() {", "fixed_strings": true});
    assert_eq!(grep(&fixture, literal), "a.rs\n1:fn a() {}");
}

#[test]
fn context_is_merged_and_gaps_are_marked() {
    let text = "1\nneedle 2\n3\nneedle 4\n5\n6\n7\n8\nneedle 9\n";
    let fixture = Fixture::with(&[("f", text)]);
    assert_eq!(
        grep(&fixture, json!({"pattern": "needle", "context": 1})),
        "f\n1-1\n2:needle 2\n3-3\n4:needle 4\n5-5\n--\n8-8\n9:needle 9"
    );
    assert_eq!(
        grep(&fixture, json!({"pattern": "needle 4", "before": 2, "after": 1})),
        "f\n2-needle 2\n3-3\n4:needle 4\n5-5"
    );
    assert_eq!(
        grep(&fixture, json!({"pattern": "needle", "context": 1, "head_limit": 1})),
        "f\n1-1\n2:needle 2\n\
         [first 1 matching line, there are more: narrow the search or raise head_limit]"
    );
}

#[test]
fn matches_may_span_lines_if_asked() {
    let fixture = Fixture::with(&[("f", "struct A {\n  x: u8,\n}\nstruct B {}\n")]);
    assert_eq!(
        grep(&fixture, json!({"pattern": r"struct A \{.*?\}", "multiline": true})),
        "f\n1:struct A {\n2:  x: u8,\n3:}"
    );
    assert!(grep(&fixture, json!({"pattern": r"struct A \{.*?\}"})).starts_with("no matches"));
    let newline = json!({"pattern": r"u8,\n\}"});
    assert_eq!(grep(&fixture, newline), "f\n2:  x: u8,\n3:}");
    let count = json!({"pattern": r"\}\n", "mode": "count", "multiline": true});
    assert_eq!(grep(&fixture, count), "f:2");
    let all = Fixture::new();
    all.write("f", "x\n".repeat(100));
    let text = grep(&all, json!({"pattern": "x.*", "multiline": true}));
    assert!(text.ends_with("40:x\n… 60 more lines of this match"), "{text}");
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let fixture = Fixture::new();
    let line = format!("{}needle{}", "é".repeat(3_000_000), "ü".repeat(2_000_000));
    fixture.write("f", format!("short needle\n{line}\n"));
    let text = grep(&fixture, json!({"pattern": "needle"}));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "1:short needle");
    assert!(lines[2].starts_with("2:…é"), "{}", lines[2]);
    assert!(lines[2].contains("éneedleü"), "{}", lines[2]);
    assert!(lines[2].ends_with("ü… [line of 10000006 bytes]"), "{}", lines[2]);
    assert!(lines[2].len() < 460, "{}", lines[2].len());
    assert!(!text.contains('\u{fffd}'));
}

#[test]
fn binary_files_are_left_out_unless_named() {
    let fixture = Fixture::with(&[("t.txt", "needle\n")]);
    fixture.write("early.bin", b"\0\0needle\n");
    let late = ["needle\n", &"filler\n".repeat(20_000), "\0needle\n"].concat();
    fixture.write("late.bin", &late);
    // As with `rg -l`: the first match ends the search, before the file can be known for what it is.
    assert_eq!(grep(&fixture, json!({"pattern": "needle", "mode": "files"})), "late.bin\nt.txt");
    assert_eq!(grep(&fixture, json!({"pattern": "needle"})), "t.txt\n1:needle");
    for path in ["early.bin", "late.bin"] {
        assert_eq!(
            grep(&fixture, json!({"pattern": "needle", "path": path})),
            format!("{path}: binary file matches")
        );
    }
    let absent = grep(&fixture, json!({"pattern": "absent", "path": "early.bin"}));
    assert!(absent.starts_with("no matches"), "{absent}");
}

#[test]
fn text_in_other_encodings_is_searched() {
    let fixture = Fixture::new();
    fixture.write("latin", b"caf\xe9 needle\n");
    let mut utf16 = vec![0xff, 0xfe];
    utf16.extend("the needle\n".encode_utf16().flat_map(u16::to_le_bytes));
    fixture.write("wide", utf16);
    assert_eq!(
        grep(&fixture, json!({"pattern": "needle"})),
        "latin\n1:caf\u{fffd} needle\n\nwide\n1:the needle"
    );
}

#[test]
fn the_same_search_gives_the_same_answer_whatever_its_limit() {
    let fixture = Fixture::new();
    for number in 0..400 {
        let directory = number % 7;
        fixture.write(
            &format!("d{directory}/sub-{}/f{number}.txt", number % 3),
            "needle\n".repeat(number % 5),
        );
    }
    for mode in ["content", "files", "count"] {
        let search = |limit: usize| {
            let arguments = json!({"pattern": "needle", "mode": mode, "head_limit": limit});
            grep(&fixture, arguments)
        };
        let whole = search(2000);
        assert!(!whole.contains("there are more"));
        for limit in [1, 2, 10, 50, 100] {
            let first = search(limit);
            let (rows, remark) = first.rsplit_once('\n').unwrap();
            assert!(whole.starts_with(rows), "{mode} {limit}: {rows}");
            assert!(remark.starts_with("[first "), "{remark}");
            let shown = rows.lines().filter(|row| mode != "content" || row.contains(':'));
            assert_eq!(shown.count(), limit);
            for _ in 0..5 {
                assert_eq!(search(limit), first);
            }
        }
    }
}

#[test]
fn exactly_as_many_as_the_limit_is_not_more() {
    let fixture = Fixture::with(&[("a", "needle\nneedle\n"), ("b", "needle\n")]);
    let text = grep(&fixture, json!({"pattern": "needle", "head_limit": 3}));
    assert_eq!(text, "a\n1:needle\n2:needle\n\nb\n1:needle");
}

#[test]
fn links_are_not_followed() {
    let fixture = Fixture::with(&[("a", "SECRET inside\n")]);
    fixture.link("file", "../secret/key.txt");
    fixture.link("directory", "../secret");
    fixture.link("loop", ".");
    fixture.fifo("pipe");
    assert_eq!(grep(&fixture, json!({"pattern": "SECRET"})), "a\n1:SECRET inside");
}

#[test]
fn what_may_not_be_read_is_named() {
    let fixture = Fixture::with(&[("a", "needle\n"), ("b", "needle\n"), ("locked/c", "needle\n")]);
    for path in ["b", "locked"] {
        let path = fixture.root().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let text = as_nobody(&fixture, || grep(&fixture, json!({"pattern": "needle"})));
    let locked = fixture.root().join("locked");
    fs::set_permissions(locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        text,
        "a\n1:needle\n[b not searched: permission denied; locked not searched: permission denied]"
    );
}

/// A file that takes minutes to search: a terabyte of nothing.
fn endless(fixture: &Fixture) -> Value {
    let file = File::create(fixture.root().join("big")).unwrap();
    file.set_len(1 << 40).unwrap();
    json!({"pattern": "needle", "path": "big"})
}

/// Whether this process has the file open.
fn is_open(path: &std::path::Path) -> bool {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file == path)
}

#[test]
fn a_search_stops_in_the_middle_of_a_file() {
    let fixture = Fixture::new();
    let arguments = endless(&fixture);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let output = runtime.block_on(async {
        let stop = async {
            while !is_open(&fixture.root().join("big")) {
                tokio::task::yield_now().await;
            }
            fixture.context.cancel.cancel();
        };
        tokio::join!(fixture.tool("grep_files").call(arguments, &fixture.context), stop).0
    });
    assert_eq!(output.text, "cancelled");
    assert!(output.is_error);
    // Dropping the runtime waits for a search that goes on.
    drop(runtime);
    assert!(!is_open(&fixture.root().join("big")));
}

#[test]
fn a_search_that_nobody_waits_for_stops() {
    let fixture = Fixture::new();
    let arguments = endless(&fixture);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let call = fixture.tool("grep_files").call(arguments, &fixture.context);
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
    });
    // Dropping the runtime waits for what still runs.
    drop(runtime);
    assert!(!is_open(&fixture.root().join("big")));
    assert!(!fixture.context.cancel.is_cancelled());
}

#[test]
fn a_cancelled_search_does_not_wait_for_its_turn() {
    let fixture = fixture();
    fixture.context.cancel.cancel();
    assert_eq!(fixture.error("grep_files", json!({"pattern": "x"})), "cancelled");
}

#[test]
fn a_huge_line_is_passed_over_and_said() {
    let fixture = Fixture::with(&[("a", "needle\n")]);
    fixture.write("huge", vec![b'x'; 100 << 20]);
    let text = grep(&fixture, json!({"pattern": "needle"}));
    assert!(text.starts_with("a\n1:needle\n[huge not searched: "), "{text}");
    assert!(peak_memory_mb() < 500, "{} MB", peak_memory_mb());
}
