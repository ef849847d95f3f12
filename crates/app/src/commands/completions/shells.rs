//! The shells: the script each one loads, and how it gets its candidates.
//!
//! Names may have blanks, colons and quotes in them; each shell gets them in the form it inserts whole.

use std::{ffi::OsString, io, path::Path};

use crate::environment::Environment;
use clap_complete::{
    CompletionCandidate,
    engine::complete,
    env::{Elvish, EnvCompleter, Powershell, Shells},
};

use super::line::Line;

/// Every shell there is a script for.
pub(crate) fn all() -> Shells<'static> {
    Shells(&[&Bash, &Elvish, &FISH, &Powershell, &ZSH])
}

const BASH: &str = r#"_attache() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <(_ATTACHE_LINE="${COMP_LINE:0:COMP_POINT}" _ATTACHE_BREAKS="$COMP_WORDBREAKS" \
        COMPLETE=bash attache -- attache 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/.] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o nosort -F _attache attache 2>/dev/null ||
    complete -o bashdefault -F _attache attache
"#;

const ZSH_SCRIPT: &str = r#"#compdef attache
_attache() {
    local -a words_whole words_open shown_whole shown_open
    local line value
    while IFS= read -r line; do
        value="${line%%$'\t'*}"
        if [[ "$value" == *[=/.] ]]; then
            words_open+=("$value")
            shown_open+=("${line/$'\t'/  -- }")
        else
            words_whole+=("$value")
            shown_whole+=("${line/$'\t'/  -- }")
        fi
    done < <(COMPLETE=zsh attache -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    local any_case='m:{[:lower:][:upper:]}={[:upper:][:lower:]}'
    (( $#words_whole )) && compadd -V attache -M "$any_case" -l -d shown_whole -a words_whole
    (( $#words_open )) && compadd -V attache-open -M "$any_case" -S '' -l -d shown_open -a words_open
}
if [[ "$funcstack[1]" == "_attache" ]]; then
    _attache "$@"
else
    compdef _attache attache
fi
"#;

const FISH_SCRIPT: &str = r#"function __attache_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor | string unescape)
    COMPLETE=fish attache -- $words "$current" 2>/dev/null
end
complete --keep-order --no-files --command attache --arguments '(__attache_complete)'
"#;

struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        _var: &str,
        _name: &str,
        _bin: &str,
        _completer: &str,
        script: &mut dyn io::Write,
    ) -> io::Result<()> {
        script.write_all(BASH.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        _arguments: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn io::Write,
    ) -> io::Result<()> {
        let environment = Environment::of_process();
        let asked = |name: &str| environment.get(name).unwrap_or_default();
        let mut line = Line::read(asked("_ATTACHE_LINE"), asked("_ATTACHE_BREAKS"));
        // The program may stand after variables, or have a path.
        let program = |word: &String| word.rsplit('/').next() == Some("attache");
        let from = line.words.iter().position(program).unwrap_or_default();
        let words: Vec<OsString> = line.words.drain(from..).map(Into::into).collect();
        let last = words.len().saturating_sub(1);
        for candidate in complete(command, words, last, folder)? {
            writeln!(answer, "{}", line.inserted(&candidate.get_value().to_string_lossy()))?;
        }
        Ok(())
    }
}

/// A shell that shows candidates with their help.
struct WithHelp {
    name: &'static str,
    script: &'static str,
}

const ZSH: WithHelp = WithHelp { name: "zsh", script: ZSH_SCRIPT };
const FISH: WithHelp = WithHelp { name: "fish", script: FISH_SCRIPT };

impl EnvCompleter for WithHelp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is(&self, name: &str) -> bool {
        name == self.name
    }

    fn write_registration(
        &self,
        _var: &str,
        _name: &str,
        _bin: &str,
        _completer: &str,
        script: &mut dyn io::Write,
    ) -> io::Result<()> {
        script.write_all(self.script.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        arguments: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn io::Write,
    ) -> io::Result<()> {
        let last = arguments.len().saturating_sub(1);
        write_with_help(complete(command, arguments, last, folder)?, answer)
    }
}

/// One candidate a line, its help after a tab.
fn write_with_help(
    candidates: Vec<CompletionCandidate>,
    answer: &mut dyn io::Write,
) -> io::Result<()> {
    for candidate in candidates {
        write!(answer, "{}", candidate.get_value().to_string_lossy())?;
        if let Some(help) = candidate.get_help() {
            write!(answer, "\t{}", help.to_string().lines().next().unwrap_or_default())?;
        }
        writeln!(answer)?;
    }
    Ok(())
}
