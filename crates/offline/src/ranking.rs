//! Ranking: which files a question is most likely about.
//!
//! What is rare counts more than what is common, a name more than a mention, a definition more than a
//! use, source more than anything else; ties go to the path.

use std::collections::BTreeMap;

use crate::{
    concept::Concept,
    definitions::definition_in,
    evidence::Evidence,
    inquiry::{Inquiry, Wants},
    paths::{Sort, file_stem, sort_of},
    words::subwords,
};

/// How many files are the answer at most.
const MAX_HOMES: usize = 6;

/// A file and what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked<'a> {
    pub(crate) path: &'a str,
    pub(crate) score: f64,
    /// Its lines that define something the question is about, the best first.
    pub(crate) definitions: Vec<Defined<'a>>,
    /// Whether its name is what the question is about.
    pub(crate) is_named: bool,
    pub(crate) sort: Sort,
}

/// A definition that fits the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Defined<'a> {
    pub(crate) line: usize,
    pub(crate) name: &'a str,
    pub(crate) keyword: &'a str,
    pub(crate) text: &'a str,
    pub(crate) fit: f64,
    /// Whether it is only declared here, and written elsewhere.
    pub(crate) is_declared: bool,
}

/// The files that are the answer: the likeliest one, and those not far behind it.
pub(crate) fn homes<'f, 'a>(files: &'f [Ranked<'a>]) -> Vec<&'f Ranked<'a>> {
    let Some(top) = files.first() else { return Vec::new() };
    let near = |file: &&Ranked<'_>| {
        let is_only_declared = file.definitions.iter().all(|found| found.is_declared);
        file.score >= top.score * 0.3
            && file.sort <= top.sort
            && (file.path == top.path || file.is_named || !is_only_declared)
    };
    files.iter().take(2 * MAX_HOMES).filter(near).take(MAX_HOMES).collect()
}

/// All files there is evidence of, the likeliest first.
pub(crate) fn ranked<'a>(inquiry: &Inquiry, evidence: &'a Evidence<'a>) -> Vec<Ranked<'a>> {
    let rarity = rarities(inquiry, evidence);
    let mut scores: BTreeMap<&'a str, f64> = BTreeMap::new();
    for (index, concept) in inquiry.concepts.iter().enumerate() {
        let Some(Some(count)) = evidence.counts.get(index) else { continue };
        let worth = concept.weight() * rarity.get(index).copied().unwrap_or(0.0);
        for (path, lines) in &count.files {
            *scores.entry(path).or_default() += worth * (1.0 + spread(*lines));
        }
    }
    for path in evidence.names.iter().chain(evidence.lines.keys()).copied() {
        scores.entry(path).or_default();
    }
    let mut files: Vec<Ranked<'a>> = scores
        .into_iter()
        .map(|(path, mentions)| rank(path, mentions, inquiry, evidence, &rarity))
        .filter(|file| file.score > 0.0)
        .collect();
    files.sort_by(|left, right| {
        right.score.total_cmp(&left.score).then_with(|| left.path.cmp(right.path))
    });
    files
}

fn rank<'a>(
    path: &'a str,
    mentions: f64,
    inquiry: &Inquiry,
    evidence: &'a Evidence<'a>,
    rarity: &[f64],
) -> Ranked<'a> {
    let folders: Vec<Vec<String>> = path.rsplit('/').skip(1).map(subwords).collect();
    let stem_words = subwords(file_stem(path));
    let mut named = 0.0;
    let mut is_named = false;
    for (index, concept) in inquiry.concepts.iter().enumerate() {
        let worth = concept.weight() * rarity.get(index).copied().unwrap_or(1.0).max(1.0);
        let by_stem = concept.fit(&stem_words);
        let by_folder = folders.iter().map(|words| concept.fit(words)).fold(0.0, f64::max);
        named += worth * (3.0 * by_stem + 1.2 * by_folder);
        is_named |= by_stem > 0.99;
    }
    let definitions = definitions(path, inquiry, evidence, rarity);
    let defined: f64 = definitions.iter().map(|(_, worth)| worth).take(3).sum();
    let sort = sort_of(path);
    let score = (mentions + named + defined) * likelihood(path, sort, inquiry.wants);
    let definitions = definitions.into_iter().map(|(defined, _)| defined).collect();
    Ranked { path, score, definitions, is_named, sort }
}

/// The definitions of a file that fit, with what they are worth.
fn definitions<'a>(
    path: &str,
    inquiry: &Inquiry,
    evidence: &'a Evidence<'a>,
    rarity: &[f64],
) -> Vec<(Defined<'a>, f64)> {
    let mut found = Vec::new();
    for (line, text) in evidence.lines.get(path).into_iter().flatten() {
        let Some(definition) = definition_in(text) else { continue };
        let words = subwords(definition.name);
        let weigh = |(index, concept): (usize, &Concept)| {
            let fit = concept.fit(&words);
            let exact = if concept.is_spelled(&words) { 1.3 } else { 1.0 };
            let rare = rarity.get(index).copied().unwrap_or(1.0).max(1.0);
            (fit, fit * concept.weight() * rare * exact)
        };
        let (fit, mut worth) = inquiry
            .concepts
            .iter()
            .enumerate()
            .map(weigh)
            .fold((0.0, 0.0), |(fit, sum), (more, worth)| (f64::max(fit, more), sum + worth));
        let is_declared = definition.keyword == "mod" && text.trim_end().ends_with(';');
        if is_declared {
            worth *= 0.2;
        }
        if definition.is_public {
            worth *= 1.6;
        }
        if worth > 0.0 {
            let (name, keyword) = (definition.name, definition.keyword);
            let defined = Defined { line: *line, name, keyword, text, fit, is_declared };
            found.push((defined, worth * 1.5));
        }
    }
    found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.line.cmp(&right.0.line)));
    found
}

/// How much more it tells that a file has something, the fewer have it.
fn rarities(inquiry: &Inquiry, evidence: &Evidence<'_>) -> Vec<f64> {
    let all = (0..inquiry.concepts.len()).map(|index| evidence.files_with(index));
    let most = all.clone().max().unwrap_or(0).max(20);
    all.map(|files| if files == 0 { 1.0 } else { 0.3 + (quotient(2 * most, files)).ln() }).collect()
}

/// How likely a file of that kind and place is meant.
fn likelihood(path: &str, sort: Sort, wants: Wants) -> f64 {
    let by_sort = match sort {
        Sort::Source => 1.0,
        Sort::Test if wants.tests => 1.4,
        Sort::Test => 0.35,
        Sort::Config => 0.4,
        Sort::Document if wants.documents => 1.4,
        Sort::Document => 0.3,
        Sort::Foreign => 0.08,
    };
    let depth = path.matches('/').count().min(12);
    by_sort * (1.0 - 0.02 * quotient(depth, 1))
}

fn spread(lines: usize) -> f64 {
    quotient(lines.min(200), 1).ln().max(0.0) * 0.25
}

#[expect(clippy::cast_precision_loss, reason = "counts of files and lines")]
pub(crate) fn quotient(number: usize, by: usize) -> f64 {
    number as f64 / by.max(1) as f64
}
