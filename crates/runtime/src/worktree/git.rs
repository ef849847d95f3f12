//! Git, started so that nothing a repository says makes it start another program.
//!
//! Invariant: hooks, file system monitors, remotes and the filters of the repository's own
//! configuration are off, whatever they are called. Filters that the user configured for themselves
//! (such as Git LFS) stay on: they are the user's programs. No variable `GIT_*` of the user counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::WorktreeError;
use crate::process::{CommandEnvironment, Exit, Program};

/// How long one command of git may take. Large repositories take long to check out.
const LIMIT: Duration = Duration::from_mins(10);

/// Settings that override the repository's configuration.
const ALWAYS: [(&str, &str); 15] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.alternateRefsCommand", ""),
    ("core.pager", "cat"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("commit.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("protocol.allow", "never"),
    ("core.safecrlf", "false"),
    ("advice.addEmbeddedRepo", "false"),
];

/// What the environment of git says beside its configuration.
const VARIABLES: [(&str, &str); 11] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_AUTHOR_NAME", "attache"),
    ("GIT_AUTHOR_EMAIL", "attache@localhost"),
    ("GIT_COMMITTER_NAME", "attache"),
    ("GIT_COMMITTER_EMAIL", "attache@localhost"),
    ("LC_ALL", "C"),
];

/// Git in one directory. A copy is the same.
#[derive(Debug, Clone)]
pub(super) struct Git {
    file: PathBuf,
    directory: PathBuf,
    temporary: PathBuf,
    variables: BTreeMap<String, PathBuf>,
    /// Configuration that comes after everything the repository says.
    settings: Vec<(OsString, OsString)>,
}

impl Git {
    /// Git in that directory, with the configuration of its repository disarmed.
    pub(super) async fn new(
        environment: &CommandEnvironment,
        directory: &Path,
        temporary: &Path,
    ) -> Result<Self, WorktreeError> {
        let mut git = Self::unread(environment, directory, temporary)?;
        git.disarm().await?;
        Ok(git)
    }

    /// Git that only answers questions for which it starts nothing and reads no file of the project.
    pub(super) fn unread(
        environment: &CommandEnvironment,
        directory: &Path,
        temporary: &Path,
    ) -> Result<Self, WorktreeError> {
        let found = environment.of_program("git", directory);
        let (file, mut variables) = found.ok_or(WorktreeError::NoGit)?;
        variables.retain(|name, _| !name.starts_with("GIT_"));
        for (name, value) in VARIABLES {
            variables.insert(name.to_owned(), value.into());
        }
        let settings = ALWAYS.iter().map(|(key, value)| (key.into(), value.into())).collect();
        let (directory, temporary) = (directory.to_owned(), temporary.to_owned());
        Ok(Self { file, directory, temporary, variables, settings })
    }

    /// The same with a variable.
    pub(super) fn with(mut self, name: &str, value: impl Into<PathBuf>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Switches off what the repository's configuration, or any hook of it, would start.
    async fn disarm(&mut self) -> Result<(), WorktreeError> {
        let listed = self.run(["config", "--list", "--show-scope", "-z"]).await?;
        self.settings.extend(disarming(&listed));
        Ok(())
    }

    /// Runs a command, and gives what it wrote.
    pub(super) async fn run(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Vec<u8>, WorktreeError> {
        self.run_with(arguments, Vec::new()).await
    }

    /// Runs a command whose answer is one line.
    pub(super) async fn line(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<OsString, WorktreeError> {
        let mut written = self.run(arguments).await?;
        if written.last() == Some(&b'\n') {
            written.pop();
        }
        Ok(OsString::from_vec(written))
    }

    /// Runs a command whose answer is the name of an object.
    pub(super) async fn object(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<String, WorktreeError> {
        Ok(self.line(arguments).await?.to_string_lossy().into_owned())
    }

    /// Runs a command that reads this.
    pub(super) async fn run_with(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, WorktreeError> {
        let arguments: Vec<OsString> =
            arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let command =
            arguments.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let mut variables = self.variables.clone();
        variables.insert("GIT_CONFIG_COUNT".to_owned(), self.settings.len().to_string().into());
        for (number, (key, value)) in self.settings.iter().enumerate() {
            variables.insert(format!("GIT_CONFIG_KEY_{number}"), key.into());
            variables.insert(format!("GIT_CONFIG_VALUE_{number}"), value.into());
        }
        let program = Program {
            file: self.file.clone(),
            arguments,
            directory: self.directory.clone(),
            environment: variables,
            input,
            temporary: self.temporary.clone(),
            limit: LIMIT,
        };
        let finished =
            program.run().await.map_err(|error| WorktreeError::program(&command, &error))?;
        if finished.exit == Exit::Code(0) {
            return Ok(finished.output);
        }
        let said = String::from_utf8_lossy(&finished.errors);
        let said = said.trim().lines().last().unwrap_or("it says nothing").to_owned();
        Err(WorktreeError::Refused { command, ended: finished.exit.to_string(), said })
    }
}

/// The settings that take back what a repository's own configuration would start, from the answer of
/// `git config --list --show-scope -z`.
fn disarming(listed: &[u8]) -> Vec<(OsString, OsString)> {
    let mut fields = listed.split(|byte| *byte == 0);
    let mut of_user: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    let mut of_repository: BTreeSet<&[u8]> = BTreeSet::new();
    let mut hooks: BTreeSet<&[u8]> = BTreeSet::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let end = entry.iter().position(|byte| *byte == b'\n').unwrap_or(entry.len());
        let (key, value) = entry.split_at(end);
        if let Some(hook) = between(key, b"hook.") {
            hooks.insert(hook);
        }
        if between(key, b"filter.").is_none() {
            continue;
        }
        match scope {
            b"system" | b"global" => {
                of_user.insert(key, value.get(1..).unwrap_or(b"true"));
            }
            _ => {
                of_repository.insert(key);
            }
        }
    }
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let filters = of_repository.into_iter().map(|key| {
        let off: &[u8] = if key.ends_with(b".required") { b"false" } else { b"" };
        (text(key), text(of_user.get(key).copied().unwrap_or(off)))
    });
    let hooks = hooks.into_iter().map(|hook| {
        let mut key = text(b"hook.");
        key.push(text(hook));
        key.push(".enabled");
        (key, "false".into())
    });
    filters.chain(hooks).collect()
}

/// The middle part of a key, as in `filter.NAME.clean`.
fn between<'k>(key: &'k [u8], section: &[u8]) -> Option<&'k [u8]> {
    let rest = key.strip_prefix(section)?;
    let end = rest.iter().rposition(|byte| *byte == b'.')?;
    rest.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_a_repository_are_off_and_those_of_the_user_count() {
        let listed = b"global\0filter.lfs.clean\ngit-lfs clean\0global\0user.name\nU\0\
            local\0filter.lfs.clean\nevil\0local\0filter.a=b.c.smudge\nevil\0\
            local\0filter.x.required\ntrue\0worktree\0filter.y.process\nevil\0\
            local\0hook.q.command\nevil\0local\0core.bare\nfalse\0";
        let off = disarming(listed);
        let shown: Vec<_> = off
            .iter()
            .map(|(key, value)| (key.to_str().unwrap(), value.to_str().unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                ("filter.a=b.c.smudge", ""),
                ("filter.lfs.clean", "git-lfs clean"),
                ("filter.x.required", "false"),
                ("filter.y.process", ""),
                ("hook.q.enabled", "false"),
            ]
        );
    }
}
