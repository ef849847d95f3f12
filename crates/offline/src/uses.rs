//! Uses: the lines outside the likeliest files that call, use or mention what is looked for.

use std::collections::BTreeMap;

use crate::{
    definitions::definition_in,
    evidence::{Evidence, Lines},
    inquiry::Inquiry,
    paths::{Sort, sort_of},
    ranking::Ranked,
    report::{Finding, MAX_NAMED},
};

/// How many lines are listed, and how many of one file.
const MAX_USES: usize = 12;
const MAX_USES_OF_FILE: usize = 2;

/// How a line has to do with what was found, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worth {
    /// It calls the likeliest definition.
    CallOfBest,
    /// It calls another likely definition.
    Call,
    /// It has the name of one.
    Use,
    /// It has what was looked for.
    Mention,
    /// It is a comment, or in a document.
    Prose,
}

/// The lines that have to do with what was found, source before anything else.
pub(crate) fn uses(
    homes: &[&Ranked<'_>],
    inquiry: &Inquiry,
    evidence: &Evidence<'_>,
) -> Vec<(Worth, Finding)> {
    let defined = || homes.iter().flat_map(|file| file.definitions.iter().take(MAX_NAMED));
    let worth = |path: &str, text: &str, is_use: bool| {
        let called = defined().position(|found| text.contains(&format!("{}(", found.name)));
        match called {
            _ if !is_code(path, text) => Worth::Prose,
            Some(0) => Worth::CallOfBest,
            Some(_) => Worth::Call,
            None if is_use => Worth::Use,
            None => Worth::Mention,
        }
    };
    let is_defined_here = |text: &str| {
        definition_in(text).is_some_and(|line| defined().any(|found| found.name == line.name))
    };
    let mentions = |text: &str| {
        inquiry.concepts.iter().any(|concept| concept.is_strong() && concept.is_in(text))
    };
    let mut by_file: BTreeMap<&str, Lines<'_>> = evidence.uses.clone();
    for (path, lines) in &evidence.lines {
        if !homes.iter().any(|home| home.path == *path) {
            let mentioning = lines.iter().filter(|(_, text)| mentions(text));
            by_file.entry(path).or_default().extend(mentioning.map(|(line, text)| (*line, *text)));
        }
    }
    let mut uses = Vec::new();
    for (path, lines) in &by_file {
        let known = evidence.uses.get(path);
        let is_use = |line: &usize| known.is_some_and(|known| known.contains_key(line));
        let lines = lines.iter().filter(|(_, text)| !is_defined_here(text));
        let mut of_file: Vec<(Worth, usize, &str)> =
            lines.map(|(line, text)| (worth(path, text, is_use(line)), *line, *text)).collect();
        of_file.sort_unstable();
        uses.extend(of_file.into_iter().take(MAX_USES_OF_FILE).map(|(worth, line, text)| {
            (worth, Finding { path: (*path).to_owned(), line, text: text.trim().to_owned() })
        }));
    }
    uses.sort_by_key(|(worth, used)| {
        let sort = sort_of(&used.path);
        let is_wanted_test = inquiry.wants.tests && sort == Sort::Test;
        (*worth == Worth::Prose, !is_wanted_test, sort, *worth)
    });
    uses.truncate(MAX_USES);
    uses
}

fn is_code(path: &str, text: &str) -> bool {
    const COMMENTS: [&str; 6] = ["//", "#", "*", "/*", "--", "\"\"\""];
    let text = text.trim_start();
    sort_of(path) != Sort::Document && !COMMENTS.iter().any(|mark| text.starts_with(mark))
}
