//! Patterns of opencode as patterns of our rules.
//!
//! There `*` is any text, slashes included, `?` one character, and everything else stands for itself; a path begins at
//! the workspace, and a page to fetch is matched by its whole address. A pattern that denies may become wider here, one
//! that allows only narrower.

use crate::rights::tool_name::BuiltinTool;

/// How much a translated pattern may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All that the original means, or more: for what is taken away.
    AtLeast,
    /// Nothing that the original does not mean: for what is left.
    AtMost,
}

/// How many patterns one may become.
const MOST: usize = 16;

/// The patterns that together mean the same for a tool; none if it cannot be said.
pub(super) fn translated(tool: &str, pattern: &str, reach: Reach) -> Option<Vec<String>> {
    match BuiltinTool::from_word(tool) {
        Some(tool) if tool.is_shell() => Some(vec![command(pattern, reach)]),
        Some(BuiltinTool::WebFetch) => host(pattern, reach).map(|host| vec![host]),
        Some(BuiltinTool::Task | BuiltinTool::SubagentRun) => Some(vec![pattern.to_owned()]),
        Some(tool)
            if BuiltinTool::READERS.contains(&tool) || BuiltinTool::WRITERS.contains(&tool) =>
        {
            paths(pattern, reach)
        }
        _ => None,
    }
}

/// A command: `?` is not known there.
fn command(pattern: &str, reach: Reach) -> String {
    match reach {
        Reach::AtLeast => pattern.replace('?', "*"),
        Reach::AtMost => pattern.to_owned(),
    }
}

/// An address: rules here know hosts.
fn host(pattern: &str, reach: Reach) -> Option<String> {
    if pattern.starts_with("domain:") {
        return Some(pattern.to_owned());
    }
    let rest = pattern.split_once("://").map_or(pattern, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    match reach {
        Reach::AtLeast => {
            let host = host.trim_matches(['*', '.']);
            (!host.contains(['*', '?'])).then(|| format!("domain:{host}"))
        }
        // Only a pattern for all of a host: `https://example.com/*`.
        Reach::AtMost => {
            let is_whole = matches!(path, "*" | "**") && rest.contains('/');
            let begins_with_scheme = pattern.contains("://");
            let allowed = match host.strip_prefix("*.") {
                Some(below) => format!("domain:*.{below}"),
                None => format!("host:{host}"),
            };
            (is_whole && begins_with_scheme).then_some(allowed)
        }
    }
}

/// A path, in which `*` goes across directories.
fn paths(pattern: &str, reach: Reach) -> Option<Vec<String>> {
    let home = pattern.strip_prefix("$HOME/").or_else(|| pattern.strip_prefix("~/"));
    let (start, text) = match home {
        Some(below) => ("~/", below),
        // What has no directory is denied at any depth, and allowed in the workspace itself.
        None if reach == Reach::AtLeast && !pattern.contains('/') => ("", pattern),
        None => ("/", pattern),
    };
    let is_odd = text.contains(['{', '\\']) || text.starts_with('/');
    if is_odd && reach == Reach::AtMost {
        return None;
    }
    if is_odd {
        return Some(vec![pattern.to_owned()]);
    }
    let names: Vec<&str> = text.split('/').collect();
    let mut whole: Vec<Vec<String>> = vec![Vec::new()];
    for (index, name) in names.iter().enumerate() {
        let is_last = index + 1 == names.len();
        let variants = if name.chars().all(|letter| letter == '*') && !name.is_empty() {
            // Between slashes it is one directory at least.
            let one = (!is_last && reach == Reach::AtMost).then(|| "*".to_owned());
            vec![one.into_iter().chain(["**".to_owned()]).collect()]
        } else {
            across(name)
        };
        whole = whole
            .iter()
            .flat_map(|before| variants.iter().map(|it| [before.as_slice(), it].concat()))
            .collect();
        if whole.len() > MOST {
            return None;
        }
    }
    let joined = |mut names: Vec<String>| {
        names.dedup_by(|second, first| second == "**" && first == "**");
        format!("{start}{}", names.join("/"))
    };
    Some(whole.into_iter().map(joined).collect())
}

/// The ways in which a name with `*` may be spread over directories.
fn across(name: &str) -> Vec<Vec<String>> {
    let escaped = |text: &str| text.replace('[', "\\[");
    let Some((before, after)) = name.split_once('*') else {
        return vec![vec![escaped(name)]];
    };
    let after = after.trim_start_matches('*');
    let star = format!("{}*", escaped(before));
    if after.is_empty() {
        return vec![vec![star, "**".to_owned()]];
    }
    let mut ways = Vec::new();
    for rest in across(after) {
        let Some((first, others)) = rest.split_first() else { continue };
        if !before.is_empty() {
            let joined = format!("{star}{first}");
            ways.push([&[joined][..], others].concat());
        }
        let begun = if before.is_empty() { Vec::new() } else { vec![star.clone()] };
        let further = [vec!["**".to_owned(), format!("*{first}")], others.to_vec()].concat();
        ways.push([begun, further].concat());
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_goes_across_directories() {
        for (pattern, allowed, denied) in [
            ("README.md", "/README.md", "README.md"),
            ("*.env", "/**/*.env", "**/*.env"),
            ("docs/*", "/docs/**", "/docs/**"),
            ("docs/*.mdx", "/docs/**/*.mdx", "/docs/**/*.mdx"),
            ("src/a*b.rs", "/src/a*b.rs /src/a*/**/*b.rs", "/src/a*b.rs /src/a*/**/*b.rs"),
            ("**/*.key", "/*/**/*.key", "/**/*.key"),
            ("app/[id]/*", "/app/\\[id]/**", "/app/\\[id]/**"),
            ("~/notes/*", "~/notes/**", "~/notes/**"),
        ] {
            let said = |reach| translated("edit_file", pattern, reach).unwrap().join(" ");
            assert_eq!(said(Reach::AtMost), allowed, "{pattern}");
            assert_eq!(said(Reach::AtLeast), denied, "{pattern}");
        }
        for pattern in ["/etc/*", "*.{ts,tsx}", "a*b*c*d*e*f*g"] {
            assert_eq!(translated("edit_file", pattern, Reach::AtMost), None, "{pattern}");
        }
    }

    #[test]
    fn an_address_becomes_its_host() {
        for (pattern, allowed, denied) in [
            ("https://a.com/*", Some("host:a.com"), Some("domain:a.com")),
            ("https://*.a.com/*", Some("domain:*.a.com"), Some("domain:a.com")),
            ("https://a.com/docs/*", None, Some("domain:a.com")),
            ("https://a.com*", None, Some("domain:a.com")),
            ("a.com/*", None, Some("domain:a.com")),
            ("domain:a.com", Some("domain:a.com"), Some("domain:a.com")),
            ("https://a*.com/*", Some("host:a*.com"), None),
        ] {
            let said = |reach| host(pattern, reach);
            assert_eq!(said(Reach::AtMost).as_deref(), allowed, "{pattern}");
            assert_eq!(said(Reach::AtLeast).as_deref(), denied, "{pattern}");
        }
    }
}
