//! The plan: what to look at next, given what was found so far.
//!
//! First a survey of all things looked for at once, then a close look at the likeliest files, then the
//! places themselves and who uses them. Nothing to look at means that the report is due.

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::json;

use super::{
    Wanted, absent,
    briefing::{Briefing, Tools},
    concept::{Concept, Kind},
    evidence::{EVERY_LINE, Evidence},
    inquiry::Inquiry,
    overview,
    paths::{Sort, as_glob},
    ranking::{Ranked, homes, ranked},
    words::{is_weak, subwords},
};

/// So many files are looked into for mentions.
const MENTIONED: usize = 24;
/// So many places are read.
const MOST_READS: usize = 5;
/// So many lines are read where a file is asked for by name.
const WHOLE: usize = 400;
/// So many lines are read of a place, and so many of them before it.
const EXCERPT: usize = 14;
const BEFORE: usize = 3;

/// A keyword before what is defined, in the common languages.
const KEYWORDS: &str = "(?:fn|struct|enum|trait|mod|type|union|class|defp?|defmodule|func|function|fun|\
    interface|record|object|module|namespace|protocol|macro_rules!|#define|typedef|const|let|var|val|static)";

/// What is said, and what is to be searched; nothing once the report is due.
pub(super) fn next(
    briefing: &Briefing<'_>,
    inquiry: &Inquiry,
    evidence: &Evidence<'_>,
) -> (String, Vec<Wanted>) {
    if briefing.must_finish() {
        return (String::new(), Vec::new());
    }
    let tools = briefing.tools;
    if is_overview(inquiry) {
        return overview::next(briefing.rounds, tools, evidence);
    }
    match briefing.rounds {
        0 => (searching(inquiry), survey(tools, inquiry)),
        1 if found_nothing(inquiry, evidence) => {
            ("Nothing yet: looking for the nearest names.".to_owned(), nearest(tools, inquiry))
        }
        1 => {
            let files = ranked(inquiry, evidence);
            let is_absent = absent::missing(inquiry, evidence, &files).is_total;
            let mut wanted = look(tools, inquiry, evidence, files);
            if is_absent {
                wanted.extend(nearest(tools, inquiry));
            }
            ("Looking into the likeliest files.".to_owned(), wanted)
        }
        2 => ("Reading the places found.".to_owned(), places(tools, inquiry, evidence)),
        _ => (String::new(), Vec::new()),
    }
}

/// Whether the question is about the project as a whole.
pub(super) fn is_overview(inquiry: &Inquiry) -> bool {
    inquiry.wants.overview || (inquiry.concepts.is_empty() && inquiry.paths.is_empty())
}

fn found_nothing(inquiry: &Inquiry, evidence: &Evidence<'_>) -> bool {
    !evidence.found_something() && (inquiry.paths.is_empty() || evidence.lines.is_empty())
}

fn searching(inquiry: &Inquiry) -> String {
    let concepts = inquiry.concepts.iter().map(|concept| &concept.label);
    let labels: Vec<_> =
        concepts.chain(&inquiry.paths).take(6).map(|label| format!("`{label}`")).collect();
    format!("No language model: searching for {}.", labels.join(", "))
}

fn survey(tools: Tools<'_>, inquiry: &Inquiry) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for path in &inquiry.paths {
        if tools.reads {
            wanted.push((BuiltinTool::ReadFile, json!({"path": path, "limit": WHOLE})));
        } else if tools.greps {
            // Every line matches: it is as good as reading.
            let arguments = json!({"path": path, "pattern": EVERY_LINE, "head_limit": WHOLE});
            wanted.push((BuiltinTool::GrepFiles, arguments));
        }
        if tools.globs {
            let name = path.rsplit('/').next().unwrap_or(path);
            let glob = format!("**/{}", as_glob(name));
            wanted.push((BuiltinTool::GlobFiles, json!({ "pattern": glob })));
        }
    }
    if tools.greps {
        for concept in &inquiry.concepts {
            let pattern = concept.pattern();
            let arguments = json!({"pattern": pattern, "mode": "count", "head_limit": 1000});
            wanted.push((BuiltinTool::GrepFiles, arguments));
        }
        if !inquiry.concepts.is_empty() {
            let pattern = definers(&inquiry.concepts);
            wanted.push((BuiltinTool::GrepFiles, json!({"pattern": pattern, "head_limit": 150})));
        }
    }
    let names: Vec<String> = inquiry
        .concepts
        .iter()
        .filter(|concept| concept.kind < Kind::Weak)
        .filter_map(Concept::name_glob)
        .flat_map(|name| [format!("**/*{name}*"), format!("**/*{name}*/**")])
        .collect();
    if tools.globs && !names.is_empty() {
        let pattern = format!("{{{}}}", names.join(","));
        wanted.push((BuiltinTool::GlobFiles, json!({ "pattern": pattern })));
    } else if tools.lists && !(tools.greps || tools.globs) {
        wanted.push((BuiltinTool::ListDir, json!({"depth": 6})));
    }
    if wanted.is_empty() && tools.reads {
        wanted.extend(overview::first_reads());
    }
    wanted
}

