//! Uses: the lines outside the likeliest file that call, use or mention what the likely ones define.

use std::cmp::Reverse;

use super::{
    definitions::definition_in,
    evidence::Evidence,
    inquiry::Inquiry,
    paths::{Sort, file_stem},
    ranking::Ranked,
    report::MOST_NAMED,
    words::subwords,
};

/// So many lines are listed as uses, and so many of one file.
const MOST_USES: usize = 12;
const MOST_USES_OF_A_FILE: usize = 2;

/// The lines that use what the likeliest files define, calls in source first.
pub(super) fn of<'a>(
    files: &[Ranked<'a>],
    homes: &[&Ranked<'_>],
    inquiry: &Inquiry,
    evidence: &'a Evidence<'a>,
) -> Vec<Use<'a>> {
    let names: Vec<Name<'_>> = homes
        .iter()
        .flat_map(|file| file.definitions.iter().take(MOST_NAMED))
        .map(|found| Name::new(found.name))
        .collect();
    let module = homes.first().map(|top| file_stem(top.path)).filter(|stem| stem.len() > 3);
    let module = module.map(Name::new);
    // A file has to do with what was found if it has a name that is no common word, what is looked for,
    // or the likeliest file's own name.
    let is_related = |text: &&str| {
        let telling = names.iter().filter(|name| name.is_telling).chain(&module);
        telling.into_iter().any(|name| name.is_in(text)) || mentions(text, inquiry)
    };
    let mut uses: Vec<Use<'_>> = Vec::new();
    // The likeliest file and its parts define what is used; another likely one may well use it, too.
    let top = homes.first().map_or("", |top| top.path);
    let parts = top.rsplit_once('.').map_or_else(String::new, |(stem, _)| format!("{stem}/"));
    let is_top = |path: &str| path == top || (!parts.is_empty() && path.starts_with(&parts));
    for file in files.iter().filter(|file| !is_top(file.path)) {
        let Some(lines) = evidence.lines.get(file.path) else { continue };
        if !lines.values().any(is_related) {
            continue;
        }
        let mut of_file: Vec<Use<'_>> = lines
            .iter()
            .map(|(line, text)| Use::of(file, *line, text, inquiry, &names))
            .filter(|used| used.worth > 0)
            .collect();
        of_file.sort_by_key(|used| (Reverse(used.worth), used.line));
        of_file.truncate(MOST_USES_OF_A_FILE);
        uses.extend(of_file);
    }
    let order = |sort: Sort| (!(inquiry.wants.tests && sort == Sort::Test), sort);
    uses.sort_by_key(|used| (used.worth < 2, order(used.sort), Reverse(used.worth)));
    uses.truncate(MOST_USES);
    uses
}

/// A line that uses or mentions something.
pub(super) struct Use<'a> {
    pub(super) path: &'a str,
    sort: Sort,
    pub(super) line: usize,
    pub(super) text: &'a str,
    /// 4 a call, 3 a use of a name, 2 a mention of the subject, 1 one in prose.
    pub(super) worth: u8,
}

impl<'a> Use<'a> {
    fn of(
        file: &Ranked<'a>,
        line: usize,
        text: &'a str,
        inquiry: &Inquiry,
        names: &[Name<'_>],
    ) -> Self {
        let used = names.iter().find(|name| name.is_used_in(text));
        let is_prose = ["//", "#", "*", "/*", "--", "\"\"\""]
            .iter()
            .any(|mark| text.trim_start().starts_with(mark))
            || file.sort == Sort::Document;
        let defines = || {
            let found = definition_in(text);
            found.is_some_and(|found| names.iter().any(|name| name.text == found.name))
        };
        let worth = match used {
            Some(_) if defines() => 0,
            Some(_) if is_prose => 1,
            Some(name) if name.is_called_in(text) => 4,
            Some(_) => 3,
            None if !mentions(text, inquiry) || defines() => 0,
            None if is_prose => 1,
            None => 2,
        };
        Self { path: file.path, sort: file.sort, line, text, worth }
    }
}

/// Whether a line has one of the names looked for.
fn mentions(text: &str, inquiry: &Inquiry) -> bool {
    inquiry.concepts.iter().any(|concept| concept.is_strong() && concept.is_in(text))
}

/// A name that may be used.
#[derive(Debug, Clone, Copy)]
struct Name<'a> {
    text: &'a str,
    /// Whether it is no common word.
    is_telling: bool,
}

impl<'a> Name<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, is_telling: subwords(text).len() > 1 }
    }

    /// Whether a line uses it; a common word must be called, or be a type.
    fn is_used_in(self, text: &str) -> bool {
        let is_type = self.text.starts_with(char::is_uppercase);
        self.is_in(text) && (self.is_telling || is_type || self.is_called_in(text))
    }

    fn is_called_in(self, text: &str) -> bool {
        text.match_indices(self.text).any(|(at, _)| {
            text.get(at + self.text.len()..).is_some_and(|after| after.starts_with('('))
        })
    }

    /// Whether a line has it as a whole; a common word after a dot is a method of something else.
    fn is_in(self, text: &str) -> bool {
        let inner = |letter: char| letter.is_alphanumeric() || letter == '_';
        text.match_indices(self.text).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + self.text.len()..).and_then(|after| after.chars().next());
            !before.is_some_and(|letter| inner(letter) || (letter == '.' && !self.is_telling))
                && !after.is_some_and(inner)
        })
    }
}
