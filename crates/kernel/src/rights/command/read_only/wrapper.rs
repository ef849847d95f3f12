//! Programs that run other programs, judged by what they run.

use super::{
    super::{MAX_DEPTH, Word},
    Context, Doubt, judge_line, judge_words,
    options::{beyond, is_among},
};

/// Judges a program that runs others; nothing if it is not one.
pub(super) fn judge(
    name: &str,
    arguments: &[Word],
    context: Context<'_>,
) -> Option<Result<(), Doubt>> {
    if context.depth >= MAX_DEPTH {
        return Some(Err(Doubt::Program(name.to_owned())));
    }
    let context = Context { depth: context.depth + 1, ..context };
    let judgement = match name {
        "command" => command(arguments, context),
        "env" => env(arguments, context),
        "find" => find(arguments, context),
        "nice" => after_options(name, arguments, &["-n", "--adjustment"], &[], context),
        "stdbuf" => after_options(
            name,
            arguments,
            &["-i", "-o", "-e"],
            &["--input", "--output", "--error"],
            context,
        ),
        "time" => after_options(name, arguments, &[], &["-p"], context),
        "timeout" => timeout(arguments, context),
        "xargs" => xargs(arguments, context),
        "sh" | "bash" | "dash" | "zsh" if arguments.len() > 1 => shell(name, arguments, context),
        _ => return None,
    };
    Some(judgement)
}

fn objection(program: &str, argument: &Word) -> Doubt {
    Doubt::Argument { program: program.to_owned(), argument: argument.to_string() }
}

/// Judges the command behind options, of which the first take a value each.
fn after_options(
    name: &str,
    arguments: &[Word],
    with_value: &[&str],
    switches: &[&str],
    context: Context<'_>,
) -> Result<(), Doubt> {
    let rest = command_behind(name, arguments, with_value, switches)?;
    judge_words(rest, context)
}

/// What follows the options of a program.
fn command_behind<'w>(
    name: &str,
    arguments: &'w [Word],
    with_value: &[&str],
    switches: &[&str],
) -> Result<&'w [Word], Doubt> {
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        let Some(text) = option_text(first) else { break };
        if !text.starts_with('-') {
            break;
        }
        let attached = |option: &&str| match option.strip_prefix("--") {
            Some(_) => text.split_once('=').is_some_and(|(given, _)| given == *option),
            None => text.len() > 2 && text.starts_with(*option),
        };
        if with_value.contains(&text) {
            rest = others.get(1..).unwrap_or_default();
        } else if with_value.iter().any(attached) || is_among(text, switches) {
            rest = others;
        } else {
            return Err(objection(name, first));
        }
    }
    Ok(rest)
}

/// The text of a word; empty braces behind an option stay as they are in every shell.
fn option_text(word: &Word) -> Option<&str> {
    word.literal().or_else(|| (word.to_string() == "-I{}").then_some("-I{}"))
}

fn command(arguments: &[Word], context: Context<'_>) -> Result<(), Doubt> {
    match arguments.first().and_then(Word::literal) {
        Some("-v" | "-V") => Ok(()),
        _ => after_options("command", arguments, &[], &["-p"], context),
    }
}

fn env(arguments: &[Word], context: Context<'_>) -> Result<(), Doubt> {
    let switches = ["-i", "-0", "--ignore-environment", "--null"];
    let rest = command_behind("env", arguments, &["-u", "--unset"], &switches)?;
    match rest.first() {
        None => Ok(()),
        Some(first) if first.literal().is_none_or(|text| text.contains('=')) => {
            Err(Doubt::Assignment(first.to_string()))
        }
        Some(_) => judge_words(rest, context),
    }
}

