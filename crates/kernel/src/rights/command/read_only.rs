//! Commands that change nothing, known by all their parts.
//!
//! A line is read-only only where that is certain: every command in it was found, each is in the table
//! of harmless programs with harmless options, nothing is assigned, and nothing is redirected to a file.
//! Programs that run others (`xargs`, `find -exec`, `sh -c`, `timeout`) are judged by what they run.

mod git;
mod options;
mod sed;
mod special;
mod table;
mod wrapper;

use std::fmt;

pub use self::table::Reads;
use self::{
    options::{Shape, shape},
    table::Check,
};
use super::{Complexity, Redirection, RedirectionKind, SimpleCommand, Word, scanner};

/// Where a line is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folder<'a> {
    /// The workspace's directory, where it is known.
    pub root: Option<&'a str>,
    /// Whether the line starts there.
    pub starts_in_root: bool,
}

/// Why a line may change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// There is no command in it.
    Empty,
    /// It is not fully understood.
    Complex(Complexity),
    /// This program is not known to be read-only.
    Program(String),
    /// This program may change something with this argument.
    Argument {
        /// The program.
        program: String,
        /// The argument as written.
        argument: String,
    },
    /// A variable is set.
    Assignment(String),
    /// Something is redirected to or from this.
    Redirection(String),
    /// This program obeys the settings of the directory it runs in, and that is not the workspace.
    Folder(String),
}

/// What else a command is judged by.
#[derive(Debug, Clone, Copy)]
struct Context<'a> {
    folder: Folder<'a>,
    /// Whether it may run in another directory than the workspace.
    moved: bool,
    /// How many scripts it lies in.
    depth: usize,
}

/// Why a line may change something; nothing if it is known to be read-only.
pub fn doubt(line: &str, folder: Folder<'_>) -> Option<Doubt> {
    let context = Context { folder, moved: !folder.starts_in_root, depth: 0 };
    judge_line(line, context).err()
}

/// Why a program started with these words may change something; nothing if it is known to be
/// read-only.
pub fn doubt_words<'w>(
    words: impl IntoIterator<Item = &'w str>,
    folder: Folder<'_>,
) -> Option<Doubt> {
    let context = Context { folder, moved: !folder.starts_in_root, depth: 0 };
    judge_words(&SimpleCommand::of_words(words).words, context).err()
}

/// Why one command of a line may change something; nothing if it is known to be read-only.
pub fn doubt_command(command: &SimpleCommand) -> Option<Doubt> {
    let folder = Folder { root: None, starts_in_root: true };
    judge_command(command, Context { folder, moved: false, depth: 0 }).err()
}

/// Why one command of a line that is run there may change something, where the line may have gone to another directory.
pub fn doubt_part(command: &SimpleCommand, folder: Folder<'_>, moved: bool) -> Option<Doubt> {
    judge_command(command, Context { folder, moved, depth: 0 }).err()
}

/// Which files a command reads, if it is a program of the table.
pub fn reads(words: &[Word]) -> Option<Reads> {
    let name = program(words.first()?)?;
    if name == "git" {
        return Some(git::reads(words.get(1..).unwrap_or_default()));
    }
    let reads = table::find(name)?.reads;
    let recursive = matches!(name, "grep" | "egrep" | "fgrep")
        && words.iter().filter_map(Word::literal).any(options::is_recursive);
    Some(if recursive { Reads::Below } else { reads })
}

fn judge_line(line: &str, context: Context<'_>) -> Result<(), Doubt> {
    let scan = scanner::scan(line, context.depth);
    if let Some(reason) = scan.blind_spot {
        return Err(Doubt::Complex(reason));
    }
    match scan.complexity {
        // Their commands were found, and are judged below.
        None
        | Some(
            Complexity::CommandSubstitution
            | Complexity::ProcessSubstitution
            | Complexity::Group
            | Complexity::ControlFlow
            | Complexity::HereDocument,
        ) => {}
        Some(reason) => return Err(Doubt::Complex(reason)),
    }
    if scan.commands.is_empty() {
        return Err(Doubt::Empty);
    }
    for header in &scan.headers {
        judge_variables(header)?;
    }
    let leaves = scan.commands.iter().any(|command| leaves(command, context.folder));
    let context = Context { moved: context.moved || leaves, ..context };
    scan.commands.iter().try_for_each(|command| judge_command(command, context))
}

