//! Absence: what was looked for and not found, and the names that are nearest to it.

use std::collections::BTreeSet;

use attache_kernel::{id::nearest as nearest_to, rights::tool_name::BuiltinTool};

use crate::{
    concept::{Concept, Kind},
    evidence::Evidence,
    inquiry::Inquiry,
    paths::{Sort, file_stem, sort_of},
    ranking::Ranked,
    words::{is_stop, subwords},
};

/// How many near names are given.
const MAX_NEAR: usize = 6;

/// What was not found.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    /// What was looked for and not found, in backticks.
    pub(crate) labels: Vec<String>,
    /// Whether the question as such is unanswered.
    pub(crate) is_total: bool,
    /// Whether something else of the question was found.
    pub(crate) is_partial: bool,
    words: Vec<String>,
}

/// What of a question was not found.
pub(crate) fn missing(inquiry: &Inquiry, evidence: &Evidence<'_>, files: &[Ranked<'_>]) -> Missing {
    let is_found = |index: usize, concept: &Concept| {
        let in_file = |file: &Ranked<'_>| {
            concept.fit(&subwords(file_stem(file.path))) > 0.0
                || file.definitions.iter().any(|found| concept.fit(&subwords(found.name)) > 0.0)
        };
        evidence.files_with(index) > 0
            || files.iter().any(in_file)
            || evidence
                .lines
                .values()
                .flat_map(|lines| lines.values())
                .any(|line| concept.is_in(line))
    };
    let judged: Vec<(&Concept, bool)> = inquiry
        .concepts
        .iter()
        .enumerate()
        .map(|(index, concept)| (concept, is_found(index, concept)))
        .collect();
    let count = |kinds: &[Kind], wanted: bool| {
        let of_kind = judged.iter().filter(|(concept, _)| kinds.contains(&concept.kind));
        of_kind.filter(|(_, found)| *found == wanted).count()
    };
    // The most telling kind decides: a name before words beside each other before single words.
    let names = [Kind::Literal, Kind::Identifier];
    let is_total = if count(&names, true) + count(&names, false) > 0 {
        count(&names, true) == 0
    } else if judged.is_empty() {
        files.is_empty()
    } else {
        count(&[Kind::Compound], true) == 0
            && count(&[Kind::Word], true) <= count(&[Kind::Word], false)
    };
    let lost = || judged.iter().filter(|(_, found)| !found).map(|(concept, _)| *concept);
    let words = lost().flat_map(|concept| concept.label.split_whitespace().map(str::to_owned));
    let shown = lost().filter(|concept| is_total || concept.kind != Kind::Compound);
    let mut labels: Vec<String> = shown.map(|concept| quoted(&concept.label)).collect();
    if labels.is_empty() && is_total {
        labels = inquiry.paths.iter().map(|path| quoted(path)).collect();
    }
    let is_partial = judged.iter().any(|(_, found)| *found);
    Missing { labels, is_total, is_partial, words: words.collect() }
}

fn quoted(label: &str) -> String {
    format!("`{}`", label.replace('`', "'"))
}

/// What can be said of something that was not found, given what was looked at.
pub(crate) fn looked_at(evidence: &Evidence<'_>) -> String {
    let used = |tool| evidence.scope.used(tool);
    let read = evidence.read.len();
    let not_texts = format!("file contents were not searched, {read} files were read");
    if used(BuiltinTool::GrepFiles) {
        let names = used(BuiltinTool::GlobFiles);
        let or = if names { "name or text" } else { "text; file names were not searched" };
        return format!("none of the files searched has it in its {or}");
    }
    if used(BuiltinTool::GlobFiles) {
        return format!("no file name has it; {not_texts}");
    }
    if used(BuiltinTool::ListDir) {
        return format!("none of the files listed has it in its name; {not_texts}");
    }
    format!(
        "no search was made, which takes `grep_files`, `glob_files` or `list_dir`; {read} files were \
         read"
    )
}

/// Names that are like what was looked for, the likest first.
pub(crate) fn nearest(missing: &Missing, evidence: &Evidence<'_>) -> Vec<String> {
    let mut names: BTreeSet<&str> =
        evidence.names.iter().flat_map(|path| path.split('/').map(file_stem)).collect();
    let source = evidence.lines.iter().filter(|(path, _)| sort_of(path) < Sort::Document);
    for line in source.flat_map(|(_, lines)| lines.values()) {
        names.extend(line.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    }
    names.retain(|name| {
        let lower = name.to_lowercase();
        lower.chars().count() > 3 && !is_stop(&lower) && !missing.words.contains(&lower)
    });
    let mut near: Vec<String> = Vec::new();
    for word in &missing.words {
        let mut left: Vec<&str> =
            names.iter().copied().filter(|name| begins_like(name, word)).collect();
        while let Some(found) = nearest_to(word, left.iter().copied()) {
            left.retain(|name| *name != found);
            if !near.iter().any(|known| known == found) {
                near.push(found.to_owned());
            }
        }
    }
    near.truncate(MAX_NEAR);
    near
}

/// Whether a name begins as a word does, for more than half of it.
fn begins_like(name: &str, word: &str) -> bool {
    let letters = name.chars().flat_map(char::to_lowercase);
    let same = letters.zip(word.chars().flat_map(char::to_lowercase));
    same.take_while(|(one, other)| one == other).count() * 5 >= word.chars().count() * 3
}
