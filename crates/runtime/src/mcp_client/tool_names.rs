//! The names under which models see the tools of servers: `mcp__server__tool`, in letters, digits, `_`
//! and `-`, with at most 64 of them, as every provider's API takes them.
//!
//! Invariant: no two tools of a run have the same name, and a name is the same for the same tools.

use std::collections::BTreeMap;

use attache_kernel::rights::tool_name::{ToolName, plain_mcp_server, plain_mcp_tool};
use sha2::{Digest as _, Sha256};

/// The longest name that every API takes.
const LONGEST: usize = 64;
/// The longest server's part of a name.
const LONGEST_SERVER: usize = 30;

/// Names for the tools of a server, in the order given. Tools whose names cannot be told apart in plain
/// letters get a suffix.
pub(super) fn named<'a>(
    server: &str,
    tools: impl IntoIterator<Item = &'a str>,
) -> Vec<(ToolName, &'a str)> {
    let server = shortened(&plain_mcp_server(server), server, LONGEST_SERVER);
    let mut taken: BTreeMap<ToolName, &str> = BTreeMap::new();
    let mut names = Vec::new();
    for tool in tools {
        let room = LONGEST - "mcp____".len() - server.len();
        let plain = plain_mcp_tool(tool);
        let mut name = tool_name(&server, &shortened(&plain, tool, room));
        if taken.get(&name) == Some(&tool) {
            // The server names a tool twice.
            continue;
        }
        if taken.contains_key(&name) {
            name = tool_name(&server, &with_suffix(&plain, tool, room));
        }
        if taken.contains_key(&name) {
            continue;
        }
        taken.insert(name.clone(), tool);
        names.push((name, tool));
    }
    names
}

fn tool_name(server: &str, tool: &str) -> ToolName {
    let Ok(name) = format!("mcp__{server}__{tool}").parse();
    name
}

/// The plain name if it fits, else its beginning and a suffix that tells it from others.
fn shortened(plain: &str, written: &str, most: usize) -> String {
    if plain.len() <= most && !plain.is_empty() {
        return plain.to_owned();
    }
    with_suffix(plain, written, most)
}

fn with_suffix(plain: &str, written: &str, most: usize) -> String {
    let hash = Sha256::digest(written.as_bytes());
    let number = hash.iter().take(3).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let suffix = format!("{number:06x}");
    let room = most.saturating_sub(suffix.len() + 1);
    let beginning: String = plain.chars().take(room).collect();
    format!("{}-{suffix}", beginning.trim_end_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(server: &str, tools: &[&str]) -> Vec<String> {
        named(server, tools.iter().copied()).into_iter().map(|(name, _)| name.to_string()).collect()
    }

    #[test]
    fn names_are_plain_short_and_different() {
        assert_eq!(visible("docs", &["find", "a_b-C9"]), ["mcp__docs__find", "mcp__docs__a_b-C9"]);
        assert_eq!(visible("my.docs server", &["get/it"]), ["mcp__my_docs_server__get_it"]);
        let long = "x".repeat(200);
        let server = "s".repeat(200);
        for (server, tools) in [
            ("docs", vec!["a.b", "a_b", "a b"]),
            ("docs", vec![long.as_str(), "ü", "日本", ""]),
            (server.as_str(), vec![long.as_str(), "find"]),
            ("__a__b__", vec!["_c__d_", "__"]),
        ] {
            let names = visible(server, &tools);
            assert_eq!(names.len(), tools.len(), "{names:?}");
            for name in &names {
                let is_plain =
                    |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
                assert!(name.len() <= 64 && name.chars().all(is_plain), "{name}");
                let Ok(parsed) = name.parse::<ToolName>();
                assert_eq!(parsed.to_string(), *name);
                assert!(matches!(parsed, ToolName::Mcp { .. }), "{name}");
            }
            let different: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(different.len(), names.len(), "{names:?}");
        }
    }

    #[test]
    fn a_tool_that_is_named_twice_is_one() {
        assert_eq!(visible("docs", &["find", "find"]), ["mcp__docs__find"]);
    }
}