fn timeout(arguments: &[Word], context: Context<'_>) -> Result<(), Doubt> {
    let with_value = ["-k", "-s", "--kill-after", "--signal"];
    let switches = ["-v", "--preserve-status", "--foreground", "--verbose"];
    let rest = command_behind("timeout", arguments, &with_value, &switches)?;
    match rest.split_first() {
        Some((duration, rest)) if duration.is_literal() => judge_words(rest, context),
        Some((duration, _)) => Err(objection("timeout", duration)),
        None => Err(Doubt::Empty),
    }
}

/// The words of a search, and the commands it runs for what it finds.
fn find(arguments: &[Word], context: Context<'_>) -> Result<(), Doubt> {
    const CHANGES: &[&str] =
        &["-delete", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        match super::shape(first) {
            super::Shape::Exact("-exec" | "-execdir") => {
                let Some(end) = end_of_command(others) else {
                    return Err(objection("find", first));
                };
                let (run, after) = others.split_at(end);
                let moved = first.literal() == Some("-execdir");
                judge_words(
                    &replaced(run, "{}"),
                    Context { moved: context.moved || moved, ..context },
                )?;
                rest = after;
            }
            super::Shape::Exact(text) if CHANGES.contains(&text) => {
                return Err(objection("find", first));
            }
            super::Shape::Exact(_) => {}
            super::Shape::Begins(text) if !text.starts_with('-') => {}
            super::Shape::Begins(_) | super::Shape::Unknown => {
                return Err(objection("find", first));
            }
        }
    }
    Ok(())
}

/// Where the command of `-exec` ends: at a `;`, or at a `+` right behind `{}`.
fn end_of_command(words: &[Word]) -> Option<usize> {
    let text = |index: usize| words.get(index).and_then(Word::literal);
    (0..words.len()).find(|index| match text(*index) {
        Some(";") => true,
        Some("+") => index.checked_sub(1).and_then(text) == Some("{}"),
        _ => false,
    })
}

fn xargs(arguments: &[Word], context: Context<'_>) -> Result<(), Doubt> {
    let with_value = [
        "-n",
        "-L",
        "-P",
        "-s",
        "-I",
        "-d",
        "--max-args",
        "--max-procs",
        "--max-chars",
        "--delimiter",
    ];
    let switches = ["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose", "--exit"];
    let rest = command_behind("xargs", arguments, &with_value, &switches)?;
    if rest.is_empty() {
        return Ok(());
    }
    let options = arguments.get(..arguments.len() - rest.len()).unwrap_or_default();
    let words = match replacement(options) {
        Some(mark) => replaced(rest, mark),
        None => rest.iter().cloned().chain([Word::unknown()]).collect(),
    };
    judge_words(&words, context)
}

/// The text that `xargs` replaces by what it reads.
fn replacement(options: &[Word]) -> Option<&str> {
    options.iter().enumerate().find_map(|(index, option)| match option_text(option)? {
        "-I" => options.get(index + 1)?.literal(),
        text => text.strip_prefix("-I"),
    })
}

/// Words in which a text is replaced by something unknown.
fn replaced(words: &[Word], mark: &str) -> Vec<Word> {
    let has_mark = |word: &Word| word.to_string().contains(mark);
    words.iter().map(|word| if has_mark(word) { Word::unknown() } else { word.clone() }).collect()
}

/// A script that stands in the line.
fn shell(name: &str, arguments: &[Word], context: Context<'_>) -> Result<(), Doubt> {
    let Some((first, rest)) = arguments.split_first() else {
        return Err(Doubt::Program(name.to_owned()));
    };
    let is_script_option = |text: &str| {
        text.strip_prefix('-').is_some_and(|letters| {
            letters.contains('c') && letters.chars().all(|letter| "leuxc".contains(letter))
        })
    };
    if !first.literal().is_some_and(is_script_option) {
        return Err(objection(name, first));
    }
    match rest.first() {
        Some(script) => match script.literal() {
            Some(text) if !text.starts_with(['-', '+']) => judge_line(text, context),
            _ => Err(objection(name, script)),
        },
        None => Err(objection(name, beyond(arguments, &[]).unwrap_or(first))),
    }
}
