//! Uses: the lines outside the likeliest files that call, use or mention what they define.

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
    let names: Vec<&str> = homes
        .iter()
        .flat_map(|file| file.definitions.iter().take(MOST_NAMED))
        .map(|found| found.name)
        .collect();
    let mut uses: Vec<Use<'_>> = Vec::new();
    for file in files.iter().filter(|file| !homes.iter().any(|home| home.path == file.path)) {
        let Some(lines) = evidence.lines.get(file.path) else { continue };
        let is_related = |text: &&str| is_related(text, &names, homes, inquiry);
        let related = lines.values().any(is_related);
        let mut of_file: Vec<Use<'_>> = lines
            .iter()
            .map(|(line, text)| Use::of(file, *line, text, inquiry, &names))
            .filter(|used| used.worth > if related { 0 } else { 4 })
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
        names: &[&str],
    ) -> Self {
        let used = names.iter().find(|name| uses_name(text, name));
        let is_prose = ["//", "#", "*", "/*", "--", "\"\"\""]
            .iter()
            .any(|mark| text.trim_start().starts_with(mark))
            || file.sort == Sort::Document;
        let mentions =
            || inquiry.concepts.iter().any(|concept| concept.is_strong() && concept.is_in(text));
        let defines = definition_in(text).is_some_and(|found| names.contains(&found.name));
        let worth = match used {
            _ if defines => 0,
            Some(_) if is_prose => 1,
            Some(name) if text.contains(&format!("{name}(")) => 4,
            Some(_) => 3,
            None if !mentions() => 0,
            None if is_prose => 1,
            None => 2,
        };
        Self { path: file.path, sort: file.sort, line, text, worth }
    }
}

/// Whether a line uses a name; a common word must be called to be one.
fn uses_name(text: &str, name: &str) -> bool {
    let is_telling = subwords(name).len() > 1;
    let is_named = name.starts_with(char::is_uppercase);
    has_name(text, name) && (is_telling || is_named || text.contains(&format!("{name}(")))
}

/// Whether a line has a name as a whole; a common word after a dot is a method of something else.
fn has_name(text: &str, name: &str) -> bool {
    let inner = |letter: char| letter.is_alphanumeric() || letter == '_';
    let may_be_method = subwords(name).len() > 1;
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(|letter| inner(letter) || (letter == '.' && !may_be_method))
            && !after.is_some_and(inner)
    })
}

/// Whether a line shows that its file has to do with what was found: by a name that is no common word,
/// by what is looked for, or by the likeliest file's own name.
fn is_related(text: &str, names: &[&str], homes: &[&Ranked<'_>], inquiry: &Inquiry) -> bool {
    let telling = names.iter().filter(|name| subwords(name).len() > 1);
    let module = homes.first().map(|top| file_stem(top.path)).filter(|stem| stem.len() > 3);
    telling.chain(&module).any(|name| has_name(text, name))
        || inquiry.concepts.iter().any(|concept| concept.is_strong() && concept.is_in(text))
}
