//! Files that a command line is seen to read or write, held against rules about files.
//!
//! What a program does with its arguments is known only of some programs. A path that stands in the line
//! counts as read by any program that may read it; what a known reader may read without naming it makes
//! the answer unclear.

use super::{
    Match, ToolRule,
    call::{Call, Line, Subject},
    path_pattern::{From, PathPattern, Spot},
    pattern::Pattern,
};
use crate::rights::{
    command::{
        Piece, RedirectionKind, SimpleCommand, Survey, Word,
        read_only::{Reads, doubt_command, reads},
    },
    protected::protected_names,
    tool_name::BuiltinTool,
};

impl ToolRule {
    /// Whether a rule about files means what these lines do.
    pub(super) fn reaches_command(&self, lines: &[Line], moved: bool) -> Match {
        let is_reading = self.names(BuiltinTool::ReadFile);
        let is_writing = self.is_about_writing();
        let pattern = match &self.pattern {
            Some(Pattern::Path(pattern)) if is_reading || is_writing => Some(pattern),
            None if is_reading || is_writing => None,
            _ => return Match::No,
        };
        let matched = lines.iter().flat_map(|line| {
            let survey = line.survey();
            let base = base(&survey, moved);
            let of_command = |command: &SimpleCommand| {
                let read = if is_reading { read_match(pattern, command, base) } else { Match::No };
                let written =
                    if is_writing { write_match(pattern, command, base) } else { Match::No };
                read.max(written)
            };
            let unseen = if survey.blind_spot.is_none() {
                Match::No
            } else if is_reading && is_guessed_to_read(pattern, &survey, base) {
                Match::Yes
            } else {
                Match::Unclear
            };
            let seen = survey.launches.iter().map(|launch| of_command(&launch.command)).max();
            [unseen, seen.unwrap_or(Match::No)]
        });
        matched.max().unwrap_or(Match::No)
    }
}

/// Whether words of a line that is not understood may read a file that a pattern means; without a pattern,
/// any file.
fn is_guessed_to_read(pattern: Option<&PathPattern>, survey: &Survey, base: From) -> bool {
    survey.guesses.iter().any(|guess| {
        let words = &guess.command.words;
        match pattern {
            Some(pattern) => {
                words.iter().any(|word| spots(word, base).iter().any(|spot| pattern.meets(spot)))
            }
            None => (0..words.len())
                .filter_map(|first| words.get(first..))
                .any(|words| reads(words).is_some_and(|reads| reads != Reads::Nothing)),
        }
    })
}

/// The protected path that a call names in a command that may change it, if it names one.
pub fn protected_by_command(call: &Call<'_>, root: Option<&str>) -> Option<String> {
    let Subject::Shell(lines) = call.subject() else { return None };
    let is_protected = |word: &&Word| {
        spots(word, From::Workspace).iter().any(|spot| {
            let path = spot.names.join("/");
            let root = root.map(|root| root.trim_matches('/'));
            let below = root.filter(|_| spot.from == From::Root);
            let below = below.and_then(|root| path.strip_prefix(root)).unwrap_or(&path);
            let names: Vec<&str> = below.split('/').collect();
            protected_names(&names).is_some()
        })
    };
    lines.iter().find_map(|line| {
        line.survey().launches.iter().find_map(|launch| {
            let command = &launch.command;
            let written = command.redirections.iter().filter(|redirection| {
                redirection.kind == RedirectionKind::Output && !redirection.is_harmless()
            });
            let mut targets = written.map(|redirection| &redirection.target);
            let harmless = doubt_command(&without_redirections(command)).is_none();
            let arguments = command.words.iter().skip(1);
            let mut arguments = arguments.filter(|_| !harmless);
            targets
                .find(is_protected)
                .or_else(|| arguments.find(is_protected))
                .map(ToString::to_string)
        })
    })
}

fn without_redirections(command: &SimpleCommand) -> SimpleCommand {
    SimpleCommand { redirections: Vec::new(), ..command.clone() }
}

/// Where relative paths of a line begin.
fn base(survey: &Survey, moved: bool) -> From {
    let goes_elsewhere = survey.launches.iter().any(|launch| {
        let first = launch.command.words.first().and_then(Word::literal);
        matches!(first, Some("cd" | "pushd" | "popd"))
    });
    if moved || goes_elsewhere { From::Somewhere } else { From::Workspace }
}

/// Whether a command is seen to read a file that a pattern means; without a pattern, any file.
fn read_match(pattern: Option<&PathPattern>, command: &SimpleCommand, base: From) -> Match {
    let known = reads(&command.words);
    let inputs = command.redirections.iter().filter(|redirection| {
        redirection.kind == RedirectionKind::Input && !redirection.is_harmless()
    });
    let inputs: Vec<&Word> = inputs.map(|redirection| &redirection.target).collect();
    let Some(pattern) = pattern else {
        let shows = !inputs.is_empty() || shows_files(&command.words);
        return if shows { Match::Yes } else { Match::No };
    };
    let arguments = || command.words.iter().skip(1).filter(|_| known != Some(Reads::Nothing));
    let is_meant = |word: &Word| spots(word, base).iter().any(|spot| pattern.meets(spot));
    if arguments().chain(inputs.iter().copied()).any(is_meant) {
        return Match::Yes;
    }
    let is_open = |word: &Word| !word.is_literal() && spots(word, base).is_empty();
    if inputs.iter().any(|word| is_open(word)) {
        return Match::Unclear;
    }
    let Some(reader) = Reader::among(&command.words) else { return Match::No };
    let may_read = reader.is_fed
        || reader.words.iter().skip(1).any(is_open)
        || (reader.reads == Reads::Below
            && roots(reader.words, base).iter().any(|spot| pattern.meets_below(spot)));
    if may_read { Match::Unclear } else { Match::No }
}

