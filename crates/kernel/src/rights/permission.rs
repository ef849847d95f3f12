//! Permission: whether a call may begin, must be asked about, or is refused.
//!
//! [`judge`] is the one function that decides. A guard is asked again before every call, also after a
//! takeover, after a resume and after an approval. A refusal always wins over an approval that was
//! given earlier.

mod judging;
mod policy;
mod rules;

use std::sync::Arc;

use serde_json::Value;

pub use self::{
    judging::{Judgement, Proposed, judge},
    policy::{ApprovalPolicy, AutoApproval, Policy, Stance, WorkspaceAccess},
    rules::{PermissionRule, PermissionRules},
};
use super::{filter::ToolSet, rule::RealPath, tool_name::ToolName};

/// What a guard says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// The call may begin.
    Allow,
    /// Somebody must approve the call first.
    Ask {
        /// Why it needs approval.
        reason: String,
    },
    /// The call may not begin.
    Deny {
        /// Why not, in words for the model.
        reason: String,
    },
}

/// What was found out about a call before it is judged, without doing it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Foresight {
    /// Where the files really lie that it would change, or that its command names; links followed.
    pub paths: Vec<RealPath>,
    /// The command or the diff, shown in the question.
    pub preview: Option<String>,
    /// Whether the running program that it types into is held by the sandbox.
    pub is_confined: bool,
}

/// Judges a call in the moment it is to begin.
pub trait CallGuard {
    /// Says whether the tool may be called with these arguments now.
    fn check(&self, tool: &ToolName, arguments: &Value, foresight: &Foresight) -> Permission;
}

/// A [`CallGuard`] that can be shared.
pub type SharedGuard = Arc<dyn CallGuard + Send + Sync>;

/// Rights alone never ask: a call is within them or it is not.
impl CallGuard for ToolSet {
    fn check(&self, tool: &ToolName, arguments: &Value, _: &Foresight) -> Permission {
        match Self::check(self, tool, arguments) {
            Ok(()) => Permission::Allow,
            Err(refusal) => Permission::Deny { reason: refusal.to_string() },
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
