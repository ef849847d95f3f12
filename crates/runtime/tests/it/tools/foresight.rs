//! What a call would change is found out before it is judged, and nothing else is changed after.

use std::fs;

use attache_runtime::internal::tool::Foresight;
use serde_json::{Value, json};

use super::Fixture;

fn foresee(fixture: &Fixture, tool: &str, arguments: &Value) -> Foresight {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let foresight = fixture.tool(tool).foresee(arguments, &fixture.context);
    runtime.block_on(foresight.unwrap())
}

fn paths(foresight: &Foresight) -> Vec<String> {
    foresight.paths.iter().map(ToString::to_string).collect()
}

#[test]
fn a_path_that_was_not_foreseen_is_not_written() {
    let fixture = Fixture::with(&[("a/x.txt", "one\n"), ("b/x.txt", "one\n")]);
    fixture.link("door", "a");
    let arguments = json!({"path": "door/x.txt", "old_string": "one", "new_string": "two"});
    let foresight = foresee(&fixture, "edit_file", &arguments);
    assert_eq!(paths(&foresight), ["a/x.txt"]);
    fs::remove_file(fixture.root().join("door")).unwrap();
    fixture.link("door", "b");
    let output = fixture.call_after(fixture.tool("edit_file"), arguments.clone(), foresight);
    assert!(
        output.is_error && output.text.contains("the path of b/x.txt changed meanwhile"),
        "{output:?}"
    );
    let unforeseen = fixture.call_after(fixture.tool("edit_file"), arguments, Foresight::default());
    assert!(unforeseen.is_error, "{unforeseen:?}");
    assert_eq!(
        (fixture.content("a/x.txt"), fixture.content("b/x.txt")),
        ("one\n".into(), "one\n".into())
    );
}

#[test]
fn the_preview_is_the_diff_and_nothing_is_written() {
    let fixture = Fixture::with(&[("a.txt", "one\ntwo\n"), ("gone.txt", "x\n")]);
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n one\n-two\n+2\n\
                 *** Add File: new.txt\n+n\n*** Delete File: gone.txt\n*** End Patch";
    for (tool, arguments, touched, preview) in [
        (
            "edit_file",
            json!({"path": "a.txt", "old_string": "two", "new_string": "2"}),
            vec!["a.txt"],
            "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2",
        ),
        (
            "write_file",
            json!({"path": "n/c.txt", "content": "c\n"}),
            vec!["n/c.txt"],
            "--- /dev/null\n+++ n/c.txt\n@@ -0,0 +1 @@\n+c",
        ),
        (
            "apply_patch",
            json!({"patch": patch}),
            vec!["b.txt", "a.txt", "new.txt", "gone.txt"],
            "--- a.txt\n+++ b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n--- a.txt\n+++ /dev/null\n\
             @@ -1,2 +0,0 @@\n-one\n-two\n--- /dev/null\n+++ new.txt\n@@ -0,0 +1 @@\n+n\n\
             --- gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x",
        ),
        (
            "edit_file",
            json!({"path": "a.txt", "old_string": "zork", "new_string": "2"}),
            vec![],
            "it would fail: old_string is not in a.txt; nothing in it comes near. Read the file first",
        ),
    ] {
        let foresight = foresee(&fixture, tool, &arguments);
        assert_eq!(paths(&foresight), touched, "{tool}");
        assert_eq!(foresight.preview.as_deref(), Some(preview), "{tool}");
    }
    assert_eq!(fixture.names("."), ["a.txt", "gone.txt"]);
}

#[test]
fn a_preview_is_bounded() {
    let fixture = Fixture::new();
    let long = "line\n".repeat(100_000);
    let foresight = foresee(&fixture, "write_file", &json!({"path": "a.txt", "content": long}));
    let preview = foresight.preview.unwrap();
    let (_, more) = preview.trim_end_matches(" more lines").rsplit_once("… ").unwrap();
    let (shown, more) = (preview.lines().count() - 1, more.parse::<usize>().unwrap());
    // Two lines name the file, one the hunk.
    assert_eq!(shown + more, 100_003);
    assert!((1900..=2003).contains(&shown), "{shown}");
    let section = |file: usize| format!("*** Add File: {file}\n{}", "+line\n".repeat(50));
    let many = (0..500).map(section).collect::<Vec<_>>().concat();
    let patch = json!({"patch": format!("*** Begin Patch\n{many}*** End Patch")});
    let foresight = foresee(&fixture, "apply_patch", &patch);
    assert_eq!(foresight.paths.len(), 500);
    assert!(foresight.preview.unwrap().len() < 300_000);
}
