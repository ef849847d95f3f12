//! The guard of files: whether a tool may have the file that a path really leads to.
//!
//! The run's rights judge a call by what it says. Links, and what lies below a directory, only the
//! tool sees; so it asks again here, with the place where the file really lies. Where no rule tells
//! files apart, asking costs nothing.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use attache_kernel::rights::{
    filter::{Refusal, ToolSet},
    tool_name::{BuiltinTool, ToolName},
};

use super::ToolOutput;
use crate::tool::workspace::{Location, PathError, Workspace};

/// Which files the tools of a run may have.
#[derive(Debug, Clone)]
pub struct FileGuard {
    rights: Option<Arc<ToolSet>>,
}

/// Which files one tool may have.
#[derive(Debug, Clone)]
pub(super) struct Readable {
    tool: ToolName,
    /// None where no rule tells files apart.
    rights: Option<Arc<ToolSet>>,
}

impl FileGuard {
    /// The files that these rights allow.
    pub fn new(rights: Arc<ToolSet>) -> Self {
        Self { rights: Some(rights) }
    }

    /// Every file of the workspace.
    pub fn unrestricted() -> Self {
        Self { rights: None }
    }

    pub(super) fn of(&self, tool: BuiltinTool) -> Readable {
        let tool = tool.into();
        let rights = self.rights.clone().filter(|rights| rights.tells_files_apart(&tool));
        Readable { tool, rights }
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
        if self.rights.is_none() {
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

    /// Whether the tool may have a file below the root that a place has, by its path below that root.
    pub(super) fn allows(&self, place: &Location, relative: &Path) -> bool {
        self.refusal(place, relative).is_none()
    }

    fn refusal(&self, place: &Location, relative: &Path) -> Option<Box<Refusal>> {
        let rights = self.rights.as_ref()?;
        rights.check_file(&self.tool, &place.real_path(relative)).err()
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
