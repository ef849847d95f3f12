//! Subcommands of `git` that only look.

use super::{
    options::{beyond, is_among, offending},
    table::Reads,
};
use crate::rights::command::Word;

/// Options that write a file or run a program, of every subcommand that shows differences or walks
/// commits: git takes them for both.
const DIFF: &[&str] = &["--output", "--ext-diff", "--textconv", "--show-signature"];

/// Subcommands of which all options but these are harmless.
const EXCEPT: &[(&str, &[&str])] = &[
    ("annotate", DIFF),
    ("blame", DIFF),
    ("cat-file", &["--textconv", "--filters"]),
    ("check-attr", &[]),
    ("check-ignore", &[]),
    ("cherry", &[]),
    ("count-objects", &[]),
    ("describe", &[]),
    ("diff", DIFF),
    ("diff-files", DIFF),
    ("diff-index", DIFF),
    ("diff-tree", DIFF),
    ("for-each-ref", &[]),
    ("grep", &["-O", "--open-files-in-pager", "--textconv"]),
    ("log", DIFF),
    ("ls-files", &[]),
    ("ls-tree", &[]),
    ("merge-base", &[]),
    ("name-rev", &[]),
    ("range-diff", DIFF),
    ("rev-list", DIFF),
    ("rev-parse", &[]),
    ("shortlog", DIFF),
    ("show", DIFF),
    ("show-branch", &[]),
    ("show-ref", &[]),
    ("status", &[]),
    ("version", &[]),
    ("whatchanged", DIFF),
];

/// Subcommands that show what files contain.
const SHOWS_CONTENT: &[&str] = &[
    "annotate",
    "blame",
    "cat-file",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "grep",
    "log",
    "range-diff",
    "show",
    "stash",
    "whatchanged",
];

/// Options of `git` itself that change nothing.
const GLOBAL: &[&str] = &[
    "--no-pager",
    "-P",
    "--no-optional-locks",
    "--no-replace-objects",
    "--literal-pathspecs",
    "--version",
];

/// Options with which `branch` and `tag` list.
const LISTING: &[&str] = &[
    "-a",
    "-r",
    "-v",
    "-i",
    "-n",
    "-l",
    "--all",
    "--remotes",
    "--verbose",
    "--list",
    "--show-current",
    "--column",
    "--no-column",
    "--color",
    "--no-color",
    "--abbrev",
    "--no-abbrev",
    "--ignore-case",
    "--sort",
    "--format",
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
];

/// Those of them that take the next word.
const LISTING_VALUES: &[&str] = &[
    "--sort",
    "--format",
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
];

/// The first argument that may change something.
pub(super) fn judge(arguments: &[Word]) -> Option<&Word> {
    let (subcommand, rest) = subcommand(arguments);
    let subcommand = match subcommand {
        Ok(Some(subcommand)) => subcommand,
        Ok(None) => return None,
        Err(argument) => return Some(argument),
    };
    let name = subcommand.literal().unwrap_or_default();
    if let Some(argument) = rest.iter().find(|word| starts_other_program(word)) {
        return Some(argument);
    }
    if let Some((_, options)) = EXCEPT.iter().find(|(known, _)| *known == name) {
        return offending(rest, options);
    }
    match name {
        "branch" => listing(rest, &["--list"]),
        "tag" => listing(rest, &["--list", "-l"]),
        "remote" => match rest {
            [] => None,
            [first, ..] if first.literal() == Some("get-url") => offending(rest, &["--p"]),
            _ => beyond(rest, &["-v", "--verbose"]),
        },
        "stash" => match rest.split_first() {
            Some((first, rest)) if matches!(first.literal(), Some("list" | "show")) => {
                offending(rest, DIFF)
            }
            Some((first, _)) => Some(first),
            None => Some(subcommand),
        },
        "reflog" => match rest.split_first() {
            None => None,
            Some((first, rest)) => match first.literal() {
                Some("show" | "exists" | "list") => offending(rest, DIFF),
                _ => Some(first),
            },
        },
        "worktree" => match rest.split_first() {
            Some((first, rest)) if first.literal() == Some("list") => offending(rest, &[]),
            Some((first, _)) => Some(first),
            None => Some(subcommand),
        },
        "config" => config(subcommand, rest),
        "symbolic-ref" => {
            let operands: Vec<&Word> =
                rest.iter().filter(|word| !is_literal_option(word, &["--short", "-q"])).collect();
            match operands.as_slice() {
                [one] if one.literal().is_some_and(|text| !text.starts_with('-')) => None,
                [first, ..] => Some(first),
                [] => Some(subcommand),
            }
        }
        _ => Some(subcommand),
    }
}

