//! Trust while a run goes on: a file that is no longer trusted, or says something else, lends its trust
//! to no call that begins after that.
//!
//! Invariant: trust that was lost once stays lost for the run.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use attache_kernel::rights::{filter::ToolSet, tool_name::ToolName};
use serde_json::Value;

use super::{ContentHash, TrustStore};
use crate::agents::discovery::{Stamp, content_hash};

/// What a run may call because its agent's file is trusted, and what without that.
#[derive(Debug)]
pub(crate) struct TrustWatch {
    agent: String,
    /// The folder of the record.
    home: PathBuf,
    /// The record of what is trusted.
    record: PathBuf,
    /// The agent's file.
    file: PathBuf,
    without_trust: ToolSet,
    seen: Mutex<Seen>,
}

/// The two files as they were when they were looked at.
#[derive(Debug)]
struct Seen {
    stamps: [Option<Stamp>; 2],
    /// The content that was trusted when the run began.
    content: Option<ContentHash>,
    is_lost: bool,
}

impl TrustWatch {
    /// Watches over the trust in that file; without it, the run has those tools.
    pub(crate) fn new(
        store: &TrustStore,
        agent: String,
        file: &Path,
        without_trust: ToolSet,
    ) -> Self {
        // What is not stamped yet is read before the first call.
        let content = content_hash(file).ok();
        let seen = Seen { stamps: [None, None], content, is_lost: false };
        let home = store.file.parent().unwrap_or(Path::new("")).to_path_buf();
        let record = store.file.clone();
        Self { agent, home, record, file: file.to_path_buf(), without_trust, seen: seen.into() }
    }

    /// Why a call may not begin, if it needs trust and there is none any more.
    pub(crate) fn refusal(&self, tool: &ToolName, arguments: &Value) -> Option<String> {
        if !self.is_lost() || self.without_trust.check(tool, arguments).is_ok() {
            return None;
        }
        Some(format!(
            "the agent {} is no longer trusted (its file has changed, or the trust was withdrawn), and \
             untrusted agents may not use {tool}; go on without it",
            self.agent
        ))
    }

    /// Two files are asked for their state; they are read only when it has changed.
    fn is_lost(&self) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.is_lost {
            return true;
        }
        let stamps = [stamp(&self.record), stamp(&self.file)];
        if stamps == seen.stamps && stamps.iter().all(Option::is_some) {
            return false;
        }
        let now = content_hash(&self.file).ok();
        let is_trusted = now.is_some()
            && now == seen.content
            && now.is_some_and(|content| {
                TrustStore::load(&self.home).is_ok_and(|store| store.trusts(&self.file, &content))
            });
        seen.stamps = stamps;
        seen.is_lost = !is_trusted;
        seen.is_lost
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().as_ref().map(Stamp::from_metadata)
}