/// Whether a command shows what any file contains or that it is there, itself or through a program that it
/// runs: `env cat a`, `find . -exec head {} +`, `ls`, `echo *`.
fn shows_files(words: &[Word]) -> bool {
    let is_wildcard = |piece: &Piece| match piece {
        Piece::Literal(_) => false,
        Piece::Expansion(written) => written.contains(['*', '?', '[']),
    };
    if words.iter().flat_map(Word::pieces).any(is_wildcard) {
        return true;
    }
    // What these print is what stands in the line.
    let is_text = matches!(words.first().and_then(Word::literal), Some("echo" | "printf"));
    !is_text
        && (0..words.len()).filter_map(|first| words.get(first..)).any(|words| {
            reads(words).is_some_and(|reads| reads != Reads::Nothing) || shows_names(words)
        })
}

/// Whether a program lists files.
fn shows_names(words: &[Word]) -> bool {
    const LISTERS: [&str; 9] = ["ls", "dir", "vdir", "find", "fd", "tree", "stat", "du", "locate"];
    const OF_GIT: [&str; 3] = ["ls-files", "ls-tree", "status"];
    let Some((program, arguments)) = words.split_first() else { return false };
    let Some(name) = program.literal().and_then(|path| path.rsplit('/').next()) else {
        return false;
    };
    let has = |known: &[&str]| {
        arguments.iter().filter_map(Word::literal).any(|argument| known.contains(&argument))
    };
    LISTERS.contains(&name) || (name == "git" && has(&OF_GIT))
}

/// A program that is known to read files, alone or behind one that runs it.
struct Reader<'w> {
    words: &'w [Word],
    reads: Reads,
    /// Whether it is given files that do not stand in the line.
    is_fed: bool,
}

impl<'w> Reader<'w> {
    fn among(words: &'w [Word]) -> Option<Self> {
        let reads_files = |words: &'w [Word]| reads(words).filter(|reads| *reads != Reads::Nothing);
        if reads(words).is_some() {
            return reads_files(words).map(|reads| Self { words, reads, is_fed: false });
        }
        let is_fed = words
            .iter()
            .filter_map(Word::literal)
            .any(|word| matches!(word, "xargs" | "-exec" | "-execdir"));
        (1..words.len())
            .filter_map(|index| words.get(index..))
            .find_map(|words| reads_files(words).map(|reads| Self { words, reads, is_fed }))
    }
}

/// Whether a command is seen to write a file that a pattern means; without a pattern, any file.
fn write_match(pattern: Option<&PathPattern>, command: &SimpleCommand, base: From) -> Match {
    let outputs = command.redirections.iter().filter(|redirection| {
        redirection.kind == RedirectionKind::Output && !redirection.is_harmless()
    });
    let is_meant = |word: &Word| match pattern {
        Some(pattern) => spots(word, base).iter().any(|spot| pattern.meets(spot)),
        None => true,
    };
    let mut is_unclear = false;
    for redirection in outputs {
        if is_meant(&redirection.target) {
            return Match::Yes;
        }
        is_unclear |= !redirection.target.is_literal();
    }
    let may_write = doubt_command(&without_redirections(command)).is_some();
    if is_unclear || (may_write && command.words.iter().skip(1).any(is_meant)) {
        return Match::Unclear;
    }
    Match::No
}

/// The directories that a searching program searches.
fn roots(words: &[Word], base: From) -> Vec<Spot> {
    let program = words.first().and_then(Word::literal).unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    let operands = words
        .iter()
        .skip(1)
        .filter(|word| word.literal().is_none_or(|text| !text.starts_with('-')));
    // The first operand of a search is what is searched for.
    let first = usize::from(matches!(name, "rg" | "grep" | "egrep" | "fgrep"));
    let mut roots: Vec<Spot> = match name {
        "git" => Vec::new(),
        _ => operands.skip(first).flat_map(|word| spots(word, base)).collect(),
    };
    if roots.is_empty() {
        roots.push(Spot::from_path("", base));
    }
    roots
}

/// The paths that a word may be: itself, the value of an option, and what follows a colon.
fn spots(word: &Word, base: From) -> Vec<Spot> {
    let text = match word.pieces() {
        [Piece::Expansion(home), Piece::Literal(below)] if home == "~" => format!("~{below}"),
        [Piece::Expansion(home)] if home == "~" => home.clone(),
        [Piece::Literal(text)] if !text.starts_with('~') => text.clone(),
        // A quoted tilde is a name.
        [Piece::Literal(text)] => format!("./{text}"),
        _ => return Vec::new(),
    };
    let mut candidates = vec![text.as_str()];
    candidates.extend(text.split_once('=').map(|(_, value)| value));
    if let Some(option) = text.strip_prefix('-') {
        candidates.remove(0);
        let letter = option.chars().next().map_or(0, char::len_utf8);
        candidates.extend(option.get(letter..).filter(|_| !option.starts_with('-')));
    }
    candidates.extend(text.split_once(':').map(|(_, path)| path));
    candidates.extend(text.strip_prefix('@'));
    candidates.retain(|path| !path.is_empty());
    candidates.into_iter().map(|path| Spot::from_path(path, base)).collect()
}
