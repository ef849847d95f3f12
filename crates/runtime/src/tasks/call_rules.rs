//! What every call of a run is held against in the moment it begins.
//!
//! Invariant: a child is judged by its parent's policy, and keeps what its parent's stance refuses.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use attache_kernel::{
    agent::definition::Definition,
    rights::{
        confinement::Confinement,
        filter::ToolSet,
        permission::{
            AutoApproval, CallGuard, Foresight, Permission, PermissionRule, PermissionRules,
            Policy, Proposed, Stance, judge,
        },
        protected::PROTECTED,
        rule::Prohibition,
        tool_name::ToolName,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rules_watch::{LiveRights, RulesWatch};
use crate::{agents::trust::TrustWatch, mcp_client::Toolbox, process::CommandSetup, tool::Tool};

/// What the settings, the caller and the agent say about questions.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// What the settings and the caller say.
    pub policy: Arc<Policy>,
    /// What the agent's definition says.
    pub stance: Stance,
    /// The trust that the run and those above it have their rights from.
    pub(crate) trust: Vec<Arc<TrustWatch>>,
    /// What the definitions of the run and of those above it always ask about; it is in the policy, too.
    pub(crate) asked: Vec<AgentAsks>,
    /// What watches the rules of the settings.
    pub(crate) rules: Option<Arc<RulesWatch>>,
}

/// What an agent's definition always asks about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentAsks {
    agent: String,
    entries: Vec<String>,
}

impl Permissions {
    /// The same for a run that works in that directory, with what its caller approves.
    #[must_use]
    pub(crate) fn of_run(mut self, root: &Path, auto: AutoApproval) -> Self {
        let root = canonical_text(root);
        // Runs that differ in nothing share the rules.
        if self.policy.root != root {
            Arc::make_mut(&mut self.policy).move_to(root);
        }
        let linked = self.policy.root.as_deref().map(linked_protected_paths).unwrap_or_default();
        if linked.iter().any(|path| !self.policy.protected.contains(path)) {
            Arc::make_mut(&mut self.policy).protected.extend(linked);
        }
        self.approving(auto)
    }

    /// The same for an agent of that definition: what it always asks about is asked of it and of those below it.
    #[must_use]
    pub(crate) fn asking(self, definition: &Definition) -> Self {
        if definition.ask_tools.is_empty() {
            return self;
        }
        let agent = definition.agent_type.to_string();
        let asked = AgentAsks { agent, entries: definition.ask_tools.clone() };
        if self.asked.contains(&asked) {
            return self;
        }
        self.asking_too([asked])
    }

    /// The same with what agents above it ask about.
    #[must_use]
    pub(crate) fn asking_too(mut self, asked: impl IntoIterator<Item = AgentAsks>) -> Self {
        for asked in asked {
            let origin = format!("agent {}", asked.agent);
            let rules = PermissionRule::asking(&asked.entries, &origin);
            Arc::make_mut(&mut self.policy).rules.ask.extend(rules);
            self.asked.push(asked);
        }
        self
    }

    /// The same, where these are the parent's: a child in its parent's directory has its rules.
    #[must_use]
    pub(crate) fn of_child(self, root: &Path, auto: AutoApproval) -> Self {
        if self.policy.root == canonical_text(root) {
            return self.approving(auto);
        }
        self.of_run(root, auto)
    }

    fn approving(mut self, auto: AutoApproval) -> Self {
        if auto != AutoApproval::AsConfigured && self.policy.auto != auto {
            Arc::make_mut(&mut self.policy).auto = auto;
        }
        self
    }

    /// The same for a run in a copy of that directory.
    pub(super) fn copy(&mut self, original: &str, copy: &str) {
        Arc::make_mut(&mut self.policy).copy(original, copy);
    }

    /// The same with those tools of MCP servers that are known to change nothing.
    #[must_use]
    pub(crate) fn believing(mut self, toolbox: &Toolbox) -> Self {
        let harmless = &self.policy.harmless_tools;
        if toolbox.harmless().iter().any(|tool| !harmless.contains(tool)) {
            let policy = Arc::make_mut(&mut self.policy);
            policy.harmless_tools.extend(toolbox.harmless().iter().cloned());
        }
        self
    }

    /// The same, where the rights hang on that trust.
    #[must_use]
    pub(crate) fn while_trusted(mut self, trust: Option<TrustWatch>) -> Self {
        self.trust.extend(trust.map(Arc::new));
        self
    }

    /// Which files the tools of a run with those rights may have.
    pub(crate) fn readable(&self, rights: &ToolSet) -> LiveRights {
        let PermissionRules { ask, deny, .. } = &self.policy.rules;
        let rights = rights.without_files_of(deny.iter().map(PermissionRule::as_prohibition));
        let asked: Vec<Prohibition> = ask.iter().map(PermissionRule::as_prohibition).collect();
        let tells_apart = asked.iter().any(Prohibition::is_about_paths);
        let unasked = tells_apart.then(|| rights.without_files_of(asked));
        LiveRights::new(rights, unasked, self.rules.clone())
    }

    /// Takes over what the sandbox of those commands holds. What the machine enforces is tried only
    /// where a call may be allowed for it.
    pub(crate) async fn confine(&mut self, commands: &Arc<CommandSetup>) {
        let workspace = commands.workspace_access();
        if self.policy.workspace != workspace {
            Arc::make_mut(&mut self.policy).workspace = workspace;
        }
        if !self.policy.approves_in_sandbox(self.stance) {
            return;
        }
        let commands = Arc::clone(commands);
        let tried = tokio::task::spawn_blocking(move || commands.confinement()).await;
        let confinement = tried.unwrap_or(Confinement::None);
        if self.policy.confinement != confinement {
            Arc::make_mut(&mut self.policy).confinement = confinement;
        }
    }
}

fn canonical_text(root: &Path) -> Option<String> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    root.to_str().map(str::to_owned)
}

/// Where the protected paths of a workspace really lie that are links, or lie below one.
fn linked_protected_paths(root: &str) -> Vec<String> {
    let root = Path::new(root);
    let real = PROTECTED.iter().filter_map(|path| {
        let written = root.join(path);
        let real = written.canonicalize().ok()?;
        (real != written).then(|| real.to_string_lossy().into_owned())
    });
    real.collect()
}

/// The rules every call is held against when it begins: the run's rights, the policy, and what its tool
/// says.
pub(super) struct CallRules {
    pub(super) rights: ToolSet,
    pub(super) tools: Arc<BTreeMap<ToolName, Arc<dyn Tool>>>,
    pub(super) permissions: Permissions,
}

impl CallGuard for CallRules {
    fn check(&self, tool: &ToolName, arguments: &Value, foresight: &Foresight) -> Permission {
        let asks = self.tools.get(tool).and_then(|tool| tool.asks(arguments));
        let proposed = Proposed { tool, arguments, foresight, asks: asks.as_deref() };
        let Permissions { policy, stance, trust, rules, .. } = &self.permissions;
        if let Some(reason) = trust.iter().find_map(|trust| trust.refusal(tool, arguments)) {
            return Permission::Deny { reason };
        }
        let added = rules.as_ref().and_then(|rules| {
            rules.refresh();
            rules.added()
        });
        let Some(added) = added else {
            return judge(&proposed, &self.rights, *stance, policy).permission;
        };
        let mut policy = Policy::clone(policy);
        policy.rules.ask.extend(added.ask.iter().cloned());
        policy.rules.deny.extend(added.deny.iter().cloned());
        judge(&proposed, &self.rights, *stance, &policy).permission
    }
}