/// Which files a call shows.
pub(super) fn reads(arguments: &[Word]) -> Reads {
    match subcommand(arguments) {
        (Ok(Some(name)), _) => match name.literal() {
            Some(name) if SHOWS_CONTENT.contains(&name) => Reads::Below,
            Some(_) => Reads::Nothing,
            None => Reads::Below,
        },
        (Ok(None), _) => Reads::Nothing,
        (Err(_), _) => Reads::Below,
    }
}

/// The subcommand behind the options of `git` itself, and its arguments; an error is the option that
/// is not known to be harmless.
fn subcommand(arguments: &[Word]) -> (Result<Option<&Word>, &Word>, &[Word]) {
    let is_global = |word: &&Word| is_literal_option(word, GLOBAL);
    let skipped = arguments.iter().take_while(is_global).count();
    let rest = arguments.get(skipped..).unwrap_or_default();
    match rest.split_first() {
        None if skipped > 0 => (Ok(None), rest),
        // Without arguments it prints its help.
        None => (Ok(None), rest),
        Some((first, rest)) => match first.literal() {
            Some(text) if !text.starts_with('-') => (Ok(Some(first)), rest),
            _ => (Err(first), rest),
        },
    }
}

/// `--help` starts a reader of manuals or a browser; a format with signatures starts gpg.
fn starts_other_program(word: &Word) -> bool {
    let text = word.to_string();
    text == "--help" || text.contains("%G") || text.contains("%(signature")
}

fn is_literal_option(word: &Word, options: &[&str]) -> bool {
    word.literal().is_some_and(|text| options.contains(&text))
}

/// A list of branches or tags: names alone would make one.
fn listing<'w>(arguments: &'w [Word], list_options: &[&str]) -> Option<&'w Word> {
    let lists = arguments.iter().any(|word| is_literal_option(word, list_options));
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { return Some(word) };
        if LISTING_VALUES.contains(&text) {
            words.next();
        } else if text.starts_with('-') {
            if !is_among(text, LISTING) && !is_count(text) {
                return Some(word);
            }
        } else if !lists {
            return Some(word);
        }
    }
    None
}

/// `-n5`: the number of lines shown of a tag's message.
fn is_count(text: &str) -> bool {
    text.strip_prefix("-n").is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A setting that is read, not set.
fn config<'w>(subcommand: &'w Word, arguments: &'w [Word]) -> Option<&'w Word> {
    const WHERE: &[&str] = &[
        "--global",
        "--local",
        "--system",
        "--worktree",
        "--show-origin",
        "--show-scope",
        "--name-only",
        "-z",
        "--null",
    ];
    const READS: &[&str] = &["--get", "--get-all", "--get-regexp", "--list", "-l", "list", "get"];
    let is_place = |word: &&Word| is_literal_option(word, WHERE);
    let skipped = arguments.iter().take_while(is_place).count();
    match arguments.get(skipped..).unwrap_or_default() {
        [] => Some(subcommand),
        [first, rest @ ..] if is_literal_option(first, READS) => rest.iter().find(|word| {
            word.literal().is_none_or(|text| text.starts_with('-')) && !is_place(word)
        }),
        [one] if one.literal().is_some_and(|text| text.contains('.') && !text.starts_with('-')) => {
            None
        }
        [first, ..] => Some(first),
    }
}
