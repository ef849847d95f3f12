//! The task: from the command line, a file or standard input.

use std::{
    fs,
    io::{self, IsTerminal as _, Read as _},
    path::Path,
};

use crate::failure::Failure;

/// The task, wherever it stands. `may_be_empty` where the agent can begin without one.
pub(super) fn read(
    words: &[String],
    file: Option<&Path>,
    may_be_empty: bool,
) -> Result<String, Failure> {
    let typed = words.join(" ");
    let from_input = typed == "-" || file.is_some_and(|file| file == Path::new("-"));
    let task = match (typed.as_str(), file) {
        (_, Some(_)) if !typed.is_empty() && typed != "-" => {
            return Err(Failure::usage("the task is given twice: in words and with -f")
                .hint("leave one of them out"));
        }
        _ if from_input => input()?,
        (_, Some(file)) => fs::read_to_string(file).map_err(|error| {
            Failure::usage(format!("cannot read the task from {}", file.display())).because(&error)
        })?,
        ("", None) if may_be_empty => String::new(),
        ("", None) if !io::stdin().is_terminal() => input()?,
        _ => typed,
    };
    if task.trim().is_empty() && !may_be_empty {
        return Err(Failure::usage("there is no task")
            .hint("attache run AGENT \"what to do\", -f FILE, or -f - for standard input"));
    }
    Ok(task)
}

fn input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage("cannot read standard input").because(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
