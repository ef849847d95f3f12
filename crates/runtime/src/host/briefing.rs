//! The briefing: what a project asks of every agent that works in it, from its own files.
//!
//! Invariant: it is bounded, reading it never blocks, and it gives no rights: it is text for the model.
//! A file that `read_file` may not show is not part of it, whatever links lead there. What is left out
//! is a notice.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use attache_kernel::rights::{filter::ToolSet, rule::RealPath, tool_name::BuiltinTool};

use super::notice::Notice;
use crate::{
    agents::discovery::{ProjectFile, project_file},
    tasks::Permissions,
    tool::HiddenPlaces,
};

/// The files, in the order in which they are looked for in a folder.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/// The maximum size of the briefing.
const MOST_BYTES: usize = 32 * 1024;
/// How far up a project is looked for.
const MOST_FOLDERS: usize = 64;

/// Which files of a project may be shown to a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    /// The run's tools: what they keep from `read_file` is not read here either.
    pub(super) tools: &'a ToolSet,
    /// The rules of the settings.
    pub(super) permissions: &'a Permissions,
    /// Where keys and the program's own files are kept.
    pub(super) hidden: &'a [PathBuf],
}

/// The briefing of the project that folder lies in: the nearest files first. `None` without any.
pub(super) fn read(folder: &Path, shown: Shown<'_>, notices: &mut Vec<Notice>) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let folders = folders(&folder);
    let top = folders.last()?;
    let mut briefing = String::new();
    let mut seen = BTreeSet::new();
    for path in folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name))) {
        let text = match shown.text(&path, &folder, top) {
            Ok(None) => continue,
            Ok(Some(text)) => text,
            Err(why) => {
                notices.push(Notice::InstructionsLeftOut { file: path, why });
                continue;
            }
        };
        let text = text.trim();
        // One file is often a link to the other.
        if text.is_empty() || !seen.insert(text.to_owned()) {
            continue;
        }
        let (beginning, is_cut) = beginning(text, MOST_BYTES.saturating_sub(briefing.len()));
        if !beginning.is_empty() {
            briefing = format!("{briefing}\n\n# {}\n\n{beginning}", path.display());
        }
        if is_cut {
            briefing.push_str("\n[cut here: the instructions of this project are too long]");
            notices.push(Notice::InstructionsCut { file: path, most_bytes: MOST_BYTES });
            break;
        }
    }
    (!briefing.is_empty()).then(|| {
        format!("The project's instructions for agents, the nearest file first:{briefing}")
    })
}

impl Shown<'_> {
    /// The text of a file, if it is there and may be shown.
    fn text(self, path: &Path, folder: &Path, top: &Path) -> Result<Option<String>, String> {
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        // Links are followed here, once: what is judged is what is read.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !real.starts_with(top) {
            return Err("it is a link that leads out of the project".to_owned());
        }
        if HiddenPlaces::around(top, self.hidden).hides(&real) {
            return Err("keys and the program's own files are kept there".to_owned());
        }
        let below = real.strip_prefix(folder).ok().map(Path::to_string_lossy);
        let place = RealPath::new(below.as_deref(), &real.to_string_lossy());
        let tools = self.tools.clone().placed(&folder.to_string_lossy());
        let (rights, _) = self.permissions.readable(&tools).current();
        if let Err(refusal) = rights.check_file(&BuiltinTool::ReadFile.into(), &place) {
            return Err(refusal.to_string());
        }
        match project_file(&real) {
            ProjectFile::Text(text) => Ok(Some(text)),
            ProjectFile::Unreadable(why) => Err(why),
            ProjectFile::Gone => Ok(None),
        }
    }
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
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn read(folder: &Path) -> (Option<String>, Vec<String>) {
        read_hiding(folder, &[])
    }

    fn read_hiding(folder: &Path, hidden: &[PathBuf]) -> (Option<String>, Vec<String>) {
        let tools = ToolSet::of_host([BuiltinTool::ReadFile.into()]);
        let shown = Shown { tools: &tools, permissions: &Permissions::default(), hidden };
        let mut notices = Vec::new();
        let briefing = super::read(folder, shown, &mut notices);
        (briefing, notices.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_link_out_of_the_project_or_to_keys_is_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let repository = top.join("repo");
        fs::create_dir_all(repository.join(".git")).unwrap();
        fs::create_dir(repository.join("keys")).unwrap();
        fs::write(top.join("id_ed25519"), "SECRET").unwrap();
        fs::write(repository.join("keys/token"), "SECRET").unwrap();
        fs::write(repository.join("rules.md"), "be kind").unwrap();
        symlink("../id_ed25519", repository.join("AGENTS.md")).unwrap();
        symlink("keys/token", repository.join("CLAUDE.md")).unwrap();
        symlink("rules.md", repository.join("GEMINI.md")).unwrap();
        let (briefing, notices) = read_hiding(&repository, &[repository.join("keys")]);
        let briefing = briefing.unwrap();
        assert!(briefing.contains("be kind") && !briefing.contains("SECRET"), "{briefing}");
        assert_eq!(notices.len(), 2, "{notices:?}");
        assert!(notices[0].contains("AGENTS.md") && notices[0].contains("leads out"));
        assert!(notices[1].contains("CLAUDE.md") && notices[1].contains("keys"));
    }

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
        let briefing = read(&inner).0.unwrap();
        let place = |text: &str| briefing.find(text);
        assert!(place("of the crate").unwrap() < place("of the repository").unwrap(), "{briefing}");
        assert_eq!(briefing.matches("of the repository").count(), 1);
        assert_eq!(place("outside"), None);
        assert_eq!(read(&top.path().join("repo/crates")).0.unwrap().matches('#').count(), 1);
    }

    #[test]
    fn what_cannot_be_read_or_is_long_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), (None, Vec::new()));
        fs::create_dir(folder.path().join("AGENTS.md")).unwrap();
        let (briefing, notices) = read(folder.path());
        assert_eq!((briefing, notices.len()), (None, 1), "{notices:?}");
        fs::write(folder.path().join("CLAUDE.md"), "ü".repeat(MOST_BYTES)).unwrap();
        let (briefing, notices) = read(folder.path());
        let briefing = briefing.unwrap();
        assert!(briefing.len() < MOST_BYTES + 500, "{}", briefing.len());
        assert!(briefing.ends_with("too long]"));
        assert!(notices[1].contains("CLAUDE.md") && notices[1].contains("32 KB"), "{notices:?}");
    }
}
