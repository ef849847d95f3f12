use std::path::Path;

use super::*;
use crate::agent::definition::{
    Format,
    reading::{Rules, Source, read},
};

fn file(path: &str, scope: Scope, distance: u32, text: &str) -> Candidate {
    let path = PathBuf::from(path);
    let dialect = Dialect::of_path(&path);
    let source = Source { text, path: Some(&path), scope, dialect, format: Format::Markdown };
    let reading = Arc::new(read(&source, &Rules::default()));
    Candidate { reading, scope, dialect, path: Some(path), distance, trust: Trust::Untrusted }
}

fn agent(path: &str, scope: Scope, distance: u32) -> Candidate {
    file(path, scope, distance, "---\nname: rev\ndescription: d\n---\nbody\n")
}

fn builtin() -> Candidate {
    let mut candidate = agent("rev.md", Scope::Builtin, 0);
    candidate.path = None;
    candidate.trust = Trust::Trusted;
    candidate
}

fn inventory(candidates: Vec<Candidate>) -> Inventory {
    Inventory::new(candidates, Vec::new(), |_, _| Appraisal::default())
}

/// Every pair in this list, strongest first, must fall to the earlier one in whichever order given.
#[test]
fn precedence_is_total() {
    let order = [
        agent("/h/.claude/agents/rev.md", Scope::Session, 0),
        agent("/p/sub/.claude/agents/rev.md", Scope::Project, 0),
        agent("/p/.attache/agents/rev.md", Scope::Project, 1),
        agent("/p/.claude/agents/rev.md", Scope::Project, 1),
        agent("/p/.codex/agents/rev.md", Scope::Project, 1),
        agent("/p/.wave/agents/rev.md", Scope::Project, 1),
        agent("/p/.gemini/agents/rev.md", Scope::Project, 1),
        agent("/h/.attache/agents/rev.md", Scope::User, 0),
        agent("/h/.claude/agents/rev.md", Scope::User, 0),
        builtin(),
    ];
    for (index, strong) in order.iter().enumerate() {
        for weak in &order[index + 1..] {
            for pair in [vec![strong.clone(), weak.clone()], vec![weak.clone(), strong.clone()]] {
                let found = inventory(pair);
                assert_eq!(found.records.len(), 1);
                assert_eq!(found.records[0].source_path, strong.path);
                assert_eq!(found.records[0].overrides[0].source_path, weak.path);
                assert!(found.conflicts.is_empty());
                assert_eq!(found.discovery_events[0].kind, DiscoveryKind::Override);
            }
        }
    }
}

#[test]
fn two_files_of_one_place_are_a_conflict_and_the_first_path_counts() {
    let found = inventory(vec![
        agent("/p/.claude/agents/z.md", Scope::Project, 0),
        agent("/p/.claude/agents/a.md", Scope::Project, 0),
        agent("/h/.claude/agents/b.md", Scope::User, 0),
        agent("/h/.claude/agents/c.md", Scope::User, 0),
    ]);
    let record = &found.records[0];
    assert_eq!(record.source_path.as_deref(), Some(Path::new("/p/.claude/agents/a.md")));
    assert!(record.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::Conflict));
    let winners: Vec<_> = found.conflicts.iter().map(|conflict| conflict.winner.clone()).collect();
    assert_eq!(
        winners,
        [PathBuf::from("/p/.claude/agents/a.md"), PathBuf::from("/h/.claude/agents/b.md")]
    );
}

#[test]
fn names_meet_by_key_and_are_found_in_any_spelling() {
    let found = inventory(vec![
        file(
            "/p/.claude/agents/x.md",
            Scope::Project,
            0,
            "---\nname: Code Reviewer\ndescription: d\n---\nb",
        ),
        file(
            "/h/.claude/agents/y.md",
            Scope::User,
            0,
            "---\nname: codeReviewer\ndescription: d\n---\nb",
        ),
    ]);
    assert_eq!(found.records.len(), 1);
    for spelling in ["code-reviewer", "CODE_REVIEWER", "CodeReviewer", "Code Reviewer"] {
        assert_eq!(found.find(spelling).unwrap().name, "Code Reviewer");
    }
}

#[test]
fn a_broken_project_file_does_not_fall_back_to_the_users() {
    let broken = file("/p/.claude/agents/rev.md", Scope::Project, 0, "---\nname: rev\n---\nbody\n");
    let found = inventory(vec![agent("/h/.claude/agents/rev.md", Scope::User, 0), broken]);
    let error = found.find("rev").unwrap_err();
    let LookupError::Invalid { diagnostics, path, .. } = error else { panic!("{error:?}") };
    assert_eq!(diagnostics[0].code, Code::MissingDescription);
    assert_eq!(path.as_deref(), Some(Path::new("/p/.claude/agents/rev.md")));
    assert_eq!(found.records[0].overrides.len(), 1);
}

#[test]
fn a_file_without_any_name_claims_its_stem() {
    let torn = file("/p/.claude/agents/rev.md", Scope::Project, 0, "---\n[1, 2]\n---\nbody\n");
    let found = inventory(vec![torn]);
    assert_eq!((found.records[0].name.as_str(), found.records[0].status), ("rev", Status::Invalid));
}

#[test]
fn disabled_unknown_and_documents() {
    let off = "---\nname: off\ndescription: d\nenabled: false\n---\nb";
    let found = inventory(vec![
        file("/p/.claude/agents/off.md", Scope::Project, 0, off),
        file("/p/.claude/agents/README.md", Scope::Project, 0, "# Agents\n"),
    ]);
    assert_eq!(found.records.len(), 1);
    assert!(matches!(found.find("off"), Err(LookupError::Disabled { .. })));
    assert_eq!(found.discovery_events[0].kind, DiscoveryKind::NotADefinition);
    let Err(LookupError::Unknown { nearest, available, .. }) = found.find("offf") else { panic!() };
    assert_eq!((nearest.as_deref(), available.len()), (Some("off"), 1));
}

#[test]
fn four_dialects_have_a_rank_and_among_the_rest_the_path_decides() {
    let paths = [
        "/p/.attache/agents/x.md",
        "/p/.claude/agents/x.md",
        "/p/.codex/agents/x.md",
        "/p/.wave/agents/x.md",
        "/p/.cursor/agents/x.md",
        "/p/.gemini/agents/x.md",
        "/p/.github/agents/x.agent.md",
        "/p/.opencode/agent/x.md",
        "/p/.qwen/agents/x.md",
    ];
    let text = "---\nname: xxx\ndescription: d\n---\nb";
    let found =
        inventory(paths.iter().rev().map(|path| file(path, Scope::Project, 0, text)).collect());
    let record = &found.records[0];
    let losers = record.overrides.iter().map(|lost| lost.source_path.clone().unwrap());
    let mut order = vec![record.source_path.clone().unwrap()];
    order.extend(losers);
    assert_eq!(order, paths.map(PathBuf::from));
    assert!(found.conflicts.is_empty());
}

#[test]
fn a_copilot_file_of_which_nothing_can_be_read_claims_its_short_stem() {
    let torn = file("/p/.github/agents/rev.agent.md", Scope::Project, 0, "---\n[1, 2]\n---\nb\n");
    let found = inventory(vec![agent("/h/.claude/agents/rev.md", Scope::User, 0), torn]);
    assert_eq!(found.records.len(), 1);
    assert_eq!(found.records[0].name, "rev");
    assert_eq!(found.records[0].status, Status::Invalid);
}
