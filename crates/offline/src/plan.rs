//! The plan: what to look at next, given what was found so far.
//!
//! First a survey of all things looked for at once, then the likeliest places, the lines that mention
//! what is looked for, and who uses it. Nothing to look at means that the report is due.

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::{Value, json};

use crate::{
    Wanted, absent,
    briefing::{Briefing, Tools},
    concept::Concept,
    evidence::{EVERY_LINE, Evidence},
    inquiry::Inquiry,
    overview,
    paths::{Sort, as_glob, file_name},
    ranking::{Ranked, homes, ranked},
    words::{is_weak, subwords},
};

/// How many files are looked into for mentions, and how many are read.
const MAX_MENTIONED: usize = 24;
const MAX_READS: usize = 5;
/// How many lines are read of a file that was asked for by name.
const WHOLE: usize = 400;
/// How many lines are read of a place, and how many of them before it.
const EXCERPT: usize = 14;
const BEFORE: usize = 3;

/// What may stand before a definition's keyword, and the keywords of the common languages.
const KEYWORD: &str = "^\\s*(?:[a-z]+(?:\\([a-z]+\\))?\\s+){0,4}(?:fn|struct|enum|trait|mod|type|union|\
    class|defp?|defmodule|func|function|fun|interface|record|object|module|namespace|protocol|\
    macro_rules!|#define|typedef|const|let|var|val|static)\\s";

/// What is said, and what is to be called; nothing once the report is due.
pub(crate) fn next(
    briefing: &Briefing<'_>,
    inquiry: &Inquiry,
    evidence: &Evidence<'_>,
) -> (String, Vec<Wanted>) {
    if briefing.must_finish() {
        return (String::new(), Vec::new());
    }
    let tools = briefing.tools;
    if inquiry.is_overview() {
        return overview::next(briefing.rounds, tools, evidence);
    }
    match briefing.rounds {
        0 => (searching(inquiry), survey(tools, inquiry)),
        1 => {
            let files = ranked(inquiry, evidence);
            let mut wanted = elsewhere(tools, inquiry, evidence);
            if absent::missing(inquiry, evidence, &files).is_total {
                wanted.extend(nearest(tools, inquiry));
            }
            wanted.extend(mentions(tools, inquiry, evidence, &files));
            wanted.extend(places(tools, evidence, &homes(&files)));
            ("Looking into the likeliest files.".to_owned(), wanted)
        }
        _ => (String::new(), Vec::new()),
    }
}

fn searching(inquiry: &Inquiry) -> String {
    let concepts = inquiry.concepts.iter().map(|concept| &concept.label);
    let labels: Vec<_> =
        concepts.chain(&inquiry.paths).take(6).map(|label| format!("`{label}`")).collect();
    format!("No language model: searching for {}.", labels.join(", "))
}

fn read(path: &str) -> Wanted {
    (BuiltinTool::ReadFile, json!({"path": path, "limit": WHOLE}))
}

fn grep(arguments: Value) -> Wanted {
    (BuiltinTool::GrepFiles, arguments)
}

fn survey(tools: Tools<'_>, inquiry: &Inquiry) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for path in &inquiry.paths {
        if tools.reads {
            wanted.push(read(path));
        } else if tools.greps {
            // Every line matches: it is as good as reading.
            wanted.push(grep(json!({"path": path, "pattern": EVERY_LINE, "head_limit": WHOLE})));
        }
        if tools.globs {
            let glob = format!("**/{}", as_glob(file_name(path)));
            wanted.push((BuiltinTool::GlobFiles, json!({ "pattern": glob })));
        }
    }
    if tools.greps && !inquiry.concepts.is_empty() {
        wanted.extend(inquiry.concepts.iter().map(|concept| {
            grep(json!({"pattern": concept.pattern(), "mode": "count", "head_limit": 1000}))
        }));
        let definers = definers(&inquiry.concepts);
        wanted.push(grep(json!({"pattern": definers, "head_limit": 300})));
    }
    let names: Vec<String> = inquiry
        .concepts
        .iter()
        .filter_map(Concept::name_glob)
        .flat_map(|name| [format!("**/*{name}*"), format!("**/*{name}*/**")])
        .collect();
    if tools.globs && !names.is_empty() {
        let pattern = format!("{{{}}}", names.join(","));
        wanted.push((BuiltinTool::GlobFiles, json!({ "pattern": pattern })));
    } else if tools.lists && !(tools.greps || tools.globs) {
        wanted.push((BuiltinTool::ListDir, json!({"depth": 6})));
    }
    if wanted.is_empty() {
        // All that is left is to read what a project may have.
        wanted = overview::next(0, tools, &Evidence::default()).1;
    }
    wanted
}

