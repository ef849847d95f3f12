//! The guard of files: whether a tool may have the file that a path really leads to.
//!
//! The run's rights judge a call by what it says. Links, and what lies below a directory, only the
//! tool sees; so it asks again here, with the place where the file really lies. Where no rule tells
//! files apart, asking costs nothing. Places of keys inside the workspace are nobody's. Files that a rule asks
//! about are left out of calls that nobody was asked about.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use attache_kernel::rights::{
    filter::ToolSet,
    permission::Foresight,
    tool_name::{BuiltinTool, ToolName},
};

use serde_json::Value;

use super::ToolOutput;
use crate::{
    tasks::LiveRights,
    tool::workspace::{Location, PathError, Workspace},
};

/// Which files the tools of a run may have.
#[derive(Debug, Clone)]
pub struct FileGuard {
    rights: Option<LiveRights>,
    /// Whether the call was asked about because of its files.
    is_asked: bool,
    /// Whether the call met a file that it should have been asked about.
    has_left_out: Arc<AtomicBool>,
    hidden: HiddenPlaces,
}

/// Directories and files inside or around a workspace that no tool may have.
#[derive(Debug, Clone, Default)]
pub struct HiddenPlaces {
    root: PathBuf,
    places: Arc<[PathBuf]>,
    /// A directory that tools may have although it lies in such a place.
    shown: Option<PathBuf>,
}

impl HiddenPlaces {
    /// Those of these places that lie below that root, or that it lies in. This reads the disk.
    pub fn around<'p>(root: &Path, places: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        let mut parents = HashMap::new();
        let places = places.into_iter().map(|place| really(place, &mut parents));
        let places = places.filter(|place| place.starts_with(root) || root.starts_with(place));
        Self { root: root.to_owned(), places: places.collect(), shown: None }
    }

    /// The same, but for a directory that the program itself made in such a place.
    #[must_use]
    pub(crate) fn but_for(mut self, directory: &Path) -> Self {
        self.shown = Some(directory.to_owned());
        self
    }

    /// Whether a path lies in such a place.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.places.iter().any(|hidden| {
            let is_shown = |shown: &PathBuf| {
                shown.starts_with(hidden) && shown != hidden && path.starts_with(shown)
            };
            path.starts_with(hidden) && !self.shown.as_ref().is_some_and(is_shown)
        })
    }

    /// The same for a run in that directory, if it is the directory they were found for.
    pub(crate) fn also_below(&self, root: &Path) -> Option<Self> {
        (self.root == root).then(|| self.clone())
    }
}

/// Where a place really lies. Many lie side by side: their directory is looked up once.
fn really<'p>(place: &'p Path, parents: &mut HashMap<&'p OsStr, Option<PathBuf>>) -> PathBuf {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return place.to_owned();
    };
    let known = parents.entry(parent.as_os_str());
    let parent = known.or_insert_with(|| fs::canonicalize(parent).ok());
    let Some(inside) = parent.as_ref().map(|parent| parent.join(name)) else {
        return place.to_owned();
    };
    match fs::symlink_metadata(&inside) {
        Ok(found) if found.is_symlink() => fs::canonicalize(place).unwrap_or(inside),
        Ok(_) | Err(_) => inside,
    }
}

/// Which files one tool may have.
#[derive(Debug, Clone)]
pub(super) struct Readable {
    tool: ToolName,
    /// None where no rule tells files apart.
    rights: Option<Arc<ToolSet>>,
    /// What may be had of that without a question, where that is less.
    unasked: Option<Arc<ToolSet>>,
    has_left_out: Arc<AtomicBool>,
    hidden: HiddenPlaces,
}

impl FileGuard {
    /// The files that these rights allow.
    pub fn new(rights: impl Into<LiveRights>) -> Self {
        Self { rights: Some(rights.into()), ..Self::unrestricted() }
    }

    /// Every file of the workspace.
    pub fn unrestricted() -> Self {
        Self {
            rights: None,
            is_asked: false,
            has_left_out: Arc::default(),
            hidden: HiddenPlaces::default(),
        }
    }

    fn unasked(&self) -> Option<&Arc<ToolSet>> {
        self.rights.as_ref().and_then(LiveRights::unasked)
    }

    /// Whether a rule asks about some files.
    pub(crate) fn asks(&self) -> bool {
        self.unasked().is_some()
    }

    /// The guard of one call, which begins: if a rule asks about its files, somebody said yes.
    pub(crate) fn for_call(&self, tool: &ToolName, arguments: &Value, seen: &Foresight) -> Self {
        let Some(unasked) = self.unasked() else { return self.clone() };
        let is_asked = unasked.check(tool, arguments).is_err()
            || seen.paths.iter().any(|path| unasked.check_file(tool, path).is_err());
        Self { is_asked, has_left_out: Arc::default(), ..self.clone() }
    }

