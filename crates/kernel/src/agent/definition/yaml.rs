//! Strict YAML: text to a tree of nodes with their places in the file, within a budget.

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::{
    diagnostic::Position,
    node::{Kind, Member, Node, Scalar, Style, printable},
};

/// Limits that real headers do not reach; hostile ones, with aliases of aliases, do.
const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 20_000;

/// Why a text is not a YAML mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YamlError {
    pub(crate) at: Position,
    pub(crate) message: String,
    /// What to do, where more is known than that the YAML is wrong.
    pub(crate) hint: Option<&'static str>,
}

impl YamlError {
    pub(crate) fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: None }
    }

    /// The same at the tab that most likely caused it: the parser may stumble over it lines later.
    fn at_tab(self, text: &str, first_line: u32) -> Self {
        let lines = (first_line..).zip(text.lines());
        let indented = lines.filter_map(|(number, line)| {
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            let tab = line.get(..indent)?.find('\t')?;
            (indent < line.len()).then_some((number, tab))
        });
        let nearest = indented.min_by_key(|(number, _)| number.abs_diff(self.at.line));
        let says_so = self.message.contains("tab");
        match nearest {
            Some((number, tab)) if says_so || number.abs_diff(self.at.line) <= 1 => Self {
                at: Position::new(number, u32::try_from(tab + 1).unwrap_or(u32::MAX)),
                message: "the line is indented with a tab".to_owned(),
                hint: Some("indent with spaces; YAML does not allow tabs there"),
            },
            _ => self,
        }
    }
}

/// The one document of a YAML text. `first_line` is the line of the file the text begins at.
pub(crate) fn parse(text: &str, first_line: u32) -> Result<Node, YamlError> {
    let mut options = Options::default();
    options.disallow_directives = true;
    options.set_emit_comments(false);
    let parser = Parser::new_from_str_with_options(text, options);
    let builder = Builder { parser, first_line, nodes: 0, anchors: Vec::new() };
    builder.document().map_err(|error| error.at_tab(text, first_line))
}

struct Builder<'text> {
    parser: Parser<'text, StrInput<'text>>,
    first_line: u32,
    nodes: usize,
    anchors: Vec<(usize, Node)>,
}

impl<'text> Builder<'text> {
    fn document(mut self) -> Result<Node, YamlError> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                _ if root.is_some() => {
                    return Err(self.error(span, "a second document begins here"));
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
        let empty = || Node::new(Position::new(self.first_line, 1), Kind::Map(Vec::new()));
        Ok(root.unwrap_or_else(empty))
    }

