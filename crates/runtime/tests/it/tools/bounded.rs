//! Long output keeps its head and tail, names the cut, and is kept whole.

use std::{fmt::Write as _, fs, os::unix::fs::PermissionsExt as _};

use attache_runtime::internal::tool::artifacts::{Artifacts, Bound};
use serde_json::json;

use super::Fixture;

fn numbered(lines: usize) -> String {
    let mut text = String::new();
    for line in 1..=lines {
        writeln!(text, "line {line}").unwrap();
    }
    text
}

#[test]
fn short_output_is_left_alone() {
    let fixture = Fixture::new();
    let output = Bound::DEFAULT.apply(numbered(1000), "x", &fixture.context.artifacts);
    assert_eq!(output.text, numbered(1000));
    assert!(output.artifacts.is_empty());
    assert!(!fixture.context.artifacts.directory().exists());
}

#[test]
fn head_and_tail_are_kept_and_the_cut_is_named() {
    let fixture = Fixture::new();
    let output = Bound::DEFAULT.apply(numbered(1500), "x", &fixture.context.artifacts);
    let artifact = fixture.context.artifacts.directory().join("x-1.txt");
    assert_eq!(output.artifacts, std::slice::from_ref(&artifact));
    assert_eq!(fs::read_to_string(&artifact).unwrap(), numbered(1500));
    let lines: Vec<&str> = output.text.lines().collect();
    assert_eq!(lines.len(), 1001);
    assert_eq!(lines[0], "line 1");
    assert_eq!(lines[499], "line 500");
    let cut = format!("[… 500 lines (4,501 bytes) left out; full text: {} …]", artifact.display());
    assert_eq!(lines[500], cut);
    assert_eq!(lines[501], "line 1001");
    assert_eq!(lines[1000], "line 1500");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&artifact), 0o600);
    assert_eq!(mode(&fixture.outer().join("artifacts")), 0o700);
}

#[test]
fn bytes_are_bounded_as_well_and_characters_stay_whole() {
    let fixture = Fixture::new();
    let bound = Bound { bytes: 100, lines: 100 };
    let output = bound.apply("é".repeat(1000), "x", &fixture.context.artifacts);
    let lines: Vec<&str> = output.text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], "é".repeat(25));
    assert!(lines[1].contains("1,898 bytes"), "{}", lines[1]);
    assert_eq!(lines[2], "é".repeat(25));
}

#[test]
fn a_long_line_after_a_short_one_shows_both_its_ends() {
    let fixture = Fixture::new();
    let long = format!("{{\"first\":1,{}\"last\":1}}", "x".repeat(200_000));
    for text in [format!("[status]\n{long}"), format!("{long}\n[exit code 0]")] {
        let output = Bound::DEFAULT.apply(text, "x", &fixture.context.artifacts).text;
        assert!(output.contains("{\"first\":1,x") && output.contains("x\"last\":1}"));
        assert!(output.contains("[status]\n") || output.ends_with("\n[exit code 0]"));
        assert!(output.contains(" bytes left out; full text: "));
        assert!(!output.contains("0 lines"));
        assert!(output.len() < Bound::DEFAULT.bytes + 300, "{}", output.len());
    }
}

#[test]
fn an_artifact_that_cannot_be_kept_is_said() {
    let fixture = Fixture::with(&[("file", "x")]);
    let artifacts = Artifacts::new(fixture.root().join("file/below"));
    let output = Bound::DEFAULT.apply(numbered(1500), "x", &artifacts);
    assert!(output.artifacts.is_empty());
    assert!(output.text.contains("the full text could not be kept: "));
}

#[test]
fn artifacts_of_several_owners_do_not_overwrite_each_other() {
    let fixture = Fixture::new();
    let directory = fixture.outer().join("shared");
    let (one, two) = (Artifacts::new(directory.clone()), Artifacts::new(directory));
    let first = one.keep("x", "one").unwrap();
    let second = two.keep("x", "two").unwrap();
    assert_ne!(first, second);
    assert_eq!(fs::read_to_string(first).unwrap(), "one");
}

#[test]
fn the_whole_output_of_a_search_can_be_read_from_its_artifact() {
    let fixture = Fixture::new();
    let line = "needle ".repeat(40);
    fixture.write("a.txt", format!("{line}\n").repeat(300));
    let output = fixture.call("grep_files", json!({"pattern": "needle", "head_limit": 250}));
    assert!(output.text.len() < 32 * 1024, "{}", output.text.len());
    let artifact = output.artifacts[0].to_str().unwrap();
    assert!(output.text.contains(artifact));
    assert!(output.text.contains("first 250 matching lines, there are more"));
    let page = fixture.text("read_file", json!({"path": artifact, "offset": 251}));
    assert!(page.starts_with("251\t250:needle"), "{page}");
}

#[test]
fn what_is_kept_whole_holds_no_secret() {
    let fixture = Fixture::new();
    let secrets = attache_runtime::internal::store::Secrets::new(["sk-hush-hush-hush"]);
    let artifacts = Artifacts::new(fixture.outer().join("masked")).masking(secrets);
    let path = artifacts.keep("x", "the key is sk-hush-hush-hush, alas").unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "the key is ***, alas");
}