/// Lines that define something of these names: a name alone must be the whole name.
fn definers(concepts: &[Concept]) -> String {
    let named = concepts.iter().filter(|concept| concept.kind < Kind::Weak).map(|concept| {
        let pattern = concept.pattern();
        if concept.is_strong() {
            format!("\\w*{pattern}")
        } else {
            format!("(?i:{})[a-z]{{0,3}}\\b", concept.stems().join(""))
        }
    });
    let named = named.collect::<Vec<_>>().join("|");
    format!(
        "^\\s*(?:[a-z]+(?:\\([a-z]+\\))?\\s+){{0,4}}{KEYWORDS}\\s+(?:\\([^)]*\\)\\s*)?(?:{named})\
         |^\\s*[\\w<>\\[\\],*&: ]+\\s[*&]?(?:{named})\\w*\\s*\\([^;]*$"
    )
}

/// A loose search, for the names that may have been meant.
fn nearest(tools: Tools<'_>, inquiry: &Inquiry) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let mut parts: Vec<String> = inquiry
        .concepts
        .iter()
        .flat_map(Concept::stems)
        .filter(|stem| stem.chars().count() >= 4)
        .map(|stem| regex_syntax::escape(&stem.chars().take(4).collect::<String>()))
        .collect();
    parts.sort();
    parts.dedup();
    if tools.greps && !parts.is_empty() {
        let pattern = format!("(?i:\\b(?:{})\\w*)", parts.join("|"));
        wanted.push((BuiltinTool::GrepFiles, json!({"pattern": pattern, "head_limit": 100})));
    }
    if tools.globs {
        wanted.push((BuiltinTool::GlobFiles, json!({"pattern": "**/*"})));
    } else if tools.lists {
        wanted.push((BuiltinTool::ListDir, json!({"depth": 3})));
    }
    wanted
}

/// The outlines of the likeliest files, and the lines that mention what is looked for.
fn look(
    tools: Tools<'_>,
    inquiry: &Inquiry,
    evidence: &Evidence<'_>,
    files: Vec<Ranked<'_>>,
) -> Vec<Wanted> {
    let mut wanted = named_files(tools, inquiry, evidence);
    if files.is_empty() {
        return wanted;
    }
    if !tools.greps {
        wanted.extend(whole_files(tools, evidence, &files));
        return wanted;
    }
    let glob = |files: &[Ranked<'_>]| {
        files.iter().map(|file| as_glob(file.path)).collect::<Vec<_>>().join(",")
    };
    let top = files.get(..files.len().min(8)).unwrap_or(&files);
    let pattern = format!(
        "^\\s*(?:[a-z]+(?:\\([a-z]+\\))?\\s+){{0,4}}{KEYWORDS}\\s|^(?:\\w+[\\w<>\\[\\],*&: ]*\\s)[*&]?\\w+\\s*\\([^;]*$\
         |^\\s+(?:public|private|protected|static)\\s[^;=]*\\("
    );
    let arguments = json!({"pattern": pattern, "glob": glob(top), "head_limit": 300});
    wanted.push((BuiltinTool::GrepFiles, arguments));
    let telling: Vec<String> = mentions(inquiry, evidence);
    if !telling.is_empty() {
        let files: Vec<Ranked<'_>> = files.into_iter().take(MENTIONED).collect();
        let arguments =
            json!({"pattern": telling.join("|"), "glob": glob(&files), "head_limit": 200});
        wanted.push((BuiltinTool::GrepFiles, arguments));
    }
    wanted
}