    fn next(&mut self) -> Result<(Event<'text>, Span), YamlError> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.scan_error(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'text>, span: Span, depth: usize) -> Result<Node, YamlError> {
        self.nodes += 1;
        if depth > MAX_DEPTH {
            return Err(self.error(span, "it is nested too deeply"));
        }
        if self.nodes > MAX_NODES {
            return Err(self.error(span, "it has too many values"));
        }
        let at = self.position(span);
        let (anchor, kind) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    _ => Style::Text,
                };
                (anchor, Kind::Scalar(Scalar { text: printable(text.into_owned()), style }))
            }
            Event::SequenceStart(_, anchor, _) => (anchor, Kind::List(self.list(depth)?)),
            Event::MappingStart(_, anchor, _) => (anchor, Kind::Map(self.map(depth)?)),
            Event::Alias(id) => return self.alias(id, span),
            _ => return Err(self.error(span, "unexpected end of a value")),
        };
        let node = Node::new(at, kind);
        if anchor != 0 {
            self.anchors.push((anchor, node.clone()));
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (Event::StreamEnd, span) => return Err(self.error(span, "the list has no end")),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Member>, YamlError> {
        let mut members: Vec<Member> = Vec::new();
        let mut merged: Vec<Member> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                // What is written here wins over what is merged, and the first merge over the others.
                for member in merged {
                    if !members.iter().any(|known| known.key == member.key) {
                        members.push(member);
                    }
                }
                return Ok(members);
            }
            let key = self.node(event, span, depth + 1)?;
            let Kind::Scalar(Scalar { text, .. }) = key.kind else {
                return Err(self.error(span, "a key must be a word"));
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            match merge(&text, key.at, &value) {
                Some(merge) => merged.extend(merge),
                None => members.push(Member { key: text, key_at: key.at, value }),
            }
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<Node, YamlError> {
        let target = self.anchors.iter().rev().find(|(anchor, _)| *anchor == id);
        let Some((_, node)) = target else {
            return Err(self.error(span, "an alias refers to an anchor that is not there"));
        };
        let node = Node::new(self.position(span), node.kind.clone());
        self.nodes += node.size();
        if self.nodes > MAX_NODES {
            return Err(self.error(span, "it has too many values"));
        }
        Ok(node)
    }

    fn position(&self, span: Span) -> Position {
        self.place(span.start.line(), span.start.col())
    }

    fn place(&self, line: usize, column: usize) -> Position {
        let line = u32::try_from(line.max(1) - 1).unwrap_or(u32::MAX);
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        Position::new(self.first_line.saturating_add(line), column.saturating_add(1))
    }

    fn error(&self, span: Span, message: &str) -> YamlError {
        YamlError::new(self.position(span), message)
    }

    fn scan_error(&self, error: &ScanError) -> YamlError {
        let marker = error.marker();
        YamlError::new(self.place(marker.line(), marker.col()), error.info())
    }
}

/// The members that a merge key brings in (`<<: *base`, `<<: [*one, *other]`); none of another key, or if the
/// value is not made of mappings. They stand at the merge key's place.
fn merge(key: &str, at: Position, value: &Node) -> Option<Vec<Member>> {
    if key != MERGE_KEY {
        return None;
    }
    let of_map = |node: &Node| match &node.kind {
        Kind::Map(members) => {
            let members = members.iter().cloned();
            Some(members.map(|member| Member { key_at: at, ..member }).collect::<Vec<_>>())
        }
        Kind::Scalar(_) | Kind::List(_) => None,
    };
    match &value.kind {
        Kind::List(items) => {
            let maps: Option<Vec<_>> = items.iter().map(of_map).collect();
            maps.map(|maps| maps.into_iter().flatten().collect())
        }
        Kind::Map(_) | Kind::Scalar(_) => of_map(value),
    }
}

/// The key that merges other mappings into one.
pub(crate) const MERGE_KEY: &str = "<<";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(text: &str) -> serde_json::Value {
        parse(text, 1).unwrap().to_json()
    }

    #[test]
    fn trees_keep_their_places() {
        let node = parse("name: x\ntools:\n  - Read\n", 5).unwrap();
        let Kind::Map(members) = &node.kind else { panic!("a mapping") };
        assert_eq!(members[1].key_at, Position::new(6, 1));
        let Kind::List(items) = &members[1].value.kind else { panic!("a list") };
        assert_eq!(items[0].at, Position::new(7, 5));
    }

    #[test]
    fn blocks_flows_and_aliases() {
        assert_eq!(
            object("a: |\n  x\n  y\nb: >-\n  x\n  y\nc: &k [1, two]\nd: *k\ne: {f: 'g'}\nh:\n"),
            json!({"a": "x\ny\n", "b": "x y", "c": [1, "two"], "d": [1, "two"], "e": {"f": "g"}, "h": null})
        );
        assert_eq!(object(""), json!({}));
    }

    #[test]
    fn merge_keys_bring_in_what_is_not_written() {
        assert_eq!(
            object(
                "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: [*a, *b], x: 5}\nd: {<<: *a}\n<<: *b\n"
            ),
            json!({"a": {"x": 1, "y": 2}, "b": {"y": 3, "z": 4}, "c": {"x": 5, "y": 2, "z": 4},
                   "d": {"x": 1, "y": 2}, "y": 3, "z": 4})
        );
        assert_eq!(object("<<: words\n"), json!({"<<": "words"}));
    }

    #[test]
    fn errors_have_a_place_in_the_file() {
        let error = parse("name: x\ndescription: a: b\n", 2).unwrap_err();
        assert_eq!(error.at.line, 3);
    }

    #[test]
    fn hostile_texts_are_refused() {
        let deep = "[".repeat(100_000);
        assert!(parse(&deep, 1).is_err());
        let levels = (1..12).map(|level| {
            let refs = vec![format!("*a{}", level - 1); 10].join(",");
            format!("a{level}: &a{level} [{refs}]\n")
        });
        let bomb: String =
            std::iter::once("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned()).chain(levels).collect();
        assert!(parse(&bomb, 1).unwrap_err().message.contains("too many"));
    }
}
