//! The open corpus of real agent files: how far `validate --json` agrees with what is expected.

use std::{collections::HashMap, fmt::Write as _, path::Path};

use attache_testkit::corpus::Corpus;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::project;

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a definition says differently from what is expected.
fn differences(expected: &Value, definition: &Value, diagnostics: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut compare = |what: &str, expected: Value, found: Value| {
        if expected != found {
            wrong.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    if expected["name"].is_string() {
        compare("name", expected["name"].clone(), definition["agentType"].clone());
    }
    let description = definition["whenToUse"].as_str().map(|text| sha256(&one_line(text)));
    compare("description", expected["description_sha256"].clone(), json!(description));
    compare("model", expected["model"].clone(), definition["modelConfig"]["model"].clone());
    compare("colour", expected["color"].clone(), definition["color"].clone());
    let body = definition["promptConfig"]["systemPrompt"].as_str().unwrap_or_default();
    compare("body", expected["body_sha256"].clone(), json!(sha256(body)));
    // `allowed-tools` counts as `tools`, with a warning; the expected values only know `tools`.
    let slip = diagnostics.as_array().unwrap().iter().any(|found| found["code"] == "misnamed_key");
    match &expected["tools"] {
        Value::Null if slip => {}
        Value::Null => compare("tools", json!("all"), definition["tools"].clone()),
        Value::Array(entries) if entries == &[json!("*")] => {
            compare("tools", json!("all"), definition["tools"].clone());
        }
        Value::Array(_) => compare("tools", expected["tools"].clone(), definition["tools"].clone()),
        Value::Object(switches) => {
            for (tool, on) in switches.iter().filter(|(tool, _)| tool.as_str() != "*") {
                let denied =
                    definition["disallowedTools"].as_array().unwrap().contains(&json!(tool));
                let listed = definition["tools"]
                    .as_array()
                    .is_none_or(|entries| entries.contains(&json!(tool)));
                compare(&format!("tool {tool}"), on.clone(), json!(listed && !denied));
            }
        }
        other => compare("tools", other.clone(), Value::Null),
    }
    wrong
}

#[test]
fn validate_agrees_with_the_open_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = match Corpus::find(&root) {
        Ok(corpus) => corpus,
        Err(place) => {
            println!("NOT CHECKED: there is no corpus at {}; set ATTACHE_CORPUS", place.display());
            return;
        }
    };
    let files = corpus.folder().join("files");
    let ran = project().run(&["validate", "--json", files.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "some of the corpus is invalid");
    let report: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let by_path: HashMap<&str, &Value> =
        report.iter().map(|file| (file["path"].as_str().unwrap(), file)).collect();
    let (mut definitions, mut agreed, mut negatives, mut recognised) = (0_u32, 0_u32, 0_u32, 0_u32);
    for expected in corpus.expected() {
        let path = corpus.folder().join(expected["file"].as_str().unwrap());
        let file = by_path.get(path.to_str().unwrap()).expect("every file is reported");
        if expected["expect"] == "not-an-agent" {
            if expected["kind"] != "doc" {
                negatives += 1;
                recognised += u32::from(file["status"] == "not_a_definition");
            }
            continue;
        }
        definitions += 1;
        let wrong = differences(&expected, &file["definition"], &file["diagnostics"]);
        if wrong.is_empty() {
            agreed += 1;
        } else {
            println!("{}: {}", expected["file"], wrong.join("; "));
        }
    }
    let share = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole);
    let (agreement, recognition) = (share(agreed, definitions), share(recognised, negatives));
    println!("{agreed} of {definitions} definitions agree ({agreement:.2} %)");
    println!("{recognised} of {negatives} other files recognised ({recognition:.2} %)");
    assert!(definitions > 2000 && negatives > 200);
    assert!(agreement >= 99.5, "{agreement}");
    assert!(recognition >= 97.0, "{recognition}");
}
