//! Compiling: a schema document to a list of nodes, with every keyword read and every reference resolved.
//!
//! What is not a schema, what would have to be checked and cannot be, and what would never end is an error with its place.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Number, Value};

use super::{
    keyword::{Bound, Keyword, Node, NodeId, Properties, Size, Type},
    number,
    pattern::Pattern,
    references::{Location, References},
};

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at {}: {message}", if path.is_empty() { "/" } else { path.as_str() })]
pub(crate) struct SchemaError {
    /// The place in the schema, as a JSON pointer.
    pub(crate) path: String,
    /// What is wrong there.
    pub(crate) message: String,
}

pub(super) fn compile(document: &Value) -> Result<(Vec<Node>, NodeId), SchemaError> {
    let references = References::new(document);
    let mut compiler =
        Compiler { references, known: HashMap::new(), nodes: Vec::new(), pending: VecDeque::new() };
    let root = compiler.references.root();
    let root = compiler.enqueue(root);
    while let Some((id, location)) = compiler.pending.pop_front() {
        let node = compiler.node(&location)?;
        if let Some(place) = compiler.nodes.get_mut(id.0) {
            place.keywords = node.keywords;
            place.unevaluated = node.unevaluated;
        }
    }
    compiler.refuse_endless()?;
    Ok((compiler.nodes, root))
}

struct Compiler<'a> {
    references: References<'a>,
    known: HashMap<String, NodeId>,
    nodes: Vec<Node>,
    pending: VecDeque<(NodeId, Location<'a>)>,
}

type Compiled<T> = Result<T, SchemaError>;

/// An error at a keyword of a schema.
fn at(location: &Location<'_>, keyword: &str, message: impl Into<String>) -> SchemaError {
    let path = if keyword.is_empty() {
        location.pointer.clone()
    } else {
        location.child(keyword, &Value::Null).pointer
    };
    SchemaError { path, message: message.into() }
}

