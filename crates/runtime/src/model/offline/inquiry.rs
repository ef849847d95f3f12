//! The inquiry: what a task asks for, as far as its words tell.
//!
//! Any text makes one, bounded in size whatever the text; the same text always makes the same.

#[cfg(test)]
mod tests;

use super::{
    concept::{Concept, Kind},
    paths::is_path,
    words::{cjk_parts, is_cjk, is_stop, is_weak, stem, subwords},
};

/// So much of a task is read.
const MOST_LETTERS: usize = 6000;
/// So many things are searched for.
const MOST_CONCEPTS: usize = 8;
const MOST_WORDS: usize = 5;
const MOST_PATHS: usize = 5;
/// A text in quotes that is longer is no name.
const LONGEST_LITERAL: usize = 80;
/// A task with fewer things in it is read together with what was said before.
const FEWEST_CONCEPTS: usize = 1;

/// What a task asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Inquiry {
    /// What is looked for, the most telling first.
    pub(super) concepts: Vec<Concept>,
    /// Files that the task names.
    pub(super) paths: Vec<String>,
    /// What kind of answer is wanted.
    pub(super) wants: Wants,
}

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Wants {
    pub(super) callers: bool,
    pub(super) tests: bool,
    pub(super) documents: bool,
    /// The project as a whole.
    pub(super) overview: bool,
}

/// A piece of a task.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Quoted(String),
    Bare(String),
    /// The end of a sentence or clause: words beyond it are no neighbours.
    Stop,
}

impl Inquiry {
    /// What a task asks for; what was said before it counts only if the task itself says too little.
    pub(super) fn of(task: &str, earlier: &str) -> Self {
        let mut inquiry = Self::alone(task);
        let strong = inquiry.concepts.iter().filter(|concept| concept.kind != Kind::Weak).count();
        if strong < FEWEST_CONCEPTS && inquiry.paths.is_empty() && !inquiry.wants.overview {
            let before = Self::alone(earlier);
            inquiry.concepts.extend(before.concepts);
            inquiry.concepts.sort_by_key(|concept| concept.kind);
            inquiry.concepts.truncate(MOST_CONCEPTS);
            inquiry.paths = before.paths;
            inquiry.wants.overview |= before.wants.overview && inquiry.concepts.is_empty();
        }
        inquiry
    }

    fn alone(task: &str) -> Self {
        let task: String = task.chars().take(MOST_LETTERS).collect();
        let pieces = pieces(&task);
        let mut gathered = Gathered::default();
        for piece in &pieces {
            gathered.take(piece);
        }
        gathered.finish(&task)
    }
}

/// What the pieces of a task come to.
#[derive(Debug, Default)]
struct Gathered {
    paths: Vec<String>,
    named: Vec<Concept>,
    /// Plain words in order; none parts those that are no neighbours.
    words: Vec<Option<String>>,
}

impl Gathered {
    fn take(&mut self, piece: &Piece) {
        match piece {
            Piece::Stop => self.words.push(None),
            Piece::Quoted(text) => {
                self.quoted(text);
                self.words.push(None);
            }
            Piece::Bare(token) => self.bare(token),
        }
    }

    fn quoted(&mut self, text: &str) {
        let text = text.trim().trim_end_matches("()").trim();
        if text.chars().count() > LONGEST_LITERAL || text.contains('\n') {
            for token in text.split_whitespace() {
                self.bare(token);
            }
        } else if is_path(text) {
            self.path(text);
        } else if subwords(text).iter().any(|word| word.chars().count() > 1) {
            let single = !text.contains(char::is_whitespace);
            let plain = single
                && text.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
            let concept =
                if plain { Concept::named(text, Kind::Identifier) } else { Concept::literal(text) };
            self.named(concept);
        }
    }

    fn bare(&mut self, token: &str) {
        let token = token.trim_matches(|letter: char| {
            !letter.is_alphanumeric() && !matches!(letter, '_' | '/' | '.' | '~')
        });
        let token = token.trim_end_matches(['.', '/']);
        if is_path(token) {
            self.path(token);
            self.words.push(None);
            return;
        }
        for segment in
            token.split(|letter: char| !letter.is_alphanumeric() && !"_-".contains(letter))
        {
            self.segment(segment.trim_matches(['-', '_']));
        }
    }

    fn segment(&mut self, segment: &str) {
        if segment.chars().any(is_cjk) {
            return self.cjk(segment);
        }
        let words = subwords(segment);
        match words.as_slice() {
            [] => {}
            [word] => self.word(word),
            many if many.iter().all(|word| is_stop(word)) => self.words.push(None),
            many if many.iter().any(|word| word.chars().count() > 1) => {
                self.named(Concept::named(segment, Kind::Identifier));
                self.words.push(None);
            }
            _ => self.words.push(None),
        }
    }

