//! What a hostile project or model gives a search: it is bounded, and the rest of the search works.

use std::fmt::Write as _;

use serde_json::json;

use super::{Fixture, peak_memory_mb};

fn braces(depth: usize) -> String {
    "{a,".repeat(depth) + &"}".repeat(depth)
}

#[test]
fn a_deep_or_long_glob_is_an_error() {
    let fixture = Fixture::with(&[("a.rs", "needle\n")]);
    for glob in [braces(10_000), "{".repeat(17), "x".repeat(100_000), "a,".repeat(100_000)] {
        for (tool, key) in [("glob_files", "pattern"), ("grep_files", "glob")] {
            let mut arguments = json!({"pattern": "needle"});
            arguments[key] = json!(glob);
            let output = fixture.call(tool, arguments);
            assert!(output.text.len() < 1000, "{tool}: {} bytes", output.text.len());
            // Many short globs are allowed in a list that is short enough.
            let shown: String = glob.chars().take(9).collect();
            assert!(output.text.contains(&shown), "{tool}: {}", output.text);
            assert!(output.is_error, "{tool}: {}", output.text);
        }
    }
}

#[test]
fn a_deep_or_long_pattern_is_an_error() {
    let fixture = Fixture::with(&[("a.rs", "needle\n")]);
    for pattern in ["(".repeat(20_000), "(".repeat(5000), "[".repeat(5000), "a".repeat(100_000)] {
        let error = fixture.error("grep_files", json!({"pattern": pattern}));
        assert!(error.len() < 20_000, "{}", error.len());
    }
}

#[test]
fn a_bad_ignore_rule_is_skipped_alone() {
    let fixture = Fixture::with(&[
        ("kept.txt", "needle\n"),
        ("log.tmp", "needle\n"),
        ("last.out", "needle\n"),
    ]);
    let rules = format!("*.tmp\n{}\n{{a,b\n*.out\n", braces(10_000));
    fixture.write(".gitignore", rules);
    let notice = "line 2 of .gitignore is skipped: it has 40000 bytes; the maximum is 4096; \
                  line 3 of .gitignore is skipped: it is not a valid glob";
    let text = fixture.text("grep_files", json!({"pattern": "needle", "mode": "files"}));
    assert_eq!(text, format!("kept.txt\n[{notice}]"));
    let text = fixture.text("glob_files", json!({"pattern": "*.*t*"}));
    assert_eq!(text, format!(".gitignore\nkept.txt\n[{notice}]"));
    let text = fixture.text("list_dir", json!({}));
    assert!(text.ends_with(&format!("[2 entries hidden by .gitignore; {notice}]")), "{text}");
    fixture.write(".gitignore", format!("{}\n*.tmp\n", braces(500)));
    let text = fixture.text("glob_files", json!({"pattern": "*.{tmp,out}"}));
    assert_eq!(
        text,
        "last.out\n[line 1 of .gitignore is skipped: its braces nest deeper than 16 levels]"
    );
}

#[test]
fn many_bad_rules_make_few_notices() {
    let fixture = Fixture::with(&[("a.txt", "needle\n")]);
    for folder in 0..10 {
        fixture.write(&format!("f{folder}/.gitignore"), "{\n".repeat(1000));
    }
    let text = fixture.text("grep_files", json!({"pattern": "needle"}));
    assert!(text.starts_with("a.txt\n1:needle\n["), "{text}");
    assert!(text.ends_with("27 more notices about ignore files]"), "{text}");
}

#[test]
fn an_ignore_file_that_is_a_pipe_or_a_device_hides_nothing_and_hangs_nothing() {
    let fixture = Fixture::with(&[("a/x.rs", "needle\n"), ("c/z.rs", "needle\n")]);
    fixture.fifo("a/.gitignore");
    fixture.link("c/.ignore", "/dev/zero");
    let notice = "[a/.gitignore is not used: it is not a regular file; c/.ignore is not used: it \
                  leads outside]";
    let found = fixture.text("glob_files", json!({"pattern": "**/*.rs"}));
    assert_eq!(found, format!("a/x.rs\nc/z.rs\n{notice}"));
    let listed = fixture.text("list_dir", json!({"depth": 2}));
    assert!(listed.contains("x.rs") && listed.ends_with(notice), "{listed}");
    let inside = fixture.text("grep_files", json!({"pattern": "needle", "path": "a"}));
    assert!(inside.starts_with("a/x.rs\n1:needle"), "{inside}");
}

