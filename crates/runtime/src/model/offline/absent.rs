//! Absence: what was looked for and is not there, and what is nearest to it.

use std::collections::BTreeSet;

use attache_kernel::id::nearest as nearest_to;

use super::{
    concept::{Concept, Kind},
    evidence::Evidence,
    inquiry::Inquiry,
    paths::{Sort, file_stem, sort_of},
    ranking::Ranked,
    words::{is_stop, stem, subwords},
};

/// So many near names are given.
const MOST_NEAR: usize = 6;

/// What was meant to be found as it was written.
const NAMED: &[Kind] = &[Kind::Literal, Kind::Identifier];

/// What is not there.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// What was looked for in vain, in backticks.
    pub(super) labels: Vec<String>,
    /// The words that were found, in backticks.
    pub(super) found: Vec<String>,
    /// Whether the question as such is unanswered.
    pub(super) is_total: bool,
    words: Vec<String>,
    /// All words of the question.
    asked: BTreeSet<String>,
}

/// What of a question is not there.
pub(super) fn missing(inquiry: &Inquiry, evidence: &Evidence<'_>, files: &[Ranked<'_>]) -> Missing {
    let is_found = |index: usize, concept: &Concept| {
        evidence.files_with(index) > 0
            || files.iter().any(|file| {
                concept.fit(&subwords(file_stem(file.path))) > 0.0
                    || file.definitions.iter().any(|found| concept.fit(&subwords(found.name)) > 0.0)
            })
            || evidence
                .lines
                .values()
                .flat_map(|lines| lines.values())
                .any(|line| concept.is_in(line))
    };
    let telling: Vec<(&Concept, bool)> = inquiry
        .concepts
        .iter()
        .enumerate()
        .filter(|(_, concept)| concept.kind < Kind::Weak)
        .map(|(index, concept)| (concept, is_found(index, concept)))
        .collect();
    let count = |kinds: &[Kind], wanted: bool| {
        telling
            .iter()
            .filter(|(concept, found)| kinds.contains(&concept.kind) && *found == wanted)
            .count()
    };
    let (named, unnamed) = (count(NAMED, true), count(NAMED, false));
    let (words, unfound) = (count(&[Kind::Word], true), count(&[Kind::Word], false));
    let is_total = if named + unnamed > 0 {
        named == 0
    } else if count(&[Kind::Compound], true) > 0 {
        false
    } else if words + unfound > 0 {
        words <= unfound
    } else {
        files.is_empty()
    };
    let quoted = |concept: &Concept| format!("`{}`", concept.label.replace('`', "'"));
    let shown = |wanted: bool| {
        let shown = telling.iter().filter(|(concept, found)| {
            *found == wanted && (concept.kind != Kind::Compound || (is_total && !wanted))
        });
        shown.map(|(concept, _)| quoted(concept)).collect::<Vec<_>>()
    };
    let lost = telling.iter().filter(|(_, found)| !found);
    let words = lost.flat_map(|(concept, _)| concept.label.split_whitespace().map(str::to_owned));
    let mut labels = shown(false);
    if labels.is_empty() && is_total {
        labels = inquiry
            .concepts
            .iter()
            .map(quoted)
            .chain(inquiry.paths.iter().map(|path| format!("`{path}`")))
            .collect();
    }
    let all = inquiry.concepts.iter().map(|concept| concept.label.to_lowercase());
    let asked =
        all.flat_map(|label| label.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    Missing { labels, found: shown(true), is_total, words: words.collect(), asked: asked.collect() }
}

/// Names that are like what was looked for, the likest first.
pub(super) fn nearest(missing: &Missing, evidence: &Evidence<'_>) -> Vec<String> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for path in evidence.names() {
        names.extend(path.split('/').map(file_stem));
    }
    let source = evidence.lines.iter().filter(|(path, _)| sort_of(path) < Sort::Document);
    for line in source.flat_map(|(_, lines)| lines.values()) {
        names.extend(line.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    }
    names.retain(|name| {
        let lower = name.to_lowercase();
        lower.chars().count() > 3 && !is_stop(&lower) && !missing.asked.contains(&lower)
    });
    let mut near: Vec<String> = Vec::new();
    for word in &missing.words {
        let mut left: Vec<&str> =
            names.iter().copied().filter(|name| begins_like(name, word)).collect();
        for _ in 0..3 {
            let Some(found) = nearest_to(word, left.iter().copied()) else { break };
            left.retain(|name| *name != found);
            near.push(found.to_owned());
        }
        let stems: Vec<String> = subwords(word).iter().map(|word| stem(word).to_owned()).collect();
        let holds = |name: &&&str| {
            subwords(name).iter().any(|part| stems.iter().any(|wanted| wanted == stem(part)))
        };
        near.extend(names.iter().filter(holds).take(2).map(|name| (*name).to_owned()));
    }
    let mut seen = BTreeSet::new();
    near.retain(|name| seen.insert(name.clone()));
    near.truncate(MOST_NEAR);
    near
}

/// Whether a name begins as a word does, for more than half of it.
fn begins_like(name: &str, word: &str) -> bool {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    let (name, word) = (lower(name), lower(word));
    let same = name.iter().zip(&word).take_while(|(one, other)| one == other).count();
    same * 5 >= word.len() * 3
}