fn judge_command(command: &SimpleCommand, context: Context<'_>) -> Result<(), Doubt> {
    if let Some(assignment) = command.assignments.first() {
        return Err(Doubt::Assignment(assignment.to_string()));
    }
    if let Some(redirection) = command.redirections.iter().find(|it| !only_reads(it)) {
        return Err(Doubt::Redirection(redirection.target.to_string()));
    }
    if command.words.is_empty() {
        return Ok(());
    }
    judge_words(&command.words, context)
}

/// Judges a program with its arguments.
fn judge_words(words: &[Word], context: Context<'_>) -> Result<(), Doubt> {
    let Some((first, arguments)) = words.split_first() else {
        return Err(Doubt::Empty);
    };
    let Some(name) = program(first) else {
        return Err(Doubt::Program(first.to_string()));
    };
    if let Some(judged) = wrapper::judge(name, arguments, context) {
        return judged;
    }
    let fail = |argument: &Word| Doubt::Argument {
        program: name.to_owned(),
        argument: argument.to_string(),
    };
    if name == "git" {
        if context.moved {
            return Err(Doubt::Folder(name.to_owned()));
        }
        return git::judge(arguments).map_or(Ok(()), |argument| Err(fail(argument)));
    }
    let Some(known) = table::find(name) else {
        return Err(Doubt::Program(name.to_owned()));
    };
    let offending = match known.check {
        Check::Anything => None,
        Check::Except(options) => options::offending(arguments, options),
        Check::Only(words) => match arguments {
            [only] if only.literal().is_some_and(|text| words.contains(&text)) => None,
            _ => return Err(Doubt::Program(name.to_owned())),
        },
        Check::Special(judge) => judge(arguments),
    };
    offending.map_or(Ok(()), |argument| Err(fail(argument)))
}

/// The name of a program that is looked up in the usual places.
fn program(word: &Word) -> Option<&str> {
    let text = word.literal()?;
    Some(text.strip_prefix("/usr/bin/").or_else(|| text.strip_prefix("/bin/")).unwrap_or(text))
}

/// Whether a redirection reads at most.
fn only_reads(redirection: &Redirection) -> bool {
    match redirection.kind {
        RedirectionKind::Input => {
            redirection.is_harmless()
                || match shape(&redirection.target) {
                    // Some shells open connections under such names.
                    Shape::Exact(path) | Shape::Begins(path) => !path.starts_with("/dev/"),
                    Shape::Unknown => false,
                }
        }
        RedirectionKind::HereString | RedirectionKind::HereDocument => true,
        RedirectionKind::Duplicate | RedirectionKind::Output => redirection.is_harmless(),
    }
}

/// Whether a command goes to another directory than the workspace.
pub fn leaves(command: &SimpleCommand, folder: Folder<'_>) -> bool {
    match command.words.as_slice() {
        [first, to] if program(first) == Some("cd") => match to.literal() {
            Some(to) => to != "." && Some(to.trim_end_matches('/')) != folder.root,
            None => true,
        },
        [first, ..] => program(first) == Some("cd"),
        [] => false,
    }
}

/// A loop may set a variable that decides which programs are run.
fn judge_variables(header: &SimpleCommand) -> Result<(), Doubt> {
    let names = header.words.iter().take_while(|word| word.literal() != Some("in"));
    for name in names {
        if !name.literal().is_some_and(is_plain_variable) {
            return Err(Doubt::Assignment(name.to_string()));
        }
    }
    Ok(())
}

/// Whether a variable means nothing to shells and programs.
fn is_plain_variable(name: &str) -> bool {
    const SPECIAL: &[&str] =
        &["aliases", "argv", "commands", "functions", "options", "prompt", "psvar", "status"];
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !name.ends_with("path")
        && !name.ends_with("proxy")
        && !name.ends_with("aliases")
        && !SPECIAL.contains(&name)
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("there is no command in it"),
            Self::Complex(reason) => write!(formatter, "it cannot be judged: it has {reason}"),
            Self::Program(program) => {
                write!(formatter, "`{program}` is not known to be read-only")
            }
            Self::Argument { program, argument } => {
                write!(formatter, "`{program}` with `{argument}` is not known to be read-only")
            }
            Self::Assignment(what) => write!(formatter, "it sets a variable: `{what}`"),
            Self::Redirection(target) => write!(formatter, "it redirects to or from `{target}`"),
            Self::Folder(program) => write!(
                formatter,
                "`{program}` obeys the settings of the directory it runs in, which is not the \
                 workspace"
            ),
        }
    }
}
