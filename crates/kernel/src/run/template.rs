//! Templates: `${name}` stands for a value.
//!
//! One pass: what a value brings in is never looked at again, so a task that contains `${prompt}`
//! arrives as it was written. A name nobody knows stays as it stands.

use std::borrow::Cow;

/// The template with every known name replaced.
pub(crate) fn fill<'a>(template: &str, value_of: impl Fn(&str) -> Option<Cow<'a, str>>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let reference =
            name_at_start(after).and_then(|(name, behind)| Some((value_of(name.trim())?, behind)));
        if let Some((value, behind)) = reference {
            filled.push_str(&value);
            rest = behind;
        } else {
            filled.push_str("${");
            rest = after;
        }
    }
    filled.push_str(rest);
    filled
}

/// The name before the closing brace, and what comes after it. Names are short: the brace is not
/// looked for in the whole text.
fn name_at_start(text: &str) -> Option<(&str, &str)> {
    const LONGEST_NAME: usize = 128;
    let end = text
        .bytes()
        .take(LONGEST_NAME)
        .position(|byte| byte == b'}')?;
    let (name, rest) = text.split_at_checked(end)?;
    Some((name, rest.strip_prefix('}')?))
}

/// Whether the template refers to that name.
pub(crate) fn refers_to(template: &str, name: &str) -> bool {
    let found = std::cell::Cell::new(false);
    fill(template, |referred| {
        if referred == name {
            found.set(true);
        }
        None
    });
    found.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: &str) {
        let filled = fill(template, |name| match name {
            "prompt" => Some("say ${cwd} and ${prompt}".into()),
            "cwd" => Some("/w".into()),
            "empty" => Some("".into()),
            _ => None,
        });
        assert_eq!(filled, expected, "{template}");
    }

    #[test]
    fn known_names_are_replaced_once_and_others_stay() {
        check("in ${cwd}: ${prompt}", "in /w: say ${cwd} and ${prompt}");
        check("${ cwd }", "/w");
        check("[${empty}]", "[]");
        check("${X} ${cwd}", "${X} /w");
        check("$cwd {cwd} ${", "$cwd {cwd} ${");
        check("${unclosed ${cwd}", "${unclosed /w");
        check("${${cwd}}", "${/w}");
        check("é${cwd}é", "é/wé");
    }

    #[test]
    fn references_are_seen() {
        assert!(refers_to("a ${x} ${prompt}", "prompt"));
        assert!(!refers_to("a prompt $prompt {prompt}", "prompt"));
    }
}