    /// Whether the call met files that a rule asks about, and left them out.
    pub(crate) fn has_left_out(&self) -> bool {
        self.has_left_out.load(Ordering::Relaxed)
    }

    /// The same without these places.
    #[must_use]
    pub fn hiding(self, hidden: HiddenPlaces) -> Self {
        Self { hidden, ..self }
    }

    pub(super) fn readable_by(&self, tool: BuiltinTool) -> Readable {
        let tool = tool.into();
        let rights = self.rights.as_ref().map(|rights| rights.current().0);
        let rights = rights.filter(|rights| rights.tells_files_apart(&tool));
        let unasked = self.unasked().filter(|_| !self.is_asked).cloned();
        let unasked = unasked.filter(|unasked| unasked.tells_files_apart(&tool));
        let has_left_out = Arc::clone(&self.has_left_out);
        Readable { tool, rights, unasked, has_left_out, hidden: self.hidden.clone() }
    }
}

impl Readable {
    /// Finds what a path means, if the tool may have it.
    pub(super) fn find(&self, workspace: &Workspace, given: &str) -> Result<Location, ToolOutput> {
        let place = self.resolve(workspace, given)?;
        self.check(&place)?;
        Ok(place)
    }

    /// Finds what a path means, whether the tool may have it or not. The hint of an error names only
    /// what it may have.
    pub(super) fn resolve(
        &self,
        workspace: &Workspace,
        given: &str,
    ) -> Result<Location, PathError> {
        workspace.resolve(given).map_err(|error| match error {
            PathError::NotFound { given, mut near } => {
                let top = workspace.top();
                near.retain(|path| self.allows(&top, Path::new(path)));
                PathError::NotFound { given, near }
            }
            other => other,
        })
    }

    /// The workspace itself, if the tool may have it.
    pub(super) fn find_top(&self, workspace: &Workspace) -> Result<Location, ToolOutput> {
        let top = workspace.top();
        self.check(&top)?;
        Ok(top)
    }

    /// Whether the tool may have the file that a link leads to. A link that leads nowhere is judged by
    /// what it says.
    pub(super) fn allows_link(&self, place: &Location, link: &Path, target: &Path) -> bool {
        let tells_apart = self.rights.is_some() || self.unasked.is_some();
        if !tells_apart && self.hidden.places.is_empty() {
            return true;
        }
        let root = place.root_path();
        let parent = link.parent().unwrap_or(Path::new(""));
        let written = root.join(parent).join(target);
        let led = fs::canonicalize(&written).unwrap_or_else(|_| without_dots(&written));
        led.strip_prefix(root).map_or(true, |relative| self.allows(place, relative))
    }

    /// Whether the tool may have what lies there; if not, what the model is told.
    pub(super) fn check(&self, place: &Location) -> Result<(), ToolOutput> {
        match self.refusal(place, place.relative()) {
            None => Ok(()),
            Some(refusal) => Err(ToolOutput::error(format!("{place}: {refusal}"))),
        }
    }

    /// Whether a file may be made there, where none is yet. A rule that denies it counts; a list of what
    /// may be read does not, since there is nothing to read.
    pub(super) fn check_new(&self, place: &Location) -> Result<(), ToolOutput> {
        let real = place.real_path(place.relative());
        match &self.rights {
            Some(rights)
                if !rights.withholds(&real) && !self.is_hidden(place, place.relative()) =>
            {
                Ok(())
            }
            Some(_) | None => self.check(place),
        }
    }

    /// Whether the tool may have a file below the root that a place has, by its path below that root.
    pub(super) fn allows(&self, place: &Location, relative: &Path) -> bool {
        self.refusal(place, relative).is_none()
    }

    fn is_hidden(&self, place: &Location, relative: &Path) -> bool {
        let root = place.root_path();
        // Another root than the workspace that lies in such a place was given on purpose.
        let is_given = !place.is_in_workspace() && self.hidden.hides(root);
        !is_given && self.hidden.hides(&root.join(relative))
    }

    fn refusal(&self, place: &Location, relative: &Path) -> Option<String> {
        if self.is_hidden(place, relative) {
            return Some(
                "keys and the program's own files are kept there; no tool may use it".to_owned(),
            );
        }
        if self.rights.is_none() && self.unasked.is_none() {
            return None;
        }
        let real = place.real_path(relative);
        let refused = |rights: &Arc<ToolSet>| rights.check_file(&self.tool, &real).err();
        if let Some(refusal) = self.rights.as_ref().and_then(refused) {
            return Some(refusal.to_string());
        }
        self.unasked.as_ref().and_then(refused)?;
        self.has_left_out.store(true, Ordering::Relaxed);
        Some(
            "a rule asks about this file; a call that names it by its own path is asked about"
                .to_owned(),
        )
    }
}

/// A path with its `.` and `..` worked out as written.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
