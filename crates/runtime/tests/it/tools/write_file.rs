//! `write_file`: whole files, put in place at once.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use super::Fixture;

#[test]
fn a_file_that_was_never_read_is_not_replaced() {
    let fixture = Fixture::with(&[("a.txt", "precious\n")]);
    let error = fixture.error("write_file", json!({"path": "a.txt", "content": "x"}));
    assert!(error.contains("you have not read it; read it first"), "{error}");
    assert_eq!(fixture.content("a.txt"), "precious\n");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_replaced() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    fixture.text("read_file", json!({"path": "a.txt"}));
    fixture.write("a.txt", "one\ntwo\nthree\n");
    for (tool, arguments) in [
        ("write_file", json!({"path": "a.txt", "content": "x"})),
        ("edit_file", json!({"path": "a.txt", "old_string": "one", "new_string": "x"})),
    ] {
        let error = fixture.error(tool, arguments);
        let expected = "a.txt changed since you read it (1 line then, 3 now); read it again before \
                        you change it. What changed:\n@@ -1 +1,3 @@\n one\n+two\n+three";
        assert_eq!(error, expected);
    }
    assert_eq!(fixture.content("a.txt"), "one\ntwo\nthree\n");
    fixture.text("read_file", json!({"path": "a.txt"}));
    fixture.text("write_file", json!({"path": "a.txt", "content": "x"}));
    assert_eq!(fixture.content("a.txt"), "x");
}

/// A file that was only touched, or written again with the same content, is the same file.
#[test]
fn the_same_content_is_no_change() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    fixture.text("read_file", json!({"path": "a.txt"}));
    fs::remove_file(fixture.root().join("a.txt")).unwrap();
    fixture.write("a.txt", "one\n");
    fixture.text("write_file", json!({"path": "a.txt", "content": "two\n"}));
    assert_eq!(fixture.content("a.txt"), "two\n");
}

#[test]
fn a_large_file_that_was_read_in_parts_may_be_replaced() {
    let long = "line\n".repeat(30_000);
    let fixture = Fixture::with(&[("long.txt", &long)]);
    fixture.text("read_file", json!({"path": "long.txt"}));
    fixture.text("write_file", json!({"path": "long.txt", "content": "short\n"}));
    assert_eq!(fixture.content("long.txt"), "short\n");
    fixture.write("long.txt", &long);
    let error = fixture.error("write_file", json!({"path": "long.txt", "content": "x"}));
    assert!(error.contains("changed since you read it (1 line then, 30000 now)"), "{error}");
    assert!(error.ends_with("more lines") && error.len() < 3000, "{error}");
}

#[test]
fn a_new_file_gets_its_directories() {
    let fixture = Fixture::new();
    let said = fixture.text("write_file", json!({"path": "a/b/c.txt", "content": "one\ntwo\n"}));
    assert_eq!(said, "created a/b/c.txt (2 lines)");
    assert_eq!(fixture.content("a/b/c.txt"), "one\ntwo\n");
    assert_eq!(fixture.names("a/b"), ["c.txt"]);
    let absolute = fixture.root().join("d.txt");
    fixture.text("write_file", json!({"file_path": absolute, "content": ""}));
    assert_eq!(fixture.content("d.txt"), "");
    // A file without content has nothing to lose.
    fixture.text("write_file", json!({"path": "d.txt", "content": "x\n"}));
}

#[test]
fn what_was_written_may_be_written_again() {
    let fixture = Fixture::new();
    fixture.text("write_file", json!({"path": "a.txt", "content": "one\ntwo\n"}));
    let said = fixture.text("write_file", json!({"path": "a.txt", "content": "one\n2\n"}));
    assert_eq!(said, "changed a.txt (+1 -1)\n@@ -1,2 +1,2 @@\n one\n-two\n+2");
    let error = fixture.error("write_file", json!({"path": "a.txt", "content": "one\n2\n"}));
    assert_eq!(error, "a.txt has exactly this content already");
}

#[test]
fn permissions_stay_and_the_content_is_exact() {
    let fixture = Fixture::with(&[("run.sh", "#!/bin/sh\n")]);
    let path = fixture.root().join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    fixture.text("read_file", json!({"path": "run.sh"}));
    fixture.text("write_file", json!({"path": "run.sh", "content": "a\r\nb"}));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(fixture.content("run.sh"), "a\r\nb");
    assert_eq!(fixture.names("."), ["run.sh"]);
}

#[test]
fn a_link_inside_the_workspace_stays_and_its_target_is_written() {
    let fixture = Fixture::with(&[("real/a.txt", "old\n")]);
    fixture.link("link.txt", "real/a.txt");
    fixture.link("dir", "real");
    fixture.text("read_file", json!({"path": "link.txt"}));
    let said = fixture.text("write_file", json!({"path": "link.txt", "content": "new\n"}));
    assert!(said.starts_with("changed real/a.txt"), "{said}");
    assert!(fs::symlink_metadata(fixture.root().join("link.txt")).unwrap().is_symlink());
    assert_eq!(fixture.content("real/a.txt"), "new\n");
    fixture.text("write_file", json!({"path": "dir/b.txt", "content": "b\n"}));
    assert_eq!(fixture.content("real/b.txt"), "b\n");
}

#[test]
fn a_wrong_argument_is_named() {
    let fixture = Fixture::new();
    for (arguments, expected) in [
        (json!({"path": "a"}), "parameter `content` (a string) is required"),
        (json!({"content": "a"}), "parameter `path` (a string) is required"),
        (json!({"path": "a", "content": {"a": 1}}), "`content` must be a string, not an object"),
        (json!({"path": "a", "content": "", "mode": 1}), "unknown parameter `mode`"),
    ] {
        let error = fixture.error("write_file", arguments);
        assert!(error.contains(expected), "{error}");
    }
    assert!(fixture.names(".").is_empty());
}
