//! Policy and stance: what the user's settings and the agent's definition say about questions.
//!
//! A policy holds for all runs of a session. A stance is one agent's; a child's never lifts a
//! restriction of its parent's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::rules::PermissionRules;
use crate::{
    agent::definition::{ApprovalMode, Definition, PermissionMode},
    rights::{confinement::Confinement, tool_name::ToolName},
};

/// What the settings say about questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The rules.
    pub rules: PermissionRules,
    /// When somebody is asked.
    pub approval: ApprovalPolicy,
    /// What the caller approves without a question.
    pub auto: AutoApproval,
    /// How much of the sandbox holds a command here.
    pub confinement: Confinement,
    /// Whether the sandbox lets commands write to the workspace.
    pub workspace: WorkspaceAccess,
    /// The workspace's directory.
    pub root: Option<String>,
    /// Directories with agent files that are protected as well, by their whole paths.
    pub protected: Vec<String>,
    /// Tools of MCP servers in the user's own settings that say they only read.
    pub harmless_tools: BTreeSet<ToolName>,
}

/// When somebody is asked, by Codex's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// As `on-request`, and agents do not approve their own calls in the sandbox.
    Untrusted,
    /// What is not known to be harmless is asked.
    #[default]
    OnRequest,
    /// What the sandbox holds is not asked.
    Never,
}

/// What the caller of a run approves without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoApproval {
    /// What the settings and the agent say.
    #[default]
    AsConfigured,
    /// What the sandbox holds: `--approve sandbox`.
    InSandbox,
    /// Nothing, whatever settings and agents say: `--approve deny`.
    Nothing,
    /// Every question is answered with yes: `--approve all`. What an agent may not ask about is approved as in
    /// the sandbox.
    Everything,
}

/// Whether the workspace may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceAccess {
    /// It may.
    #[default]
    Writable,
    /// Nothing in it is written without a question.
    ReadOnly,
}

/// What an agent's definition says about questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stance {
    /// What becomes of a question.
    pub questions: ApprovalMode,
    /// Whether edits in the workspace need no question.
    pub accepts_edits: bool,
    /// Whether the agent may only read.
    pub only_plans: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            rules: PermissionRules::default(),
            approval: ApprovalPolicy::default(),
            auto: AutoApproval::default(),
            confinement: Confinement::None,
            workspace: WorkspaceAccess::default(),
            root: None,
            protected: Vec::new(),
            harmless_tools: BTreeSet::new(),
        }
    }
}

impl Policy {
    /// The same for runs that work in that directory.
    pub fn move_to(&mut self, root: Option<String>) {
        let before = std::mem::replace(&mut self.root, root);
        if let Some(root) = &self.root {
            self.rules.move_to(root, before.as_deref().or(Some(root)));
        }
    }

    /// The same for a run in a copy of that directory: what the rules say of its files they say of those.
    pub fn copy(&mut self, original: &str, copy: &str) {
        self.rules.copy(original, copy);
    }

    /// Whether a call of an agent may be allowed because the sandbox holds it.
    pub fn approves_in_sandbox(&self, stance: Stance) -> bool {
        let by_agent = stance.questions == ApprovalMode::AutoApproveInSandbox
            && self.approval != ApprovalPolicy::Untrusted;
        let as_configured = by_agent || self.approval == ApprovalPolicy::Never;
        match self.auto {
            AutoApproval::Nothing => false,
            AutoApproval::InSandbox => true,
            AutoApproval::Everything => as_configured || stance.questions == ApprovalMode::Suppress,
            AutoApproval::AsConfigured => as_configured,
        }
    }
}

impl Stance {
    /// What a definition says. `permissionMode: dontAsk` refuses what would be asked;
    /// `bypassPermissions` is read as `default`: no file approves its own calls.
    pub fn of_agent(definition: &Definition) -> Self {
        let mode = definition.permission_mode;
        let questions = match mode {
            Some(PermissionMode::DontAsk) => ApprovalMode::Suppress,
            _ => definition.approval_mode,
        };
        Self {
            questions,
            accepts_edits: mode == Some(PermissionMode::AcceptEdits),
            only_plans: mode == Some(PermissionMode::Plan),
        }
    }

    /// The same for an agent that works for one with that stance: what the parent is refused, the child
    /// is refused too.
    #[must_use]
    pub fn under(self, parent: Self) -> Self {
        let questions = match parent.questions {
            ApprovalMode::Suppress => ApprovalMode::Suppress,
            ApprovalMode::RouteToParent | ApprovalMode::AutoApproveInSandbox => self.questions,
        };
        Self { questions, only_plans: self.only_plans || parent.only_plans, ..self }
    }

    /// What both stances permit: for a run that goes on after its agent's definition has changed.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        let questions = match (self.questions, other.questions) {
            (ApprovalMode::Suppress, _) | (_, ApprovalMode::Suppress) => ApprovalMode::Suppress,
            (ApprovalMode::RouteToParent, _) | (_, ApprovalMode::RouteToParent) => {
                ApprovalMode::RouteToParent
            }
            (ApprovalMode::AutoApproveInSandbox, ApprovalMode::AutoApproveInSandbox) => {
                ApprovalMode::AutoApproveInSandbox
            }
        };
        Self {
            questions,
            accepts_edits: self.accepts_edits && other.accepts_edits,
            only_plans: self.only_plans || other.only_plans,
        }
    }
}
