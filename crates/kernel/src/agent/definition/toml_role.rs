//! TOML roles, as Codex writes them: text to the members of a header.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    diagnostic::{Code, Diagnostic, Position},
    node::{Kind, Member, Node, Scalar, printable},
};

/// The keys and values of a TOML text.
pub(crate) fn parse(text: &str) -> Result<Vec<Member>, Diagnostic> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let places = Places::new(text);
    match DeTable::parse(text) {
        Ok(table) => Ok(members(table.get_ref(), &places)),
        Err(error) => {
            let at = error.span().map_or(Position::START, |span| places.position(span.start));
            let message =
                format!("this is not valid TOML: {}", error.message().replace('\n', ", "));
            Err(Diagnostic::error(Code::TomlSyntax, at, message).with_hint(
                "write `key = \"value\"` lines; long texts go between \"\"\" and \"\"\"",
            ))
        }
    }
}

fn members(table: &DeTable<'_>, places: &Places<'_>) -> Vec<Member> {
    let mut members: Vec<Member> = table
        .iter()
        .map(|(key, value)| Member {
            key: printable(key.get_ref().to_string()),
            key_at: places.position(key.span().start),
            value: node(value, places),
        })
        .collect();
    members.sort_by_key(|member| member.key_at);
    members
}

fn node(value: &Spanned<DeValue<'_>>, places: &Places<'_>) -> Node {
    let at = places.position(value.span().start);
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Scalar(Scalar::text(text.as_ref())),
        DeValue::Integer(integer) => {
            let decimal = i64::from_str_radix(integer.as_str(), integer.radix());
            let text =
                decimal.map_or_else(|_| integer.as_str().to_owned(), |value| value.to_string());
            Kind::Scalar(Scalar::plain(text))
        }
        DeValue::Float(float) => Kind::Scalar(Scalar::plain(float.as_str())),
        DeValue::Boolean(value) => Kind::Scalar(Scalar::plain(value.to_string())),
        DeValue::Datetime(datetime) => Kind::Scalar(Scalar::text(datetime.to_string())),
        DeValue::Array(items) => Kind::List(items.iter().map(|item| node(item, places)).collect()),
        DeValue::Table(table) => Kind::Map(members(table, places)),
    };
    Node::new(at, kind)
}

/// The lines of a text, to turn byte offsets into places.
struct Places<'text> {
    text: &'text str,
    starts: Vec<usize>,
}

impl<'text> Places<'text> {
    fn new(text: &'text str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(index, _)| index + 1)).collect();
        Self { text, starts }
    }

    fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).saturating_add(1);
        Position::new(number(line), number(column))
    }
}
