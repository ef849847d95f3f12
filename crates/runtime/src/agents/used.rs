//! How often agents were used: where there are too many to name them all to a model, those come first.
//!
//! A guess is good enough: what cannot be read counts as nothing, and what two processes write at once may
//! lose one of them. An agent counts once in a process, so that a thousand runs write one file once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// The agents that are remembered.
const MOST_AGENTS: usize = 1000;
/// From this count on all counts are halved, so that habits can change.
const MOST_USES: u32 = 1000;

/// How often agents were used, kept in a file.
#[derive(Debug, Default)]
pub struct UsedAgents {
    file: Option<PathBuf>,
    /// Those that this process has counted.
    counted: Mutex<BTreeSet<String>>,
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Uses {
    version: u32,
    /// By the key of the agent's name.
    agents: BTreeMap<String, u32>,
}

impl UsedAgents {
    /// Kept in that file.
    pub fn in_file(file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()), counted: Mutex::default() }
    }

    /// How often each agent was used, by the key of its name. This reads the disk.
    pub(crate) fn counts(&self) -> BTreeMap<String, u32> {
        self.file.as_deref().map(read).unwrap_or_default().agents
    }

    /// Counts the use of an agent, if this process has not. This writes to disk.
    pub(crate) fn count(&self, key: &str) {
        let Some(file) = &self.file else { return };
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if !counted.insert(key.to_owned()) {
            return;
        }
        let mut uses = read(file);
        let count = uses.agents.entry(key.to_owned()).or_default();
        *count += 1;
        if *count >= MOST_USES {
            uses.agents.values_mut().for_each(|count| *count /= 2);
        }
        while uses.agents.len() > MOST_AGENTS {
            let least = uses.agents.iter().filter(|(known, _)| *known != key);
            let Some(least) = least.min_by_key(|(_, count)| **count).map(|(key, _)| key.clone())
            else {
                break;
            };
            uses.agents.remove(&least);
        }
        // Without it agents are named in another order.
        write(file, &uses).unwrap_or_default();
    }

    /// Whether this process need not count that agent any more.
    pub(crate) fn has_counted(&self, key: &str) -> bool {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        self.file.is_none() || counted.contains(key)
    }
}

fn read(file: &Path) -> Uses {
    let text = fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn write(file: &Path, uses: &Uses) -> std::io::Result<()> {
    let Some(directory) = file.parent() else { return Ok(()) };
    let mut written = NamedTempFile::new_in(directory)?;
    written.write_all(&serde_json::to_vec(&Uses { version: 1, agents: uses.agents.clone() })?)?;
    written.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_counts_once_in_a_process_and_the_least_used_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("used.json");
        for _ in 0..2 {
            let used = UsedAgents::in_file(&file);
            used.count("reviewer");
            used.count("reviewer");
            assert!(used.has_counted("reviewer") && !used.has_counted("tester"));
        }
        assert_eq!(UsedAgents::in_file(&file).counts(), [("reviewer".to_owned(), 2)].into());
        let used = UsedAgents::in_file(&file);
        for number in 0..MOST_AGENTS {
            used.count(&format!("agent-{number}"));
        }
        let counts = used.counts();
        assert_eq!((counts.len(), counts.get("reviewer")), (MOST_AGENTS, Some(&2)));
        fs::write(&file, "damaged").unwrap();
        assert!(used.counts().is_empty());
        UsedAgents::default().count("nowhere");
    }
}
