//! Words: what a text is about, with the forms of a word brought together.

/// A word as it was written, and the stem that its forms share.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) written: String,
    pub(super) stem: String,
}

/// The words of a text that carry meaning, with their stems.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let is_sign = |letter: char| letter == '+' || letter == '#';
    for part in text.split(|letter: char| !letter.is_alphanumeric() && !is_sign(letter)) {
        let part = part.trim_start_matches(is_sign);
        let base = part.trim_end_matches(is_sign);
        if is_language(base, part) {
            let spoken = base.to_lowercase()
                + &part.trim_start_matches(base).replace('+', "plus").replace('#', "sharp");
            words.push(Word { written: part.to_lowercase(), stem: spoken });
            continue;
        }
        for hump in base.split(is_sign).flat_map(humps) {
            let written = hump.to_lowercase();
            if written.chars().count() < 2 && written.is_ascii() || is_filler(&written) {
                continue;
            }
            words.push(Word { stem: stem(&written), written });
        }
    }
    words
}

/// `c++`, `c#`, `f#`: a letter or two, and signs.
fn is_language(base: &str, part: &str) -> bool {
    base.len() < part.len()
        && base.len() <= 2
        && base.chars().all(|letter| letter.is_ascii_alphabetic())
        && !base.is_empty()
}

/// Stems that people use for the same thing as this one.
pub(super) fn related(stem: &str) -> Vec<String> {
    let related: &[&str] = match stem {
        "diff" | "patch" => &["code", "change", "commit", "pull"],
        "pr" => &["pull", "code", "change"],
        "pull" => &["pr", "code", "change"],
        "commit" => &["change", "git"],
        "bug" | "crash" => &["debug", "error"],
        "slow" => &["performance", "optimize"],
        "doc" | "readme" => &["documentation"],
        "vulnerability" | "vuln" => &["security"],
        _ => &[],
    };
    related.iter().map(|word| self::stem(word)).collect()
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
    match word {
        "cpp" | "cxx" => return "cplusplus".to_owned(),
        "csharp" | "fsharp" => return word.to_owned(),
        "docs" => return "doc".to_owned(),
        _ => {}
    }
    if !word.is_ascii() {
        return word.to_owned();
    }
    for (ending, least, tail) in [
        ("ations", 4, ""),
        ("ation", 4, ""),
        ("ators", 4, ""),
        ("ator", 4, ""),
        ("ates", 4, ""),
        ("ated", 4, ""),
        ("ating", 4, ""),
        ("ate", 4, ""),
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
            return format!("{}{tail}", undoubled(root, ending));
        }
    }
    word.to_owned()
}

/// `debugg` of `debugging` is `debug`; `class` of `classes` stays.
fn undoubled<'a>(root: &'a str, ending: &str) -> &'a str {
    let mut letters = root.chars().rev();
    let doubled = letters.next().zip(letters.next()).is_some_and(|(last, before)| {
        last == before && !matches!(last, 'a' | 'e' | 'i' | 'l' | 'o' | 's' | 'u' | 'z')
    });
    let doubles = matches!(ending, "ing" | "ings" | "er" | "ers" | "or" | "ed");
    if doubled && doubles { root.get(..root.len() - 1).unwrap_or(root) } else { root }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_bring_forms_of_a_word_together() {
        for (left, right) in [
            ("reviews", "reviewer"),
            ("reviewing", "review"),
            ("queries", "query"),
            ("testing", "tests"),
            ("writer", "writes"),
            ("optimizes", "optimize"),
            ("optimization", "optimize"),
            ("debugging", "debug"),
            ("planner", "plan"),
            ("migrate", "migration"),
            ("generator", "generates"),
            ("classes", "class"),
        ] {
            assert_eq!(stem(left), stem(right), "{left} {right}");
        }
        assert_ne!(stem("class"), "clas");
    }

    #[test]
    fn signs_after_a_letter_are_part_of_the_word() {
        let stems = |text: &str| words(text).into_iter().map(|word| word.stem).collect::<Vec<_>>();
        assert_eq!(stems("C++, c# (F#) g++ ++x C"), ["cplusplus", "csharp", "fsharp", "gplusplus"]);
        assert_eq!(stems("issue#12 left+right"), ["issu", "12", "left", "right"]);
        assert_eq!(words("Use C++")[0].written, "c++");
    }
}
