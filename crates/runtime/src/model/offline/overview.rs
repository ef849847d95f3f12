//! The overview: what a project is, by its tree, its README and its manifests.

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::json;

use super::{
    Wanted,
    briefing::Tools,
    evidence::{EVERY_LINE, Evidence},
    paths::language,
};

/// The files that say what a project is, the most telling first.
const TELLING: &[&str] = &[
    "README.md",
    "README.rst",
    "README.txt",
    "README",
    "readme.md",
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "CMakeLists.txt",
    "Makefile",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "ARCHITECTURE.md",
];
/// So many of them are read, and so many lines of each.
const MOST_READ: usize = 3;
const LINES: usize = 60;
/// So many lines of each are shown.
const SHOWN_LINES: usize = 16;
const SHOWN_TREE: usize = 60;

/// What to look at next.
pub(super) fn next(
    round: usize,
    tools: Tools<'_>,
    evidence: &Evidence<'_>,
) -> (String, Vec<Wanted>) {
    let first = || "No language model: looking at the project as a whole.".to_owned();
    match round {
        0 if tools.lists => (first(), vec![(BuiltinTool::ListDir, json!({"depth": 2}))]),
        0 if tools.globs => (first(), vec![(BuiltinTool::GlobFiles, json!({"pattern": "**/*"}))]),
        0 if tools.reads => (first(), first_reads()),
        0 if tools.greps => {
            let arguments = json!({"pattern": EVERY_LINE, "mode": "files", "head_limit": 200});
            (first(), vec![(BuiltinTool::GrepFiles, arguments)])
        }
        1 if tools.reads && evidence.read.is_empty() => {
            let there = |name: &&&str| is_there(name, evidence);
            let names = TELLING.iter().filter(there).take(MOST_READ);
            (
                "Reading what the project says of itself.".to_owned(),
                names.map(|name| read(name)).collect(),
            )
        }
        _ => (String::new(), Vec::new()),
    }
}

/// The files to try where nothing can be listed.
pub(super) fn first_reads() -> Vec<Wanted> {
    ["README.md", "Cargo.toml", "package.json", "pyproject.toml", "go.mod"].map(read).into()
}

fn read(name: &str) -> Wanted {
    (BuiltinTool::ReadFile, json!({"path": name, "limit": LINES}))
}

fn is_there(name: &str, evidence: &Evidence<'_>) -> bool {
    evidence.names().any(|known| known == name)
        || evidence.listings.iter().any(|listing| {
            listing.lines().any(|line| {
                line.strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with("  "))
            })
        })
}

/// The project in sections of Markdown, and one sentence on it.
pub(super) fn write(evidence: &Evidence<'_>) -> (String, String) {
    let mut sections = String::new();
    for (path, lines) in TELLING.iter().filter_map(|name| evidence.lines.get_key_value(name)) {
        sections.push_str(&format_head(path, lines.values().copied()));
    }
    let tree: Vec<&str> = if evidence.listings.is_empty() {
        evidence.names().collect()
    } else {
        let lines = evidence.listings.iter().flat_map(|listing| listing.lines());
        lines.filter(|line| line.trim() != ".git/").collect()
    };
    if !tree.is_empty() {
        sections.push_str("## Files\n\n```\n");
        for line in tree.iter().take(SHOWN_TREE) {
            sections.push_str(line);
            sections.push('\n');
        }
        if let more @ 1.. = tree.len().saturating_sub(SHOWN_TREE) {
            sections.extend(["… ", &more.to_string(), " more\n"]);
        }
        sections.push_str("```\n\n");
    }
    (sentence(evidence), sections)
}

/// What the project says of itself first: its title and its first sentence.
fn sentence(evidence: &Evidence<'_>) -> String {
    let readme = TELLING.iter().take(5).find_map(|name| evidence.lines.get(name));
    let said = readme.and_then(|lines| {
        let prose = |line: &&str| {
            let line = line.trim();
            line.len() > 20 && !line.starts_with(['#', '<', '!', '[', '=', '-', '`'])
        };
        let paragraph = lines.values().copied().skip_while(|line| !prose(line));
        let paragraph: Vec<&str> = paragraph.take_while(|line| !line.trim().is_empty()).collect();
        let paragraph = paragraph.join(" ");
        let first = paragraph.split_once(". ").map(|(first, _)| format!("{first}."));
        first.or(Some(paragraph)).filter(|said| !said.is_empty())
    });
    let kinds: Vec<String> = TELLING
        .iter()
        .skip(5)
        .filter(|name| is_there(name, evidence) || evidence.lines.contains_key(*name))
        .take(3)
        .map(|name| format!("`{name}`"))
        .collect();
    match (said, kinds.is_empty()) {
        (Some(said), _) => format!("The project says of itself: {}", said.trim()),
        (None, false) => {
            format!("The project has no README that says what it is; it has {}.", kinds.join(", "))
        }
        (None, true) => "The project does not say what it is; this is what lies in it.".to_owned(),
    }
}

fn format_head<'l>(path: &str, lines: impl Iterator<Item = &'l str>) -> String {
    let shown: Vec<&str> = lines.take(SHOWN_LINES).collect();
    let fence = super::snippets::fence(&shown.join("\n"));
    format!(
        "## `{path}`\n\n{fence}{}\n{}\n{fence}\n\n",
        language(path),
        shown.join("\n").trim_end()
    )
}
