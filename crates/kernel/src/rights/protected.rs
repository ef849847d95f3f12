//! Protected paths: files that decide what agents may do, or that other programs run.
//!
//! A write to one of them always asks; the sandbox keeps them read-only.
//! Each is protected at any depth of the workspace, whether it exists or not.

/// What is protected, relative to any directory of the workspace: with everything below it.
pub const PROTECTED: &[&str] = &[
    ".git",
    ".attache",
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    ".config/opencode",
    ".qwen",
    ".cursor",
    ".wave",
    ".github/agents",
    ".mcp.json",
];

/// The protected path that a path lies in, if it lies in one. Letters are compared as file systems do
/// that do not tell upper from lower case.
pub fn protected(path: &str) -> Option<&'static str> {
    let names: Vec<&str> =
        path.split(['/', '\\']).filter(|name| !matches!(*name, "" | ".")).collect();
    protected_names(&names)
}

/// The protected path that a whole directory lies in, by its path from the root of the file system. Working
/// trees that programs keep in their own folders are not of those folders.
pub fn protected_above(directory: &str) -> Option<&'static str> {
    let names: Vec<&str> = directory.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let after =
        names.windows(2).rposition(|pair| matches!(pair, [".attache" | ".claude", "worktrees"]));
    let after = after.map_or(0, |position| position + 3);
    match names.get(after..) {
        Some(names) => protected_names(names),
        None => protected_names(&names),
    }
}

/// The same for the names of a path.
pub(super) fn protected_names<N: AsRef<str>>(names: &[N]) -> Option<&'static str> {
    PROTECTED.iter().copied().find(|protected| {
        let parts = || protected.split('/');
        names.windows(parts().count()).any(|window| {
            window.iter().zip(parts()).all(|(name, wanted)| is_same(name.as_ref(), wanted))
        })
    })
}

/// Whether two names may be one on some file system: case, trailing dots and blanks, and letters that
/// cannot be seen make no difference on all of them.
fn is_same(name: &str, wanted: &str) -> bool {
    let is_plain = |name: &str| name.trim_end_matches(['.', ' ']).eq_ignore_ascii_case(wanted);
    if name.is_ascii() {
        return is_plain(name);
    }
    let visible = |letter: &char| !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    is_plain(&name.chars().filter(visible).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_a_protected_path_is_protected_but_for_working_trees() {
        for (directory, found) in [
            ("/w/project", None),
            ("/w/project/.git", Some(".git")),
            ("/w/project/.git/hooks", Some(".git")),
            ("/home/u/.claude/agents", Some(".claude")),
            ("/w/.github/agents", Some(".github/agents")),
            ("/w/.github", None),
            ("/home/u/.attache/worktrees/agent-1", None),
            ("/home/u/.attache/worktrees/agent-1/.git", Some(".git")),
            ("/w/.claude/worktrees/x/src", None),
            ("/w/.claude/worktrees/x/.claude/agents", Some(".claude")),
            ("/w/.claude/worktrees", Some(".claude")),
        ] {
            assert_eq!(protected_above(directory), found, "{directory}");
        }
    }

    #[test]
    fn protected_paths_are_found_at_any_depth_and_in_any_case() {
        for (path, found) in [
            (".git", Some(".git")),
            (".git/hooks/pre-commit", Some(".git")),
            ("vendor/lib/.git/config", Some(".git")),
            (".GIT/config", Some(".git")),
            (".g\u{200c}it/config", Some(".git")),
            (".git /config", Some(".git")),
            ("./.claude/settings.json", Some(".claude")),
            ("a//.codex/agents/x.toml", Some(".codex")),
            (".github/agents/x.agent.md", Some(".github/agents")),
            (".github/./agents/x.agent.md", Some(".github/agents")),
            (".mcp.json", Some(".mcp.json")),
            ("sub/.mcp.json", Some(".mcp.json")),
            (".qwen/agents/x.md", Some(".qwen")),
            (".cursor/agents/x.md", Some(".cursor")),
            (".wave/agents/x.md", Some(".wave")),
            (".gemini/x", Some(".gemini")),
            (".opencode/agent/x.md", Some(".opencode")),
            (".attache/config.toml", Some(".attache")),
            (".github/workflows/ci.yml", None),
            (".gitignore", None),
            (".gitattributes", None),
            ("git/config", None),
            ("src/main.rs", None),
            ("agents/x.md", None),
            ("", None),
        ] {
            assert_eq!(protected(path), found, "{path:?}");
        }
    }
}
