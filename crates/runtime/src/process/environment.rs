//! The environment of a command: what of the user's environment it may see, and manners for programs
//! that would wait for somebody at a terminal.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use attache_kernel::rights::environment::may_see;

use crate::store::Secrets;

/// The path that is searched where the user's environment has none.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What makes programs behave where nobody watches.
const MANNERS: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("NPM_CONFIG_YES", "true"),
];

/// The environment of commands. A value, so that nothing is taken from this process's own.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CommandEnvironment {
    variables: BTreeMap<String, String>,
}

impl CommandEnvironment {
    /// What commands see of the user's environment: no variable that holds one of those secrets, and
    /// none that looks as if it held another.
    pub fn cleaned(
        variables: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
        secrets: &Secrets,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let is_shown = |(name, value): &(String, String)| {
            may_see(name, value) && matches!(secrets.mask(value), Cow::Borrowed(_))
        };
        Self { variables: variables.filter(is_shown).collect() }
    }

    /// The same without the variables of these names.
    #[must_use]
    pub fn without<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        for name in names {
            self.variables.remove(name);
        }
        self
    }

    /// The variables of a command that works there and has that directory for temporary files.
    pub(super) fn of_command(
        &self,
        directory: &Path,
        temporary: &Path,
    ) -> BTreeMap<String, PathBuf> {
        let mut all: BTreeMap<String, PathBuf> =
            self.variables.iter().map(|(name, value)| (name.clone(), value.into())).collect();
        all.remove("OLDPWD");
        all.entry("PATH".to_owned()).or_insert_with(|| USUAL_PATH.into());
        for (name, value) in MANNERS {
            all.insert((*name).to_owned(), value.into());
        }
        all.insert("PWD".to_owned(), directory.to_owned());
        for name in ["TMPDIR", "TMP", "TEMP"] {
            all.insert(name.to_owned(), temporary.to_owned());
        }
        all
    }

    /// The program that a word means: a path, or the first such file on the search path.
    pub(super) fn find_program(&self, word: &str) -> Option<PathBuf> {
        let path = self.variables.get("PATH").map_or(USUAL_PATH, String::as_str);
        let places = path.split(':').filter(|place| place.starts_with('/'));
        places.map(|place| Path::new(place).join(word)).find(|program| is_executable(program))
    }
}

fn is_executable(program: &Path) -> bool {
    use rustix::fs::{Access, access};
    program.is_file() && access(program, Access::EXEC_OK).is_ok()
}

/// Shows the names only.
impl fmt::Debug for CommandEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_pass_and_manners_win() {
        let environment = CommandEnvironment::cleaned(
            [
                ("HOME", "/h"),
                ("HOUSE", "the house-key-1234"),
                ("MY_TOKEN", "t"),
                ("TERM", "xterm"),
                ("OLDPWD", "/o"),
            ],
            &Secrets::new(["house-key-1234"]),
        );
        let seen = environment.of_command(Path::new("/w"), Path::new("/t"));
        let get = |name: &str| seen.get(name).and_then(|value| value.to_str());
        assert_eq!((get("HOME"), get("TERM"), get("PWD")), (Some("/h"), Some("dumb"), Some("/w")));
        assert_eq!((get("TMPDIR"), get("PATH")), (Some("/t"), Some(USUAL_PATH)));
        assert_eq!((get("HOUSE"), get("MY_TOKEN"), get("OLDPWD")), (None, None, None));
        assert!(!format!("{environment:?}").contains("/h"));
    }

    #[test]
    fn programs_are_found_on_the_path_of_the_command() {
        let empty = CommandEnvironment::default();
        assert!(empty.find_program("sh").is_some());
        assert_eq!(empty.find_program("no-such-program-here"), None);
        let elsewhere =
            CommandEnvironment::cleaned([("PATH", "relative:/nowhere")], &Secrets::default());
        assert_eq!(elsewhere.find_program("sh"), None);
    }
}
