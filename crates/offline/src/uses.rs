//! Uses: the lines outside the likeliest files that use what those define, calls first.

use crate::{
    definitions::definition_in,
    evidence::Evidence,
    inquiry::Inquiry,
    paths::{Sort, sort_of},
    ranking::Ranked,
    report::{Finding, MAX_NAMED},
};

/// How many lines are listed as uses, and how many of one file.
const MAX_USES: usize = 12;
const MAX_USES_OF_FILE: usize = 2;

/// The lines that use what the likeliest files define.
pub(crate) fn uses(
    homes: &[&Ranked<'_>],
    inquiry: &Inquiry,
    evidence: &Evidence<'_>,
) -> Vec<Finding> {
    let defined = || homes.iter().flat_map(|file| file.definitions.iter().take(MAX_NAMED));
    // What tells most of a line: a call of the likeliest definition, then any call.
    let rank = |text: &str| {
        let called = defined().position(|found| text.contains(&format!("{}(", found.name)));
        called.map_or(usize::MAX, |at| usize::from(at > 0))
    };
    let mut uses = Vec::new();
    for (path, lines) in &evidence.uses {
        let mut of_file: Vec<(usize, usize, &str)> = lines
            .iter()
            .filter(|(_, text)| {
                is_code(path, text)
                    && definition_in(text)
                        .is_none_or(|found| defined().all(|known| known.name != found.name))
            })
            .map(|(line, text)| (rank(text), *line, *text))
            .collect();
        of_file.sort_unstable();
        uses.extend(of_file.into_iter().take(MAX_USES_OF_FILE).map(|(rank, line, text)| {
            let order =
                (!(inquiry.wants.tests && sort_of(path) == Sort::Test), sort_of(path), rank);
            (order, Finding { path: (*path).to_owned(), line, text: text.trim().to_owned() })
        }));
    }
    uses.sort_by_key(|(order, _)| *order);
    uses.into_iter().take(MAX_USES).map(|(_, used)| used).collect()
}

fn is_code(path: &str, text: &str) -> bool {
    let text = text.trim_start();
    let is_comment =
        ["//", "#", "*", "/*", "--", "\"\"\""].iter().any(|mark| text.starts_with(mark));
    !is_comment && sort_of(path) != Sort::Document
}
