//! The overview: what a project is, by its tree, its README and its manifests.

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::json;

use crate::{
    Wanted,
    briefing::Tools,
    evidence::{EVERY_LINE, Evidence},
    snippets,
};

/// The files that say what a project is, the most telling first.
const READMES: [&str; 5] = ["README.md", "README.rst", "README.txt", "README", "readme.md"];
const MANIFESTS: [&str; 8] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "CMakeLists.txt",
    "Makefile",
];
/// How many of them are read, and how many lines of each.
const MAX_READ: usize = 3;
const LINES: usize = 60;
/// How many entries of the tree are shown.
const MAX_TREE: usize = 60;

fn telling() -> impl Iterator<Item = &'static str> {
    READMES.into_iter().chain(MANIFESTS)
}

/// What to look at next.
pub(crate) fn next(
    round: usize,
    tools: Tools<'_>,
    evidence: &Evidence<'_>,
) -> (String, Vec<Wanted>) {
    let wanted = match round {
        0 if tools.lists => vec![(BuiltinTool::ListDir, json!({"depth": 2}))],
        0 if tools.globs => vec![(BuiltinTool::GlobFiles, json!({"pattern": "**/*"}))],
        0 if tools.greps => {
            // A file that has a line is there.
            let at_top = telling().map(|name| format!("/{name}")).collect::<Vec<_>>().join(",");
            let all = json!({"pattern": EVERY_LINE, "mode": "files", "head_limit": 200});
            let mut top = all.clone();
            top["glob"] = json!(at_top);
            vec![(BuiltinTool::GrepFiles, top), (BuiltinTool::GrepFiles, all)]
        }
        0 => telling().take(7).map(read).collect(),
        1 if tools.reads && evidence.read.is_empty() => {
            let there = telling().filter(|name| evidence.names.contains(name));
            there.take(MAX_READ).map(read).collect()
        }
        _ => Vec::new(),
    };
    let says = match round {
        0 => "No language model: looking at the project as a whole.",
        _ => "Reading what the project says of itself.",
    };
    (says.to_owned(), wanted)
}

fn read(name: &str) -> Wanted {
    (BuiltinTool::ReadFile, json!({"path": name, "limit": LINES}))
}

/// The project in sections of Markdown, and one sentence on it.
pub(crate) fn write(evidence: &Evidence<'_>) -> (String, String) {
    let mut sections = String::new();
    for (path, lines) in telling().filter_map(|name| evidence.lines.get_key_value(name)) {
        sections.extend(["## `", path, "`\n\n", &snippets::head(path, lines), "\n"]);
    }
    let names = evidence.names.iter().copied();
    let tree: Vec<&str> =
        if evidence.tree.is_empty() { names.collect() } else { evidence.tree.clone() };
    let tree: Vec<&str> = tree.into_iter().filter(|path| *path != ".git/").collect();
    if !tree.is_empty() {
        sections.push_str("## Files\n\n```\n");
        for path in tree.iter().take(MAX_TREE) {
            sections.extend([path, "\n"]);
        }
        if let more @ 1.. = tree.len().saturating_sub(MAX_TREE) {
            sections.extend(["… ", &more.to_string(), " more\n"]);
        }
        sections.push_str("```\n\n");
    }
    (sentence(evidence), sections)
}

/// What the project says of itself first: its title and its first sentence.
fn sentence(evidence: &Evidence<'_>) -> String {
    let readme = READMES.iter().find_map(|name| evidence.lines.get(name));
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
    if let Some(said) = said {
        return format!("The project says of itself: {}", said.trim());
    }
    let known = |name: &&str| evidence.names.contains(name) || evidence.lines.contains_key(name);
    let kinds: Vec<String> =
        MANIFESTS.iter().filter(|name| known(name)).map(|name| format!("`{name}`")).collect();
    if kinds.is_empty() {
        return "No README or manifest was found that says what the project is.".to_owned();
    }
    format!("No README was found that says what the project is; it has {}.", kinds.join(", "))
}
