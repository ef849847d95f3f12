//! The built-in agents: ordinary definition files, part of the program.

use std::sync::Arc;

use attache_kernel::agent::{
    definition::{
        Dialect, Format, Scope, Trust,
        reading::{Rules, Source, read},
    },
    registry::Candidate,
};

/// The files under `agents/`.
const FILES: [&str; 2] =
    [include_str!("../../../../agents/explore.md"), include_str!("../../../../agents/plan.md")];

/// The built-in agents, read like any other file.
pub(crate) fn candidates(rules: &Rules) -> Vec<Candidate> {
    // A built-in agent has no file to be named after, and its limits are its own.
    let rules = Rules {
        name_from: attache_kernel::agent::definition::reading::NameFrom::Frontmatter,
        ..rules.clone()
    };
    FILES
        .iter()
        .map(|text| {
            let source = Source {
                text,
                path: None,
                scope: Scope::Builtin,
                dialect: Dialect::Attache,
                format: Format::Markdown,
            };
            Candidate {
                reading: Arc::new(read(&source, &rules)),
                scope: Scope::Builtin,
                dialect: Dialect::Attache,
                path: None,
                distance: 0,
                trust: Trust::Trusted,
            }
        })
        .collect()
}
