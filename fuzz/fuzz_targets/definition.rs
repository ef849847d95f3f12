//! Whatever a file holds, reading it ends with a record, and what was read can be written back.
#![no_main]

use std::path::Path;

use attache_kernel::agent::definition::{
    Definition, Dialect, Format, RunConfig, Scope, ToolAccess,
    markdown::to_markdown,
    reading::{FileStatus, Reading, Rules, Source, read},
};
use libfuzzer_sys::fuzz_target;

fn read_as(text: &str, dialect: Dialect, format: Format) -> Reading {
    let path = Path::new("agents/agent.md");
    read(&Source { text, path: Some(path), scope: Scope::User, dialect, format }, &Rules::default())
}

/// A tool that is listed twice is written back once.
fn once(definition: &Definition) -> Definition {
    let mut definition = definition.clone();
    if let ToolAccess::List(entries) = &mut definition.tools {
        let mut seen = std::collections::HashSet::new();
        entries.retain(|entry| seen.insert(entry.clone()));
    }
    definition
}

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let dialect = Dialect::ALL[usize::from(choice) % Dialect::ALL.len()];
    let format = match choice / 64 {
        0 | 1 => Format::Markdown,
        2 => Format::Yaml,
        _ => Format::Toml,
    };
    let reading = read_as(text, dialect, format);
    assert!(reading.diagnostics.iter().all(|found| found.line >= 1 && found.column >= 1));
    if reading.status == FileStatus::Active {
        assert!(reading.definition.is_some());
    }
    if let Some(definition) = reading.definition {
        let native = to_markdown(&definition, &RunConfig::default());
        let again = read_as(&native, dialect, Format::Markdown).definition;
        assert_eq!(again.as_deref().map(once), Some(once(&definition)), "{native}");
    }
});
