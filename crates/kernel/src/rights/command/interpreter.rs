//! Commands that run other commands: `sudo`, `xargs`, `find -exec`, `bash -c`, `eval` and their like.
//!
//! A survey looks through them, for rules that deny. It errs on the side of seeing too much: behind a
//! wrapper every word may be the command, and a script that cannot be read is a blind spot.

use super::{Complexity, SimpleCommand, Word, guess::guesses, scanner};

/// Every command that a line can be seen to run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The commands, those in substitutions, groups and scripts included.
    pub launches: Vec<Launch>,
    /// Why there may be more.
    pub blind_spot: Option<Complexity>,
    /// What the line may run, if there may be more: every word may begin a command.
    pub guesses: Vec<Launch>,
}

/// A command, and where in it another one may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The command.
    pub command: SimpleCommand,
    /// From this word on each word may be a command of its own; the number of words where none is.
    pub inner_from: usize,
    /// What comes from elsewhere, as with `xargs`.
    pub appended: Appended,
}

/// What a program appends to a command before it runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// Nothing.
    Nothing,
    /// Arguments.
    Arguments,
    /// Words of which any may be a command.
    Commands,
}

/// Programs whose arguments hold another command.
const WRAPPERS: &[&str] = &[
    "-",
    "builtin",
    "busybox",
    "caffeinate",
    "chroot",
    "chrt",
    "command",
    "doas",
    "env",
    "exec",
    "fakeroot",
    "flock",
    "ionice",
    "ltrace",
    "nice",
    "nocorrect",
    "noglob",
    "nohup",
    "nsenter",
    "parallel",
    "proot",
    "repeat",
    "runuser",
    "script",
    "setpriv",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "trap",
    "unbuffer",
    "unshare",
    "watch",
    "xargs",
];

/// Those of them that take a whole script as one argument.
const SCRIPT_TAKERS: &[&str] =
    &["flock", "parallel", "runuser", "script", "ssh", "su", "trap", "watch"];

const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "zsh"];

