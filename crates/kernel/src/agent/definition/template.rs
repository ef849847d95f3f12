//! Templates: `${name}` in prompts, replaced in one pass; what is not known stays as it is.

use std::{borrow::Cow, collections::BTreeMap};

/// The variables every prompt may use.
pub const BUILTIN_VARIABLES: [&str; 4] = ["cwd", "prompt", "agent_type", "today"];

/// A variable found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable<'text> {
    /// Its name.
    pub name: &'text str,
    /// The byte offset of the `$`.
    pub start: usize,
    /// The byte offset after the `}`.
    pub end: usize,
}

/// The variables of a text, in order.
pub fn variables(text: &str) -> impl Iterator<Item = Variable<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text.get(from..)?.find("${")?;
            let inner = text.get(start + 2..)?;
            let length = inner
                .bytes()
                .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                .count();
            from = start + 2 + length;
            let name = inner.get(..length)?;
            let is_name =
                name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
            if is_name && inner.as_bytes().get(length) == Some(&b'}') {
                from += 1;
                return Some(Variable { name, start, end: from });
            }
        }
    })
}

/// Whether the text holds that variable.
pub fn refers_to(text: &str, name: &str) -> bool {
    variables(text).any(|variable| variable.name == name)
}

/// The length of the text with its variables replaced, without making it.
pub fn rendered_len<'value>(
    text: &str,
    value_of: impl Fn(&str) -> Option<Cow<'value, str>>,
) -> usize {
    let mut sizes: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    variables(text).fold(text.len(), |length, variable| {
        let size = sizes
            .entry(variable.name)
            .or_insert_with(|| value_of(variable.name).map(|value| value.len()));
        match size {
            Some(size) => (length - (variable.end - variable.start)).saturating_add(*size),
            None => length,
        }
    })
}

/// The text with its variables replaced; a value is never expanded again, and a variable without a
/// value stays.
pub fn render<'value>(text: &str, value_of: impl Fn(&str) -> Option<Cow<'value, str>>) -> String {
    let mut rendered = String::with_capacity(text.len());
    let mut from = 0;
    for variable in variables(text) {
        let Some(value) = value_of(variable.name) else {
            continue;
        };
        rendered.push_str(text.get(from..variable.start).unwrap_or_default());
        rendered.push_str(&value);
        from = variable.end;
    }
    rendered.push_str(text.get(from..).unwrap_or_default());
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_and_nothing_else() {
        let names: Vec<_> = variables("${cwd} $x ${} ${a-b} ${1} ${${inner}} ${_x1}é${last")
            .map(|v| v.name)
            .collect();
        assert_eq!(names, ["cwd", "inner", "_x1"]);
    }

    #[test]
    fn one_pass_and_unknown_ones_stay() {
        let rendered = render("${a}-${b}-${a}", |name| (name == "a").then_some("${b}${a}".into()));
        assert_eq!(rendered, "${b}${a}-${b}-${b}${a}");
    }
}
