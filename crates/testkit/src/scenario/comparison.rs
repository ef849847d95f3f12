//! The comparison of a run that was played with what its scenario expects.
//!
//! Ids, paths of this machine, times and durations are replaced first; nothing else differs between
//! two plays of a scenario.

use std::{collections::BTreeMap, fs, path::Path};

use attache_runtime::prelude::RunResult;
use serde::Serialize;
use serde_json::Value;

use crate::golden;

/// Numbers that are times.
const DURATIONS: [&str; 5] =
    ["duration_ms", "duration_seconds", "total_duration_ms", "elapsed_seconds", "delay_ms"];

/// What the runtime keeps in the workspace for itself.
const OF_RUNTIME: &str = ".attache";

/// What stands for the names that differ from play to play.
#[derive(Debug)]
pub(super) struct Names(Vec<(String, String)>);

impl Names {
    /// Those of these runs in that folder.
    pub(super) fn new<'a>(folder: &Path, runs: impl Iterator<Item = &'a RunResult>) -> Self {
        let real = folder.canonicalize().expect("the folder is there");
        let mut names = vec![
            (real.display().to_string(), "WORKSPACE".to_owned()),
            (folder.display().to_string(), "WORKSPACE".to_owned()),
        ];
        for (number, run) in (1..).zip(runs) {
            names.push((run.agent_id.as_str().to_owned(), format!("RUN-{number}")));
            names.push((run.session_id.as_str().to_owned(), "SESSION".to_owned()));
        }
        Self(names)
    }

    fn replaced_in(&self, key: &str, value: &mut Value) {
        match value {
            Value::String(text) if key == "ts" => "TIME".clone_into(text),
            Value::String(text) => {
                for (name, stands) in &self.0 {
                    *text = text.replace(name, stands);
                }
            }
            Value::Number(_) if DURATIONS.contains(&key) => *value = Value::from(0),
            Value::Array(values) => {
                for value in values {
                    self.replaced_in(key, value);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.replaced_in(key, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn json(&self, value: &impl Serialize) -> Value {
        let mut json = serde_json::to_value(value).expect("what is shown is JSON");
        self.replaced_in("", &mut json);
        json
    }
}

/// Compares with a file that has one value a line.
pub(super) fn check_lines<'a, T: Serialize + 'a>(
    path: &Path,
    values: impl Iterator<Item = &'a T>,
    names: &Names,
) {
    let lines = values.map(|value| format!("{}\n", names.json(value)));
    golden::check(path, &lines.collect::<String>());
}

/// Compares with a file that has one value.
pub(super) fn check_json(path: &Path, value: &impl Serialize, names: &Names) {
    golden::check(path, &format!("{:#}\n", names.json(value)));
}

/// Compares the files of the workspace with those expected; a scenario without that folder expects
/// nothing of them.
pub(super) fn check_files(expected: &Path, workspace: &Path) {
    if !expected.exists() {
        return;
    }
    let (mut wanted, mut found) = (BTreeMap::new(), BTreeMap::new());
    collect(expected, "", &mut wanted);
    collect(workspace, "", &mut found);
    for path in wanted.keys().filter(|path| !found.contains_key(*path)) {
        if golden::is_update() {
            fs::remove_file(expected.join(path)).expect("an expected file can be removed");
        } else {
            panic!("{} is not in the workspace", expected.join(path).display());
        }
    }
    for (path, text) in &found {
        golden::check(&expected.join(path), text);
    }
}

fn collect(folder: &Path, under: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let entry = entry.expect("a folder can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{under}{name}");
        if path == OF_RUNTIME {
            continue;
        }
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else {
            files.insert(path, fs::read_to_string(entry.path()).expect("a file is text"));
        }
    }
}
