//! What a model is told about a search: rows by path, and in brackets what was left out.

use super::{
    super::{
        ToolOutput,
        findings::{Findings, FoundFile},
        wording::count,
    },
    hits::{Hits, Line},
    query::{MAX_LIMIT, Mode, Query},
    ranking::Found,
};
use crate::tool::{
    artifacts::{Artifacts, Bound, first_bytes},
    workspace::Kind,
};

/// How many bytes of text are written before the rest is left out.
const MAX_TEXT: usize = 8 << 20;
/// How many files that could not be read are named.
const MAX_UNREAD: usize = 3;

pub(super) fn report(query: &Query, found: &Found, artifacts: &Artifacts) -> ToolOutput {
    let mut report = Report { text: String::new(), left: query.limit };
    let mut is_cut = false;
    for (path, hits) in &found.files {
        if report.left == 0 || report.text.len() > MAX_TEXT {
            is_cut = true;
            break;
        }
        let path = query.base.show(path);
        match query.mode {
            Mode::Content => is_cut |= report.content(&path, hits),
            Mode::Files => report.row(&path),
            Mode::Count => report.row(&format!("{path}:{}", hits.count)),
        }
    }
    let text = report.text.trim_end().to_owned();
    let remarks = remarks(query, found, is_cut);
    let mut output = Bound::DEFAULT.apply(text, "grep_files", artifacts);
    if found.files.is_empty() {
        output.text = nothing(query, found);
    }
    output.with_remarks(&remarks)
}

/// The same as values.
pub(super) fn findings(query: &Query, found: &Found) -> Findings {
    let mut left = query.limit;
    let mut files = Vec::new();
    for (path, hits) in &found.files {
        if left == 0 {
            break;
        }
        let matches = hits.lines.iter().filter_map(|line| match line {
            Line::Match(number, text) => Some((usize::try_from(*number).ok()?, text.clone())),
            Line::Context(..) | Line::Cut(_) | Line::Break => None,
        });
        let lines: Vec<_> = matches.take(left).collect();
        left -= hits.rows.min(left);
        files.push(FoundFile { path: query.base.show(path), count: hits.count, lines });
    }
    Findings {
        is_cut: found.files.values().map(|hits| hits.rows).sum::<usize>() > query.limit,
        files,
        searched: Some(found.searched),
        ignored: found.ignored,
        forbidden: found.forbidden,
    }
}

/// An answer being written.
struct Report {
    text: String,
    /// How many rows it may still take.
    left: usize,
}

impl Report {
    fn row(&mut self, row: &str) {
        self.text.push_str(row);
        self.text.push('\n');
        self.left -= 1;
    }

    /// The lines of one file under its path. Returns whether some were left out.
    fn content(&mut self, path: &str, hits: &Hits) -> bool {
        if hits.is_binary {
            self.row(&format!("{path}: binary file matches"));
            return false;
        }
        self.text.push_str(path);
        self.text.push('\n');
        let is_cut = hits.rows > self.left;
        for line in &hits.lines {
            if is_cut && self.left == 0 {
                break;
            }
            match line {
                Line::Match(number, text) => self.row(&format!("{number}:{text}")),
                Line::Context(number, text) => self.aside(&format!("{number}-{text}")),
                Line::Cut(lines) => {
                    let lines = count(*lines, "more line");
                    self.aside(&format!("… {lines} of this match"));
                }
                Line::Break => self.aside("--"),
            }
        }
        self.text.push('\n');
        is_cut
    }

    /// A line that takes up no row.
    fn aside(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// What the reader must know beyond the rows.
fn remarks(query: &Query, found: &Found, is_cut: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if is_cut {
        let noun = match query.mode {
            Mode::Content => "matching line",
            Mode::Files | Mode::Count => "file",
        };
        let first = count(query.limit, noun);
        let raise = if query.limit < MAX_LIMIT { " or raise head_limit" } else { "" };
        remarks.push(format!("first {first}, there are more: narrow the search{raise}"));
    }
    if found.forbidden > 0 {
        let files = count(found.forbidden, "file");
        let them = if found.forbidden == 1 { "it" } else { "them" };
        remarks.push(format!("{files} left out: this agent may not read {them}"));
    }
    for (path, reason) in found.unread.iter().take(MAX_UNREAD) {
        remarks.push(format!("{} not searched: {reason}", query.base.show(path)));
    }
    if let more @ 1.. = found.unread.len().saturating_sub(MAX_UNREAD) {
        remarks.push(format!("{} not searched", count(more, "more file")));
    }
    remarks.extend(found.notices.iter().cloned());
    remarks
}

fn nothing(query: &Query, found: &Found) -> String {
    let pattern = first_bytes(&query.pattern, 200);
    let nothing = format!("no matches for {pattern} in {}", query.base);
    match query.base.kind() {
        Kind::File => nothing,
        Kind::Directory => format!(
            "{nothing} ({} searched; ignored files and .git are not)",
            count(found.searched, "file")
        ),
    }
}
