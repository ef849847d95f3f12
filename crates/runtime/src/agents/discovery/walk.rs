//! The walk: which files are in a folder, with any links and loops.
//!
//! Depth, folders and files are bounded, and a project's links to folders are followed only within the project.

use std::{
    collections::HashSet,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use attache_kernel::agent::{
    definition::Format,
    registry::{DiscoveryEvent, DiscoveryKind},
};

use super::places::{LinkRule, Place};

/// The maximum depth of folders; a loop of links is deeper.
const MAX_DEPTH: usize = 16;
/// The maximum number of files in one place.
const MAX_FILES: usize = 50_000;
/// The maximum number of folders in one place.
const MAX_FOLDERS: usize = 5_000;

/// A file that may be an agent.
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    folder: Arc<Folder>,
    is_link: bool,
    pub(crate) format: Format,
    /// Metadata of the target; `None` if it does not exist.
    pub(crate) metadata: Option<Metadata>,
}

/// The folder of several files.
struct Folder {
    path: PathBuf,
    /// The path without links, computed when it is first needed; `None` if that failed.
    canonical: OnceLock<Option<PathBuf>>,
}

impl Entry {
    /// The path without links. The folder's part is computed once for all its files, when it is first needed.
    pub(crate) fn canonical(&self) -> PathBuf {
        let folder = self.folder.canonical.get_or_init(|| self.folder.path.canonicalize().ok());
        match (folder, self.path.file_name()) {
            (Some(folder), Some(name)) if !self.is_link => folder.join(name),
            _ => self.path.canonicalize().unwrap_or_else(|_| self.path.clone()),
        }
    }
}

/// The files of a place, sorted by path. What cannot be listed is an event and hides nothing else.
pub(crate) fn files(place: &Place, events: &mut Vec<DiscoveryEvent>) -> Vec<Entry> {
    let mut walk = Walk { place, events, seen: HashSet::new(), entries: Vec::new() };
    walk.folder(&place.folder, 0, true);
    let mut entries = walk.entries;
    entries.sort_by(|left, right| left.path.cmp(&right.path));
    entries
}

struct Walk<'a> {
    place: &'a Place,
    events: &'a mut Vec<DiscoveryEvent>,
    seen: HashSet<(u64, u64)>,
    entries: Vec<Entry>,
}

/// Whether a file is hidden, or one that an editor keeps beside the file it works on, such as the lock
/// `.#a.md` and the backups `#a.md#` and `a.md~`.
fn is_of_an_editor(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.starts_with('.') || name.starts_with('#') || name.ends_with('~')
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize, may_be_link: bool) {
        let metadata = match fs::metadata(folder) {
            Ok(metadata) => metadata,
            Err(error) => {
                if depth > 0 || self.place.named || error.kind() != io::ErrorKind::NotFound {
                    self.unreadable(folder, &error.to_string());
                }
                return;
            }
        };
        if !metadata.is_dir() {
            self.unreadable(folder, "it is not a folder");
            return;
        }
        if may_be_link && !self.follows(folder, depth) {
            return;
        }
        if self.seen.len() == MAX_FOLDERS {
            self.unreadable(folder, "there are too many folders; the rest is left out");
            return;
        }
        if self.seen.len() > MAX_FOLDERS {
            return;
        }
        if !self.seen.insert((metadata.dev(), metadata.ino())) {
            self.unreadable(folder, "it was visited already: a link leads back to it");
            return;
        }
        if depth > MAX_DEPTH {
            self.unreadable(folder, "the folders are nested too deeply");
            return;
        }
        let listing = match fs::read_dir(folder) {
            Ok(listing) => listing,
            Err(error) => return self.unreadable(folder, &error.to_string()),
        };
        let this = Arc::new(Folder { path: folder.to_path_buf(), canonical: OnceLock::new() });
        let mut folders = Vec::new();
        for item in listing {
            match item {
                Ok(item) => folders.extend(self.item(&item, &this)),
                Err(error) => self.unreadable(folder, &error.to_string()),
            }
        }
        folders.sort();
        for (inner, is_link) in folders {
            self.folder(&inner, depth + 1, is_link);
        }
    }

    /// Whether a folder that may be a link is looked into; one that is not is an event.
    fn follows(&mut self, folder: &Path, depth: usize) -> bool {
        let Ok(target) = folder.canonicalize() else { return true };
        // What the user names is looked into, wherever it lies.
        if depth == 0 && (self.place.named || target == folder) {
            return true;
        }
        if self.place.links.allows(&target) {
            return true;
        }
        let reason = match &self.place.links {
            LinkRule::Within(_) if depth == 0 || !self.place.named => "leads out of the project",
            LinkRule::Within(_) => "leads out of the folder",
            LinkRule::NotAbove(_) => "leads to a folder above the home",
        };
        self.events.push(DiscoveryEvent {
            kind: DiscoveryKind::LinkNotFollowed,
            name: None,
            path: Some(folder.to_path_buf()),
            message: format!(
                "{} is not looked into: the link {reason}, to {}",
                folder.display(),
                target.display()
            ),
        });
        false
    }

    /// Adds one item of a listing; a folder is returned, with whether it is a link.
    fn item(&mut self, item: &fs::DirEntry, folder: &Arc<Folder>) -> Option<(PathBuf, bool)> {
        let path = item.path();
        let kind = item.file_type().ok()?;
        let format = self.place.format_of(&path);
        if format.is_none() && kind.is_file() {
            return None;
        }
        // Only links need a look-up by path; asking the open folder is faster.
        let metadata = if kind.is_symlink() { fs::metadata(&path) } else { item.metadata() }.ok();
        if metadata.as_ref().is_some_and(Metadata::is_dir) {
            let foreign =
                path.file_name().is_some_and(|name| name == ".git" || name == "node_modules");
            let is_link = kind.is_symlink();
            return (self.place.is_deep() && !foreign).then_some((path, is_link));
        }
        let format = format?;
        if is_of_an_editor(&path) {
            return None;
        }
        if self.entries.len() == MAX_FILES {
            self.unreadable(
                &self.place.folder.clone(),
                "there are too many files; the rest is left out",
            );
        }
        if self.entries.len() <= MAX_FILES {
            let is_link = kind.is_symlink();
            self.entries.push(Entry {
                path,
                folder: Arc::clone(folder),
                is_link,
                format,
                metadata,
            });
        }
        None
    }

    fn unreadable(&mut self, path: &Path, why: &str) {
        self.events.push(DiscoveryEvent {
            kind: DiscoveryKind::Unreadable,
            name: None,
            path: Some(path.to_path_buf()),
            message: format!("cannot look into {}: {why}", path.display()),
        });
    }
}
