//! Keywords: what a compiled schema asks of a value.

use std::collections::HashMap;

use serde_json::{Number, Value};

use super::pattern::Pattern;

/// One schema of a document, by its place in the list of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NodeId(pub(super) usize);

/// One schema: every keyword must hold.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) keywords: Vec<Keyword>,
    /// Checked last, since they ask what the other keywords have looked at.
    pub(super) unevaluated: Unevaluated,
    /// Whether a reference leads here; the verdicts of such a schema are remembered.
    pub(super) is_shared: bool,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Unevaluated {
    pub(super) items: Option<NodeId>,
    pub(super) properties: Option<NodeId>,
}

impl Node {
    /// Whether the schema is `false`.
    pub(super) fn refuses_everything(&self) -> bool {
        matches!(self.keywords.as_slice(), [Keyword::Never])
    }
}

#[derive(Debug)]
pub(super) enum Keyword {
    /// The schema `false`.
    Never,
    Types(Vec<Type>),
    Enum(Vec<Value>),
    Const(Value),
    Bound {
        bound: Bound,
        limit: Number,
    },
    MultipleOf(Number),
    Size {
        size: Size,
        limit: u64,
    },
    Pattern(Pattern),
    UniqueItems,
    Items {
        first: Vec<NodeId>,
        rest: Option<NodeId>,
    },
    Contains {
        item: NodeId,
        least: u64,
        most: Option<u64>,
    },
    Required(Vec<String>),
    Properties(Properties),
    PropertyNames(NodeId),
    DependentRequired(Vec<(String, Vec<String>)>),
    DependentSchemas(Vec<(String, NodeId)>),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If {
        test: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    Reference(NodeId),
}

impl Keyword {
    /// The schemas that this keyword applies to the very same value.
    pub(super) fn in_place(&self) -> Vec<NodeId> {
        match self {
            Self::AllOf(nodes) | Self::AnyOf(nodes) | Self::OneOf(nodes) => nodes.clone(),
            Self::Not(node) | Self::Reference(node) => vec![*node],
            Self::DependentSchemas(schemas) => schemas.iter().map(|(_, node)| *node).collect(),
            Self::If { test, then, otherwise } => {
                std::iter::once(*test).chain(*then).chain(*otherwise).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Properties {
    pub(super) named: HashMap<String, NodeId>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    pub(super) additional: Option<NodeId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Array,
    Boolean,
    Integer,
    Null,
    Number,
    Object,
    String,
}

impl Type {
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("array", Self::Array),
        ("boolean", Self::Boolean),
        ("integer", Self::Integer),
        ("null", Self::Null),
        ("number", Self::Number),
        ("object", Self::Object),
        ("string", Self::String),
    ];

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
    }

    pub(super) fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// A limit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Minimum,
    ExclusiveMinimum,
    Maximum,
    ExclusiveMaximum,
}

/// A limit of a length or a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
}
