//! Arguments are read with patience; what is not understood is named.

use serde_json::{Value, json};

use super::Fixture;

fn fixture() -> Fixture {
    Fixture::with(&[("a.txt", "one\ntwo\nthree\n")])
}

#[test]
fn slips_of_models_are_understood() {
    let fixture = fixture();
    for arguments in [
        json!({"path": "a.txt", "offset": 2, "limit": 1}),
        json!({"file_path": "a.txt", "offset": "2", "limit": "1"}),
        json!({"path": "a.txt", "offset": 2.0, "limit": 1, "extra": null}),
        json!({"path": "a.txt", "file_path": "b.txt", "offset": " 2 ", "limit": 1}),
        Value::String(r#"{"path": "a.txt", "offset": 2, "limit": 1}"#.to_owned()),
    ] {
        let text = fixture.text("read_file", arguments.clone());
        assert!(text.starts_with("2\ttwo\n["), "{arguments}: {text}");
    }
    let whole = json!({"path": "a.txt", "offset": null, "limit": null});
    assert_eq!(fixture.text("read_file", whole), "1\tone\n2\ttwo\n3\tthree");
    let zero = json!({"path": "a.txt", "offset": 0, "limit": 0});
    assert_eq!(fixture.text("read_file", zero), "1\tone\n2\ttwo\n3\tthree");
    assert_eq!(fixture.text("list_dir", Value::Null), "a.txt  14 B");
    assert_eq!(fixture.text("list_dir", json!({"path": ""})), "a.txt  14 B");
    let claude =
        json!({"pattern": "TWO", "-i": "true", "output_mode": "files_with_matches", "-n": true});
    assert_eq!(fixture.text("grep_files", claude), "a.txt");
}

#[test]
fn what_is_not_understood_is_named() {
    let fixture = fixture();
    for (tool, arguments, message) in [
        ("read_file", json!({}), "parameter `path` (a string) is required"),
        (
            "read_file",
            json!({"path": ["a.txt"]}),
            "parameter `path` must be a string, not an array",
        ),
        (
            "read_file",
            json!({"path": "a.txt", "offset": "second"}),
            "parameter `offset` must be a whole number, 0 or more, not \"second\"",
        ),
        (
            "read_file",
            json!({"path": "a.txt", "limit": -1}),
            "parameter `limit` must be a whole number, 0 or more, not -1",
        ),
        (
            "read_file",
            json!({"path": "a.txt", "limit": 1.5}),
            "parameter `limit` must be a whole number, 0 or more, not 1.5",
        ),
        (
            "read_file",
            json!({"path": "a.txt", "offsett": 2}),
            "unknown parameter `offsett` (did you mean `offset`?); the parameters are path, offset, limit",
        ),
        ("list_dir", json!({"zzz": 1}), "unknown parameter `zzz`; the parameters are path, depth"),
        (
            "grep_files",
            json!({"pattern": "x", "mode": "lots"}),
            "parameter `mode` must be one of content, files, count, not \"lots\"",
        ),
        (
            "grep_files",
            json!({"pattern": "x", "multiline": "maybe"}),
            "parameter `multiline` must be true or false, not \"maybe\"",
        ),
        ("glob_files", json!([1]), "the arguments must be a JSON object, not an array"),
        ("glob_files", json!("*.rs"), "the arguments must be a JSON object, not a string"),
    ] {
        assert_eq!(fixture.error(tool, arguments), message);
    }
}
