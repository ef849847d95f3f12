//! Suggestions: which agents a prompt is for, by BM25 over name, description and keywords.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::agent::definition::Definition;

/// Saturation and length normalisation of BM25, at their usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A word in the name or the keywords says more than one in the description.
const NAME_WEIGHT: u32 = 3;
const KEYWORD_WEIGHT: u32 = 3;

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
    let asked = words(prompt);
    if documents.is_empty() || asked.is_empty() {
        return Vec::new();
    }
    let count = float(documents.len());
    let mean_length =
        documents.iter().map(|document| f64::from(document.length)).sum::<f64>() / count;
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for stem in asked.iter().map(|word| word.stem.as_str()) {
        holders.entry(stem).or_insert_with(|| {
            documents.iter().filter(|document| document.frequencies.contains_key(stem)).count()
        });
    }
    let mut suggestions: Vec<Suggestion> = documents
        .iter()
        .filter_map(|document| {
            let mut score = 0.0;
            let mut matched = Vec::new();
            let mut seen = BTreeSet::new();
            for word in &asked {
                let Some(frequency) = document.frequencies.get(&word.stem) else { continue };
                if !seen.insert(&word.stem) {
                    continue;
                }
                let holders = float(holders.get(word.stem.as_str()).copied().unwrap_or_default());
                let rarity = (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln();
                let frequency = f64::from(*frequency);
                let length = f64::from(document.length) / mean_length.max(1.0);
                score +=
                    rarity * frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * length));
                matched.push(word.written.clone());
            }
            (!matched.is_empty()).then(|| Suggestion {
                name: document.name.to_owned(),
                score: (score * 1000.0).round() / 1000.0,
                matched,
            })
        })
        .collect();
    suggestions.sort_by(|left, right| {
        right.score.total_cmp(&left.score).then_with(|| left.name.cmp(&right.name))
    });
    suggestions
}

/// Whether a keyword of the agent stands in the prompt, which is what routes without asking.
pub fn keyword_hit(prompt: &str, definition: &Definition) -> Option<String> {
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

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 agents")]
fn float(count: usize) -> f64 {
    count as f64
}

struct Document<'a> {
    name: &'a str,
    frequencies: BTreeMap<String, u32>,
    length: u32,
}

impl<'a> Document<'a> {
    fn new(definition: &'a Definition) -> Self {
        let name = definition.agent_type.as_str();
        let mut document = Self { name, frequencies: BTreeMap::new(), length: 0 };
        document.add(name, NAME_WEIGHT);
        document.add(definition.when_to_use.as_deref().unwrap_or_default(), 1);
        for keyword in &definition.keywords {
            document.add(keyword, KEYWORD_WEIGHT);
        }
        document
    }

    fn add(&mut self, text: &str, weight: u32) {
        for word in words(text) {
            let frequency = self.frequencies.entry(word.stem).or_default();
            *frequency = frequency.saturating_add(weight);
            self.length = self.length.saturating_add(1);
        }
    }
}

struct Word {
    written: String,
    stem: String,
}

/// The words of a text that carry meaning, with their stems.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for part in text.split(|letter: char| !letter.is_alphanumeric()) {
        for hump in humps(part) {
            let written = hump.to_lowercase();
            if written.chars().count() < 2 && written.is_ascii() || is_filler(&written) {
                continue;
            }
            words.push(Word { stem: stem(&written), written });
        }
    }
    words
}

/// The parts of a camel-case word.
fn humps(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut lower_before = false;
    for (index, letter) in word.char_indices() {
        if letter.is_uppercase() && lower_before {
            parts.push(word.get(start..index).unwrap_or_default());
            start = index;
        }
        lower_before = letter.is_lowercase() || letter.is_numeric();
    }
    parts.push(word.get(start..).unwrap_or_default());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Words that every description holds.
fn is_filler(word: &str) -> bool {
    const FILLERS: [&str; 58] = [
        "about", "after", "agent", "all", "an", "and", "any", "are", "as", "at", "be", "been",
        "by", "can", "do", "does", "for", "from", "has", "have", "help", "how", "if", "in", "into",
        "is", "it", "its", "me", "my", "need", "needs", "not", "of", "on", "or", "our", "please",
        "should", "so", "that", "the", "their", "them", "then", "this", "to", "use", "used",
        "user", "using", "was", "what", "when", "with", "you", "your", "will",
    ];
    FILLERS.contains(&word)
}

/// A rough English stem: enough to bring `reviews`, `reviewer` and `reviewing` together.
fn stem(word: &str) -> String {
    if !word.is_ascii() {
        return word.to_owned();
    }
    for (ending, least, tail) in [
        ("ations", 4, ""),
        ("ation", 4, ""),
        ("ities", 4, "ity"),
        ("ings", 4, ""),
        ("ing", 4, ""),
        ("ies", 3, "y"),
        ("ers", 4, ""),
        ("er", 4, ""),
        ("ors", 4, ""),
        ("or", 4, ""),
        ("ed", 4, ""),
        ("es", 4, ""),
        ("e", 4, ""),
        ("s", 3, ""),
    ] {
        if let Some(root) = word.strip_suffix(ending)
            && root.len() >= least
            && !(ending == "s" && root.ends_with('s'))
        {
            return format!("{root}{tail}");
        }
    }
    word.to_owned()
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
    fn stems_bring_forms_of_a_word_together() {
        for (left, right) in [
            ("reviews", "reviewer"),
            ("reviewing", "review"),
            ("queries", "query"),
            ("testing", "tests"),
            ("writer", "writes"),
            ("optimizes", "optimize"),
        ] {
            assert_eq!(stem(left), stem(right), "{left} {right}");
        }
        assert_ne!(stem("class"), "clas");
    }

    #[test]
    fn keywords_route_as_a_whole() {
        let agent = agent("x", "y", &["code review", "lint"]);
        assert_eq!(keyword_hit("do a review of this code", &agent), Some("code review".to_owned()));
        assert_eq!(keyword_hit("review this", &agent), None);
    }
}
