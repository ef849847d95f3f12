//! Tests of the settings as a whole: files on disk in, settings, entries and notices out.

mod documentation;
mod entries;
mod errors;
mod files;
mod layers;
mod meaning;
mod profiles;
mod trust;

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{Entry, Flag, Loaded, Notice, ProjectTrust, SettingsError, Sources, load};
use crate::environment::Environment;

/// A user, a repository, and what is typed.
struct World {
    root: TempDir,
    environment: Vec<(String, String)>,
    overrides: Vec<String>,
    flags: Vec<Flag>,
    profile: Option<String>,
    trust: ProjectTrust,
    working_directory: PathBuf,
}

impl World {
    /// A home directory and a repository, both empty; the working directory is `repo/a/b`.
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let working_directory = root.path().join("repo/a/b");
        for directory in ["home/.codex", "home/.attache", "repo/.git", "repo/a/b"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        Self {
            root,
            environment: Vec::new(),
            overrides: Vec::new(),
            flags: Vec::new(),
            profile: None,
            trust: ProjectTrust::Untrusted,
            working_directory,
        }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    fn file(self, relative: &str, text: &str) -> Self {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn codex(self, text: &str) -> Self {
        self.file("home/.codex/config.toml", text)
    }

    fn user(self, text: &str) -> Self {
        self.file("home/.attache/config.toml", text)
    }

    fn project(self, text: &str) -> Self {
        self.file("repo/.attache/config.toml", text)
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn typed(mut self, argument: &str) -> Self {
        self.overrides.push(argument.to_owned());
        self
    }

    fn flag(mut self, name: &'static str, key: &str, value: impl Into<toml::Value>) -> Self {
        self.flags.push(Flag { name, key: key.to_owned(), value: value.into() });
        self
    }

    fn profile(mut self, name: &str) -> Self {
        self.profile = Some(name.to_owned());
        self
    }

    fn trusted(mut self) -> Self {
        self.trust = ProjectTrust::Trusted;
        self
    }

    fn working_in(mut self, relative: &str) -> Self {
        self.working_directory = self.path(relative);
        fs::create_dir_all(&self.working_directory).unwrap();
        self
    }

    fn try_load(&self) -> Result<Loaded, SettingsError> {
        let environment: Environment = self.environment.iter().cloned().collect();
        load(&Sources {
            environment: &environment,
            home: Some(&self.path("home")),
            attache_home: &self.path("home/.attache"),
            working_directory: &self.working_directory,
            project_trust: self.trust,
            overrides: &self.overrides,
            flags: self.flags.clone(),
            profile: self.profile.as_deref(),
        })
    }

    /// What is not understood of what the user wrote.
    fn slips(&self) -> Vec<String> {
        self.load().findings.slips.iter().map(ToString::to_string).collect()
    }

    fn load(&self) -> Loaded {
        match self.try_load() {
            Ok(loaded) => loaded,
            Err(error) => panic!("{error}; {:?}", error.hint()),
        }
    }

    /// The value and the origin of a key, paths cut to what is below the root.
    fn shown(&self, key: &str) -> (serde_json::Value, String) {
        let Entry { value, origin, .. } = self.entry(key);
        (value, self.cut(&origin.to_string()))
    }

    fn entry(&self, key: &str) -> Entry {
        let entries = self.load().settings.entries();
        let found = entries.iter().find(|entry| entry.key == key);
        found.unwrap_or_else(|| panic!("no {key}")).clone()
    }

    /// The message and the hint of the error, paths cut.
    fn error(&self) -> (String, String) {
        let error = self.try_load().expect_err("an error");
        (self.cut(&error.to_string()), self.cut(&error.hint().unwrap_or_default()))
    }

    /// The notices as (file, keys, hint), paths cut.
    fn notices(&self) -> Vec<(String, Vec<String>, String)> {
        self.load().findings.notices.into_iter().map(|notice| self.cut_notice(notice)).collect()
    }

    fn cut_notice(&self, notice: Notice) -> (String, Vec<String>, String) {
        let file = notice.file.map(|file| self.cut(&file.display().to_string()));
        (file.unwrap_or_default(), notice.keys, notice.hint.unwrap_or_default())
    }

    fn cut(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.path().display()), "")
    }
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

/// `attache trust --project`, as the notices advise.
const ADVICE: &str = "attache trust --project";

#[test]
fn home_is_where_the_variable_says_or_below_the_users() {
    let cwd = Path::new("/work");
    let home = Some(Path::new("/home/u"));
    for (variable, home, expected) in [
        (None, home, Some("/home/u/.attache")),
        (Some(""), home, Some("/home/u/.attache")),
        (Some("/x"), home, Some("/x")),
        (Some("rel"), None, Some("/work/rel")),
        (None, None, None),
    ] {
        let environment: Environment =
            variable.into_iter().map(|value| ("ATTACHE_HOME", value)).collect();
        let found = super::attache_home(&environment, home, cwd);
        assert_eq!(found.as_deref(), expected.map(Path::new), "{variable:?}");
    }
}