/// The patterns whose lines are worth seeing: names if any was found, else the rarest words.
fn mentions(inquiry: &Inquiry, evidence: &Evidence<'_>) -> Vec<String> {
    let found: Vec<(usize, &Concept)> = inquiry
        .concepts
        .iter()
        .enumerate()
        .filter(|(index, _)| evidence.files_with(*index) > 0)
        .map(|(index, concept)| (evidence.files_with(index), concept))
        .collect();
    let strong: Vec<String> = found
        .iter()
        .filter(|(_, concept)| concept.is_strong())
        .map(|(_, concept)| concept.pattern())
        .collect();
    let mut words = found;
    words.retain(|(_, concept)| !concept.is_strong());
    words.sort_by_key(|(files, concept)| (concept.kind, *files));
    let rarest = words.iter().take(if strong.is_empty() { 2 } else { 1 });
    let rarest = rarest.filter(|(files, _)| strong.is_empty() || *files < 50);
    strong.iter().cloned().chain(rarest.map(|(_, concept)| concept.pattern())).collect()
}

/// Files that the task names and that lie elsewhere than it says.
fn named_files(tools: Tools<'_>, inquiry: &Inquiry, evidence: &Evidence<'_>) -> Vec<Wanted> {
    if !tools.reads {
        return Vec::new();
    }
    let missing = |path: &&String| !evidence.lines.contains_key(path.as_str());
    let elsewhere = inquiry.paths.iter().filter(missing).filter_map(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        evidence.names().find(|known| known.rsplit('/').next() == Some(name))
    });
    elsewhere.map(|path| (BuiltinTool::ReadFile, json!({"path": path, "limit": WHOLE}))).collect()
}

/// Where nothing can be searched, the likeliest files are read.
fn whole_files(tools: Tools<'_>, evidence: &Evidence<'_>, files: &[Ranked<'_>]) -> Vec<Wanted> {
    if !tools.reads {
        return Vec::new();
    }
    let unread = files.iter().filter(|file| !evidence.read.contains(file.path));
    unread
        .take(MOST_READS)
        .map(|file| (BuiltinTool::ReadFile, json!({"path": file.path, "limit": WHOLE})))
        .collect()
}

/// The places themselves, and the lines that use what is defined there.
fn places(tools: Tools<'_>, inquiry: &Inquiry, evidence: &Evidence<'_>) -> Vec<Wanted> {
    if !tools.greps {
        return Vec::new();
    }
    let files = ranked(inquiry, evidence);
    let homes = homes(&files);
    let mut wanted = Vec::new();
    if tools.reads {
        for file in homes.iter().filter(|file| !evidence.read.contains(file.path)) {
            let best = file.definitions.first().map_or(1, |best| best.line);
            let offset = best.saturating_sub(BEFORE).max(1);
            let arguments = json!({"path": file.path, "offset": offset, "limit": EXCERPT});
            wanted.push((BuiltinTool::ReadFile, arguments));
        }
        wanted.truncate(MOST_READS);
        if let Some(top) = homes.first().filter(|top| !evidence.read.contains(top.path)) {
            wanted.push((BuiltinTool::ReadFile, json!({"path": top.path, "limit": 8})));
        }
    }
    let names = used_names(&homes);
    if !names.is_empty() {
        let outside = homes.iter().map(|file| format!("!{}", as_glob(file.path)));
        let outside = outside.collect::<Vec<_>>().join(",");
        let arguments = json!({"pattern": names.join("|"), "glob": outside, "head_limit": 150});
        wanted.push((BuiltinTool::GrepFiles, arguments));
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
            if words.len() < 2 && file.path != top {
                continue;
            }
            let name = regex_syntax::escape(found.name);
            let is_function = matches!(found.keyword, "fn" | "def" | "func" | "function" | "fun");
            let pattern = match words.as_slice() {
                [word] if is_weak(word) || found.name.chars().count() < 3 => continue,
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
