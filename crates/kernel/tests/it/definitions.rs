//! Every file under `definitions/<dialect>/` is a test: what it says and what is said of it.

use std::{
    collections::HashSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use attache_kernel::{
    agent::definition::{
        Definition, Dialect, Format, RunConfig, Scope, ToolAccess,
        markdown::to_markdown,
        reading::{Reading, Rules, Source, read},
    },
    id::AgentName,
};
use attache_testkit::golden;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/definitions")
}

/// The files, each with its dialect.
fn files() -> Vec<(Dialect, PathBuf)> {
    let mut files = Vec::new();
    for dialect in Dialect::ALL {
        let folder = folder().join(dialect.as_str());
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if Format::of_path(&path).is_some() {
                files.push((dialect, path));
            }
        }
    }
    files.sort();
    files
}

fn read_file(dialect: Dialect, path: &Path, text: &str) -> Reading {
    let name = Path::new("agents").join(path.file_name().unwrap());
    let format = Format::of_path(&name).unwrap();
    let source = Source { text, path: Some(&name), scope: Scope::Project, dialect, format };
    read(&source, &Rules::default())
}

/// What a definition says beyond the defaults.
fn written(definition: &Definition) -> Value {
    let defaults = json!(Definition::named(AgentName::new("")));
    let mut value = json!(definition);
    prune(&mut value, &defaults);
    value
}

fn prune(value: &mut Value, defaults: &Value) {
    if let Value::Object(members) = value {
        members.retain(|key, member| {
            let default = defaults.get(key).unwrap_or(&Value::Null);
            if member.is_object() && default.is_object() {
                prune(member, default);
                return member.as_object().is_some_and(|inner| !inner.is_empty());
            }
            member != default
        });
    }
}

#[test]
fn every_file_is_read_as_its_golden_file_says() {
    let mut wrong = Vec::new();
    for (dialect, path) in files() {
        let text = fs::read_to_string(&path).unwrap();
        let reading = read_file(dialect, &path, &text);
        let mut shown = format!("status: {}\n", reading.status.as_str());
        writeln!(shown, "recovered: {}", reading.recovered).unwrap();
        for diagnostic in &reading.diagnostics {
            let place = format!("{}:{}", diagnostic.line, diagnostic.column);
            let severity = diagnostic.severity.as_str();
            writeln!(shown, "{place} {severity} {}: {}", diagnostic.code, diagnostic.message)
                .unwrap();
            if let Some(hint) = &diagnostic.hint {
                writeln!(shown, "    {hint}").unwrap();
            }
        }
        let definition = reading.definition.as_deref().map_or(Value::Null, written);
        writeln!(shown, "{definition:#}").unwrap();
        let golden_file =
            path.with_file_name(format!("{}.snap", path.file_name().unwrap().display()));
        let checked = std::panic::catch_unwind(|| golden::check(&golden_file, &shown));
        wrong.extend(checked.is_err().then_some(path));
    }
    assert!(wrong.is_empty(), "these differ: {wrong:#?}");
}

/// What a definition is apart from where it comes from; of repeated tools, a native file has one.
fn without_provenance(definition: &Definition) -> Definition {
    let mut definition = definition.clone();
    definition.source = Scope::Project;
    definition.source_path = None;
    definition.dialect = Dialect::Attache;
    if let ToolAccess::List(entries) = &mut definition.tools {
        let mut seen = HashSet::new();
        entries.retain(|entry| seen.insert(entry.clone()));
    }
    definition
}

#[test]
fn a_definition_written_back_reads_the_same() {
    for (dialect, path) in files() {
        let text = fs::read_to_string(&path).unwrap();
        let Some(definition) = read_file(dialect, &path, &text).definition else { continue };
        let native = to_markdown(&definition, &RunConfig::default());
        let again = read_file(Dialect::Attache, Path::new("x.md"), &native)
            .definition
            .unwrap_or_else(|| panic!("{} cannot be read again:\n{native}", path.display()));
        assert_eq!(
            without_provenance(&again),
            without_provenance(&definition),
            "{}\n{native}",
            path.display()
        );
    }
}
