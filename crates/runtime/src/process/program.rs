//! A program of the runtime's own, such as git: run to its end, with its output kept byte for byte.
//!
//! Invariant: it is ended with its group when its time is up or when nobody waits for it any more.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use super::{
    CommandEnvironment,
    exit::Exit,
    leader::{Leader, Stop},
};

/// A program to be run.
#[derive(Debug)]
pub(crate) struct Program {
    /// The file that is started.
    pub(crate) file: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<std::ffi::OsString>,
    /// Where it runs.
    pub(crate) directory: PathBuf,
    /// Its whole environment.
    pub(crate) environment: BTreeMap<String, PathBuf>,
    /// What it reads.
    pub(crate) input: Vec<u8>,
    /// A directory for what it writes.
    pub(crate) temporary: PathBuf,
    /// How long it may take.
    pub(crate) limit: Duration,
}

/// What a program left.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How it ended.
    pub(crate) exit: Exit,
    /// What it wrote to its output.
    pub(crate) output: Vec<u8>,
    /// What it wrote to its error output.
    pub(crate) errors: Vec<u8>,
}

/// Why a program did not end by itself.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    /// It was not started.
    #[error("it cannot be started")]
    Start(#[from] io::Error),
    /// It took too long.
    #[error("it did not end within {} seconds", .0.as_secs())]
    TimeUp(Duration),
}

impl CommandEnvironment {
    /// The program of that name, and the environment of a program of the runtime's own that works there.
    pub(crate) fn of_program(
        &self,
        name: &str,
        directory: &Path,
    ) -> Option<(PathBuf, BTreeMap<String, PathBuf>)> {
        let file = self.find_program(name)?;
        let mut variables = self.of_command(directory, Path::new("/tmp"));
        for name in ["TMPDIR", "TMP", "TEMP"] {
            variables.remove(name);
        }
        Some((file, variables))
    }
}

impl Program {
    /// Runs it to its end.
    pub(crate) async fn run(self) -> Result<Finished, ProgramError> {
        let limit = self.limit;
        let started = tokio::task::spawn_blocking(move || self.start());
        let (leader, output, errors) = started.await.map_err(io::Error::other)??;
        if tokio::time::timeout(limit, leader.ended()).await.is_err() {
            // Dropping the leader ends it.
            return Err(ProgramError::TimeUp(limit));
        }
        let finished = tokio::task::spawn_blocking(move || {
            let exit = leader.reap()?;
            Ok::<_, io::Error>(Finished { exit, output: read(output)?, errors: read(errors)? })
        });
        Ok(finished.await.map_err(io::Error::other)??)
    }

    fn start(self) -> io::Result<(Leader, File, File)> {
        let output = tempfile::tempfile_in(&self.temporary)?;
        let errors = tempfile::tempfile_in(&self.temporary)?;
        let mut command = Command::new(&self.file);
        command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(&self.environment)
            .process_group(0)
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?);
        if self.input.is_empty() {
            command.stdin(Stdio::null());
        } else {
            let mut input = tempfile::tempfile_in(&self.temporary)?;
            input.write_all(&self.input)?;
            input.rewind()?;
            command.stdin(input);
        }
        let leader = Leader::new(command.spawn()?, Stop::Kill)?;
        Ok((leader, output, errors))
    }
}

fn read(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
