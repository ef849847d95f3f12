//! Suggestions: which agents a prompt is for.
//!
//! BM25 over descriptions, with words of names and keywords counted on top; forms of a word count as one word, and so do
//! words that people use for the same thing.

mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::words::{Word, related, words};
use crate::agent::definition::Definition;

/// Saturation and length normalisation of BM25, at their usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A word in the name says more than one in the description, the more so the shorter the name is.
const NAME_WEIGHT: f64 = 2.5;
const KEYWORD_WEIGHT: f64 = 1.5;
/// What a related word counts, compared with the word itself.
const RELATED_WEIGHT: f64 = 0.7;

/// An agent that fits a prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// The agent's name as written.
    pub name: String,
    /// How well it fits; higher is better.
    pub score: f64,
    /// The words of the prompt that it matched, in the order of the prompt.
    pub matched: Vec<String>,
}

/// The agents that share words with the prompt, best first; ties by name.
pub fn suggest<'a>(
    prompt: &str,
    definitions: impl IntoIterator<Item = &'a Definition>,
) -> Vec<Suggestion> {
    let documents: Vec<Document<'a>> = definitions.into_iter().map(Document::new).collect();
    let notions = notions(prompt, &documents);
    if documents.is_empty() || notions.is_empty() {
        return Vec::new();
    }
    let count = float(documents.len());
    let mean_length =
        documents.iter().map(|document| f64::from(document.length)).sum::<f64>() / count;
    let mut suggestions: Vec<Suggestion> = documents
        .iter()
        .filter_map(|document| {
            let matched: Vec<String> = notions
                .iter()
                .filter(|notion| document.has(&notion.word.stem))
                .map(|notion| notion.word.written.clone())
                .collect();
            if matched.is_empty() {
                return None;
            }
            let length = f64::from(document.length) / mean_length.max(1.0);
            let score: f64 =
                notions.iter().map(|notion| notion.score(document, count, length)).sum();
            let name = document.name.to_owned();
            Some(Suggestion { name, score: (score * 1000.0).round() / 1000.0, matched })
        })
        .collect();
    suggestions.sort_by(|left, right| {
        right.score.total_cmp(&left.score).then_with(|| left.name.cmp(&right.name))
    });
    suggestions
}

/// The keyword of the agent that is in the prompt, if any.
fn keyword_hit(prompt: &str, definition: &Definition) -> Option<String> {
    let asked: BTreeSet<String> = words(prompt).into_iter().map(|word| word.stem).collect();
    definition
        .keywords
        .iter()
        .find(|keyword| {
            let stems = words(keyword);
            !stems.is_empty() && stems.iter().all(|word| asked.contains(&word.stem))
        })
        .cloned()
}

/// The agent that a prompt is for, and its keyword that is in the prompt. If several have one, it is the agent that
/// [`suggest`] ranks first among them.
pub fn best_keyword_hit<'a>(
    prompt: &str,
    definitions: impl IntoIterator<Item = &'a Definition>,
) -> Option<(&'a Definition, String)> {
    let hits = definitions
        .into_iter()
        .filter_map(|definition| Some((definition, keyword_hit(prompt, definition)?)));
    let mut hits: Vec<_> = hits.collect();
    if hits.len() > 1 {
        let ranked = suggest(prompt, hits.iter().map(|(definition, _)| *definition));
        let rank = |definition: &Definition| {
            ranked.iter().position(|one| one.name == definition.agent_type.as_str())
        };
        hits.sort_by_key(|(definition, _)| rank(definition).unwrap_or(usize::MAX));
    }
    hits.into_iter().next()
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 agents")]
fn float(count: usize) -> f64 {
    count as f64
}

/// A word of the prompt, the words that are used for the same thing, and how many agents have any of them.
struct Notion {
    word: Word,
    related: Vec<String>,
    holders: usize,
}

fn notions(prompt: &str, documents: &[Document<'_>]) -> Vec<Notion> {
    let mut seen = BTreeSet::new();
    let mut notions = Vec::new();
    for word in words(prompt) {
        if !seen.insert(word.stem.clone()) {
            continue;
        }
        let related = related(&word.stem);
        let holds = |document: &&Document<'_>| {
            document.has(&word.stem) || related.iter().any(|stem| document.has(stem))
        };
        let holders = documents.iter().filter(holds).count();
        notions.push(Notion { word, related, holders });
    }
    notions
}

impl Notion {
    fn score(&self, document: &Document<'_>, count: f64, length: f64) -> f64 {
        let holders = float(self.holders);
        let rarity = (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln();
        let own = std::iter::once((self.word.stem.as_str(), 1.0));
        let others = self.related.iter().map(|stem| (stem.as_str(), RELATED_WEIGHT));
        let stems: Vec<(&str, f64)> = own.chain(others).collect();
        let frequency: f64 = stems
            .iter()
            .map(|(stem, weight)| {
                weight * f64::from(document.description.get(*stem).copied().unwrap_or_default())
            })
            .sum();
        let in_description =
            frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * length)).max(f64::EPSILON);
        let best = |words: &BTreeSet<String>| {
            let held = stems.iter().filter(|(stem, _)| words.contains(*stem));
            held.map(|(_, weight)| *weight).fold(0.0, f64::max)
        };
        let in_name =
            NAME_WEIGHT * best(&document.in_name) / float(document.in_name.len().max(1)).sqrt();
        let in_keywords = KEYWORD_WEIGHT * best(&document.in_keywords);
        rarity * (in_description + in_name + in_keywords)
    }
}

