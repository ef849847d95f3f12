//! `apply_patch`: several files at once; what fails is named, what was done before stays and is told.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::Fixture;

fn patch(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")})
}

fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let content = fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), content);
            }
        }
    }
    found
}

/// Every folder of the public scenarios of the format, which lie beside the project. A scenario that
/// expects a failure expects the files as they were.
#[test]
fn the_scenarios_of_the_format_come_out_as_specified() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    #[expect(clippy::disallowed_methods, reason = "the documented way to place the scenarios")]
    let place = env::var_os("ATTACHE_PATCH_SCENARIOS")
        .map_or_else(|| project.join("../shared/apply_patch_scenarios"), PathBuf::from);
    let Ok(scenarios) = fs::read_dir(&place) else {
        eprintln!("not checked: there are no scenarios at {}", place.display());
        return;
    };
    let mut played = 0;
    for scenario in scenarios.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let fixture = Fixture::new();
        for (path, content) in files(&scenario.join("input")) {
            fixture.write(path.to_str().unwrap(), content);
        }
        let patch = fs::read_to_string(scenario.join("patch.txt")).unwrap();
        let output = fixture.call("apply_patch", json!({"patch": patch}));
        let expected = files(&scenario.join("expected"));
        assert_eq!(files(fixture.root()), expected, "{}: {}", scenario.display(), output.text);
        let fails = ["rejects", "requires", "fails", "failure"];
        let name = scenario.file_name().unwrap().to_string_lossy();
        let is_failure = fails.iter().any(|word| name.contains(word));
        assert_eq!(output.is_error, is_failure, "{name}: {}", output.text);
        played += 1;
    }
    assert!(played >= 25, "{played} scenarios");
}

#[test]
fn a_patch_that_is_not_understood_changes_nothing() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    for (body, expected) in [
        ("*** Delete File: a.txt\n*** Frob File: b", "line 3 of the patch: `*** Frob File: b`"),
        ("*** Update File: a.txt\n@@\none", "line 4 of the patch: `one` must begin with"),
        ("", "the patch is empty"),
    ] {
        let error = fixture.error("apply_patch", patch(body));
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(fixture.content("a.txt"), "one\n");
}

#[test]
fn no_path_of_a_patch_leads_out() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    fixture.link("to_dir", "../secret");
    fixture.link("to_file", "../secret/key.txt");
    fixture.fifo("pipe");
    for path in ["../secret/key.txt", "to_dir/key.txt", "to_file", "/etc/passwd", "pipe"] {
        for body in [
            format!("*** Add File: {path}\n+PWNED"),
            format!("*** Delete File: {path}"),
            format!("*** Update File: {path}\n@@\n-SECRET\n+PWNED"),
            format!("*** Update File: a.txt\n*** Move to: {path}\n@@\n-one\n+PWNED"),
        ] {
            let error = fixture.error("apply_patch", patch(&body));
            let refused = error.contains("outside the workspace") || error.contains("is a FIFO");
            assert!(refused, "{body}: {error}");
        }
    }
    assert_eq!(fs::read_to_string(fixture.outer().join("secret/key.txt")).unwrap(), "SECRET\n");
    assert_eq!(fixture.content("a.txt"), "one\n");
    assert_eq!(fixture.names("."), ["a.txt", "pipe", "to_dir", "to_file"]);
}

