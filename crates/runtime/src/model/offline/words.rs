//! Words: which ones carry a question, what they come from, and how names are made of them.

/// Words that no search is made for.
const STOP: &[&str] = &[
    "a",
    "about",
    "above",
    "actually",
    "after",
    "again",
    "all",
    "also",
    "always",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "as",
    "ask",
    "at",
    "be",
    "because",
    "been",
    "before",
    "behind",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "call",
    "called",
    "caller",
    "callers",
    "calling",
    "calls",
    "can",
    "cannot",
    "check",
    "come",
    "comes",
    "could",
    "defined",
    "definition",
    "defines",
    "describe",
    "detail",
    "details",
    "did",
    "do",
    "does",
    "doing",
    "done",
    "each",
    "either",
    "else",
    "every",
    "everything",
    "exactly",
    "exist",
    "exists",
    "explain",
    "explore",
    "few",
    "find",
    "first",
    "for",
    "found",
    "from",
    "get",
    "gets",
    "give",
    "given",
    "go",
    "goes",
    "happen",
    "happens",
    "has",
    "have",
    "help",
    "her",
    "here",
    "his",
    "how",
    "i",
    "if",
    "implement",
    "implementation",
    "implemented",
    "implements",
    "in",
    "inside",
    "into",
    "is",
    "it",
    "its",
    "itself",
    "just",
    "kind",
    "kindly",
    "know",
    "let",
    "like",
    "list",
    "locate",
    "located",
    "look",
    "looks",
    "made",
    "make",
    "makes",
    "many",
    "may",
    "me",
    "mean",
    "mention",
    "mentioned",
    "mentions",
    "might",
    "more",
    "most",
    "much",
    "must",
    "my",
    "name",
    "need",
    "needs",
    "no",
    "not",
    "now",
    "of",
    "off",
    "on",
    "one",
    "only",
    "onto",
    "or",
    "other",
    "our",
    "out",
    "over",
    "part",
    "parts",
    "place",
    "places",
    "please",
    "possible",
    "present",
    "provide",
    "reference",
    "referenced",
    "references",
    "report",
    "responsible",
    "same",
    "search",
    "see",
    "shall",
    "she",
    "should",
    "show",
    "so",
    "some",
    "someone",
    "something",
    "still",
    "such",
    "take",
    "takes",
    "tell",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "understand",
    "until",
    "up",
    "us",
    "use",
    "used",
    "user",
    "users",
    "uses",
    "using",
    "very",
    "via",
    "want",
    "was",
    "way",
    "ways",
    "we",
    "were",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "whole",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "within",
    "without",
    "work",
    "working",
    "works",
    "would",
    "yes",
    "you",
    "your",
    "aber",
    "als",
    "am",
    "auch",
    "auf",
    "aus",
    "bei",
    "bitte",
    "das",
    "dass",
    "dem",
    "den",
    "der",
    "des",
    "die",
    "dies",
    "diese",
    "dieser",
    "durch",
    "ein",
    "eine",
    "einem",
    "einen",
    "einer",
    "er",
    "es",
    "für",
    "gibt",
    "hat",
    "ich",
    "im",
    "ist",
    "kann",
    "mit",
    "nach",
    "nicht",
    "oder",
    "sich",
    "sie",
    "sind",
    "und",
    "von",
    "vom",
    "wann",
    "warum",
    "was",
    "welche",
    "welcher",
    "welches",
    "wer",
    "werden",
    "wie",
    "wird",
    "wo",
    "zu",
    "zum",
    "zur",
    "finde",
    "zeige",
    "implementiert",
    "definiert",
    "aufgerufen",
    "verwendet",
    "comment",
    "dans",
    "des",
    "est",
    "et",
    "la",
    "le",
    "les",
    "où",
    "par",
    "pour",
    "quel",
    "quelle",
    "qui",
    "sont",
    "sur",
    "un",
    "une",
    "como",
    "de",
    "del",
    "donde",
    "dónde",
    "el",
    "en",
    "está",
    "los",
    "por",
    "qué",
    "que",
    "se",
];