/// What an agent says about itself.
struct Document<'a> {
    name: &'a str,
    in_name: BTreeSet<String>,
    in_keywords: BTreeSet<String>,
    /// How often each word stands in the description.
    description: BTreeMap<String, u32>,
    length: u32,
}

impl<'a> Document<'a> {
    fn new(definition: &'a Definition) -> Self {
        let stems = |text: &str| words(text).into_iter().map(|word| word.stem);
        let name = definition.agent_type.as_str();
        let mut description: BTreeMap<String, u32> = BTreeMap::new();
        let mut length = 0_u32;
        for stem in stems(definition.when_to_use.as_deref().unwrap_or_default()) {
            let frequency = description.entry(stem).or_default();
            *frequency = frequency.saturating_add(1);
            length = length.saturating_add(1);
        }
        Self {
            name,
            in_name: stems(name).collect(),
            in_keywords: definition.keywords.iter().flat_map(|keyword| stems(keyword)).collect(),
            description,
            length,
        }
    }

    fn has(&self, stem: &str) -> bool {
        self.in_name.contains(stem)
            || self.in_keywords.contains(stem)
            || self.description.contains_key(stem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AgentName;

    fn agent(name: &str, description: &str, keywords: &[&str]) -> Definition {
        let mut definition = Definition::named(AgentName::new(name));
        definition.when_to_use = Some(description.to_owned());
        definition.keywords = keywords.iter().map(|word| (*word).to_owned()).collect();
        definition
    }

    #[test]
    fn the_agent_that_shares_the_rare_words_comes_first() {
        let agents = [
            agent("reviewer", "Reviews diffs for style and security issues", &["lint"]),
            agent("docs-writer", "Writes documentation with code pointers", &[]),
            agent("sql-expert", "Optimizes database queries and schema", &["postgres"]),
        ];
        let best = suggest("please review the diff of my postgres migration", &agents);
        let names: Vec<&str> = best.iter().map(|suggestion| suggestion.name.as_str()).collect();
        assert_eq!(names, ["reviewer", "sql-expert"]);
        assert_eq!(best[0].matched, ["review", "diff"]);
        assert_eq!(best[1].matched, ["postgres"]);
        assert!(best[0].score > best[1].score && best[1].score > 0.0);
        assert!(suggest("the of and", &agents).is_empty());
        assert!(suggest("quantum chromodynamics", &agents).is_empty());
    }

    #[test]
    fn keywords_route_as_a_whole() {
        let agent = agent("x", "y", &["code review", "lint"]);
        assert_eq!(keyword_hit("do a review of this code", &agent), Some("code review".to_owned()));
        assert_eq!(keyword_hit("review this", &agent), None);
    }

    #[test]
    fn of_several_agents_with_a_keyword_the_best_one_gets_the_prompt() {
        let agents = [
            agent("aaa", "something else", &["postgres"]),
            agent("dba", "Tunes a database", &["postgres"]),
            agent("painter", "Tunes a database of colours", &[]),
        ];
        let best = |prompt: &str| {
            let hit = best_keyword_hit(prompt, &agents);
            hit.map(|(definition, keyword)| (definition.agent_type.to_string(), keyword))
        };
        let hit = |name: &str| Some((name.to_owned(), "postgres".to_owned()));
        assert_eq!(best("tune the postgres database"), hit("dba"));
        assert_eq!(best("postgres"), hit("aaa"), "ties go by name");
        assert_eq!(best("tune a database of colours"), None);
    }

    #[test]
    fn a_word_in_the_name_wins_over_one_in_a_long_description() {
        let agents = [
            agent("snapshot-updater", "Review snapshot diffs and update snapshots", &[]),
            agent(
                "code-reviewer",
                "Expert code review specialist, reviews changes for quality",
                &[],
            ),
            agent("gardener", "Waters plants", &[]),
        ];
        let best = suggest("review my diff", &agents);
        assert_eq!(best[0].name, "code-reviewer", "{best:?}");
        assert_eq!(best[0].matched, ["review"]);
        assert_eq!(best.len(), 2);
    }

    #[test]
    fn languages_with_signs_are_words() {
        let agents = [
            agent("cpp-pro", "Writes idiomatic C++ code", &[]),
            agent("C# Expert", "Writes C# code", &[]),
            agent("c-pro", "Writes C code", &[]),
        ];
        let names = |prompt: &str| -> Vec<String> {
            suggest(prompt, &agents).into_iter().map(|found| found.name).collect()
        };
        assert_eq!(names("c++"), ["cpp-pro"]);
        assert_eq!(names("CPP"), ["cpp-pro"]);
        assert_eq!(names("c#"), ["C# Expert"]);
        assert_eq!(names("csharp"), ["C# Expert"]);
    }
}
