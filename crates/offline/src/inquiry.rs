//! The inquiry: what a task asks for, as things to look for.
//!
//! Names and quoted texts come first, then words beside each other that may be a name, then words. The
//! number of things is bounded for every task; the same text always makes the same inquiry.

#[cfg(test)]
mod tests;

use crate::{
    concept::{Concept, Kind},
    paths::is_path,
    words::{cjk_parts, has_word, is_cjk, is_stop, is_weak, stem, subwords},
};

/// How many characters of a task are read.
const MAX_LETTERS: usize = 6000;
/// How many things are searched for, and how many of them are single words or paths.
const MAX_CONCEPTS: usize = 8;
const MAX_WORDS: usize = 5;
const MAX_PATHS: usize = 5;
/// A quoted text that is longer is read as words.
const MAX_LITERAL: usize = 80;

const ABOUT_PROJECT: &str = "project repo repository codebase code program structure overview \
    architecture layout software projekt application app crate";
const ABOUT_CALLERS: &str = "call calls called caller callers calling use uses used user users using \
    usage usages reference references depends aufgerufen verwendet";
const ABOUT_TESTS: &str = "test tests tested testing coverage";
const ABOUT_DOCUMENTS: &str = "doc docs documented documentation readme changelog decision";

/// What a task asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Inquiry {
    /// What is looked for, the most telling first.
    pub(crate) concepts: Vec<Concept>,
    /// Files that the task names.
    pub(crate) paths: Vec<String>,
    /// What kind of answer is wanted.
    pub(crate) wants: Wants,
    /// Whether it has only words that say little.
    is_vague: bool,
}

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wants {
    pub(crate) callers: bool,
    pub(crate) tests: bool,
    pub(crate) documents: bool,
    /// The project as a whole.
    pub(crate) overview: bool,
}

impl Inquiry {
    /// What a task asks for; what was said before it counts only if the task itself says too little.
    pub(crate) fn new(task: &str, earlier: &str) -> Self {
        let mut inquiry = Self::alone(task);
        if inquiry.is_vague && inquiry.paths.is_empty() && !inquiry.wants.overview {
            let before = Self::alone(earlier);
            if !before.is_vague || !before.paths.is_empty() {
                inquiry.concepts = before.concepts;
            }
            inquiry.paths = before.paths;
            inquiry.wants.overview |= before.wants.overview && inquiry.concepts.is_empty();
        }
        inquiry
    }

    /// Whether the question is about the project as a whole.
    pub(crate) fn is_overview(&self) -> bool {
        self.wants.overview || (self.concepts.is_empty() && self.paths.is_empty())
    }

    fn alone(task: &str) -> Self {
        let task: String = task.chars().take(MAX_LETTERS).collect();
        let mut gathered = Gathered::default();
        gathered.take(&task);
        gathered.finish(Wants::stated_in(&task))
    }
}

/// What the pieces of a task come to.
#[derive(Debug, Default)]
struct Gathered {
    paths: Vec<String>,
    named: Vec<Concept>,
    /// Plain words in order; none separates those that are not neighbours.
    words: Vec<Option<String>>,
}

impl Gathered {
    /// Takes in a text: what stands in quotes, bare tokens, and where clauses end.
    fn take(&mut self, text: &str) {
        const QUOTES: &[(char, char)] =
            &[('`', '`'), ('"', '"'), ('“', '”'), ('«', '»'), ('「', '」'), ('\'', '\'')];
        let mut token = String::new();
        let mut rest = text.chars();
        while let Some(letter) = rest.next() {
            let closing = QUOTES.iter().find(|(opening, _)| *opening == letter).map(|pair| pair.1);
            let quote = closing.filter(|_| token.is_empty() || letter == '`').and_then(|closing| {
                let quoted = rest.as_str().split_once(closing)?.0;
                let fits = !quoted.is_empty()
                    && !quoted.contains('\n')
                    && quoted.chars().count() <= MAX_LITERAL;
                fits.then(|| quoted.to_owned())
            });
            if let Some(quoted) = quote {
                self.bare(&std::mem::take(&mut token));
                rest.by_ref().take(quoted.chars().count() + 1).for_each(drop);
                self.quoted(&quoted);
            } else if letter.is_whitespace() {
                self.bare(&std::mem::take(&mut token));
            } else if "`\"“”«»「」()[]{}<>|=".contains(letter) {
                self.bare(&std::mem::take(&mut token));
                self.words.push(None);
            } else {
                token.push(letter);
            }
        }
        self.bare(&token);
    }

    fn quoted(&mut self, text: &str) {
        let text = text.trim().trim_end_matches("()").trim();
        if is_path(text) {
            self.path(text);
        } else if subwords(text).iter().any(|word| word.chars().count() > 1) {
            let is_name =
                text.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
            let named = || Concept::named(text, Kind::Identifier);
            self.name(if is_name { named() } else { Concept::literal(text) });
        }
        self.words.push(None);
    }

