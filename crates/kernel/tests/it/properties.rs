//! Whatever a file holds, reading it ends with a record.

use std::path::Path;

use attache_kernel::agent::definition::{
    Dialect, Format, RunConfig, Scope, Severity,
    markdown::to_markdown,
    reading::{FileStatus, Reading, Rules, Source, read},
};
use proptest::prelude::*;

fn read_as(text: &str, dialect: Dialect, format: Format) -> Reading {
    let path = Path::new("agent.md");
    read(&Source { text, path: Some(path), scope: Scope::User, dialect, format }, &Rules::default())
}

/// Text that looks enough like an agent file to get past the first lines.
fn agent_like() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-z]{1,8}: [ -~]{0,30}",
        "(name|description|tools|model|permission|inputs|hooks|runConfig|mcpServers):( [ -~é\t]{0,20})?",
        "[ ]{1,4}(- )?[a-z]{0,6}:? ?[ -~]{0,12}",
        "(---|----|\\.\\.\\.|# head|<example>|</example>|\\||>|&a b|\\*a|\\[|\\{|\"|'|\u{feff}|\r)",
        "\\PC{0,20}",
        "",
    ];
    proptest::collection::vec(line, 0..25).prop_map(|lines| format!("---\n{}", lines.join("\n")))
}

fn check(reading: &Reading, text: &str) {
    let lines = u32::try_from(text.matches(['\n', '\r']).count()).unwrap() + 2;
    for diagnostic in &reading.diagnostics {
        assert!(diagnostic.line >= 1 && diagnostic.column >= 1, "{diagnostic:?}");
        assert!(diagnostic.line <= lines, "{diagnostic:?} lies outside of\n{text}");
    }
    let errors = reading.has(Severity::Error);
    match reading.status {
        FileStatus::Active => assert!(!errors && reading.definition.is_some()),
        FileStatus::Invalid => assert!(errors),
        FileStatus::NotADefinition => assert!(!errors && reading.definition.is_none()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_yields_a_record(text in "\\PC{0,300}|(---\n)?[\\x00-\\x7f]{0,300}") {
        for format in [Format::Markdown, Format::Yaml, Format::Toml] {
            check(&read_as(&text, Dialect::Claude, format), &text);
        }
    }

    #[test]
    fn anything_like_an_agent_yields_a_record(text in agent_like()) {
        for dialect in [Dialect::Attache, Dialect::Claude, Dialect::Opencode] {
            check(&read_as(&text, dialect, Format::Markdown), &text);
        }
    }

    /// Writing is total too: what could be read can be written and read again.
    #[test]
    fn what_was_read_can_be_written_and_read_again(text in agent_like()) {
        let first = read_as(&text, Dialect::Attache, Format::Markdown);
        if let Some(definition) = first.definition {
            let native = to_markdown(&definition, &RunConfig::default());
            let again = read_as(&native, Dialect::Attache, Format::Markdown).definition;
            prop_assert_eq!(again.as_deref(), Some(&*definition), "{}", native);
        }
    }
}

/// Shapes that take quadratic time in careless parsers. They are finished or this test is not.
#[test]
fn hostile_shapes_take_linear_time() {
    const MANY: usize = 20_000;
    let shapes = [
        "[".repeat(MANY),
        "{a: ".repeat(MANY),
        "- ".repeat(MANY),
        "? ".repeat(MANY),
        "a: b: c: ".repeat(MANY / 4),
        "k: v\n".repeat(MANY / 4),
        "<example>\n".repeat(MANY / 4),
        "name: x\n\n# h\n".repeat(MANY / 8),
        "&a ".repeat(MANY),
        "*a ".repeat(MANY),
        "\"".repeat(MANY),
        "'a': ".repeat(MANY / 4),
        "#\n".repeat(MANY),
        "\n".repeat(MANY),
        "${a".repeat(MANY),
        "${a}".repeat(MANY / 8),
        " ".repeat(MANY),
        "tools: ".to_owned() + &"a,".repeat(MANY / 2),
        "tools: ".to_owned() + &"(".repeat(MANY),
        "description: |\n".to_owned() + &"  x: y\n".repeat(MANY / 4),
        "\u{feff}".repeat(MANY / 4),
    ];
    for shape in &shapes {
        for text in [
            shape.clone(),
            format!("---\n{shape}"),
            format!("---\n{shape}\n---\nbody"),
            format!("---\nname: a\ndescription: b: c\n{shape}\n---\nbody"),
            format!("---\nname: a\ndescription: b\n---\n{shape}"),
        ] {
            for format in [Format::Markdown, Format::Yaml, Format::Toml] {
                check(&read_as(&text, Dialect::Claude, format), &text);
            }
        }
    }
}
