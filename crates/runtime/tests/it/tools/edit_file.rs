//! `edit_file`: an exact replacement, or an error that helps.

use serde_json::{Value, json};

use super::Fixture;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_string": old, "new_string": new})
}

const CODE: &str = "fn a() {\n    one();\n}\n\nfn b() {\n    one();\n}\n";

#[test]
fn a_text_that_is_not_there_is_an_error_with_the_nearest_lines() {
    let fixture = Fixture::with(&[("src/a.rs", CODE)]);
    for (old, expected) in [
        (
            "fn b() {\n    two();\n}",
            "old_string is not in src/a.rs. The nearest lines are:\n5\tfn b()",
        ),
        ("\tone();\n}\n\nfn b() {", "only blanks and tabs differ"),
        ("6\t    one();\n7\t}", "leave out the line numbers"),
        ("\r\nquux", "old_string is not in src/a.rs"),
    ] {
        let error = fixture.error("edit_file", edit("src/a.rs", old, "x"));
        assert!(error.contains(expected), "{old:?}: {error}");
    }
    let error = fixture.error("edit_file", edit("src/a.rs", "    one();", "x"));
    assert!(error.contains("is 2 times in src/a.rs (lines 2, 6); add lines"), "{error}");
    assert_eq!(fixture.content("src/a.rs"), CODE);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    for (arguments, expected) in [
        (edit("a.txt", "one", "one"), "old_string and new_string are the same"),
        (edit("a.txt", "", "x"), "old_string is empty and a.txt is not"),
        (edit("b.txt", "one", "x"), "no such file or directory: b.txt; did you mean a.txt?"),
        (edit("a.txt/b", "", "x"), "a.txt is a file, not a directory"),
        (json!({"path": "a.txt", "old_string": "a"}), "parameter `new_string`"),
    ] {
        let error = fixture.error("edit_file", arguments);
        assert!(error.contains(expected), "{error}");
    }
    fixture.write("latin.txt", b"caf\xe9 one\n");
    fixture.write("binary", b"\x7fELF\0\0one");
    for path in ["latin.txt", "binary"] {
        let error = fixture.error("edit_file", edit(path, "one", "two"));
        assert!(error.contains("is not UTF-8 text"), "{error}");
    }
}

#[test]
fn an_edit_says_what_it_changed() {
    let fixture = Fixture::with(&[("src/a.rs", CODE)]);
    let said = fixture.text("edit_file", edit("src/a.rs", "fn b() {\n    one();", "fn b() {"));
    let expected = "changed src/a.rs (+0 -1)\n@@ -3,5 +3,4 @@\n }\n \n fn b() {\n-    one();\n }";
    assert_eq!(said, expected);
    let all = json!({"path": "src/a.rs", "old_string": "fn ", "new_string": "pub fn ", "replace_all": "true"});
    let said = fixture.text("edit_file", all);
    assert!(said.starts_with("changed src/a.rs (+2 -2)\n"), "{said}");
    assert_eq!(fixture.content("src/a.rs"), "pub fn a() {\n    one();\n}\n\npub fn b() {\n}\n");
}

#[test]
fn line_endings_byte_order_mark_and_the_last_line_stay() {
    let fixture = Fixture::with(&[("a.txt", "\u{feff}one\r\ntwo\r\nthree")]);
    fixture.text("read_file", json!({"path": "a.txt"}));
    fixture.text("edit_file", edit("a.txt", "one\ntwo", "1\n2"));
    assert_eq!(fixture.content("a.txt"), "\u{feff}1\r\n2\r\nthree");
}

#[test]
fn an_empty_text_creates_a_file() {
    let fixture = Fixture::with(&[("empty.txt", "")]);
    fixture.text("edit_file", edit("new/a.txt", "", "one\n"));
    fixture.text("edit_file", edit("empty.txt", "", "one\n"));
    assert_eq!(
        (fixture.content("new/a.txt"), fixture.content("empty.txt")),
        ("one\n".into(), "one\n".into())
    );
}

/// A file that was never read may be edited: to know its text is to know it.
#[test]
fn edits_follow_one_another() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    for (old, new) in [("one", "two"), ("two", "three"), ("three", "four")] {
        fixture.text("edit_file", edit("a.txt", old, new));
    }
    assert_eq!(fixture.content("a.txt"), "four\n");
}

#[test]
fn a_long_difference_is_told_short() {
    let long = lines(3000);
    let fixture = Fixture::with(&[("a.txt", &long)]);
    let all =
        json!({"path": "a.txt", "old_string": "line", "new_string": "row", "replace_all": true});
    let said = fixture.text("edit_file", all);
    assert!(
        said.starts_with("changed a.txt (+3000 -3000)\n@@ -1,3000 +1,3000 @@\n-line 0\n"),
        "{said}"
    );
    assert!(said.ends_with("… 5961 more lines") && said.len() < 4000, "{said}");
}

/// Numbered lines.
fn lines(count: usize) -> String {
    let lines: Vec<String> = (0..count).map(|line| format!("line {line}\n")).collect();
    lines.concat()
}
