//! The check of one value: every step spends fuel, every level counts, and what runs out is an error.

mod array;
mod combination;
mod object;
mod scalar;
mod unevaluated;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{
    Schema,
    equality::{is_equal, size},
    keyword::{Keyword, Node, NodeId},
    problem::{Place, Problem, Problems, shown},
};

/// The steps that one check may take. A step is of the order of 50 ns.
const FUEL: u64 = 4_000_000;
/// How deep schemas may apply schemas.
const MAX_DEPTH: u32 = 400;
/// How many verdicts of shared schemas are remembered.
const MAX_REMEMBERED: usize = 100_000;

/// A check that would take too long, or go too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooComplex {
    /// The steps are used up.
    #[error("the schema is too complex to check this value: more than {FUEL} steps")]
    Steps,
    /// The schemas are nested too deeply.
    #[error(
        "the value is nested too deeply to be checked: more than {MAX_DEPTH} levels of schemas"
    )]
    Depth,
}

/// Whether problems are collected. Where they are not, the first one ends the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Silent,
    Aloud,
}

/// What the keywords of a schema have looked at, for `unevaluatedItems` and `unevaluatedProperties`.
#[derive(Debug, Default)]
struct Seen<'v> {
    all_properties: bool,
    properties: HashSet<&'v str>,
    all_items: bool,
    first_items: usize,
    items: HashSet<usize>,
}

impl Seen<'_> {
    fn add(&mut self, other: Self) {
        self.all_properties |= other.all_properties;
        self.all_items |= other.all_items;
        self.first_items = self.first_items.max(other.first_items);
        self.properties.extend(other.properties);
        self.items.extend(other.items);
    }

    fn has_item(&self, index: usize) -> bool {
        self.all_items || index < self.first_items || self.items.contains(&index)
    }
}

type Checked<T> = Result<T, TooComplex>;

pub(super) struct Check<'v> {
    schema: &'v Schema,
    fuel: u64,
    depth: u32,
    /// The verdicts of shared schemas on values, by the values' addresses.
    verdicts: HashMap<(NodeId, usize), bool>,
    problems: Problems,
    most: usize,
}

impl<'v> Check<'v> {
    pub(super) fn new(schema: &'v Schema) -> Self {
        Self {
            schema,
            fuel: FUEL,
            depth: 0,
            verdicts: HashMap::new(),
            problems: Problems::default(),
            most: 0,
        }
    }

    pub(super) fn accepts(mut self, value: &'v Value) -> Checked<bool> {
        self.holds(self.schema.root, value, &Place::Root, Report::Silent, None)
    }

    pub(super) fn problems(mut self, value: &'v Value, most: usize) -> Checked<Problems> {
        self.most = most;
        self.holds(self.schema.root, value, &Place::Root, Report::Aloud, None)?;
        Ok(self.problems)
    }

    fn spend(&mut self, steps: u64) -> Checked<()> {
        self.fuel = self.fuel.checked_sub(steps).ok_or(TooComplex::Steps)?;
        Ok(())
    }

    fn spend_on(&mut self, count: usize) -> Checked<()> {
        self.spend(u64::try_from(count).unwrap_or(u64::MAX))
    }

    /// Whether a value satisfies one schema. `seen` takes in what the schema has looked at.
    fn holds(
        &mut self,
        id: NodeId,
        value: &'v Value,
        place: &Place<'_>,
        report: Report,
        seen: Option<&mut Seen<'v>>,
    ) -> Checked<bool> {
        self.spend(1)?;
        let Some(node) = self.schema.node(id) else { return Ok(true) };
        let container = value.is_object() || value.is_array();
        let remembers = node.is_shared && container && report == Report::Silent && seen.is_none();
        let known = (id, std::ptr::from_ref(value).addr());
        if remembers && let Some(verdict) = self.verdicts.get(&known) {
            return Ok(*verdict);
        }
        if self.depth == MAX_DEPTH {
            return Err(TooComplex::Depth);
        }
        self.depth += 1;
        let verdict = self.node_holds(id, value, place, report, seen);
        self.depth -= 1;
        let verdict = verdict?;
        if remembers && self.verdicts.len() < MAX_REMEMBERED {
            self.verdicts.insert(known, verdict);
        }
        Ok(verdict)
    }