impl<'a> Compiler<'a> {
    /// The node of a schema; it is compiled when its turn comes.
    fn enqueue(&mut self, location: Location<'a>) -> NodeId {
        if let Some(id) = self.known.get(&location.pointer) {
            return *id;
        }
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node::default());
        self.known.insert(location.pointer.clone(), id);
        self.pending.push_back((id, location));
        id
    }

    fn node(&mut self, location: &Location<'a>) -> Compiled<Node> {
        let members = match location.schema {
            Value::Bool(true) => return Ok(Node::default()),
            Value::Bool(false) => {
                return Ok(Node { keywords: vec![Keyword::Never], ..Node::default() });
            }
            Value::Object(members) => members,
            other => {
                let message = format!("a schema is an object, true or false, not {}", kind(other));
                return Err(at(location, "", message));
            }
        };
        let mut node = Node::default();
        for (word, value) in members {
            if let Some(keyword) = self.keyword(location, members, word, value)? {
                node.keywords.push(keyword);
            }
        }
        node.keywords.extend(self.properties(location, members)?);
        node.keywords.extend(self.items(location, members)?);
        node.keywords.extend(self.contains(location, members)?);
        node.keywords.extend(self.condition(location, members));
        node.unevaluated.items = self.optional(location, members, "unevaluatedItems");
        node.unevaluated.properties = self.optional(location, members, "unevaluatedProperties");
        Ok(node)
    }

    /// A keyword that stands for itself; those that work together are read afterwards.
    fn keyword(
        &mut self,
        location: &Location<'a>,
        members: &'a Map<String, Value>,
        word: &str,
        value: &'a Value,
    ) -> Compiled<Option<Keyword>> {
        let fail = |message: &str| Err(at(location, word, message));
        let size = |size: Size| match whole(value) {
            Some(limit) => Ok(Some(Keyword::Size { size, limit })),
            None => fail("it must be a whole number from 0"),
        };
        let bound = |bound: Bound| match value.as_number() {
            Some(limit) => Ok(Some(Keyword::Bound { bound, limit: limit.clone() })),
            None => fail("it must be a number"),
        };
        Ok(Some(match word {
            "type" => Keyword::Types(types(location, value)?),
            "enum" => match value {
                Value::Array(values) => Keyword::Enum(values.clone()),
                _ => return fail("it must be a list of values"),
            },
            "const" => Keyword::Const(value.clone()),
            "minimum" => return bound(Bound::Minimum),
            "exclusiveMinimum" => return bound(Bound::ExclusiveMinimum),
            "maximum" => return bound(Bound::Maximum),
            "exclusiveMaximum" => return bound(Bound::ExclusiveMaximum),
            "multipleOf" => match value.as_number() {
                Some(of) if number::compare(of, &Number::from(0)).is_gt() => {
                    Keyword::MultipleOf(of.clone())
                }
                _ => return fail("it must be a number greater than 0"),
            },
            "minLength" => return size(Size::MinLength),
            "maxLength" => return size(Size::MaxLength),
            "minItems" => return size(Size::MinItems),
            "maxItems" => return size(Size::MaxItems),
            "minProperties" => return size(Size::MinProperties),
            "maxProperties" => return size(Size::MaxProperties),
            "pattern" => match value.as_str().map(Pattern::new) {
                Some(Ok(pattern)) => Keyword::Pattern(pattern),
                Some(Err(message)) => return fail(&message),
                None => return fail("it must be a regular expression"),
            },
            "uniqueItems" => match value.as_bool() {
                Some(true) => Keyword::UniqueItems,
                Some(false) => return Ok(None),
                None => return fail("it must be true or false"),
            },
            "required" => Keyword::Required(words(location, word, value)?),
            "propertyNames" => Keyword::PropertyNames(self.enqueue(location.child(word, value))),
            "dependentRequired" => {
                let groups = mapping(location, word, value)?
                    .iter()
                    .map(|(name, others)| Ok((name.clone(), words(location, word, others)?)));
                Keyword::DependentRequired(groups.collect::<Compiled<_>>()?)
            }
            "dependentSchemas" => Keyword::DependentSchemas(self.named(location, word, value)?),
            "dependencies" => return self.dependencies(location, value),
            "allOf" => Keyword::AllOf(self.list(location, word, value)?),
            "anyOf" => Keyword::AnyOf(self.list(location, word, value)?),
            "oneOf" => Keyword::OneOf(self.list(location, word, value)?),
            "not" => Keyword::Not(self.enqueue(location.child(word, value))),
            "$ref" => Keyword::Reference(self.reference(location, word, value)?),
            "$schema" => return dialect(location, value).map(|()| None),
            "$defs" | "definitions" => {
                // Compiled although nothing may refer to them, so that an error is never hidden.
                self.named(location, word, value)?;
                return Ok(None);
            }
            _ => return other(location, members, word).map(|()| None),
        }))
    }

    fn reference(
        &mut self,
        location: &Location<'a>,
        word: &str,
        value: &Value,
    ) -> Compiled<NodeId> {
        let Some(reference) = value.as_str() else {
            return Err(at(location, word, "it must be a text"));
        };
        let Some(target) = self.references.resolve(&location.resource, reference) else {
            let message = format!("`{reference}` leads to no schema in this document");
            return Err(at(location, word, message));
        };
        let id = self.enqueue(target);
        if let Some(node) = self.nodes.get_mut(id.0) {
            node.is_shared = true;
        }
        Ok(id)
    }

    fn optional(
        &mut self,
        location: &Location<'a>,
        members: &'a Map<String, Value>,
        word: &str,
    ) -> Option<NodeId> {
        members.get(word).map(|schema| self.enqueue(location.child(word, schema)))
    }

    fn list(
        &mut self,
        location: &Location<'a>,
        word: &str,
        value: &'a Value,
    ) -> Compiled<Vec<NodeId>> {
        let Some(schemas) = value.as_array().filter(|schemas| !schemas.is_empty()) else {
            return Err(at(location, word, "it must be a list of at least one schema"));
        };
        let list = location.child(word, value);
        let nodes = schemas
            .iter()
            .enumerate()
            .map(|(index, schema)| self.enqueue(list.child(&index.to_string(), schema)));
        Ok(nodes.collect())
    }

    fn named(
        &mut self,
        location: &Location<'a>,
        word: &str,
        value: &'a Value,
    ) -> Compiled<Vec<(String, NodeId)>> {
        let schemas = mapping(location, word, value)?;
        let list = location.child(word, value);
        let nodes = schemas
            .iter()
            .map(|(name, schema)| (name.clone(), self.enqueue(list.child(name, schema))));
        Ok(nodes.collect())
    }

    fn properties(
        &mut self,
        location: &Location<'a>,
        members: &'a Map<String, Value>,
    ) -> Compiled<Option<Keyword>> {
        let mut properties = Properties::default();
        let mut is_written = false;
        if let Some(value) = members.get("properties") {
            is_written = true;
            properties.named = self.named(location, "properties", value)?.into_iter().collect();
        }
        if let Some(value) = members.get("patternProperties") {
            is_written = true;
            for (written, node) in self.named(location, "patternProperties", value)? {
                let pattern = Pattern::new(&written)
                    .map_err(|message| at(location, "patternProperties", message))?;
                properties.patterns.push((pattern, node));
            }
        }
        properties.additional = self.optional(location, members, "additionalProperties");
        is_written |= properties.additional.is_some();
        Ok(is_written.then_some(Keyword::Properties(properties)))
    }

    fn items(
        &mut self,
        location: &Location<'a>,
        members: &'a Map<String, Value>,
    ) -> Compiled<Option<Keyword>> {
        let items = members.get("items");
        let (first, rest) = match (members.get("prefixItems"), items) {
            (Some(_), Some(Value::Array(_))) => {
                return Err(at(location, "items", "it must be a schema beside `prefixItems`"));
            }
            (Some(prefix), _) => (
                self.list(location, "prefixItems", prefix)?,
                self.optional(location, members, "items"),
            ),
            // The older spelling of `prefixItems` and `items`.
            (None, Some(list @ Value::Array(schemas))) => {
                let first = if schemas.is_empty() {
                    Vec::new()
                } else {
                    self.list(location, "items", list)?
                };
                (first, self.optional(location, members, "additionalItems"))
            }
            (None, Some(_)) => (Vec::new(), self.optional(location, members, "items")),
            (None, None) => return Ok(None),
        };
        Ok(Some(Keyword::Items { first, rest }))
    }

    fn contains(
        &mut self,
        location: &Location<'a>,
        members: &'a Map<String, Value>,
    ) -> Compiled<Option<Keyword>> {
        let limit = |word: &str| {
            members.get(word).map_or(Ok(None), |value| match whole(value) {
                Some(limit) => Ok(Some(limit)),
                None => Err(at(location, word, "it must be a whole number from 0")),
            })
        };
        let (least, most) = (limit("minContains")?, limit("maxContains")?);
        let item = self.optional(location, members, "contains");
        Ok(item.map(|item| Keyword::Contains { item, least: least.unwrap_or(1), most }))
    }

    fn condition(
        &mut self,
        location: &Location<'a>,
        members: &'a Map<String, Value>,
    ) -> Option<Keyword> {
        let test = self.optional(location, members, "if");
        let then = self.optional(location, members, "then");
        let otherwise = self.optional(location, members, "else");
        test.map(|test| Keyword::If { test, then, otherwise })
    }

    /// The older spelling of `dependentRequired` and `dependentSchemas`.
    fn dependencies(
        &mut self,
        location: &Location<'a>,
        value: &'a Value,
    ) -> Compiled<Option<Keyword>> {
        let list = location.child("dependencies", value);
        let mut schemas = Vec::new();
        for (name, dependency) in mapping(location, "dependencies", value)? {
            if dependency.is_array() {
                let required = words(&list, name, dependency)?;
                let id = NodeId(self.nodes.len());
                let keywords = vec![Keyword::Required(required)];
                self.nodes.push(Node { keywords, ..Node::default() });
                schemas.push((name.clone(), id));
            } else {
                schemas.push((name.clone(), self.enqueue(list.child(name, dependency))));
            }
        }
        Ok(Some(Keyword::DependentSchemas(schemas)))
    }

    /// A schema that leads back to itself without looking into the value would be checked for ever.
    fn refuse_endless(&self) -> Compiled<()> {
        let edges: Vec<Vec<NodeId>> = self
            .nodes
            .iter()
            .map(|node| node.keywords.iter().flat_map(Keyword::in_place).collect())
            .collect();
        // How many in-place references lead to each; what is never free of them lies on a circle.
        let mut leading = vec![0_usize; edges.len()];
        for target in edges.iter().flatten() {
            if let Some(count) = leading.get_mut(target.0) {
                *count += 1;
            }
        }
        let mut free: Vec<usize> = leading
            .iter()
            .enumerate()
            .filter(|(_, count)| **count == 0)
            .map(|(id, _)| id)
            .collect();
        let mut done = 0;
        while let Some(id) = free.pop() {
            done += 1;
            for target in edges.get(id).into_iter().flatten() {
                let Some(count) = leading.get_mut(target.0) else { continue };
                *count -= 1;
                if *count == 0 {
                    free.push(target.0);
                }
            }
        }
        if done == edges.len() {
            return Ok(());
        }
        let on_circle = |id: NodeId| leading.get(id.0).is_some_and(|count| *count > 0);
        let mut places: Vec<&String> =
            self.known.iter().filter(|(_, id)| on_circle(**id)).map(|(place, _)| place).collect();
        places.sort();
        Err(SchemaError {
            path: places.first().map(|place| (*place).clone()).unwrap_or_default(),
            message: "the schema refers to itself without looking into the value".to_owned(),
        })
    }
}

