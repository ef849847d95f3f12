//! Rules about paths hold for the file that is really read, whatever way leads to it.

use std::sync::Arc;

use attache_kernel::{
    agent::definition::{Definition, ToolAccess, Trust},
    id::AgentName,
    rights::filter::{Delegation, FilterRequest, Schedule, ToolSet, filter},
};
use attache_runtime::internal::tool::{FileGuard, HiddenPlaces};
use serde_json::json;

use super::Fixture;

const SECRET: &str = "password = 12345\n";

/// A workspace with secrets, for an agent with these lists.
fn fixture(tools: Option<&[&str]>, disallowed: &[&str]) -> Fixture {
    let mut fixture = Fixture::with(&[
        ("src/a.txt", "password = none\n"),
        ("secret.txt", SECRET),
        ("secrets/deep/b.txt", SECRET),
        (".env", SECRET),
        ("other.txt", SECRET),
        ("large.txt", &format!("{}{SECRET}", "filler\n".repeat(20_000))),
    ]);
    fixture.write("picture.png", super::view_image::png(640, 480));
    fixture.link("lnk", ".env");
    fixture.link("ways/to/secrets", "../../secrets");
    fixture.link("src/esc", "../other.txt");
    fixture.link("src/up", "..");
    fixture.link("seen.png", "picture.png");
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut definition = Definition::named(AgentName::new("a"));
    definition.disallowed_tools = owned(disallowed);
    if let Some(tools) = tools {
        definition.tools = ToolAccess::List(owned(tools));
    }
    let host = ToolSet::of_host(fixture.tools.iter().map(|tool| tool.spec().name.clone()));
    let rights = filter(&FilterRequest {
        definition: &definition,
        trust: Trust::Trusted,
        parent: &host,
        schedule: Schedule::Foreground,
        delegation: Delegation { depth: 1, max_depth: 1 },
    });
    fixture.context.files = FileGuard::new(Arc::new(rights.tools));
    fixture
}

const DENIALS: &[&str] =
    &["Read(secret.txt)", "Read(secrets/**)", "Read(.env)", "Read(large.txt)", "Read(picture.png)"];

#[test]
fn a_file_that_may_not_be_read_is_not_read_through_a_link() {
    let fixture = fixture(None, DENIALS);
    for path in
        ["lnk", "secret.txt", "./secrets/deep/b.txt", "ways/to/secrets/deep/b.txt", "large.txt"]
    {
        let error = fixture.error("read_file", json!({"path": path}));
        assert!(error.contains("may not use `read_file` for `Read("), "{path}: {error}");
        assert!(!error.contains("12345"), "{path}: {error}");
    }
    assert!(fixture.text("read_file", json!({"path": "src/esc"})).contains("12345"));
    let error = fixture.error("view_image", json!({"path": "seen.png"}));
    assert!(error.contains("`Read(picture.png)`"), "{error}");
    for tool in ["list_dir", "glob_files", "grep_files"] {
        let mut arguments = json!({"path": "ways/to/secrets"});
        if tool != "list_dir" {
            arguments["pattern"] = json!("b");
        }
        let error = fixture.error(tool, arguments);
        assert!(error.contains("`Read(secrets/**)`"), "{tool}: {error}");
    }
}

#[test]
fn a_new_file_may_be_made_where_only_other_files_may_be_read() {
    let fixture = fixture(Some(&["Read(src/**)", "Write(out/**)"]), &["Read(out/denied*)"]);
    fixture.write("out/old.txt", SECRET);
    fixture.text("write_file", json!({"path": "out/new.txt", "content": "x"}));
    let error = fixture.error("write_file", json!({"path": "out/old.txt", "content": "x"}));
    assert!(error.contains("`Read(src/**)`"), "{error}");
    let error = fixture.error("write_file", json!({"path": "out/denied.txt", "content": "x"}));
    assert!(error.contains("Read("), "{error}");
    let error = fixture.error("write_file", json!({"path": "src/new.txt", "content": "x"}));
    assert!(error.contains("`Write(out/**)`"), "{error}");
}

