//! The main agent: an ordinary definition file, part of the program, that is in no list of subagents.

use std::sync::Arc;

use attache_kernel::agent::definition::{
    Definition, Dialect, Format, Scope,
    reading::{Rules, Source, read},
};

/// The main agent's definition; `None` only if its file is broken, which a test rules out.
pub(crate) fn definition() -> Option<Arc<Definition>> {
    let source = Source {
        text: include_str!("../../../../agents/main.md"),
        path: None,
        scope: Scope::Builtin,
        dialect: Dialect::Attache,
        format: Format::Markdown,
    };
    read(&source, &Rules::default()).definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_read() {
        let definition = definition().unwrap();
        assert_eq!(definition.agent_type.as_str(), "attache");
        assert_eq!(definition.run_config.max_turns, 500);
    }
}