    fn cjk(&mut self, segment: &str) {
        let mut run = String::new();
        let mut other = String::new();
        for letter in segment.chars() {
            let (here, there) =
                if is_cjk(letter) { (&mut run, &mut other) } else { (&mut other, &mut run) };
            here.push(letter);
            there.push(' ');
        }
        for part in run.split_whitespace().flat_map(cjk_parts) {
            let letters: Vec<char> = part.chars().collect();
            self.named(Concept::named(&part, Kind::Identifier));
            if letters.len() > 2 {
                let pairs = letters.windows(2).step_by(2).take(3);
                self.words.extend(pairs.flat_map(|pair| [Some(pair.iter().collect()), None]));
            }
            self.words.push(None);
        }
        for part in other.split_whitespace() {
            self.segment(part);
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
        if self.paths.len() < MOST_PATHS && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    fn named(&mut self, concept: Concept) {
        let known = self.named.iter().any(|known| known.stems() == concept.stems());
        if !known && self.named.len() < MOST_CONCEPTS {
            self.named.push(concept);
        }
    }

    fn finish(self, task: &str) -> Inquiry {
        let wants = Wants::of(task);
        let chosen = chosen_words(&self.words);
        let mut concepts = self.named;
        let is_chosen = |word: &&String| chosen.contains(word);
        for pair in self.words.windows(2) {
            let [Some(first), Some(second)] = pair else { continue };
            let both_weak = is_weak(first) && is_weak(second);
            if !both_weak && is_chosen(&first) && is_chosen(&second) && stem(first) != stem(second)
            {
                add(&mut concepts, Concept::named(&format!("{first} {second}"), Kind::Compound));
            }
        }
        for word in chosen {
            let kind = if is_weak(word) { Kind::Weak } else { Kind::Word };
            add(&mut concepts, Concept::named(word, kind));
        }
        concepts.sort_by_key(|concept| concept.kind);
        let telling = concepts.iter().filter(|concept| concept.kind != Kind::Weak).count();
        let overview = wants.overview && telling == 0 && self.paths.is_empty();
        if telling > 1 {
            concepts.retain(|concept| concept.kind != Kind::Weak || is_part(concept, &self.words));
        }
        concepts.truncate(MOST_CONCEPTS);
        Inquiry { concepts, paths: self.paths, wants: Wants { overview, ..wants } }
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
    counted.into_iter().take(MOST_WORDS).map(|(word, _)| word).collect()
}

/// Whether a word that says little stands beside one that says more.
fn is_part(concept: &Concept, words: &[Option<String>]) -> bool {
    words.windows(2).any(|pair| {
        let [Some(first), Some(second)] = pair else { return false };
        [first, second].iter().any(|word| **word == concept.label)
    })
}

fn add(concepts: &mut Vec<Concept>, concept: Concept) {
    if !concepts.iter().any(|known| known.stems() == concept.stems()) {
        concepts.push(concept);
    }
}

impl Wants {
    fn of(task: &str) -> Self {
        let words = subwords(task);
        let any = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
        let about = any(&[
            "project",
            "repo",
            "repository",
            "codebase",
            "code",
            "program",
            "structure",
            "overview",
            "architecture",
            "layout",
            "software",
            "projekt",
            "项目",
            "application",
            "app",
            "crate",
        ]) || task.contains("项目")
            || task.contains("结构")
            || task.contains("代码库");
        Self {
            callers: any(&[
                "call",
                "calls",
                "called",
                "caller",
                "callers",
                "calling",
                "use",
                "uses",
                "used",
                "user",
                "users",
                "using",
                "usage",
                "usages",
                "reference",
                "references",
                "depends",
                "aufgerufen",
                "verwendet",
            ]) || task.contains("调用")
                || task.contains("使用"),
            tests: any(&["test", "tests", "tested", "testing", "coverage"]),
            documents: any(&[
                "doc",
                "docs",
                "documented",
                "documentation",
                "readme",
                "changelog",
                "decision",
            ]),
            overview: about || words.is_empty(),
        }
    }
}

/// The pieces of a task: what stands in quotes, bare tokens, and where sentences end.
fn pieces(task: &str) -> Vec<Piece> {
    const QUOTES: &[(char, char)] =
        &[('`', '`'), ('"', '"'), ('“', '”'), ('«', '»'), ('「', '」'), ('\'', '\'')];
    let mut pieces = Vec::new();
    let mut token = String::new();
    let mut rest = task.chars();
    while let Some(letter) = rest.next() {
        let closing = QUOTES.iter().find(|(opening, _)| *opening == letter).map(|pair| pair.1);
        let quote = closing.filter(|_| token.is_empty() || letter == '`').and_then(|closing| {
            let text: String = rest
                .clone()
                .take(4 * LONGEST_LITERAL)
                .take_while(|next| *next != closing)
                .collect();
            let after = rest.clone().nth(text.chars().count());
            let fits = after == Some(closing) && !text.is_empty() && !text.contains('\n');
            fits.then_some(text)
        });
        if let Some(text) = quote {
            end_token(&mut token, &mut pieces);
            rest.by_ref().take(text.chars().count() + 1).for_each(drop);
            pieces.push(Piece::Quoted(text));
        } else if letter.is_whitespace() || "`\"“”«»「」()[]{}<>|=".contains(letter) {
            end_token(&mut token, &mut pieces);
            if !letter.is_whitespace() {
                pieces.push(Piece::Stop);
            }
        } else {
            token.push(letter);
        }
    }
    end_token(&mut token, &mut pieces);
    pieces
}

fn end_token(token: &mut String, pieces: &mut Vec<Piece>) {
    if token.is_empty() {
        return;
    }
    let ends = token.ends_with(['.', ',', ';', ':', '?', '!', '。', '，', '？', '；']);
    pieces.push(Piece::Bare(std::mem::take(token)));
    if ends {
        pieces.push(Piece::Stop);
    }
}