#[test]
fn a_search_leaves_out_what_may_not_be_read() {
    let fixture = fixture(None, DENIALS);
    for (arguments, left_out) in [
        (json!({"pattern": "password"}), 5),
        (json!({"pattern": "password", "glob": "*.txt"}), 3),
        (json!({"pattern": "password", "mode": "count"}), 5),
    ] {
        let text = fixture.text("grep_files", arguments.clone());
        assert!(text.contains("other.txt") && text.contains("src/a.txt"), "{arguments}: {text}");
        assert!(!text.contains("secret"), "{arguments}: {text}");
        let remark = format!("[{left_out} files left out: this agent may not read them]");
        assert!(text.ends_with(&remark), "{arguments}: {text}");
    }
    for glob in ["secret.txt", ".env", "secrets/**"] {
        let text = fixture.text("grep_files", json!({"pattern": "password", "glob": glob}));
        assert!(text.starts_with("no matches for password"), "{glob}: {text}");
        assert!(text.ends_with("[1 file left out: this agent may not read it]"), "{glob}: {text}");
    }
    for path in ["secret.txt", "lnk"] {
        let error = fixture.error("grep_files", json!({"pattern": "password", "path": path}));
        assert!(error.contains("may not use `grep_files`"), "{path}: {error}");
    }
}

#[test]
fn what_may_be_read_does_not_grow_by_links() {
    let fixture = fixture(Some(&["Read(src/**)", "Grep(src/**)"]), &[]);
    assert!(fixture.text("read_file", json!({"path": "src/a.txt"})).contains("none"));
    for path in ["src/esc", "src/up/other.txt", "src/up/large.txt"] {
        let error = fixture.error("read_file", json!({"path": path}));
        assert!(error.contains("only for `Read(src/**)`; that does not cover"), "{path}: {error}");
    }
    let error = fixture.error("grep_files", json!({"pattern": "password", "path": "src/up"}));
    assert!(error.contains("only for `Grep(src/**)`"), "{error}");
    let text = fixture.text("grep_files", json!({"pattern": "password", "path": "src"}));
    assert!(text.contains("none") && !text.contains("12345"), "{text}");
}

#[test]
fn where_no_rule_tells_files_apart_everything_is_searched() {
    let fixture = fixture(None, &["Bash(rm *)", "Write(secret.txt)"]);
    let text = fixture.text("grep_files", json!({"pattern": "12345", "mode": "files"}));
    assert_eq!(text, ".env\nlarge.txt\nother.txt\nsecret.txt\nsecrets/deep/b.txt");
}

/// What may not be read does not show its name or size either, not as a link's target, not in a hint.
#[test]
fn what_may_not_be_read_is_not_named() {
    let fixture = fixture(None, DENIALS);
    for arguments in [json!({}), json!({"depth": 5}), json!({"path": "ways", "depth": 5})] {
        let text = fixture.text("list_dir", arguments.clone());
        for name in ["secret", ".env", "large", "picture", "seen", "lnk"] {
            assert!(!text.contains(name), "{arguments}: {text}");
        }
        assert!(text.contains("left out: this agent may not read"), "{arguments}: {text}");
    }
    assert!(fixture.text("list_dir", json!({})).contains("other.txt"));
    for pattern in ["**/*", "**/.env", "*.png", "secrets/**", "secret.txt"] {
        let output = fixture.call("glob_files", json!({"pattern": pattern}));
        let found = output.text.lines().filter(|line| !line.contains(pattern));
        for line in found {
            for name in ["secret", ".env", "large", "picture", "seen", "lnk"] {
                assert!(!line.contains(name), "{pattern}: {}", output.text);
            }
        }
    }
    for tool in ["read_file", "view_image", "list_dir", "grep_files"] {
        let output = fixture.call(tool, json!({"path": "secre.txt", "pattern": "x"}));
        assert!(!output.text.contains("secret.txt"), "{tool}: {}", output.text);
    }
    let near = fixture.error("read_file", json!({"path": "othr.txt"}));
    assert!(near.contains("did you mean other.txt?"), "{near}");
}