fn types(location: &Location<'_>, value: &Value) -> Compiled<Vec<Type>> {
    let read = |value: &Value| {
        let word = value.as_str().unwrap_or_default();
        Type::from_word(word).ok_or_else(|| {
            let message = match value {
                Value::String(word) => format!("`{word}` is not a type"),
                _ => "it must be the name of a type, or a list of names".to_owned(),
            };
            at(location, "type", message)
        })
    };
    match value {
        Value::Array(values) if values.is_empty() => Err(at(location, "type", "the list is empty")),
        Value::Array(values) => values.iter().map(read).collect(),
        _ => read(value).map(|only| vec![only]),
    }
}

/// A list of names.
fn words(location: &Location<'_>, word: &str, value: &Value) -> Compiled<Vec<String>> {
    let names = value.as_array().and_then(|values| {
        values.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    names.ok_or_else(|| at(location, word, "it must be a list of names"))
}

fn mapping<'a>(
    location: &Location<'_>,
    word: &str,
    value: &'a Value,
) -> Compiled<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| {
        at(location, word, format!("it must be a mapping of names, not {}", kind(value)))
    })
}

/// A whole number from 0.
fn whole(value: &Value) -> Option<u64> {
    number::integer(value.as_number()?).and_then(|number| u64::try_from(number).ok())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// `$schema` must name a draft whose keywords mean what they mean here.
fn dialect(location: &Location<'_>, value: &Value) -> Compiled<()> {
    let Some(uri) = value.as_str() else {
        return Err(at(location, "$schema", "it must be a text"));
    };
    let known =
        ["draft-06", "draft-07", "2019-09", "2020-12"].iter().any(|draft| uri.contains(draft));
    // The address without a draft means the newest one.
    let newest = uri.trim_end_matches('#').ends_with("json-schema.org/schema");
    if known || newest {
        return Ok(());
    }
    let message = format!("`{uri}` is not supported; use draft 2020-12 or draft-07");
    Err(at(location, "$schema", message))
}

/// Keywords that say nothing about which values are valid.
const ANNOTATIONS: [&str; 18] = [
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$id",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
    "propertyOrdering",
];

/// Keywords that are read together with another.
const TOGETHER: [&str; 15] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "maxContains",
    "minContains",
    "patternProperties",
    "prefixItems",
    "properties",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$ref",
];

