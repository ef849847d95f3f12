//! What tasks are taken to ask for.

use super::*;

fn labels(task: &str) -> String {
    let inquiry = Inquiry::new(task, "");
    let labels = inquiry.concepts.iter().map(|concept| concept.label.clone());
    labels.chain(inquiry.paths).collect::<Vec<_>>().join(" | ")
}

#[test]
fn tasks_are_asked_about_what_they_are_about() {
    for (task, expected) in [
        ("where is the tool filter implemented and what calls it?", "tool filter | tool | filter"),
        (
            "how are transcripts folded into a run?",
            "transcripts folded | transcripts | folded | run",
        ),
        ("Find `ToolFilter::new()` and max_retries", "ToolFilter::new | max_retries"),
        ("what does src/main.rs do?", "src/main.rs"),
        ("who uses parseJSON in lib/util.ts", "parseJSON | lib/util.ts"),
        ("the \"connection refused\" message", "connection refused | message"),
        ("Wo ist der Werkzeugfilter implementiert?", "Werkzeugfilter"),
        ("Größe der Tabelle", "größe | tabelle"),
        ("", ""),
        ("?? ()[]{}*+ \\", ""),
    ] {
        let got = labels(task);
        assert_eq!(got.to_lowercase(), expected.to_lowercase(), "{task}");
    }
}

#[test]
fn chinese_is_cut_where_questions_are_built() {
    assert_eq!(labels("工具过滤器在哪里实现?"), "工具过滤器");
    assert_eq!(labels("ToolFilter在哪里被调用"), "ToolFilter");
}

#[test]
fn an_overview_is_wanted_only_where_nothing_else_is() {
    for (task, overview) in [
        ("what is this project?", true),
        ("Explain the structure of the codebase", true),
        ("", true),
        ("how does this project parse frontmatter?", false),
        ("explain the structure of src/lib.rs", false),
    ] {
        assert_eq!(Inquiry::new(task, "").wants.overview, overview, "{task}");
    }
}

#[test]
fn a_short_task_borrows_from_what_was_said_before() {
    let inquiry = Inquiry::new("and the tests?", "where is the parser?");
    assert_eq!(inquiry.concepts[0].label, "parser");
    assert!(inquiry.wants.tests);
    let own = Inquiry::new("where is the lexer?", "where is the parser?");
    assert_eq!(own.concepts.len(), 1);
}

#[test]
fn the_longest_task_makes_few_concepts() {
    let task = "some_name in SomeOther \"quoted text\" a/b.rs frobnicate widget ".repeat(10_000);
    let inquiry = Inquiry::new(&task, &task);
    assert!(inquiry.concepts.len() <= MAX_CONCEPTS && inquiry.paths.len() <= MAX_PATHS);
}
