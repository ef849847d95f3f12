//! Denials in words: an entry of `disallowedTools` that names several tools, or more than a tool.

use crate::rights::{
    rule::{ToolRule, ToolRuleErrorKind},
    tool_name::{BuiltinTool, UnknownTool},
};

/// The tools that a denial names which is not one tool: `Bash Write`, `Bash; Write`, `Bash/Write`, `Write tool`. What
/// is in parentheses stays together, and so does `server/tool`.
pub(super) fn denied_words(entry: &str) -> Option<Vec<String>> {
    const FILLERS: [&str; 5] = ["and", "or", "the", "tool", "tools"];
    let is_tool = |word: &str| {
        let name = word.split('(').next().unwrap_or_default();
        BuiltinTool::from_word(name).is_some() && ToolRule::parse_denial(word).is_ok()
    };
    let mut depth = 0_usize;
    let words = entry.split(|letter: char| {
        match letter {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (letter.is_whitespace() || ";,|+&<>".contains(letter))
    });
    let mut parts: Vec<&str> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        match word.split_once('/') {
            Some((one, other)) if BuiltinTool::are_two(one, other) => parts.extend([one, other]),
            _ => parts.push(word),
        }
    }
    let names_tools = parts.len() > 1 && parts.iter().any(|part| is_tool(part));
    let meant = |part: &&str| match ToolRule::parse_denial(part).map_err(|error| error.kind) {
        Ok(_) => Some((*part).to_owned()),
        Err(ToolRuleErrorKind::UnknownTool(UnknownTool::Unknown(near))) => near
            .filter(|_| !FILLERS.contains(&part.to_ascii_lowercase().as_str()))
            .map(str::to_owned),
        Err(_) => None,
    };
    names_tools.then(|| parts.iter().filter_map(meant).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_a_denial_in_words_is_found() {
        for (entry, tools) in [
            ("Bash Write", &["Bash", "Write"][..]),
            ("Bash; Write", &["Bash", "Write"]),
            ("Bash/Write", &["Bash", "Write"]),
            ("Bash and Write", &["Bash", "Write"]),
            ("Write tool", &["Write"]),
            ("Read(.env); WebFetch", &["Read(.env)", "WebFetch"]),
            ("Bash(git commit -m x) Write", &["Bash(git commit -m x)", "Write"]),
        ] {
            assert_eq!(denied_words(entry).as_deref(), Some(tools_of(tools).as_slice()), "{entry}");
        }
        for entry in ["Bash", "Bash(rm -rf / x)", "mcp__db__query", "github/search", "No Such"] {
            assert_eq!(denied_words(entry), None, "{entry}");
        }
    }

    fn tools_of(tools: &[&str]) -> Vec<String> {
        tools.iter().map(|tool| (*tool).to_owned()).collect()
    }
}
