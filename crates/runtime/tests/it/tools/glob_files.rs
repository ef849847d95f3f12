//! `glob_files`: paths by pattern, in one order.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use super::{Fixture, as_nobody};

fn fixture() -> Fixture {
    Fixture::with(&[
        (".gitignore", "target/\n*.log\n"),
        (".github/workflows/ci.yml", "x"),
        ("a.rs", "x"),
        ("a-b/z.rs", "x"),
        ("a/b.rs", "x"),
        ("a/c/d.rs", "x"),
        ("a/c/d.ts", "x"),
        ("a/c/e.tsx", "x"),
        ("a/x.log", "x"),
        ("nested/.gitignore", "*.rs\n!keep.rs\n"),
        ("nested/drop.rs", "x"),
        ("nested/keep.rs", "x"),
        ("target/t.rs", "x"),
    ])
}

fn glob(fixture: &Fixture, pattern: &str) -> Vec<String> {
    let text = fixture.text("glob_files", json!({"pattern": pattern}));
    text.lines().map(str::to_owned).collect()
}

#[test]
fn patterns_find_what_they_name() {
    let fixture = fixture();
    for (pattern, paths) in [
        ("*.rs", &["a/b.rs", "a/c/d.rs", "a-b/z.rs", "a.rs", "nested/keep.rs"][..]),
        ("**/*.rs", &["a/b.rs", "a/c/d.rs", "a-b/z.rs", "a.rs", "nested/keep.rs"]),
        ("a/**/*.rs", &["a/b.rs", "a/c/d.rs"]),
        ("a/*.rs", &["a/b.rs"]),
        ("a/b.rs", &["a/b.rs"]),
        ("./a/c/", &["a/c/d.rs", "a/c/d.ts", "a/c/e.tsx"]),
        ("a/**/*.{ts,tsx}", &["a/c/d.ts", "a/c/e.tsx"]),
        ("**/[de].*s", &["a/c/d.rs", "a/c/d.ts"]),
        (".github/**", &[".github/workflows/ci.yml"]),
        ("**/.github/**/*.yml", &[".github/workflows/ci.yml"]),
        ("target/*.rs", &["target/t.rs"]),
    ] {
        assert_eq!(glob(&fixture, pattern), paths, "{pattern}");
    }
    let absolute = format!("{}/a/*.rs", fixture.root().display());
    assert_eq!(glob(&fixture, &absolute), ["a/b.rs"]);
    let below = json!({"pattern": "*.rs", "path": "a/c"});
    assert_eq!(fixture.text("glob_files", below), "a/c/d.rs");
    let joined = json!({"pattern": "c/*.ts", "path": "a"});
    assert_eq!(fixture.text("glob_files", joined), "a/c/d.ts");
}

#[test]
fn finding_nothing_says_so() {
    let fixture = fixture();
    assert_eq!(
        glob(&fixture, "*.zig"),
        ["no files match *.zig in .", "[ignored files and .git are left out]"]
    );
    assert_eq!(
        glob(&fixture, "nestd/*.rs"),
        ["no files match nestd/*.rs: no such file or directory: nestd/; did you mean nested?"]
    );
    assert!(glob(&fixture, "x.log")[0].starts_with("no files match"));
}

#[test]
fn bad_requests_are_explained() {
    let fixture = fixture();
    for (arguments, message) in [
        (json!({"pattern": "a[b"}), "invalid glob `a[b`: unclosed character class; missing ']'"),
        (json!({"pattern": "../**/*.txt"}), "../ is outside the workspace"),
        (json!({"pattern": "/etc/*"}), "/etc/ is outside the workspace"),
        (json!({"pattern": "*", "path": "../secret"}), "../secret is outside the workspace"),
        (json!({"pattern": "*", "path": "a.rs"}), "path must be a directory; a.rs is a file"),
    ] {
        assert_eq!(fixture.error("glob_files", arguments), message);
    }
}

#[test]
fn links_count_as_the_files_they_lead_to() {
    let fixture = Fixture::with(&[("AGENTS.md", "x"), ("d/f.md", "x")]);
    fixture.link("CLAUDE.md", "AGENTS.md");
    fixture.link("out.md", "../secret/key.txt");
    fixture.link("dir.md", "d");
    fixture.link("gone.md", "none");
    fixture.fifo("pipe.md");
    assert_eq!(glob(&fixture, "*.md"), ["AGENTS.md", "CLAUDE.md", "d/f.md"]);
}

#[test]
fn many_files_are_counted_by_directory_and_kept_whole() {
    let fixture = Fixture::new();
    for number in 0..300 {
        let directory = if number < 250 { "big" } else { "small" };
        fixture.write(&format!("pkg/{directory}/{number:03}.rs"), "");
    }
    let first = fixture.call("glob_files", json!({"pattern": "**/*.rs"}));
    let lines: Vec<&str> = first.text.lines().collect();
    assert_eq!(lines.len(), 201);
    assert_eq!(lines[0], "pkg/big/000.rs");
    assert_eq!(lines[199], "pkg/big/199.rs");
    let remark = "[200 of 300 files shown; big/ 250, small/ 50; full text: ";
    assert!(lines[200].starts_with(remark), "{}", lines[200]);
    let whole = fs::read_to_string(&first.artifacts[0]).unwrap();
    assert_eq!(whole.lines().count(), 300);
    assert!(whole.ends_with("pkg/small/299.rs\n"));
    for _ in 0..10 {
        let again = fixture.call("glob_files", json!({"pattern": "**/*.rs"}));
        assert!(again.text.lines().take(200).eq(first.text.lines().take(200)));
    }
}

#[test]
fn a_directory_that_may_not_be_read_is_named() {
    let fixture = Fixture::with(&[("locked/x.rs", "x"), ("open/y.rs", "x")]);
    let locked = fixture.root().join("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let text = as_nobody(&fixture, || fixture.text("glob_files", json!({"pattern": "*.rs"})));
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(text, "open/y.rs\n[locked: permission denied]");
}
