//! The names of MCP servers and tools in plain letters, as models are told them.
//!
//! Settings and lists spell a name as its server does; a model sees letters, digits, `_` and `-` only.
//! Both spellings mean the same tool.

use super::ToolName;

/// A tool's name in plain letters.
pub fn plain_mcp_tool(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect()
}

/// A server's name in plain letters. It has no `__`, which separates it from the tool's.
pub fn plain_mcp_server(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for letter in plain_mcp_tool(name).chars() {
        if letter != '_' || !(plain.is_empty() || plain.ends_with('_')) {
            plain.push(letter);
        }
    }
    plain.truncate(plain.trim_end_matches('_').len());
    plain
}

/// Whether two names mean one server.
pub(super) fn is_same_server(one: &str, other: &str) -> bool {
    one == other || plain_mcp_server(one) == plain_mcp_server(other)
}

/// Whether two names mean one tool.
pub(super) fn is_same_tool(one: &ToolName, other: &ToolName) -> bool {
    match (one, other) {
        (
            ToolName::Mcp { server, tool },
            ToolName::Mcp { server: other_server, tool: other_tool },
        ) => {
            (tool == other_tool || plain_mcp_tool(tool) == plain_mcp_tool(other_tool))
                && is_same_server(server, other_server)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rights::tool_name::ToolPattern;

    #[test]
    fn a_server_in_plain_letters_has_no_separator() {
        for (name, plain) in [
            ("docs", "docs"),
            ("my.docs", "my_docs"),
            ("__a__b__", "a_b"),
            ("a - b", "a_-_b"),
            ("ü", ""),
        ] {
            assert_eq!(plain_mcp_server(name), plain);
        }
    }

    #[test]
    fn both_spellings_mean_one_tool() {
        let seen: ToolName = "mcp__my_docs__get_it".parse().unwrap();
        for entry in [
            "mcp__my.docs",
            "mcp__my_docs",
            "mcp__my.docs__*",
            "my.docs/get.it",
            "mcp__my_docs__get_it",
        ] {
            assert!(ToolPattern::parse(entry).unwrap().covers(&seen), "{entry}");
        }
        for entry in ["mcp__my", "mcp__other.docs", "my.docs/get", "mcp__my_docs__get"] {
            assert!(!ToolPattern::parse(entry).unwrap().covers(&seen), "{entry}");
        }
    }
}
