//! The project of a run that goes on: its settings, rules and agents count, wherever the caller is.

use std::path::{Path, PathBuf};

use attache_runtime::internal::store::{FileStore, Options};

use crate::{failure::Failure, transcripts, tui};

/// An earlier run that a command goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// Its id, the beginning of it, or `last`.
    pub(crate) id: String,
    /// What `last` means.
    pub(crate) newest: Newest,
}

/// Which runs `last` is looked for among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Newest {
    /// All that somebody started.
    Run,
    /// Those of the main agent.
    Conversation,
    /// Those of the terminal UI.
    OnScreen,
}

impl Earlier {
    /// The id itself, or the run that `last` means.
    pub(crate) fn resolved(&self, store: &FileStore) -> Result<String, Failure> {
        match self.newest {
            Newest::Run => transcripts::resolve(&self.id, store),
            Newest::Conversation => transcripts::resolve_main(&self.id, store),
            Newest::OnScreen if self.id == "last" => tui::newest_conversation(store),
            Newest::OnScreen => Ok(self.id.clone()),
        }
    }
}

/// The directory of an earlier run's project, if the run is known; the command says what is wrong with
/// one that is not.
pub(super) fn project_directory(
    earlier: &Earlier,
    attache_home: &Path,
) -> Result<Option<PathBuf>, Failure> {
    let store = FileStore::new(attache_home.join("sessions"), Options::default());
    let Ok(id) = earlier.resolved(&store) else { return Ok(None) };
    let Ok(transcript) = store.read(&id) else { return Ok(None) };
    let run = transcript.header.run;
    let directory = PathBuf::from(run.project_directory());
    if directory.is_dir() {
        return Ok(Some(directory));
    }
    let (id, directory) = (&run.agent_id, directory.display());
    Err(Failure::usage(format!("{directory}, the directory of {id}, is gone"))
        .hint("restore the directory"))
}
