//! The briefing: what a project asks of every agent that works in it, from its own files.
//!
//! Invariant: it is bounded, reading it never blocks, and it gives no rights: it is text for the model.

use std::{collections::BTreeSet, path::Path};

use crate::agents::discovery::file_text;

/// The files, in the order in which they are looked for in a folder.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/// The maximum size of the briefing.
const MOST_BYTES: usize = 32 * 1024;
/// How far up a project is looked for.
const MOST_FOLDERS: usize = 64;

/// The briefing of the project that folder lies in: the nearest files first. `None` without any.
pub(super) fn read(folder: &Path) -> Option<String> {
    let mut briefing = String::new();
    let mut seen = BTreeSet::new();
    for folder in folders(folder) {
        for name in NAMES {
            let path = folder.join(name);
            let Some(text) = file_text(&path) else { continue };
            let text = text.trim();
            // One file is often a link to the other.
            if text.is_empty() || !seen.insert(text.to_owned()) {
                continue;
            }
            let left = MOST_BYTES.saturating_sub(briefing.len());
            if left == 0 {
                return Some(briefing);
            }
            let (shown, cut) = beginning(text, left);
            briefing = format!("{briefing}\n\n# {}\n\n{shown}", path.display());
            if cut {
                briefing.push_str("\n[cut here: the instructions of this project are too long]");
                return Some(briefing);
            }
        }
    }
    (!briefing.is_empty()).then(|| {
        format!("The project's instructions for agents, the nearest file first:{briefing}")
    })
}

/// The folder and those above it, up to the top of its repository; without one only the folder.
fn folders(folder: &Path) -> Vec<&Path> {
    let above: Vec<_> = folder.ancestors().take(MOST_FOLDERS).collect();
    match above.iter().position(|folder| folder.join(".git").symlink_metadata().is_ok()) {
        Some(top) => above.into_iter().take(top + 1).collect(),
        None => above.into_iter().take(1).collect(),
    }
}

/// As much of a text as there is room for, and whether that is less than all of it.
fn beginning(text: &str, room: usize) -> (&str, bool) {
    if text.len() <= room {
        return (text, false);
    }
    let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    (text.get(..end).unwrap_or_default(), true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_file_comes_first_and_nothing_outside_of_the_repository_counts() {
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("repo/crates/a");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(top.path().join("repo/.git")).unwrap();
        fs::write(top.path().join("AGENTS.md"), "outside").unwrap();
        fs::write(top.path().join("repo/AGENTS.md"), "of the repository").unwrap();
        fs::write(top.path().join("repo/CLAUDE.md"), "of the repository\n").unwrap();
        fs::write(inner.join("GEMINI.md"), "of the crate").unwrap();
        let briefing = read(&inner).unwrap();
        let place = |text: &str| briefing.find(text);
        assert!(place("of the crate").unwrap() < place("of the repository").unwrap(), "{briefing}");
        assert_eq!(briefing.matches("of the repository").count(), 1);
        assert_eq!(place("outside"), None);
        assert_eq!(read(&top.path().join("repo/crates")).unwrap().matches('#').count(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_passed_over_and_what_is_long_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), None);
        fs::create_dir(folder.path().join("AGENTS.md")).unwrap();
        assert_eq!(read(folder.path()), None);
        fs::write(folder.path().join("CLAUDE.md"), "ü".repeat(MOST_BYTES)).unwrap();
        let briefing = read(folder.path()).unwrap();
        assert!(briefing.len() < MOST_BYTES + 500, "{}", briefing.len());
        assert!(briefing.ends_with("too long]"));
    }
}
