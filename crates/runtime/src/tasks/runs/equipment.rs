//! What a run gets to work with: its tools, its sandbox, and what its calls may touch.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use attache_kernel::{
    rights::{
        confinement::SandboxInForce,
        filter::{ToolSet, WithheldTool},
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        assignment::{Assignment, WorktreeFacts},
        tool_spec::ToolSpec,
    },
};

use super::{Shared, Tools};
use crate::{
    host::Host,
    mcp_client::Toolbox,
    process::{CommandSetup, Processes},
    tasks::{LiveRights, LiveRun, Past, Start},
    tool::{
        FileGuard, HiddenPlaces, ToolContext, artifacts::Artifacts, web_search::NO_PROVIDER,
        workspace::Workspace,
    },
};

/// Whether a tool runs commands.
fn is_shell(name: &ToolName) -> bool {
    matches!(name, ToolName::Builtin(tool) if tool.is_shell())
}

/// The sandbox of a run's commands. Finding it out starts a process, so it is left out where no tool does.
pub(super) async fn sandbox_of(
    assignment: &Assignment,
    commands: &Arc<CommandSetup>,
) -> Option<SandboxInForce> {
    let has_commands = assignment.tools.iter().any(|spec| is_shell(&spec.name));
    let commands = has_commands.then(|| Arc::clone(commands))?;
    tokio::task::spawn_blocking(move || commands.in_force()).await.ok().flatten()
}

impl Shared {
    /// How the commands of a run are run: in no wider a sandbox than those of its parent and of the run
    /// that it goes on from.
    pub(super) fn commands_of(&self, start: &Start) -> Arc<CommandSetup> {
        let parent = start.parent.as_ref().map(|parent| &parent.live().commands);
        let commands = parent.unwrap_or(&self.commands);
        match &start.past {
            Past::Earlier(earlier) | Past::Branch(earlier) => {
                commands.no_wider_than(earlier.assignment().sandbox.as_ref())
            }
            Past::Nothing | Past::Fork(_) | Past::TakenOver(_) => Arc::clone(commands),
        }
    }

    /// The tools of a run that may use those of MCP servers.
    pub(super) fn tools_with(&self, toolbox: &Toolbox) -> Tools {
        if toolbox.tools().is_empty() {
            return Arc::clone(&self.tools);
        }
        let mut tools = BTreeMap::clone(&self.tools);
        tools.extend(toolbox.tools().iter().map(|(name, tool)| (name.clone(), Arc::clone(tool))));
        Arc::new(tools)
    }

    /// Offers the tools that the rights allow and that there are.
    pub(super) fn equip(
        &self,
        assignment: &mut Assignment,
        rights: &ToolSet,
        tools: &Tools,
        host: Option<&Host>,
    ) {
        assignment.rights = rights.clone();
        assignment.tools.clear();
        for name in rights.names() {
            match tools.get(name) {
                Some(tool) => {
                    let spec = host.and_then(|host| tool.spec_for(host, rights));
                    let spec = spec.unwrap_or_else(|| ToolSpec::clone(tool.spec()));
                    assignment.tools.push(spec);
                }
                None => assignment.withheld_tools.push(WithheldTool {
                    tool: name.to_string(),
                    reason: self.absent.get(name).cloned().unwrap_or_else(|| absence(name)),
                }),
            }
        }
    }

    /// The places in that directory that no tool may have. A child in its parent's directory has its
    /// parent's.
    pub(super) fn hidden_places(
        &self,
        root: &Path,
        assignment: &Assignment,
        parent: Option<&LiveRun>,
    ) -> HiddenPlaces {
        let worktree = assignment.worktree.as_ref();
        parent.and_then(|parent| parent.hidden.also_below(root)).unwrap_or_else(|| {
            let places = self.commands.sandbox.iter().flat_map(|it| &it.policy.deny_read);
            let copies = self.hidden_copies(worktree);
            let hidden = HiddenPlaces::around(root, places.chain(&copies));
            match worktree {
                Some(worktree) => hidden.but_for(Path::new(&worktree.directory)),
                None => hidden,
            }
        })
    }

    /// Where the copies of hidden places lie in a worktree.
    fn hidden_copies(&self, worktree: Option<&WorktreeFacts>) -> Vec<PathBuf> {
        let Some(WorktreeFacts { repository, directory, .. }) = worktree else {
            return Vec::new();
        };
        let places = self.commands.sandbox.iter().flat_map(|it| &it.policy.deny_read);
        let real = places.map(|place| place.canonicalize().unwrap_or_else(|_| place.clone()));
        real.filter_map(|place| {
            let inside = place.strip_prefix(repository).ok()?;
            Some(Path::new(directory).join(inside)).filter(|_| inside != Path::new(""))
        })
        .collect()
    }

    /// What the calls of a run may touch.
    pub(super) fn context(
        &self,
        live: &LiveRun,
        workspace: Workspace,
        artifacts: Artifacts,
        readable: LiveRights,
    ) -> ToolContext {
        let (commands, worktree) = (Arc::clone(&live.commands), live.run.worktree.as_ref());
        let artifacts = Arc::new(artifacts);
        let root = workspace.root().to_owned();
        let shown = worktree.map(|worktree| PathBuf::from(&worktree.directory));
        let processes = Processes::new(commands, root, Arc::clone(&artifacts));
        let processes = processes.showing(shown).hiding(self.hidden_copies(worktree));
        let processes = processes.withholding(readable.clone());
        let files = FileGuard::new(readable).hiding(live.hidden.clone());
        let processes = Arc::new(processes);
        ToolContext { processes, ..ToolContext::new(workspace, artifacts, files) }
    }
}

/// Why there is no such tool, where nothing else is said.
fn absence(tool: &ToolName) -> String {
    match tool.builtin() {
        Some(BuiltinTool::WebSearch) => NO_PROVIDER.to_owned(),
        _ => "this version has no such tool yet".to_owned(),
    }
}
