//! Rules while a run goes on: a deny or ask rule that is added to the settings counts for the next call.
//!
//! Invariant: the rules that a session began with are never lifted; what was added goes when the settings no
//! longer have it.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use attache_kernel::rights::{
    filter::ToolSet,
    permission::{PermissionRule, PermissionRules},
};

use crate::agents::discovery::Stamp;

/// Reads the rules that the settings have now. It fails closed: settings that cannot be read ask about
/// every call.
type ReadRules = Box<dyn Fn() -> PermissionRules + Send + Sync>;

/// Settings files, and their state when they were last looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStates {
    files: Vec<PathBuf>,
    stamps: Vec<Option<Stamp>>,
}

impl FileStates {
    /// The files as they are now; one that is missing may come later.
    pub fn as_they_are(files: Vec<PathBuf>) -> Self {
        let stamps = stamps(&files);
        Self { files, stamps }
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |file: &PathBuf| file.metadata().ok().as_ref().map(Stamp::from_metadata);
    files.iter().map(stamp).collect()
}

/// Watches the rules of settings.
pub struct RulesWatch {
    began_with: PermissionRules,
    read: ReadRules,
    seen: Mutex<Seen>,
}

struct Seen {
    states: FileStates,
    added: Option<Arc<PermissionRules>>,
}

impl RulesWatch {
    /// Watches over rules that were read from files in these states.
    pub fn new(states: FileStates, began_with: PermissionRules, read: ReadRules) -> Self {
        Self { began_with, read, seen: Mutex::new(Seen { states, added: None }) }
    }

    /// Looks whether a file has changed; only then are the settings read again.
    pub(crate) fn refresh(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamps(&seen.states.files);
        if now == seen.states.stamps {
            return;
        }
        seen.states.stamps = now;
        let PermissionRules { ask, deny, .. } = (self.read)();
        let new = |rules: Vec<PermissionRule>, known: &[PermissionRule]| -> Vec<PermissionRule> {
            // A rule that only moved to another line is known.
            let is_known = |rule: &PermissionRule| known.iter().any(|it| it.rule == rule.rule);
            rules.into_iter().filter(|rule| !is_known(rule)).collect()
        };
        let (ask, deny) = (new(ask, &self.began_with.ask), new(deny, &self.began_with.deny));
        let added = PermissionRules { allow: Vec::new(), ask, deny };
        seen.added = (added != PermissionRules::default()).then(|| Arc::new(added));
    }

    /// The rules that were added, as of the last look.
    pub(crate) fn added(&self) -> Option<Arc<PermissionRules>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).added.clone()
    }
}

impl fmt::Debug for RulesWatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RulesWatch")
            .field("began_with", &self.began_with)
            .finish_non_exhaustive()
    }
}

/// Which files the tools of a run may have, rules that were added included.
#[derive(Debug, Clone, Default)]
pub struct LiveRights {
    rights: Arc<ToolSet>,
    /// The same without files that a rule asks about; none if no rule does.
    unasked: Option<Arc<ToolSet>>,
    rules: Option<Arc<RulesWatch>>,
}

impl LiveRights {
    pub(crate) fn new(
        rights: ToolSet,
        unasked: Option<ToolSet>,
        rules: Option<Arc<RulesWatch>>,
    ) -> Self {
        Self { rights: Arc::new(rights), unasked: unasked.map(Arc::new), rules }
    }

    /// What may be had that nobody was asked about, where that is less.
    pub(crate) fn unasked(&self) -> Option<&Arc<ToolSet>> {
        self.unasked.as_ref()
    }

    /// The rights as of the last look, and the rules that were added to them.
    pub(crate) fn current(&self) -> (Arc<ToolSet>, Option<Arc<PermissionRules>>) {
        let added = self.rules.as_ref().and_then(|rules| rules.added());
        let rights = match &added {
            None => Arc::clone(&self.rights),
            Some(added) => {
                let denied = added.deny.iter().map(PermissionRule::as_prohibition);
                Arc::new(self.rights.without_files_of(denied))
            }
        };
        (rights, added)
    }
}

impl From<Arc<ToolSet>> for LiveRights {
    fn from(rights: Arc<ToolSet>) -> Self {
        Self { rights, unasked: None, rules: None }
    }
}
