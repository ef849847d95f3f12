//! Words: which ones carry a question, what they come from, and how names are made of them.

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::LazyLock};

/// Words that no search is made for.
static STOP: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| include_str!("words/stop.txt").split_whitespace().collect());

/// Words that say little in a code base; they are searched for when nothing better is there.
static WEAK: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| include_str!("words/weak.txt").split_whitespace().collect());

/// What a question in Chinese or Japanese is built with, the longest first.
const CJK_STOP: &str = include_str!("words/cjk_stop.txt");

/// Whether a list of words, separated by spaces, has a word.
pub(crate) fn has_word(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_ascii_whitespace().any(|known| known == word)
}

/// Whether no search is made for a word, in lower case.
pub(crate) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// Whether a word, in lower case, says little.
pub(crate) fn is_weak(word: &str) -> bool {
    WEAK.contains(&word)
}

/// Whether a letter belongs to a script that sets no spaces between words.
pub(crate) fn is_cjk(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

/// The parts of a run of such letters that carry the question.
pub(crate) fn cjk_parts(run: &str) -> Vec<String> {
    let mut rest = run.to_owned();
    for stop in CJK_STOP.split_whitespace() {
        rest = rest.replace(stop, " ");
    }
    rest.split_whitespace().filter(|part| part.chars().count() > 1).map(str::to_owned).collect()
}

/// The words a name or a line is made of, in lower case: `HTTPServer_v2` is `http`, `server`, `v2`.
pub(crate) fn subwords(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (index, letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        let before = index.checked_sub(1).and_then(|index| letters.get(index));
        let after = letters.get(index + 1);
        let hump = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || (before.is_some_and(|before| before.is_uppercase())
                    && after.is_some_and(|after| after.is_lowercase())));
        let script = before.is_some_and(|before| is_cjk(*before) != is_cjk(*letter));
        if (hump || script) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.extend(letter.to_lowercase());
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// What a word in lower case comes from: `buffers` and `buffer` are one, so are `parsed` and
/// `parsing`.
pub(crate) fn stem(word: &str) -> &str {
    if !word.is_ascii() || word.len() < 4 {
        return word;
    }
    let cut =
        |suffix: &str, least: usize| word.strip_suffix(suffix).filter(|stem| stem.len() >= least);
    if let Some(stem) = cut("ies", 3).or_else(|| cut("ied", 3)) {
        return stem;
    }
    if let Some(stem) = cut("ing", 3).or_else(|| cut("ed", 3)) {
        return stem_end(stem);
    }
    if ["ches", "shes", "sses", "xes"].iter().any(|end| word.ends_with(end)) {
        return cut("es", 3).unwrap_or(word);
    }
    let single = match cut("s", 3) {
        Some(stem) if !["s", "u", "i"].iter().any(|end| stem.ends_with(end)) => stem,
        Some(_) | None => word,
    };
    match single.strip_suffix(['e', 'y']).filter(|stem| stem.len() >= 3) {
        Some(stem) => stem,
        None => single,
    }
}

/// `runn` is `run`; `pass` and `call` stay.
fn stem_end(stem: &str) -> &str {
    let mut letters = stem.chars().rev();
    let doubled = letters.next() == letters.next();
    let stays = stem.len() <= 3 || ["ss", "ll", "ee", "oo"].iter().any(|end| stem.ends_with(end));
    match stem.char_indices().next_back() {
        Some((last, _)) if doubled && !stays => stem.get(..last).unwrap_or(stem),
        Some(_) | None => {
            stem.strip_suffix(['e', 'y']).filter(|stem| stem.len() >= 3).unwrap_or(stem)
        }
    }
}

/// Words that only look as if they came from a verb.
const NO_AGENTS: &[&str] = &["folder", "letter", "number", "master", "corner", "matter"];

/// Whether two stems are one word, `schedul` and `scheduler` among them.
pub(crate) fn same_stem(one: &str, other: &str) -> bool {
    let agent = |verb: &str, noun: &str| {
        verb.len() >= 4
            && !NO_AGENTS.contains(&noun)
            && noun.strip_prefix(verb).is_some_and(|end| matches!(end, "er" | "or"))
    };
    one == other || agent(one, other) || agent(other, one)
}