#[test]
fn a_huge_ignore_file_takes_little_memory() {
    let fixture = Fixture::with(&[("kept.txt", "needle\n"), ("first.txt", "needle\n")]);
    let mut rules = "first.*\n".to_owned();
    while rules.len() < 4 << 20 {
        let line = rules.len();
        writeln!(rules, "a*{line}?b*[c-x]{{d,e}}").unwrap();
    }
    fixture.write(".gitignore", &rules);
    for folder in 0..3 {
        fixture.write(&format!("f{folder}/.gitignore"), &rules);
        fixture.write(&format!("f{folder}/kept.txt"), "needle\n");
    }
    let before = peak_memory_mb();
    let text = fixture.text("grep_files", json!({"pattern": "needle", "mode": "files"}));
    assert!(text.contains("kept.txt") && !text.contains("first.txt"), "{text}");
    assert!(text.contains("only the first 2000 rules of .gitignore are used"), "{text}");
    let used = peak_memory_mb() - before;
    assert!(used < 100, "{used} MB");
}

#[test]
fn a_pattern_with_many_states_takes_little_memory() {
    let fixture = Fixture::new();
    let words: String = (0..20_000_u32)
        .map(|word| {
            let letters = word.wrapping_mul(2_654_435_761);
            (0..8).map(|at| char::from(b'a' + (letters >> (at * 4) & 7) as u8)).collect::<String>()
        })
        .collect();
    fixture.write("words.txt", words);
    let before = peak_memory_mb();
    fixture.call("grep_files", json!({"pattern": "\\w*a\\w{30}c"}));
    let used = peak_memory_mb() - before;
    assert!(used < 100, "{used} MB");
    let error = fixture.error("grep_files", json!({"pattern": "\\w{5000}\\w{5000}"}));
    assert!(error.contains("too large") && error.contains("instead of \\w"), "{error}");
}

#[test]
fn hidden_files_are_searched_but_git_is_not() {
    let fixture = Fixture::with(&[
        (".github/workflows/ci.yml", "needle\n"),
        (".env", "needle\n"),
        (".git/config", "needle\n"),
        (".git/info/exclude", "*.bak\n"),
        ("old.bak", "needle\n"),
        ("sub/.git", "gitdir: needle\n"),
    ]);
    let text = fixture.text("grep_files", json!({"pattern": "needle", "mode": "files"}));
    assert_eq!(text, ".env\n.github/workflows/ci.yml");
    let text = fixture.text("glob_files", json!({"pattern": "**/*"}));
    assert_eq!(text, ".env\n.github/workflows/ci.yml");
    let text = fixture.text("list_dir", json!({"depth": 3}));
    assert!(text.contains("ci.yml") && !text.contains("exclude"), "{text}");
    let text = fixture.text("grep_files", json!({"pattern": "needle", "path": ".git"}));
    assert!(text.contains(".git/config"), "asked for by name: {text}");
}

#[test]
fn rules_above_the_place_searched_count() {
    let fixture = Fixture::with(&[
        ("a/b/x.log", "needle\n"),
        ("a/b/y.rs", "needle\n"),
        ("a/.gitignore", "*.log\n"),
        ("a/repo/.git/HEAD", "ref\n"),
        ("a/repo/z.log", "needle\n"),
        ("a/repo/.ignore", "!q.tmp\n"),
        ("a/repo/q.tmp", "needle\n"),
        (".ignore", "*.tmp\n"),
    ]);
    let text = |path: &str| {
        fixture.text("grep_files", json!({"pattern": "needle", "mode": "files", "path": path}))
    };
    assert_eq!(text("a/b"), "a/b/y.rs");
    // Git's rules end where a repository begins; those of `.ignore` go on, and the nearest wins.
    assert_eq!(text("a/repo"), "a/repo/q.tmp\na/repo/z.log");
    assert_eq!(text("."), "a/b/y.rs\na/repo/q.tmp\na/repo/z.log");
}

#[test]
fn a_deep_tree_is_searched_to_its_end() {
    let fixture = Fixture::new();
    let deep = format!("{}/x.rs", vec!["d"; 500].join("/"));
    fixture.write(&deep, "needle\n");
    let text = fixture.text("grep_files", json!({"pattern": "needle", "mode": "files"}));
    assert_eq!(text, deep);
}

#[test]
fn a_flat_directory_is_searched_whole() {
    let fixture = Fixture::new();
    for file in 0..1000 {
        fixture.write(&format!("flat/{file:04}.txt"), "needle\n");
    }
    for _ in 0..10 {
        let text = fixture
            .text("grep_files", json!({"pattern": "needle", "mode": "files", "head_limit": 2000}));
        assert_eq!(text.lines().count(), 1000);
    }
}
