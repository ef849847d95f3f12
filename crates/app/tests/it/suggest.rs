//! `attache suggest`.

use std::path::Path;

use attache_testkit::corpus::Corpus;

use crate::project;

#[test]
fn the_best_agent_comes_first_with_the_words_that_matched() {
    let project = project();
    project.agent("reviewer", "description: Reviews diffs for security\nkeywords: [lint]");
    project.agent("writer", "description: Writes documentation");
    let suggestions = project.json(&["suggest", "--json", "please", "review the diff"]);
    let first = &suggestions[0];
    let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "score", "matched"]);
    assert_eq!(first["name"], "reviewer");
    assert_eq!(first["matched"], serde_json::json!(["review", "diff"]));
    assert!(first["score"].as_f64().unwrap() > 0.0);
    assert_eq!(project.json(&["suggest", "--json", "lint it"])[0]["name"], "reviewer");
    let ran = project.run(&["suggest", "write documentation"]);
    assert!(ran.stdout.lines().nth(1).unwrap().starts_with("writer"));
}

#[test]
fn nothing_fits_is_said() {
    let ran = project().run(&["suggest", "chromodynamics"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(ran.stderr.contains("no agent fits"));
    let ran = project().run(&["suggest", "--json", "chromodynamics"]);
    assert_eq!(ran.stdout, "[]\n");
}

#[test]
fn broken_agents_are_not_suggested() {
    let project = project();
    project.agent("gardener", "tools: [Nothing]");
    assert_eq!(project.run(&["suggest", "gardener", "--json"]).stdout, "[]\n");
}

/// More than a thousand real agents, and the ones a person would pick.
#[test]
fn real_agents_are_found_by_what_people_ask_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(corpus) = Corpus::find(&root) else {
        println!("NOT CHECKED: there is no corpus; set ATTACHE_CORPUS");
        return;
    };
    let files = corpus.folder().join("files");
    let project = project();
    let names = |prompt: &str| -> Vec<String> {
        let arguments = ["suggest", "--json", "--agents-dir", files.to_str().unwrap(), prompt];
        let found = project.json(&arguments);
        let found = found.as_array().unwrap().iter();
        found.map(|found| found["name"].as_str().unwrap().to_lowercase()).collect()
    };
    for (prompt, part, least) in [
        ("review my diff", "review", 4),
        ("help me with c++ code", "cpp", 1),
        ("debug a crash", "debug", 2),
        ("write unit tests", "test", 4),
        ("improve the docs", "doc", 3),
    ] {
        let names = names(prompt);
        let fitting = names.iter().filter(|name| name.contains(part)).count();
        assert!(fitting >= least, "{prompt}: {names:?}");
        assert!(names[0].contains(part), "{prompt}: {names:?}");
    }
}

#[test]
fn a_prompt_comes_from_standard_input_and_is_never_empty() {
    let project = project();
    project.agent("reviewer", "description: Reviews diffs for security");
    let ran = project.run_with_input(&["suggest", "-"], "review this diff\n");
    assert!(ran.stdout.contains("reviewer"), "{ran:?}");
    for empty in ["", "  "] {
        let ran = project.run(&["suggest", empty]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("the prompt is empty"), "{}", ran.stderr);
    }
    assert_eq!(project.run_with_input(&["suggest", "-"], "").code, Some(2));
}