/// The calls that write a path, whatever is there.
fn writes(path: &str) -> [(&'static str, serde_json::Value); 5] {
    let patch = |body: String| json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")});
    [
        ("write_file", json!({"path": path, "content": "PWNED"})),
        ("edit_file", json!({"path": path, "old_string": "password", "new_string": "PWNED"})),
        ("apply_patch", patch(format!("*** Add File: {path}\n+PWNED"))),
        ("apply_patch", patch(format!("*** Delete File: {path}"))),
        ("apply_patch", patch(format!("*** Update File: src/a.txt\n*** Move to: {path}"))),
    ]
}

/// What may not be read, or not be written, is not written by any tool under any name; and it is not
/// said whether it is there.
#[test]
fn a_denied_file_is_not_written_through_any_path() {
    for denials in [
        &["Read(secrets/**)", "Read(.env)", "Read(secret.txt)"][..],
        &["Edit(secrets/**)", "Edit(.env)", "Edit(secret.txt)"],
        &["Write(secrets/**)", "Write(.env)", "Write(secret.txt)"],
    ] {
        let fixture = fixture(None, denials);
        fixture.fifo("secrets/pipe");
        for path in [
            "secret.txt",
            ".env",
            "lnk",
            "secrets/deep/b.txt",
            "secrets/deep/new.txt",
            "secrets/deep",
            "ways/to/secrets/deep/b.txt",
            "ways/to/secrets/new.txt",
            "src/up/secret.txt",
        ] {
            for (tool, arguments) in writes(path) {
                let error = fixture.error(tool, arguments);
                assert!(
                    error.contains("this agent may not use"),
                    "{denials:?} {tool} {path}: {error}"
                );
                assert!(!error.contains("12345"), "{tool} {path}: {error}");
            }
        }
        for path in ["secret.txt", ".env", "secrets/deep/b.txt"] {
            assert_eq!(fixture.content(path), SECRET);
        }
        assert_eq!(fixture.names("secrets"), ["deep", "pipe"]);
        assert_eq!(fixture.content("src/a.txt"), "password = none\n");
    }
}

#[test]
fn an_agent_writes_only_where_it_may() {
    let fixture = fixture(Some(&["Read", "Edit(src/**)", "Write(src/**)"]), &[]);
    fixture.text("write_file", json!({"path": "src/new.txt", "content": "x"}));
    for path in ["src/esc", "src/up/new.txt", "new.txt", "secret.txt"] {
        let arguments = json!({"path": path, "old_string": "", "new_string": "x"});
        let error = fixture.error("edit_file", arguments);
        assert!(error.contains("only for `Edit(src/**)`"), "{path}: {error}");
    }
    assert_eq!(fixture.content("other.txt"), SECRET);
}

#[test]
fn places_of_keys_inside_the_workspace_are_nobodys() {
    let mut fixture = Fixture::with(&[
        (".attache/credentials.json", "needle\n"),
        (".ssh/id_rsa", "needle\n"),
        ("src/a.txt", "needle\n"),
    ]);
    fixture.link("way", ".ssh");
    let root = fixture.root().to_owned();
    let places = [root.join(".attache"), root.join(".ssh"), "/somewhere/else".into()];
    fixture.context.files = FileGuard::unrestricted().hiding(HiddenPlaces::around(&root, &places));
    for path in [".attache/credentials.json", ".ssh/id_rsa", "way/id_rsa"] {
        let error = fixture.error("read_file", json!({ "path": path }));
        assert!(error.contains("no tool may use it") && !error.contains("needle"), "{error}");
        for (tool, arguments) in writes(path) {
            fixture.error(tool, arguments);
        }
    }
    fixture.error("write_file", json!({"path": ".ssh/authorized_keys", "content": "x"}));
    let found = fixture.text("grep_files", json!({"pattern": "needle"}));
    assert!(found.contains("src/a.txt") && !found.contains("id_rsa"), "{found}");
    assert!(!found.contains("credentials"), "{found}");
    let listed = fixture.text("glob_files", json!({"pattern": "**/*"}));
    assert!(!listed.contains("id_rsa") && listed.contains("a.txt"), "{listed}");
    let listed = fixture.text("list_dir", json!({"depth": 3}));
    assert!(!listed.contains("id_rsa") && !listed.contains("credentials"), "{listed}");
    // A workspace that lies in such a place is no way into it.
    let around = [root.parent().unwrap().to_owned()];
    fixture.context.files = FileGuard::unrestricted().hiding(HiddenPlaces::around(&root, &around));
    for (tool, arguments) in [
        ("read_file", json!({"path": "src/a.txt"})),
        ("list_dir", json!({})),
        ("write_file", json!({"path": "new.txt", "content": "x"})),
    ] {
        let error = fixture.error(tool, arguments);
        assert!(error.contains("no tool may use it"), "{tool}: {error}");
    }
}