#[test]
fn what_was_done_before_a_failure_is_told_and_what_was_not_reached() {
    let fixture = Fixture::with(&[("a.txt", "one\n"), ("b.txt", "x\ny\n")]);
    let body = "*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: b.txt\n@@\n-x\n+X\n@@\n-z\n\
                +Z\n*** Add File: c.txt\n+c";
    let error = fixture.error("apply_patch", patch(body));
    let expected = "updating b.txt failed: hunk 2 (line 10 of the patch): these lines are not in the \
                    file below line 1:\nz\nNot done: c.txt\n\
                    Done before that, and left as it is: changed a.txt (+1 -1)";
    assert_eq!(error, expected);
    assert_eq!(fixture.content("a.txt"), "two\n");
    assert_eq!(fixture.content("b.txt"), "x\ny\n");
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_line_and_stays() {
    let fixture = Fixture::with(&[("a.txt", "\u{feff}one\r\ntwo\r\n")]);
    fixture.text("apply_patch", patch("*** Update File: a.txt\n@@\n-one\n+1\n two"));
    assert_eq!(fixture.content("a.txt"), "\u{feff}1\r\ntwo\r\n");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_patched() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    fixture.text("read_file", json!({"path": "a.txt"}));
    fixture.write("a.txt", "one\ntwo\n");
    for body in ["*** Update File: a.txt\n@@\n-one\n+1", "*** Delete File: a.txt"] {
        let error = fixture.error("apply_patch", patch(body));
        assert!(error.contains("changed since you read it (1 line then, 2 now)"), "{error}");
    }
    assert_eq!(fixture.content("a.txt"), "one\ntwo\n");
}

#[test]
fn sections_of_one_file_follow_one_another() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    let body = "*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: a.txt\n@@\n-two\n+three\n\
                *** Add File: b.txt\n+b\n*** Update File: b.txt\n*** Move to: c.txt\n@@\n-b\n+c\n\
                *** Delete File: a.txt\n*** Add File: a.txt\n+four";
    fixture.text("apply_patch", patch(body));
    assert_eq!(fixture.names("."), ["a.txt", "c.txt"]);
    assert_eq!(
        (fixture.content("a.txt"), fixture.content("c.txt")),
        ("four\n".into(), "c\n".into())
    );
}

#[test]
fn a_move_keeps_the_permissions_and_may_change_nothing_else() {
    let fixture = Fixture::with(&[("run.sh", "#!/bin/sh\n")]);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(fixture.root().join("run.sh"), mode).unwrap();
    let body = "*** Update File: run.sh\n*** Move to: bin/start.sh";
    let said = fixture.text("apply_patch", patch(body));
    assert_eq!(said, "moved run.sh to bin/start.sh (+0 -0)\ndeleted run.sh");
    let moved = fs::metadata(fixture.root().join("bin/start.sh")).unwrap();
    assert_eq!(moved.permissions().mode() & 0o777, 0o755);
    assert_eq!(fixture.names("."), ["bin"]);
}

#[test]
fn every_change_is_told_short() {
    let fixture = Fixture::with(&[("a.txt", "one\ntwo\n"), ("old.txt", "x\n")]);
    let body = "*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: n/b.txt\n+1\n+2\n\
                *** Delete File: old.txt";
    let said = fixture.text("apply_patch", patch(body));
    let expected = "changed a.txt (+1 -1)\n@@ -1,2 +1,2 @@\n one\n-two\n+2\ncreated n/b.txt (2 lines)\n\
                    deleted old.txt";
    assert_eq!(said, expected);
}

#[test]
fn a_link_is_not_mistaken_for_the_file_it_leads_to() {
    let fixture = Fixture::with(&[("m.txt", "precious\n")]);
    fixture.link("lnk", "m.txt");
    for patch in [
        "*** Begin Patch\n*** Delete File: lnk\n*** End Patch",
        "*** Begin Patch\n*** Update File: lnk\n*** Move to: n.txt\n@@\n-precious\n+x\n*** End Patch",
    ] {
        let output = fixture.call("apply_patch", json!({ "patch": patch }));
        assert!(output.is_error && output.text.contains("lnk is a link"), "{}", output.text);
        assert!(fixture.root().join("m.txt").exists() && fixture.root().join("lnk").is_symlink());
    }
}

#[test]
fn a_file_that_cannot_be_removed_is_not_moved() {
    let fixture = Fixture::with(&[("old.txt", "one\n")]);
    let old = fixture.root().join("old.txt");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o444)).unwrap();
    let patch = "*** Begin Patch\n*** Update File: old.txt\n*** Move to: new.txt\n@@\n-one\n+two\n*** End Patch";
    let answer = fixture.call("apply_patch", json!({ "patch": patch }));
    assert!(answer.is_error && answer.text.contains("old.txt is read-only"), "{}", answer.text);
    assert!(!answer.text.contains("moved"), "{}", answer.text);
    assert!(!fixture.root().join("new.txt").exists());
}