/// Lines that define something of these names: a single word must begin the name.
fn definers(concepts: &[Concept]) -> String {
    let named = concepts.iter().map(|concept| {
        if concept.is_strong() {
            format!("\\w*{}", concept.pattern())
        } else {
            format!("(?i:{})[a-z]{{0,3}}\\b", concept.stems().join(""))
        }
    });
    let named = named.collect::<Vec<_>>().join("|");
    format!(
        "{KEYWORD}+(?:\\([^)]*\\)\\s*)?(?:{named})\
         |^\\s*[\\w<>\\[\\],*&: ]+\\s[*&]?(?:{named})\\w*\\s*\\([^;]*$"
    )
}

/// Files that the task names and that lie elsewhere than it says.
fn elsewhere(tools: Tools<'_>, inquiry: &Inquiry, evidence: &Evidence<'_>) -> Vec<Wanted> {
    let missing = inquiry.paths.iter().filter(|path| !evidence.lines.contains_key(path.as_str()));
    let elsewhere = missing
        .filter(|_| tools.reads)
        .filter_map(|path| evidence.names.iter().find(|known| file_name(known) == file_name(path)));
    elsewhere.map(|path| read(path)).collect()
}

/// A loose search, for the names that may have been meant.
fn nearest(tools: Tools<'_>, inquiry: &Inquiry) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let stems = inquiry.concepts.iter().flat_map(Concept::stems);
    let stems = stems.filter(|stem| stem.chars().count() >= 4);
    let parts: Vec<String> =
        stems.map(|stem| regex_syntax::escape(&stem.chars().take(4).collect::<String>())).collect();
    if tools.greps && !parts.is_empty() {
        let pattern = format!("(?i:\\b(?:{})\\w*)", parts.join("|"));
        wanted.push(grep(json!({"pattern": pattern, "head_limit": 100})));
    }
    if tools.globs {
        wanted.push((BuiltinTool::GlobFiles, json!({"pattern": "**/*"})));
    }
    wanted
}

/// The lines of likely files that mention what is looked for: names if any was found, else the rarest
/// words.
fn mentions(
    tools: Tools<'_>,
    inquiry: &Inquiry,
    evidence: &Evidence<'_>,
    files: &[Ranked<'_>],
) -> Option<Wanted> {
    let counted = inquiry.concepts.iter().enumerate();
    let counted = counted.map(|(index, concept)| (evidence.files_with(index), concept));
    let (strong, mut words): (Vec<_>, Vec<_>) =
        counted.filter(|(files, _)| *files > 0).partition(|(_, concept)| concept.is_strong());
    words.sort_by_key(|(files, _)| *files);
    words.truncate(if strong.is_empty() { 2 } else { 1 });
    let patterns: Vec<String> =
        strong.into_iter().chain(words).map(|(_, concept)| concept.pattern()).collect();
    let globs: Vec<String> =
        files.iter().take(MAX_MENTIONED).map(|file| as_glob(file.path)).collect();
    let glob = globs.join(",");
    let is_due = tools.greps && !patterns.is_empty() && !globs.is_empty();
    is_due.then(|| grep(json!({"pattern": patterns.join("|"), "glob": glob, "head_limit": 200})))
}

/// The likeliest places themselves, and the lines that use what is defined there.
fn places(tools: Tools<'_>, evidence: &Evidence<'_>, homes: &[&Ranked<'_>]) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let unread = homes.iter().filter(|file| !evidence.read.contains(file.path));
    for file in unread.take(if tools.reads { MAX_READS } else { 0 }) {
        wanted.push(match file.definitions.first() {
            Some(best) => {
                let offset = best.line.saturating_sub(BEFORE).max(1);
                let arguments = json!({"path": file.path, "offset": offset, "limit": EXCERPT});
                (BuiltinTool::ReadFile, arguments)
            }
            None => read(file.path),
        });
    }
    let names = used_names(homes);
    if tools.greps && !names.is_empty() {
        let outside = homes.iter().map(|file| format!("!{}", as_glob(file.path)));
        let outside = outside.collect::<Vec<_>>().join(",");
        let pattern = names.join("|");
        wanted.push(grep(json!({"pattern": pattern, "glob": outside, "head_limit": 300})));
    }
    wanted
}

/// Patterns for uses of what the likeliest files define.
fn used_names(homes: &[&Ranked<'_>]) -> Vec<String> {
    let mut patterns: Vec<String> = Vec::new();
    let top = homes.first().map_or("", |top| top.path);
    for file in homes.iter().filter(|file| file.sort != Sort::Document).take(3) {
        for found in file.definitions.iter().take(4) {
            let words = subwords(found.name);
            let name = regex_syntax::escape(found.name);
            let is_function = matches!(found.keyword, "fn" | "def" | "func" | "function" | "fun");
            let pattern = match words.as_slice() {
                [word] if is_weak(word) || word.chars().count() < 3 || file.path != top => continue,
                [_] if is_function => format!("(?:^|[^.\\w]){name}\\("),
                _ => format!("\\b{name}\\b"),
            };
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
    }
    patterns
}
