//! `list_dir`: a tree, sorted, bounded, without what `.gitignore` names.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use super::{Fixture, as_nobody};

#[test]
fn directories_come_first_and_files_have_sizes() {
    let fixture =
        Fixture::with(&[("b.txt", "12345"), ("A.txt", ""), ("z/y/x.rs", "1"), ("c/d", "1")]);
    assert_eq!(fixture.text("list_dir", json!({})), "c/\nz/\nA.txt  0 B\nb.txt  5 B");
    assert_eq!(
        fixture.text("list_dir", json!({"depth": 3})),
        "c/\n  d  1 B\nz/\n  y/\n    x.rs  1 B\nA.txt  0 B\nb.txt  5 B"
    );
    assert_eq!(fixture.text("list_dir", json!({"path": "z", "depth": 2})), "y/\n  x.rs  1 B");
    assert_eq!(fixture.text("list_dir", json!({"depth": 0})), "c/\nz/\nA.txt  0 B\nb.txt  5 B");
}

#[test]
fn ignored_entries_are_left_out_and_counted() {
    let fixture = Fixture::with(&[
        (".gitignore", "target/\n*.log\n"),
        (".env", "x"),
        (".git/config", "x"),
        ("a.log", "x"),
        ("target/big", "x"),
        ("sub/.gitignore", "!keep.log\ntmp\n"),
        ("sub/keep.log", "x"),
        ("sub/other.log", "x"),
        ("sub/tmp", "x"),
    ]);
    assert_eq!(
        fixture.text("list_dir", json!({"depth": 2})),
        ".git/\nsub/\n  .gitignore  14 B\n  keep.log  1 B\n.env  1 B\n.gitignore  14 B\n\
         [4 entries hidden by .gitignore]"
    );
    assert_eq!(
        fixture.text("list_dir", json!({"path": "sub"})),
        ".gitignore  14 B\nkeep.log  1 B\n[2 entries hidden by .gitignore]"
    );
    assert_eq!(fixture.text("list_dir", json!({"path": "target"})), "big  1 B");
}

#[test]
fn links_are_shown_and_not_followed() {
    let fixture = Fixture::with(&[("a/f", "x")]);
    fixture.link("out", "../secret");
    fixture.link("in", "a");
    fixture.link("loop", "loop");
    fixture.fifo("pipe");
    assert_eq!(
        fixture.text("list_dir", json!({"depth": 5})),
        "a/\n  f  1 B\nin -> a\nloop -> loop\nout -> ../secret\npipe  (FIFO)"
    );
    assert_eq!(fixture.error("list_dir", json!({"path": "out"})), "out is outside the workspace");
}

#[test]
fn odd_names_stay_on_one_line() {
    use std::os::unix::ffi::OsStringExt as _;
    let fixture = Fixture::with(&[("new\nline", "x")]);
    let name = std::ffi::OsString::from_vec(b"caf\xe9".to_vec());
    fs::write(fixture.root().join(name), "x").unwrap();
    assert_eq!(fixture.text("list_dir", json!({})), "caf\u{fffd}  1 B\nnew\\nline  1 B");
}

#[test]
fn a_bound_leaves_out_the_deepest_first_and_keeps_the_rest_as_an_artifact() {
    let fixture = Fixture::with(&[("z.txt", "x"), ("last/x", "x")]);
    for number in 0..700 {
        fixture.write(&format!("many/{number:03}"), "");
    }
    let output = fixture.call("list_dir", json!({"depth": 2}));
    let lines: Vec<&str> = output.text.lines().collect();
    assert_eq!(lines[0], "last/");
    assert_eq!(lines[1], "  x  1 B");
    assert_eq!(lines[2], "many/");
    assert_eq!(lines[498], "  495  0 B");
    assert_eq!(lines[499], "  … 204 more");
    assert_eq!(lines[500], "z.txt  1 B");
    assert!(lines[501].starts_with("[500 of 704 entries shown; full text: "), "{}", lines[501]);
    let whole = fs::read_to_string(&output.artifacts[0]).unwrap();
    assert_eq!(whole.lines().count(), 704);
}

#[test]
fn files_and_missing_directories_are_explained() {
    let fixture = Fixture::with(&[("a.txt", "x")]);
    fs::create_dir(fixture.root().join("empty")).unwrap();
    assert_eq!(fixture.text("list_dir", json!({"path": "empty"})), "empty is empty");
    assert_eq!(
        fixture.error("list_dir", json!({"path": "a.txt"})),
        "a.txt is a file, not a directory; use read_file"
    );
    assert_eq!(
        fixture.error("list_dir", json!({"path": "emty"})),
        "no such file or directory: emty; did you mean empty?"
    );
}

#[test]
fn a_directory_that_may_not_be_read_does_not_hide_the_others() {
    let fixture = Fixture::with(&[("locked/x", "x"), ("open/y", "x")]);
    let locked = fixture.root().join("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let text = as_nobody(&fixture, || fixture.text("list_dir", json!({"depth": 2})));
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(text, "locked/\nopen/\n  y  1 B\n[locked: permission denied]");
}
