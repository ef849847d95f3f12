//! The task: from the command line, a file or standard input.

use std::{
    fs,
    io::{self, BufRead, IsTerminal as _, Read},
    os::fd::AsFd,
    path::Path,
};

use rustix::fs::FileType;

use crate::{failure::Failure, print::number::size};

/// The largest task: more than any model's context window holds.
const MOST: u64 = 4 << 20;

/// The task, wherever it stands. `may_be_empty` where the agent can begin without one.
pub(super) fn read(
    words: &[String],
    file: Option<&Path>,
    may_be_empty: bool,
) -> Result<String, Failure> {
    // A `-` after words adds what comes on standard input to them.
    if let Some((last, words)) = words.split_last()
        && last == "-"
        && !words.is_empty()
        && file.is_none()
    {
        return Ok(format!("{}\n\n{}", words.join(" "), input()?));
    }
    let typed = words.join(" ");
    if typed == "-" && file.is_some_and(|file| file != Path::new("-")) {
        return Err(Failure::usage("the task is given twice: on standard input and with -f")
            .hint("leave one of them out"));
    }
    let from_input = typed == "-" || file.is_some_and(|file| file == Path::new("-"));
    let task = match (typed.as_str(), file) {
        (_, Some(_)) if !typed.is_empty() && typed != "-" => {
            return Err(Failure::usage("the task is given twice: in words and with -f")
                .hint("leave one of them out"));
        }
        _ if from_input => input()?,
        (_, Some(file)) => {
            let opened = fs::File::open(file).map_err(|error| {
                Failure::usage(format!("cannot read the task from {}", file.display()))
                    .because(&error)
                    .hint("give -f a file that you can read, or `-` for standard input")
            })?;
            task_text(opened, &file.display().to_string())?
        }
        ("", None) if may_be_empty && !something_waits() => String::new(),
        ("", None) if may_be_empty => input()?,
        ("", None) if !io::stdin().is_terminal() => input()?,
        _ => typed,
    };
    if task.trim().is_empty() && !may_be_empty {
        return Err(Failure::usage("there is no task")
            .hint("say it in words, with -f FILE, or with `-` on standard input"));
    }
    Ok(task)
}

/// Whether something on standard input is passed over that was surely meant for us. Nobody is waited
/// for, so what comes later is not seen.
pub(super) fn passes_over_input(words: &[String], file: Option<&Path>) -> bool {
    let read = words.is_empty() && file.is_none()
        || words.last().is_some_and(|word| word == "-")
        || file.is_some_and(|file| file == Path::new("-"));
    !read && something_waits()
}

fn something_waits() -> bool {
    let input = io::stdin();
    let Ok(found) = rustix::fs::fstat(&input) else { return false };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => found.st_size > 0,
        FileType::Fifo => rustix::io::ioctl_fionread(&input).is_ok_and(|bytes| bytes > 0),
        _ => false,
    }
}

/// What comes on standard input.
pub(in crate::commands) fn input() -> Result<String, Failure> {
    task_text(io::stdin(), "standard input")
}

/// A text of bounded size; what is not text is refused, since no model could read it.
fn task_text(source: impl Read + AsFd, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let whole = size_of_file(&source);
    source.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| {
        Failure::usage(format!("cannot read {name}"))
            .because(&error)
            .hint("give -f a file that you can read, or `-` for standard input")
    })?;
    text_of(bytes, name, whole)
}

/// The size of a regular file; nobody knows how much a pipe has.
fn size_of_file(source: impl AsFd) -> Option<u64> {
    let found = rustix::fs::fstat(source).ok()?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    u64::try_from(found.st_size).ok().filter(|_| is_file)
}

/// The next line of a text; none at its end.
pub(in crate::commands) fn next_line(source: &mut impl BufRead) -> Option<Result<String, Failure>> {
    let mut bytes = Vec::new();
    match source.take(MOST + 1).read_until(b'\n', &mut bytes) {
        Ok(0) => None,
        Ok(_) => Some(text_of(bytes, "a line of standard input", None)),
        Err(error) => Some(Err(Failure::usage("cannot read standard input").because(&error))),
    }
}

fn text_of(bytes: Vec<u8>, name: &str, whole: Option<u64>) -> Result<String, Failure> {
    let found = bytes.len() as u64;
    if found > MOST {
        let has = whole.map(|whole| format!(": {}", size(whole))).unwrap_or_default();
        return Err(Failure::usage(format!("{name} is larger than {}{has}", size(MOST)))
            .hint("put it into a file of the workspace and name the file in the task"));
    }
    if bytes.contains(&0) {
        return Err(Failure::usage(format!("{name} is not text ({} of binary data)", size(found)))
            .hint("put it into a file of the workspace and name the file in the task"));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("{name} is not UTF-8 text ({})", size(found)))
            .hint("convert it to UTF-8, or put it into a file of the workspace and name the file in the task")
    })
}
