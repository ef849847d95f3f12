//! Lines of which some parts are covered by rules, and the others only read.
//!
//! What only reads is allowed by itself, so beside a covered command it changes nothing, with two exceptions. What it
//! prints must not become the input of a covered command: `echo … | psql` is not `psql`. And a line that goes to
//! another directory must stay in the workspace, and must not name its programs by relative paths.

use super::{
    Call, ToolRule, Uncovered,
    call::{Line, Subject},
};
use crate::rights::command::{
    Parsed, Redirection, SimpleCommand, Word, parse,
    read_only::{Folder, doubt_part, leaves},
};

impl Call<'_> {
    /// Whether its command goes to another directory before its end.
    pub fn goes_elsewhere(&self, root: Option<&str>) -> bool {
        let Subject::Shell(lines) = self.subject() else { return false };
        let folder = self.folder(root);
        lines
            .iter()
            .any(|line| line.survey().launches.iter().any(|launch| leaves(&launch.command, folder)))
    }
}

/// How a part of a line may run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A rule covers it.
    Covered,
    /// It only reads.
    Reads,
}

/// What of a command line neither a rule covers nor only reads; nothing if rules and reading make up all of it, and
/// there is a part that a rule covers.
///
/// `Ok(false)` means that no rule covers any part of it.
pub fn uncovered_part<'r>(
    rules: impl IntoIterator<Item = &'r ToolRule, IntoIter: Clone>,
    call: &Call<'_>,
    root: Option<&str>,
) -> Result<bool, Uncovered> {
    let rules = rules.into_iter();
    let rules = rules.filter(|rule| rule.tools().covers(call.tool()));
    let Subject::Shell(lines) = call.subject() else { return Ok(false) };
    let folder = call.folder(root);
    let mut has_covered = false;
    let mut first = None;
    for line in lines {
        let covers = |command: &SimpleCommand| {
            command.redirections.iter().all(Redirection::is_harmless)
                && rules.clone().any(|rule| rule.covers_command(command))
        };
        match parts(line, folder, covers) {
            Ok(covered) => has_covered |= covered,
            Err((what, covered)) => {
                has_covered |= covered;
                first.get_or_insert(what);
            }
        }
    }
    match first {
        Some(what) if has_covered => Err(what),
        Some(_) => Ok(false),
        None => Ok(has_covered),
    }
}

/// Whether a rule covers a part of a line, the others only reading; else the first part that is neither, and whether
/// another part is covered.
fn parts(
    line: &Line,
    folder: Folder<'_>,
    covers: impl Fn(&SimpleCommand) -> bool,
) -> Result<bool, (Uncovered, bool)> {
    let commands = match line {
        Line::Text(text) => match parse(text) {
            Parsed::Plain(commands) => commands,
            Parsed::Complex(reason) => return Err((Uncovered::Complex(reason), false)),
        },
        Line::Words(words) => vec![SimpleCommand::of_words(words.iter().map(String::as_str))],
    };
    if commands.is_empty() {
        return Err((Uncovered::Unreadable, false));
    }
    let goes = commands.iter().any(|command| leaves(command, folder));
    let is_moved = goes || !folder.starts_in_root;
    let judge = |command: &SimpleCommand| {
        let is_inside = !leaves(command, folder) || goes_below(command, folder.root);
        if is_inside && doubt_part(command, folder, is_moved).is_none() {
            return Some(Part::Reads);
        }
        let named = timed(command);
        let is_found_elsewhere = goes && named.words.first().is_none_or(is_relative_program);
        (!is_found_elsewhere && covers(&named)).then_some(Part::Covered)
    };
    let judged: Vec<Option<Part>> = commands.iter().map(judge).collect();
    let has_covered = judged.contains(&Some(Part::Covered));
    for (index, command) in commands.iter().enumerate() {
        let part = judged.get(index).copied().flatten();
        let into = (index..commands.len())
            .take_while(|index| commands.get(*index).is_some_and(|command| command.feeds_next))
            .filter_map(|index| judged.get(index + 1).copied().flatten());
        let feeds_covered = part == Some(Part::Reads) && into.clone().any(|it| it == Part::Covered);
        if part.is_some() && (!feeds_covered || covers(command)) {
            continue;
        }
        let touching = command.redirections.iter().find(|it| !it.is_harmless());
        let what = match touching {
            Some(redirection) => Uncovered::Redirection(redirection.target.to_string()),
            None => Uncovered::Command(command.to_string()),
        };
        return Err((what, has_covered));
    }
    Ok(has_covered)
}

/// The command that `time` measures.
fn timed(command: &SimpleCommand) -> SimpleCommand {
    match command.words.as_slice() {
        [time, first, ..]
            if time.literal() == Some("time")
                && command.assignments.is_empty()
                && first.literal().is_some_and(|word| !word.starts_with('-')) =>
        {
            let words = command.words.iter().skip(1).cloned().collect();
            SimpleCommand { words, ..command.clone() }
        }
        _ => command.clone(),
    }
}

/// Whether a program is looked for below the current directory.
fn is_relative_program(word: &Word) -> bool {
    word.literal().is_none_or(|text| text.contains('/') && !text.starts_with('/'))
}

/// Whether a `cd` goes to a directory below the workspace, as it is written.
fn goes_below(command: &SimpleCommand, root: Option<&str>) -> bool {
    let [_, to] = command.words.as_slice() else { return false };
    let Some(to) = to.literal() else { return false };
    let below = match root.and_then(|root| to.strip_prefix(root)) {
        Some(below) if below.starts_with('/') => below.trim_start_matches('/'),
        _ => to,
    };
    !below.starts_with(['/', '-', '~'])
        && !below.is_empty()
        && below.split('/').all(|name| name != "..")
}
