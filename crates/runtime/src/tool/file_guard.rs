//! The guard of files: whether a tool may have the file that a path really leads to.
//!
//! The run's rights judge a call by what it says. Links, and what lies below a directory, only the
//! tool sees; so it asks again here, with the place where the file really lies. Where no rule tells
//! files apart, asking costs nothing.

use std::{path::Path, sync::Arc};

use attache_kernel::rights::{
    filter::{Refusal, ToolSet},
    tool_name::{BuiltinTool, ToolName},
};

use super::ToolOutput;
use crate::workspace::Location;

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

    fn refusal(&self, place: &Location, relative: &Path) -> Option<Refusal> {
        let rights = self.rights.as_ref()?;
        rights.check_file(&self.tool, &place.real_path(relative)).err()
    }
}