/// Words that say little in a code base; they are searched for when nothing better is there.
const WEAK: &[&str] = &[
    "add",
    "agent",
    "api",
    "app",
    "application",
    "architecture",
    "behavior",
    "behaviour",
    "bug",
    "change",
    "class",
    "classes",
    "code",
    "codebase",
    "create",
    "created",
    "crate",
    "data",
    "design",
    "directory",
    "document",
    "documentation",
    "error",
    "feature",
    "field",
    "file",
    "files",
    "fix",
    "folder",
    "function",
    "functions",
    "handle",
    "handled",
    "handles",
    "issue",
    "layout",
    "library",
    "line",
    "lines",
    "logic",
    "main",
    "method",
    "methods",
    "module",
    "modules",
    "new",
    "object",
    "option",
    "options",
    "organised",
    "organized",
    "overview",
    "package",
    "plan",
    "problem",
    "program",
    "project",
    "question",
    "refactor",
    "repo",
    "repository",
    "review",
    "software",
    "source",
    "string",
    "structure",
    "structured",
    "summarise",
    "summarize",
    "summary",
    "support",
    "system",
    "test",
    "tested",
    "tests",
    "type",
    "types",
    "update",
    "value",
    "values",
    "variable",
    "write",
    "projekt",
    "datei",
    "dateien",
];

/// What a question in Chinese or Japanese is built with, the longest first.
const CJK_STOP: &[&str] = &[
    "在哪个文件",
    "在什么地方",
    "是如何",
    "是怎么",
    "如何",
    "怎么",
    "怎样",
    "在哪里",
    "在哪儿",
    "哪里",
    "哪些",
    "哪个",
    "什么",
    "为什么",
    "实现",
    "定义",
    "调用",
    "使用",
    "请问",
    "请",
    "这个",
    "那个",
    "以及",
    "并且",
    "是谁",
    "谁",
    "的",
    "了",
    "吗",
    "呢",
    "在",
    "是",
    "和",
    "与",
    "被",
    "把",
    "它",
    "どこ",
    "どの",
    "ですか",
    "ます",
    "について",
    "は",
    "が",
    "を",
    "に",
    "の",
    "で",
];

/// Whether no search is made for a word, in lower case.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// Whether a word, in lower case, says little.
pub(super) fn is_weak(word: &str) -> bool {
    WEAK.contains(&word)
}

/// Whether a letter belongs to a script that sets no spaces between words.
pub(super) fn is_cjk(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

/// The parts of a run of such letters that carry the question.
pub(super) fn cjk_parts(run: &str) -> Vec<String> {
    let mut rest = run.to_owned();
    for stop in CJK_STOP {
        rest = rest.replace(stop, " ");
    }
    rest.split_whitespace().filter(|part| part.chars().count() > 1).map(str::to_owned).collect()
}

/// The words a name or a line is made of, in lower case: `HTTPServer_v2` is `http`, `server`, `v2`.
pub(super) fn subwords(text: &str) -> Vec<String> {
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

/// What a word in lower case comes from: `transcripts` and `transcript` are one, so are `folded` and
/// `folding`.
pub(super) fn stem(word: &str) -> &str {
    if !word.is_ascii() || word.len() < 4 {
        return word;
    }
    let cut =
        |suffix: &str, least: usize| word.strip_suffix(suffix).filter(|stem| stem.len() >= least);
    if let Some(stem) = cut("ies", 3) {
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

/// Whether two stems are one word, `schedul` and `scheduler` among them.
pub(super) fn same_stem(one: &str, other: &str) -> bool {
    let agent = |verb: &str, noun: &str| {
        verb.len() >= 4 && noun.strip_prefix(verb).is_some_and(|end| matches!(end, "er" | "or"))
    };
    one == other || agent(one, other) || agent(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart_into_words() {
        for (name, words) in [
            ("ToolFilter::new", "tool filter new"),
            ("tool_filter.rs", "tool filter rs"),
            ("HTTPServer2x", "http server2x"),
            ("parseJSONValue", "parse json value"),
            ("Größe-Über", "größe über"),
            ("ToolFilter在哪里", "tool filter 在哪里"),
            ("", ""),
            ("…()", ""),
        ] {
            assert_eq!(subwords(name).join(" "), words, "{name}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            "transcript transcripts",
            "fold folds folded folding",
            "cache caches cached caching",
            "run runs running",
            "policy policies",
            "parse parses parsed parsing",
            "retry retries retried retrying",
            "match matches matched matching",
        ] {
            let stems: Vec<_> = forms.split(' ').map(stem).collect();
            assert!(stems.iter().all(|stem| same_stem(stem, stems[0])), "{forms}: {stems:?}");
        }
        assert!(same_stem(stem("parser"), stem("parsing")));
        for (one, other) in [("folder", "house"), ("status", "stat"), ("class", "clas")] {
            assert!(!same_stem(stem(one), stem(other)), "{one} {other}");
        }
    }
}