    fn bare(&mut self, token: &str) {
        let ends = token.ends_with(['.', ',', ';', ':', '?', '!', '。', '，', '？', '；']);
        let token = token.trim_matches(|letter: char| {
            !letter.is_alphanumeric() && !matches!(letter, '_' | '/' | '.' | '~')
        });
        let token = token.trim_end_matches(['.', '/']);
        if is_path(token) {
            self.path(token);
            self.words.push(None);
        } else {
            let is_part = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
            for segment in token.split(|letter| !is_part(letter)) {
                self.segment(segment.trim_matches(['-', '_']));
            }
        }
        if ends {
            self.words.push(None);
        }
    }

    fn segment(&mut self, segment: &str) {
        if segment.chars().any(is_cjk) {
            let is_plain = |letter: char| !is_cjk(letter);
            segment.split(is_cjk).filter(|part| !part.is_empty()).for_each(|p| self.segment(p));
            for part in segment.split(is_plain).flat_map(cjk_parts) {
                self.name(Concept::named(&part, Kind::Identifier));
                self.words.push(None);
            }
            return;
        }
        let words = subwords(segment);
        match words.as_slice() {
            [] => {}
            [word] => self.word(word),
            many => {
                let is_named = many.iter().any(|word| word.chars().count() > 1)
                    && !many.iter().all(|word| is_stop(word));
                if is_named {
                    self.name(Concept::named(segment, Kind::Identifier));
                }
                self.words.push(None);
            }
        }
    }

    fn word(&mut self, word: &str) {
        if matches!(word, "of" | "the") {
            return;
        }
        let short = word.chars().count() < 2 || word.chars().all(char::is_numeric);
        let kept = !short && !is_stop(word);
        self.words.push(kept.then(|| word.to_owned()));
    }

    fn path(&mut self, path: &str) {
        let path = path.trim_start_matches("./").to_owned();
        if self.paths.len() < MAX_PATHS && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    fn name(&mut self, concept: Concept) {
        if self.named.len() < MAX_CONCEPTS {
            add(&mut self.named, concept);
        }
    }

    fn finish(self, wants: Wants) -> Inquiry {
        let chosen = chosen_words(&self.words);
        let mut concepts = self.named;
        for pair in self.words.windows(2) {
            let [Some(first), Some(second)] = pair else { continue };
            let both_chosen = chosen.contains(&first) && chosen.contains(&second);
            let both_weak = is_weak(first) && is_weak(second);
            if both_chosen && !both_weak && stem(first) != stem(second) {
                add(&mut concepts, Concept::named(&format!("{first} {second}"), Kind::Compound));
            }
        }
        let is_vague = concepts.is_empty() && chosen.iter().all(|word| is_weak(word));
        for word in chosen.into_iter().filter(|word| is_vague || !is_weak(word)) {
            add(&mut concepts, Concept::named(word, Kind::Word));
        }
        concepts.sort_by_key(|concept| concept.kind);
        concepts.truncate(MAX_CONCEPTS);
        let overview = wants.overview && is_vague && self.paths.is_empty();
        Inquiry { concepts, paths: self.paths, wants: Wants { overview, ..wants }, is_vague }
    }
}

/// The words worth a search: the telling ones first, then the frequent ones, then the early ones.
fn chosen_words(words: &[Option<String>]) -> Vec<&String> {
    let mut counted: Vec<(&String, usize)> = Vec::new();
    for word in words.iter().flatten() {
        match counted.iter_mut().find(|(known, _)| stem(known) == stem(word)) {
            Some((_, count)) => *count += 1,
            None => counted.push((word, 1)),
        }
    }
    counted.sort_by_key(|(word, count)| (is_weak(word), std::cmp::Reverse(*count)));
    counted.into_iter().take(MAX_WORDS).map(|(word, _)| word).collect()
}

fn add(concepts: &mut Vec<Concept>, concept: Concept) {
    if !concepts.iter().any(|known| known.stems() == concept.stems()) {
        concepts.push(concept);
    }
}

impl Wants {
    fn stated_in(task: &str) -> Self {
        let words = subwords(task);
        let any = |list: &str| words.iter().any(|word| has_word(list, word));
        let says = |parts: &[&str]| parts.iter().any(|part| task.contains(part));
        Self {
            callers: any(ABOUT_CALLERS) || says(&["调用", "使用"]),
            tests: any(ABOUT_TESTS),
            documents: any(ABOUT_DOCUMENTS),
            overview: any(ABOUT_PROJECT) || says(&["项目", "结构", "代码库"]) || words.is_empty(),
        }
    }
}
