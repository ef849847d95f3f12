use serde_json::json;

use super::*;

const SECTION: &str = "mcpServers";

fn entry() -> Value {
    json!({"command": "/bin/attache", "args": ["mcp"]})
}

fn with(text: &str) -> String {
    with_entry(text, SECTION, &entry()).unwrap()
}

/// The text without its comments and trailing commas, as a value.
fn read(text: &str) -> Value {
    let without_comment = |line: &str| {
        let line = line.split(" /*").next().unwrap_or_default();
        line.split(" // ").next().unwrap_or_default().to_owned()
    };
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let plain = lines.map(without_comment).collect::<Vec<_>>().join("\n");
    let plain = plain.replace(",\n}", "\n}").replace(",\n  }", "\n  }");
    serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn what_cannot_be_understood_is_not_changed() {
    for (text, line) in [
        ("[]", 1),
        ("{\n\"a\" 1}", 2),
        ("{\n\"a\": 1\n\"b\": 2}", 3),
        ("{\"a\": \"x\n\"}", 1),
        ("{\"a\": [1}", 1),
        ("{} {}", 1),
        ("{\n/* no end", 2),
        ("{\"a\": }", 1),
        ("nonsense", 1),
    ] {
        let wrong = with_entry(text, SECTION, &entry()).unwrap_err();
        assert!(wrong.to_string().starts_with(&format!("line {line}: ")), "{text:?}: {wrong}");
    }
    let wrong = with_entry("{\"mcpServers\": []}", SECTION, &entry()).unwrap_err();
    assert_eq!(wrong.to_string(), "`mcpServers` is not a table of servers");
}

#[test]
fn an_entry_is_put_in_and_everything_else_stays() {
    for before in [
        "",
        "{}",
        "{\n}\n",
        "{\"a\": 1}",
        "{\n    \"a\": [1, {\"b\": \"}\"}]\n}\n",
        "{\n\t\"a\": 1,\n}\n",
        "// top\n{\n  // inner\n  \"a\": \"// not a comment\", /* x */\n  \"mcpServers\": {}\n}\n",
        "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"o\"} // mine\n  },\n  \"z\": null\n}\n",
        "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"o\"},\n  },\n}\n",
        "\u{feff}{\"ü\": \"\\\"\"}",
    ] {
        let after = with(before);
        let values = read(after.trim_start_matches('\u{feff}'));
        assert_eq!(values[SECTION]["attache"], entry(), "{before:?}: {after}");
        assert_eq!(with(&after), after, "twice is once: {before:?}");
        let kept: Vec<&str> =
            before.lines().map(str::trim).filter(|line| line.starts_with("//")).collect();
        assert!(kept.iter().all(|comment| after.contains(comment)), "{after}");
        let gone = without_entry(&after, SECTION).unwrap();
        let left = read(gone.trim_start_matches('\u{feff}'));
        assert!(left[SECTION].get("attache").is_none(), "{gone}");
        let mut expected =
            if before.is_empty() { json!({}) } else { read(before.trim_start_matches('\u{feff}')) };
        if expected.get(SECTION).is_none() {
            expected[SECTION] = json!({});
        }
        assert_eq!(left, expected, "{before:?}: {gone}");
    }
}

#[test]
fn the_only_change_is_the_entry() {
    let before =
        "{\n  // servers\n  \"mcpServers\": {\n    \"other\": {} // mine\n  },\n  \"a\": 1.50\n}\n";
    let after = with(before);
    assert_eq!(
        after,
        "{\n  // servers\n  \"mcpServers\": {\n    \"other\": {}, // mine\n    \"attache\": {\n      \
         \"command\": \"/bin/attache\",\n      \"args\": [\"mcp\"]\n    }\n  },\n  \"a\": 1.50\n}\n"
    );
    assert_eq!(without_entry(&after, SECTION).unwrap(), before);
}

#[test]
fn an_entry_that_says_something_else_is_replaced() {
    let before =
        "{\n  \"mcpServers\": {\n    \"attache\": {\"command\": \"old\"},\n    \"b\": {}\n  }\n}\n";
    let after = with(before);
    assert_eq!(read(&after)[SECTION], json!({"attache": entry(), "b": {}}));
    assert_eq!(read(&without_entry(&after, SECTION).unwrap())[SECTION], json!({"b": {}}));
}