    fn node_holds(
        &mut self,
        id: NodeId,
        value: &'v Value,
        place: &Place<'_>,
        report: Report,
        seen: Option<&mut Seen<'v>>,
    ) -> Checked<bool> {
        let schema = self.schema;
        let Some(node) = schema.node(id) else { return Ok(true) };
        let looks_back = node.unevaluated.items.is_some() || node.unevaluated.properties.is_some();
        let mut own = (looks_back || seen.is_some()).then(Seen::default);
        let mut verdict = true;
        for keyword in &node.keywords {
            verdict &= self.keyword(keyword, value, place, report, own.as_mut())?;
            if !verdict && report == Report::Silent {
                return Ok(false);
            }
        }
        if looks_back && let Some(own) = own.as_mut() {
            verdict &= self.unevaluated(id, value, place, report, own)?;
        }
        if verdict && let (Some(seen), Some(own)) = (seen, own) {
            self.spend_on(own.properties.len() + own.items.len())?;
            seen.add(own);
        }
        Ok(verdict)
    }

    fn problem(
        &mut self,
        place: &Place<'_>,
        report: Report,
        message: impl FnOnce() -> String,
    ) -> Checked<bool> {
        if report == Report::Silent {
            return Ok(false);
        }
        self.spend(10)?;
        if self.problems.has_more {
            return Ok(false);
        }
        let path = place.to_string();
        let is_new = self.problems.found.iter().all(|problem| problem.path != path);
        let mut places: Vec<&str> =
            self.problems.found.iter().map(|problem| problem.path.as_str()).collect();
        places.sort_unstable();
        places.dedup();
        if is_new && places.len() >= self.most {
            self.problems.has_more = true;
            return Ok(false);
        }
        // Many problems of one place say no more than a few.
        if self.problems.found.iter().filter(|problem| problem.path == path).count() < 5 {
            let problem = Problem { path, message: message() };
            if !self.problems.found.contains(&problem) {
                self.problems.found.push(problem);
            }
        }
        Ok(false)
    }

    fn keyword(
        &mut self,
        keyword: &'v Keyword,
        value: &'v Value,
        place: &Place<'_>,
        report: Report,
        seen: Option<&mut Seen<'v>>,
    ) -> Checked<bool> {
        self.spend(1)?;
        match keyword {
            Keyword::Never => {
                self.problem(place, report, || "the schema allows no value here".to_owned())
            }
            Keyword::Types(types) => self.types(types, value, place, report),
            Keyword::Enum(values) => self.one_of_values(values, value, place, report),
            Keyword::Const(wanted) => {
                self.spend(size(wanted))?;
                if is_equal(wanted, value) {
                    return Ok(true);
                }
                self.problem(place, report, || format!("{} was expected", shown(wanted)))
            }
            Keyword::Bound { .. }
            | Keyword::MultipleOf(_)
            | Keyword::Size { .. }
            | Keyword::Pattern(_) => self.scalar(keyword, value, place, report),
            Keyword::UniqueItems | Keyword::Items { .. } | Keyword::Contains { .. } => {
                match value {
                    Value::Array(items) => self.array(keyword, items, place, report, seen),
                    _ => Ok(true),
                }
            }
            Keyword::Required(_)
            | Keyword::Properties(_)
            | Keyword::PropertyNames(_)
            | Keyword::DependentRequired(_)
            | Keyword::DependentSchemas(_) => self.object(keyword, value, place, report, seen),
            Keyword::AllOf(_)
            | Keyword::AnyOf(_)
            | Keyword::OneOf(_)
            | Keyword::Not(_)
            | Keyword::If { .. }
            | Keyword::Reference(_) => self.combination(keyword, value, place, report, seen),
        }
    }

    fn refuses(&self, node: NodeId) -> bool {
        self.schema.node(node).is_some_and(Node::refuses_everything)
    }
}
