//! Output schemas: JSON Schema, checked at a bounded cost.
//!
//! Any schema with any value costs bounded time and memory: every step of a check spends fuel, nesting is limited, and
//! patterns run on an engine that does not backtrack. A check that runs out of fuel is an error, never a pass.
//!
//! The vocabulary is that of draft 2020-12, with the older spellings of drafts 6 to 2019-09 (`definitions`, `dependencies`,
//! `items` as a list, `additionalItems`). `format` and the `content*` keywords are annotations. A keyword that would have
//! to be checked and cannot be is an error when the schema is compiled.

mod check;
mod compile;
mod equality;
mod keyword;
mod number;
mod pattern;
mod problem;
mod references;

use serde_json::Value;

use self::{
    check::Check,
    keyword::{Node, NodeId},
};
pub(crate) use self::{check::TooComplex, compile::SchemaError, problem::Problems};

/// A schema that values can be checked against.
#[derive(Debug)]
pub(crate) struct Schema {
    nodes: Vec<Node>,
    root: NodeId,
}

impl Schema {
    /// Compiles a schema; an error says where it is wrong.
    pub(crate) fn new(schema: &Value) -> Result<Self, SchemaError> {
        let (nodes, root) = compile::compile(schema)?;
        Ok(Self { nodes, root })
    }

    /// Whether a value satisfies the schema.
    pub(crate) fn accepts(&self, value: &Value) -> Result<bool, TooComplex> {
        Check::new(self).accepts(value)
    }

    /// What is wrong with a value, at most `most` places.
    pub(crate) fn problems(&self, value: &Value, most: usize) -> Result<Problems, TooComplex> {
        Check::new(self).problems(value, most)
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }
}

#[cfg(test)]
mod differential;
#[cfg(test)]
mod tests;
