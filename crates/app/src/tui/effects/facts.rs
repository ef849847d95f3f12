//! What the UI knows before the first run: models, modes, agents and files.

use std::path::Path;

use attache_kernel::{agent::registry::Status, rights::permission::ApprovalPolicy};
use attache_runtime::internal::runtime::Runtime;

use crate::{
    commands::run::Approve,
    setup::Setup,
    tui::{
        state::{Facts, completion::Candidate},
        text::first_line,
    },
};

/// How many files are offered for completion.
const MOST_FILES: usize = 20_000;

/// The files of a project, as far as its ignore rules leave them.
pub(super) fn files(root: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(root).require_git(false).build();
    let found = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let names = found.filter_map(|entry| {
        let path = entry.path().strip_prefix(root).ok()?;
        path.to_str().map(str::to_owned)
    });
    names.take(MOST_FILES).collect()
}

/// What is known before the first run.
pub(crate) fn facts(setup: &Setup, runtime: &Runtime, how: Option<Approve>) -> Facts {
    let parent = setup.parent_model();
    let agents =
        runtime.inventory().records.into_iter().filter(|record| record.status == Status::Active);
    let agents = agents.map(|record| {
        let about = record.definition.as_ref().and_then(|it| it.when_to_use.clone());
        Candidate {
            text: format!("@{}", record.name),
            about: first_line(&about.unwrap_or_default()),
        }
    });
    let approval = match how {
        Some(Approve::Deny) => "approve deny".to_owned(),
        Some(Approve::Sandbox) => "approve sandbox".to_owned(),
        Some(Approve::All) => "approve all".to_owned(),
        None | Some(Approve::Ask) => policy_word(setup.settings.approval_policy).to_owned(),
    };
    Facts {
        model: setup.settings.model.clone().unwrap_or(parent.model),
        sandbox: setup.settings.sandbox.mode.as_str().to_owned(),
        approval,
        agents: agents.collect(),
        files: None,
    }
}

fn policy_word(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Untrusted => "untrusted",
        ApprovalPolicy::OnRequest => "on-request",
        ApprovalPolicy::Never => "never",
    }
}
