//! The environment the program was started in, as a value.
//!
//! Nothing else reads the process's environment, arguments or current directory: they are handed down,
//! so every rule that depends on one can be tested without setting it.

use std::{collections::BTreeMap, ffi::OsString, fmt, fs, io, path::PathBuf};

use attache_runtime::internal::clock;
use jiff::tz::TimeZone;

/// The variables and their values.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Variables of ours whose values are not UTF-8.
    unreadable: Vec<String>,
}

/// The directory the program was started in.
#[expect(clippy::disallowed_methods, reason = "the one place that asks where the user stands")]
pub(crate) fn current_directory() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// The words of the command line, the program's name first.
pub(crate) fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Whether the terminal understands no codes that move the cursor.
#[expect(clippy::disallowed_methods, reason = "this module is where the environment is read")]
pub(crate) fn terminal_is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// The time zone of this machine. The zone of the file is used as it is: to find its name, `jiff` would read
/// the names of all zones there are.
#[expect(clippy::disallowed_methods, reason = "this module is where the environment is read")]
pub(crate) fn time_zone() -> TimeZone {
    let of_machine = || TimeZone::tzif("local", &fs::read("/etc/localtime").ok()?).ok();
    let is_set = std::env::var_os("TZ").is_some();
    let zone = if is_set { None } else { of_machine() };
    zone.unwrap_or_else(TimeZone::system)
}

/// The date that people here have today.
pub(crate) fn today() -> String {
    clock::now().to_zoned(time_zone()).date().to_string()
}

impl Environment {
    /// The environment of this process; variables that are not UTF-8 are left out.
    pub(crate) fn of_process() -> Self {
        let mut environment = Self::default();
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(environment.variables.insert(name, value)),
                Err(_) if name == "HOME" || name.starts_with("ATTACHE_") => {
                    environment.unreadable.push(name);
                }
                Err(_) => {}
            }
        }
        environment
    }

    /// A variable that decides where things are or what holds, and cannot be read; another value than the
    /// user's would be used without it.
    pub(crate) fn unreadable(&self) -> Option<&str> {
        self.unreadable.first().map(String::as_str)
    }

    /// The value of a variable, if it is set.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// All variables, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values that must never be written down: those of variables whose names say so.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let secret = |name: &str| {
            ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"].iter().any(|ending| name.ends_with(ending))
        };
        self.variables.iter().filter(move |(name, _)| secret(name)).map(|(_, value)| value.as_str())
    }

    /// The variables whose names begin with `prefix`, in order.
    pub(crate) fn starting_with<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.variables
            .range(prefix.to_owned()..)
            .take_while(move |(name, _)| name.starts_with(prefix))
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<Name: Into<String>, Value: Into<String>> FromIterator<(Name, Value)> for Environment {
    fn from_iter<Pairs: IntoIterator<Item = (Name, Value)>>(pairs: Pairs) -> Self {
        Self {
            variables: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            unreadable: Vec::new(),
        }
    }
}

/// Shows the names only: the values hold provider keys.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_by_name_and_by_prefix() {
        let environment: Environment =
            [("ATTACHE_MODEL", "m"), ("ATTACHE", "x"), ("HOME", "/h")].into_iter().collect();
        assert_eq!(environment.get("HOME"), Some("/h"));
        assert_eq!(environment.get("PATH"), None);
        let found: Vec<_> = environment.starting_with("ATTACHE_").collect();
        assert_eq!(found, [("ATTACHE_MODEL", "m")]);
    }

    #[test]
    fn debug_text_holds_no_values() {
        let environment: Environment = [("OPENAI_API_KEY", "sk-secret")].into_iter().collect();
        assert_eq!(format!("{environment:?}"), r#"{"OPENAI_API_KEY"}"#);
    }
}
