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
    let Err(LookupError::Unknown { meant, nearest, total, .. }) = found.find("offf") else {
        panic!()
    };
    assert_eq!(
        (meant.as_deref(), nearest.as_slice(), total),
        (Some("off"), ["off".to_owned()].as_slice(), 1)
    );
    let error = found.find("readme").unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no agent `readme`: /p/.claude/agents/README.md is not a definition"
    );
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

fn named(path: &str, name: &str) -> Candidate {
    file(path, Scope::Project, 0, &format!("---\nname: \"{name}\"\ndescription: d\n---\nb"))
}

#[test]
fn languages_with_signs_in_their_names_are_two_agents() {
    let found = inventory(vec![
        named("/p/.claude/agents/cpp.md", "C++ Expert"),
        named("/p/.claude/agents/csharp.md", "C# Expert"),
    ]);
    assert_eq!(found.records.len(), 2);
    assert_eq!((found.conflicts.len(), found.discovery_events.len()), (0, 0));
    for (asked, name) in [
        ("C++ Expert", "C++ Expert"),
        ("c-plus-plus-expert", "C++ Expert"),
        ("C# Expert", "C# Expert"),
        ("c-sharp-expert", "C# Expert"),
    ] {
        assert_eq!(found.find(asked).unwrap().name, name);
    }
}

/// Two names with one key: neither is lost, and nobody is told that they are called the same.
#[test]
fn a_name_as_written_wins_over_its_key() {
    let found = inventory(vec![
        named("/p/.claude/agents/a.md", "Code/Reviewer"),
        named("/p/.claude/agents/b.md", "Code: Reviewer"),
        file(
            "/h/.claude/agents/c.md",
            Scope::User,
            0,
            "---\nname: \"Code: Reviewer\"\ndescription: d\n---\nb",
        ),
    ]);
    assert_eq!(found.find("Code/Reviewer").unwrap().name, "Code/Reviewer");
    assert_eq!(found.find("Code: Reviewer").unwrap().name, "Code: Reviewer");
    assert_eq!(found.find("code-reviewer").unwrap().name, "Code/Reviewer");
    assert_eq!(found.find("Code: Reviewer").unwrap().overrides.len(), 1);
    assert!(found.find("Code/Reviewer").unwrap().overrides.is_empty());
    for event in &found.discovery_events {
        assert!(!event.message.contains("are called"), "{}", event.message);
    }
    let conflict = &found.conflicts[0];
    assert_eq!((conflict.name.as_str(), conflict.losers.len()), ("code-reviewer", 1));
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest_five() {
    let agents = (0..487)
        .map(|index| named(&format!("/p/.claude/agents/{index}.md"), &format!("agent-{index}")));
    let reviewers = ["code-reviewer", "reviewer-lite"]
        .map(|name| named(&format!("/p/.claude/agents/{name}.md"), name));
    let found = inventory(agents.chain(reviewers).collect());
    let Err(LookupError::Unknown { nearest, total, .. }) = found.find("reviewer") else { panic!() };
    assert_eq!((nearest.len(), total), (5, 489));
    assert!(nearest[..2].contains(&"code-reviewer".to_owned()), "{nearest:?}");
}

/// Quadratic work on this many files takes minutes.
#[test]
fn many_files_of_one_name_are_one_conflict() {
    let files: Vec<Candidate> = {
        let one = agent("/p/.claude/agents/x.md", Scope::Project, 0);
        let path = |index: u32| Some(PathBuf::from(format!("/p/.claude/agents/{index:06}.md")));
        (0..100_000).map(|index| Candidate { path: path(index), ..one.clone() }).collect()
    };
    let found = inventory(files);
    assert_eq!(
        (found.records.len(), found.conflicts.len(), found.discovery_events.len()),
        (1, 1, 1)
    );
    assert_eq!(found.conflicts[0].losers.len(), 99_999);
    let message = &found.discovery_events[0].message;
    assert!(message.starts_with("100000 files of one place are called `rev`"), "{message}");
    assert!(message.len() < 1000, "{message}");
}
