//! Which tools words and patterns mean.

use super::*;

#[test]
fn every_word_means_exactly_one_tool() {
    for &tool in BuiltinTool::ALL {
        for word in std::iter::once(tool.as_str()).chain(tool.aliases().iter().copied()) {
            let owners: Vec<_> =
                BuiltinTool::ALL.iter().filter(|other| other.answers_to(word)).collect();
            assert_eq!(owners, [&tool], "{word}");
        }
    }
}

#[test]
fn words_of_every_host_resolve() {
    use BuiltinTool as T;
    for (words, tool) in [
        (&["read_file", "Read", "ReadFile", "view", "read", "read_many_files"][..], T::ReadFile),
        (&["LS", "ls", "list_directory"], T::ListDir),
        (&["Glob", "glob", "file_search"], T::GlobFiles),
        (&["Grep", "grep", "search_file_content", "grep_search", "codebase_search"], T::GrepFiles),
        (&["Write", "write"], T::WriteFile),
        (&["Edit", "MultiEdit", "replace", "edit", "str_replace"], T::EditFile),
        (&["WebFetch", "webfetch", "fetch"], T::WebFetch),
        (&["WebSearch", "google_web_search"], T::WebSearch),
        (&["todo_write", "write_todos"], T::TodoWrite),
        (&["Agent", "task", "invoke_agent"], T::Task),
    ] {
        for word in words {
            let expected = ToolPattern::Exactly(vec![ToolName::Builtin(tool)]);
            assert_eq!(ToolPattern::parse(word), Ok(expected), "{word}");
        }
    }
}

#[test]
fn naming_one_shell_allows_the_family() {
    let family = ToolPattern::exactly(BuiltinTool::SHELL_FAMILY);
    for word in [
        "shell",
        "local_shell",
        "exec_command",
        "write_stdin",
        "Bash",
        "bash",
        "run_shell_command",
        "execute",
    ] {
        assert_eq!(ToolPattern::parse(word), Ok(family.clone()), "{word}");
    }
}

#[test]
fn mcp_words() {
    let tool = |server: &str, tool: &str| {
        Ok(ToolPattern::Exactly(vec![ToolName::Mcp {
            server: server.to_owned(),
            tool: tool.to_owned(),
        }]))
    };
    assert_eq!(ToolPattern::parse("mcp__docs__find"), tool("docs", "find"));
    assert_eq!(ToolPattern::parse("github/search_code"), tool("github", "search_code"));
    assert_eq!(ToolPattern::parse("mcp_docs_find_all"), tool("docs", "find_all"));
    for word in ["mcp__docs", "mcp__docs__*", "mcp_docs_*", "docs/*"] {
        assert_eq!(ToolPattern::parse(word), Ok(ToolPattern::McpServer("docs".to_owned())));
    }
    assert!(ToolPattern::parse("mcp__").is_err());
    assert!(ToolPattern::parse("/x").is_err());
}

#[test]
fn wildcards_take_away_whatever_has_such_a_name() {
    let covered = |word: &str, tool: &str| {
        let Ok(tool) = tool.parse();
        ToolPattern::parse_denial(word).is_ok_and(|pattern| pattern.covers(&tool))
    };
    for (word, tools) in [
        ("*_file", &["read_file", "write_file", "edit_file"][..]),
        ("w*", &["write_file", "web_fetch", "web_search"]),
        ("Wri?e", &["write_file"]),
        ("*bash*", &["shell", "exec_command", "write_stdin"]),
        ("mymcp_*", &["mcp__mymcp__get"]),
        ("mcp__docs__get*", &["mcp__docs__get", "mcp__docs__get_all"]),
        ("mcp__docs__*", &["mcp__docs__get"]),
        ("mcp__*__get", &["mcp__docs__get"]),
        ("docs/g*", &["mcp__docs__get"]),
        ("dep*", &["deploy"]),
        ("**", &["read_file", "mcp__docs__get", "deploy"]),
    ] {
        for tool in tools {
            assert!(covered(word, tool), "{word} {tool}");
        }
    }
    for (word, tool) in [
        ("*_file", "grep_files"),
        ("w*", "read_file"),
        ("mymcp_*", "mcp__docs__get"),
        ("mcp__docs__get*", "mcp__docs__find"),
        ("zork*", "read_file"),
        ("?", "read_file"),
        ("rea* *", "read_file"),
    ] {
        assert!(!covered(word, tool), "{word} {tool}");
    }
    // What is granted is named.
    assert!(ToolPattern::parse("*_file").is_err());
}

#[test]
fn unknown_words_grant_nothing_and_hint() {
    assert_eq!(ToolPattern::parse("Raed"), Err(UnknownTool::Unknown(Some("Read"))));
    assert_eq!(ToolPattern::parse("NotebookEdit"), Err(UnknownTool::Foreign));
    assert_eq!(ToolPattern::parse("vscode/memory"), Err(UnknownTool::Foreign));
    assert_eq!(ToolPattern::parse("zzzzzz"), Err(UnknownTool::Unknown(None)));
}