/// Names of the standard input, as a script to run.
const STANDARD_INPUT: &[&str] = &["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Every command that a line can be seen to run.
pub fn survey(line: &str) -> Survey {
    let mut survey = Survey::default();
    survey.read_script(line, 0);
    if survey.blind_spot.is_some() {
        survey.guesses = guesses(line);
    }
    survey
}

/// Every command that a command of a line can be seen to run.
pub fn survey_command(command: SimpleCommand) -> Survey {
    let mut survey = Survey::default();
    let written = command.to_string();
    survey.add(command, 0);
    if survey.blind_spot.is_some() {
        survey.guesses = guesses(&written);
    }
    survey
}

/// Every command that a program started with these words can be seen to run.
pub fn survey_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Survey {
    let words: Vec<&str> = words.into_iter().collect();
    let mut survey = Survey::default();
    survey.add(SimpleCommand::of_words(words.iter().copied()), 0);
    if survey.blind_spot.is_some() {
        survey.guesses = guesses(&words.join(" "));
    }
    survey
}

impl Survey {
    fn read_script(&mut self, script: &str, depth: usize) {
        let scan = scanner::scan(script, depth);
        if let Some(reason) = scan.blind_spot {
            self.miss(reason);
        }
        for command in scan.commands {
            self.add(command, depth);
        }
    }

    fn miss(&mut self, reason: Complexity) {
        self.blind_spot.get_or_insert(reason);
    }

    fn add(&mut self, command: SimpleCommand, depth: usize) {
        let inner_from = inner_from(&command.words);
        let appended = appended(&command.words, inner_from);
        self.read_interpreter(&command.words, inner_from, depth);
        self.launches.push(Launch { command, inner_from, appended });
    }

    /// Reads the script that the first interpreter among the possible commands is given.
    fn read_interpreter(&mut self, words: &[Word], inner_from: usize, depth: usize) {
        for (index, word) in words.iter().enumerate() {
            if index > 0 && index < inner_from {
                continue;
            }
            let Some(name) = program(word) else { continue };
            let arguments = words.get(index + 1..).unwrap_or_default();
            match name.as_str() {
                "eval" => self.read_eval(arguments, depth),
                "source" | "." => self.read_source(arguments),
                "alias" => self.miss(Complexity::Declaration),
                "env" if arguments.iter().any(is_split_string) => {
                    self.miss(Complexity::HiddenScript);
                }
                name if SHELLS.contains(&name) => self.read_shell(arguments, depth),
                name if SCRIPT_TAKERS.contains(&name) => {
                    for script in arguments.iter().filter_map(Word::literal) {
                        if script.contains(|letter: char| !is_word_letter(letter)) {
                            self.read_script(script, depth + 1);
                        }
                    }
                }
                _ => continue,
            }
            return;
        }
    }

    fn read_eval(&mut self, arguments: &[Word], depth: usize) {
        let words: Option<Vec<&str>> = arguments.iter().map(Word::literal).collect();
        match words {
            Some(words) => self.read_script(&words.join(" "), depth + 1),
            None => self.miss(Complexity::HiddenScript),
        }
    }

    fn read_source(&mut self, arguments: &[Word]) {
        match arguments.first().map(Word::literal) {
            Some(Some(file)) if !STANDARD_INPUT.contains(&file) => {}
            Some(_) => self.miss(Complexity::HiddenScript),
            None => {}
        }
    }

    fn read_shell(&mut self, arguments: &[Word], depth: usize) {
        let given = arguments.iter().position(|word| {
            word.literal().is_some_and(|text| is_short_option(text, 'c') || text == "--command")
        });
        match given {
            Some(index) => {
                let scripts = arguments.get(index + 1..).unwrap_or_default();
                self.read_given_scripts(scripts, depth);
            }
            None if runs_a_file(arguments) => {}
            None => self.miss(Complexity::HiddenScript),
        }
    }

    /// The words after `-c`: the script, then its arguments; further options may come between.
    fn read_given_scripts(&mut self, words: &[Word], depth: usize) {
        let has_options =
            words.iter().filter_map(Word::literal).any(|text| text.starts_with(['-', '+']));
        for (index, word) in words.iter().enumerate() {
            match word.literal() {
                Some(script) => self.read_script(script, depth + 1),
                None if index == 0 || has_options => self.miss(Complexity::HiddenScript),
                None => {}
            }
        }
    }
}

/// From which word on each may be a command of its own.
fn inner_from(words: &[Word]) -> usize {
    let Some(first) = words.first() else { return 0 };
    match program(first).as_deref() {
        // The value of a variable may be a wrapper.
        None => 1,
        Some("find" | "fd" | "fdfind") => words
            .iter()
            .position(|word| word.literal().is_some_and(is_exec_option))
            .map_or(words.len(), |option| option + 1),
        Some(name) if runs_others(name) => 1,
        Some(_) => words.len(),
    }
}

/// Whether a program runs another one that its arguments name.
fn runs_others(name: &str) -> bool {
    WRAPPERS.contains(&name) || SHELLS.contains(&name) || matches!(name, "eval" | "source" | ".")
}

fn appended(words: &[Word], inner_from: usize) -> Appended {
    let own = words.iter().take(1);
    let mut programs = own.chain(words.iter().skip(inner_from.max(1))).map(program);
    let appends = |name: &Option<String>| matches!(name.as_deref(), Some("xargs" | "parallel"));
    match programs.find(appends).flatten().as_deref() {
        None => Appended::Nothing,
        Some("xargs") if programs.all(|name| name.is_some_and(|name| !runs_others(&name))) => {
            Appended::Arguments
        }
        Some(_) => Appended::Commands,
    }
}

/// The name of the program a word starts, without its directory and in lower case, as some file
/// systems look it up.
fn program(word: &Word) -> Option<String> {
    let text = word.literal()?;
    let name = text.rsplit('/').next().unwrap_or(text);
    Some(name.to_ascii_lowercase())
}

fn is_exec_option(text: &str) -> bool {
    matches!(
        text,
        "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
    )
}

fn is_split_string(word: &Word) -> bool {
    word.literal().is_some_and(|text| is_short_option(text, 'S') || text.starts_with("--s"))
}

fn is_short_option(text: &str, letter: char) -> bool {
    text.strip_prefix('-')
        .is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}

fn is_word_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/' | ':' | '=' | '@' | '+')
}

/// Whether a shell without `-c` is given a file to run, and not left to read its input.
fn runs_a_file(arguments: &[Word]) -> bool {
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        let Some(text) = word.literal() else {
            return false;
        };
        if matches!(text, "--version" | "--help") {
            return true;
        }
        if STANDARD_INPUT.contains(&text) || is_short_option(text, 's') {
            return false;
        }
        if !text.starts_with(['-', '+']) {
            return true;
        }
        let takes_value = matches!(text, "--rcfile" | "--init-file")
            || (!text.starts_with("--") && text.ends_with(['o', 'O']));
        if takes_value {
            arguments.next();
        }
    }
    false
}
