//! A project to test in: a repository, a home and the real program, with an environment of their own.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary repository with a home beside it.
#[derive(Debug)]
pub struct TestProject {
    folder: TempDir,
    program: PathBuf,
    variables: Vec<(String, String)>,
}

/// What a run of the program left.
#[derive(Debug)]
pub struct Ran {
    /// What it printed.
    pub stdout: String,
    /// What it said beside.
    pub stderr: String,
    /// How it ended; none by a signal.
    pub code: Option<i32>,
}

impl TestProject {
    /// A new project; `program` is `env!("CARGO_BIN_EXE_attache")`.
    ///
    /// # Panics
    /// If folders cannot be made.
    pub fn new(program: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let project = Self { folder, program: PathBuf::from(program), variables: Vec::new() };
        for inner in ["home", "project/.git"] {
            fs::create_dir_all(project.folder.path().join(inner)).expect("folders can be made");
        }
        project
    }

    /// The repository.
    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder is there").join("project")
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder is there").join("home")
    }

    /// The same with an environment variable.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a file of the repository; `~/` is the home.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = match path.strip_prefix("~/") {
            Some(below) => self.home().join(below),
            None => self.root().join(path),
        };
        fs::create_dir_all(path.parent().expect("a file has a folder"))
            .expect("folders can be made");
        fs::write(&path, content).expect("the file can be written");
        path
    }

    /// Writes a plain agent file into the repository's `.claude/agents`.
    pub fn agent(&self, name: &str, header: &str) -> PathBuf {
        let text = format!("---\nname: {name}\n{header}\n---\n\nYou are {name}.\n");
        self.file(&format!(".claude/agents/{name}.md"), text)
    }

    /// The program, ready to be started in the repository with nothing of the tester's environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_in(&self.root(), arguments)
    }

    fn command_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program with nothing on its standard input.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, "")
    }

    /// Runs the program with that on its standard input.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        finish(self.command(arguments), input)
    }

    /// Runs the program in a folder below the repository.
    pub fn run_in(&self, below: &str, arguments: &[&str]) -> Ran {
        finish(self.command_in(&self.root().join(below), arguments), "")
    }

    /// Runs the program and reads what it prints as JSON.
    ///
    /// # Panics
    /// If it is none.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.run(arguments);
        serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?} printed no JSON ({error}): {ran:?}"))
    }
}

fn finish(mut command: Command, input: &str) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input may be gone already.
        stdin.write_all(input.as_bytes()).unwrap_or_default();
    }
    let output = child.wait_with_output().expect("the program ends");
    Ran {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    }
}
