//! What can go wrong with a store, and what to do about it.

use std::{
    io,
    path::{Path, PathBuf},
};

use attache_kernel::run::transcript::FORMAT;
use rustix::io::Errno;

use crate::disk::remedy::remedy;

/// Why a run cannot be written, read, found or owned.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The id is not a plain file name.
    #[error("`{}` cannot be the id of a run: {problem}", id.escape_debug())]
    InvalidId {
        /// The id.
        id: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No transcript has that id.
    #[error("there is no run `{}`", id.escape_debug())]
    Unknown {
        /// The id.
        id: String,
        /// The id most like it.
        nearest: Option<String>,
        /// The ids of the newest ones.
        newest: Vec<String>,
    },
    /// Too many letters wait for a run.
    #[error("{most} messages wait for {run} already")]
    MailboxFull {
        /// The run.
        run: String,
        /// How many may wait.
        most: usize,
    },
    /// Several ids begin like that.
    #[error("`{}` may be any of {} transcripts", id.escape_debug(), matches.len())]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// The ids that begin like it.
        matches: Vec<String>,
    },
    /// There is one already.
    #[error("there is a transcript {} already", path.display())]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// Somebody else owns the run now: another process writes it, or has taken it over.
    #[error("the run {run} is still going on{}", elsewhere(by.as_deref()))]
    OwnedElsewhere {
        /// The run.
        run: String,
        /// Who owns it, such as `process 4711`, where that is known.
        by: Option<String>,
    },
    /// Somebody else is resuming the run.
    #[error("the run {run} is being resumed by {}", resumer(by))]
    BeingResumed {
        /// The earlier run.
        run: String,
        /// The run that goes on from it; empty if that is not known yet.
        by: String,
    },
    /// The transcript was removed, moved or replaced while the run was writing it.
    #[error("the transcript {} was removed while the run was going on", path.display())]
    Removed {
        /// Where it was.
        path: PathBuf,
    },
    /// It has no whole first line: the run was cut off before it began.
    #[error("{} has no header", path.display())]
    NoHeader {
        /// The transcript.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error("{} has format {format}; this program reads up to {FORMAT}", path.display())]
    NewerFormat {
        /// The transcript.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
    /// A line in the middle of the file is not valid.
    #[error("line {line} of {} is broken: {problem}", path.display())]
    Broken {
        /// The transcript.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no room for it.
    #[error("there is no room to write {}", path.display())]
    Full {
        /// The transcript.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The transcript.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It could not be put right after a line was written in part, so nothing more is written.
    #[error("{} ends in a line that was written in part", path.display())]
    Halted {
        /// The transcript.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The transcript, or the folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line cannot be written as JSON.
    #[error("cannot write a line of {}", path.display())]
    Line {
        /// The transcript.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A line is no longer one once the secrets are taken out of it.
    #[error("a line of {} cannot be written without a secret", path.display())]
    Unmaskable {
        /// The transcript.
        path: PathBuf,
    },
}

fn elsewhere(by: Option<&str>) -> String {
    by.map(|by| format!(" in {by}")).unwrap_or_default()
}

fn resumer(by: &str) -> &str {
    if by.is_empty() { "another run" } else { by }
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::InvalidId { .. } => "letters, digits, `-`, `_` and `.` make good ids".to_owned(),
            Self::Unknown { newest, .. } if newest.is_empty() => {
                "there are no transcripts yet".to_owned()
            }
            Self::Unknown { nearest: Some(nearest), newest, .. } => {
                format!("did you mean `{nearest}`? the newest are: {}", newest.join(", "))
            }
            Self::Unknown { newest, .. } => format!("the newest are: {}", newest.join(", ")),
            Self::Ambiguous { matches, .. } => {
                const SHOWN: usize = 5;
                let shown = matches.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>();
                let more = if matches.len() > SHOWN { ", …" } else { "" };
                format!("give more of the id: {}{more}", shown.join(", "))
            }
            Self::MailboxFull { .. } => "wait until the agent has read some".to_owned(),
            Self::Exists { .. } => "give the new run an id of its own".to_owned(),
            Self::OwnedElsewhere { .. } | Self::BeingResumed { .. } => {
                "wait for it, stop it, or send it a message".to_owned()
            }
            Self::Removed { .. } => {
                "the run cannot be resumed; do not remove the sessions of running agents".to_owned()
            }
            Self::NoHeader { .. } => {
                "the run was cut off before it began; start it again".to_owned()
            }
            Self::NewerFormat { .. } => "use the newer program that wrote it".to_owned(),
            Self::Broken { .. } => {
                "the file was changed or damaged; the lines before that one are whole".to_owned()
            }
            Self::Full { path, source } => {
                format!("{}; what was written is whole", remedy(path, source))
            }
            Self::Write { path, source } | Self::Read { path, source } => remedy(path, source),
            Self::Halted { .. } => {
                "the unfinished line is cut off when the run is resumed".to_owned()
            }
            Self::Line { .. } => "this is a bug in the program; please report it".to_owned(),
            Self::Unmaskable { .. } => {
                "a key or password is a word the program itself uses; change it".to_owned()
            }
        }
    }

    /// The transcript it is about; none if it is about a run.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::InvalidId { .. }
            | Self::Unknown { .. }
            | Self::MailboxFull { .. }
            | Self::Ambiguous { .. }
            | Self::OwnedElsewhere { .. }
            | Self::BeingResumed { .. } => None,
            Self::Exists { path }
            | Self::Removed { path }
            | Self::NoHeader { path }
            | Self::NewerFormat { path, .. }
            | Self::Broken { path, .. }
            | Self::Full { path, .. }
            | Self::Write { path, .. }
            | Self::Halted { path }
            | Self::Read { path, .. }
            | Self::Line { path, .. }
            | Self::Unmaskable { path } => Some(path),
        }
    }

    pub(super) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }

    pub(super) fn write(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match Errno::from_io_error(&source) {
            Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Self::Full { path, source },
            _ => Self::Write { path, source },
        }
    }

    /// The error, its cause and what to do about it, in one line.
    pub fn report(&self) -> String {
        let cause = std::error::Error::source(self);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("{self}{cause} ({})", self.hint())
    }
}