/// Keywords that are read alone, for the look-up of slips.
const ALONE: [&str; 28] = [
    "allOf",
    "anyOf",
    "const",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maximum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minimum",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "propertyNames",
    "required",
    "type",
    "uniqueItems",
    "$defs",
    "$schema",
];

/// A keyword that is not checked: an annotation, or one that must not be passed over in silence.
fn other(location: &Location<'_>, members: &Map<String, Value>, word: &str) -> Compiled<()> {
    if ANNOTATIONS.contains(&word) || TOGETHER.contains(&word) {
        return Ok(());
    }
    let unsupported = match word {
        "$dynamicRef" | "$recursiveRef" => Some("use `$ref`".to_owned()),
        "nullable" => Some("write `type: [string, \"null\"]`".to_owned()),
        "divisibleBy" => Some("use `multipleOf`".to_owned()),
        "disallow" => Some("use `not`".to_owned()),
        "extends" => Some("use `allOf`".to_owned()),
        _ => None,
    };
    if let Some(advice) = unsupported {
        return Err(at(location, word, format!("`{word}` is not supported; {advice}")));
    }
    let known = || ANNOTATIONS.iter().chain(&TOGETHER).chain(&ALONE);
    // A word that is one slip away from a keyword that the schema does not have.
    let near = known().find(|keyword| {
        keyword.len() > 3
            && strsim::osa_distance(&word.to_lowercase(), &keyword.to_lowercase()) <= 1
            && !members.contains_key(**keyword)
    });
    match near {
        Some(near) => {
            Err(at(location, word, format!("`{word}` is not a keyword; did you mean `{near}`?")))
        }
        None => Ok(()),
    }
}
