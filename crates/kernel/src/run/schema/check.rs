//! The check of one value: every step spends fuel, every level counts, and what runs out is an error.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    Schema,
    equality::{fingerprint, is_equal, size},
    keyword::{Bound, Keyword, Node, NodeId, Properties, Size, Type},
    number,
    problem::{Place, Problem, Problems, listed, shown},
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

    fn types(
        &mut self,
        types: &[Type],
        value: &Value,
        place: &Place<'_>,
        report: Report,
    ) -> Checked<bool> {
        let is = |kind: &Type| match (kind, value) {
            (Type::Array, Value::Array(_))
            | (Type::Boolean, Value::Bool(_))
            | (Type::Null, Value::Null)
            | (Type::Number, Value::Number(_))
            | (Type::Object, Value::Object(_))
            | (Type::String, Value::String(_)) => true,
            (Type::Integer, Value::Number(number)) => number::is_whole(number),
            _ => false,
        };
        if types.iter().any(is) {
            return Ok(true);
        }
        self.problem(place, report, || {
            let names: Vec<String> =
                types.iter().map(|kind| format!("\"{}\"", kind.as_str())).collect();
            format!("{} is not of type {}", shown(value), listed(&names))
        })
    }

    fn one_of_values(
        &mut self,
        values: &[Value],
        value: &Value,
        place: &Place<'_>,
        report: Report,
    ) -> Checked<bool> {
        for wanted in values {
            self.spend(size(wanted))?;
            if is_equal(wanted, value) {
                return Ok(true);
            }
        }
        self.problem(place, report, || {
            let values: Vec<String> = values.iter().map(shown).collect();
            format!("{} is not one of {}", shown(value), listed(&values))
        })
    }

    fn scalar(
        &mut self,
        keyword: &Keyword,
        value: &Value,
        place: &Place<'_>,
        report: Report,
    ) -> Checked<bool> {
        match (keyword, value) {
            (Keyword::Bound { bound, limit }, Value::Number(number)) => {
                let order = number::compare(number, limit);
                let (holds, relation) = match bound {
                    Bound::Minimum => (order.is_ge(), "less than the minimum of"),
                    Bound::ExclusiveMinimum => (order.is_gt(), "not greater than"),
                    Bound::Maximum => (order.is_le(), "greater than the maximum of"),
                    Bound::ExclusiveMaximum => (order.is_lt(), "not less than"),
                };
                if holds {
                    return Ok(true);
                }
                self.problem(place, report, || format!("{number} is {relation} {limit}"))
            }
            (Keyword::MultipleOf(of), Value::Number(number)) => {
                if number::is_multiple(number, of) {
                    return Ok(true);
                }
                self.problem(place, report, || format!("{number} is not a multiple of {of}"))
            }
            (Keyword::Pattern(pattern), Value::String(text)) => {
                self.spend(pattern.cost(text))?;
                if pattern.is_match(text) {
                    return Ok(true);
                }
                self.problem(place, report, || {
                    format!("{} does not match \"{}\"", shown(value), pattern.written)
                })
            }
            (Keyword::Size { size, limit }, _) => self.size(*size, *limit, value, place, report),
            _ => Ok(true),
        }
    }

    fn size(
        &mut self,
        size: Size,
        limit: u64,
        value: &Value,
        place: &Place<'_>,
        report: Report,
    ) -> Checked<bool> {
        let (count, unit) = match (size, value) {
            (Size::MinLength | Size::MaxLength, Value::String(text)) => {
                self.spend_on(text.len() / 64)?;
                (text.chars().count(), "characters")
            }
            (Size::MinItems | Size::MaxItems, Value::Array(items)) => (items.len(), "items"),
            (Size::MinProperties | Size::MaxProperties, Value::Object(members)) => {
                (members.len(), "properties")
            }
            _ => return Ok(true),
        };
        let length = u64::try_from(count).unwrap_or(u64::MAX);
        let (holds, relation) = match size {
            Size::MinLength | Size::MinItems | Size::MinProperties => {
                (length >= limit, "fewer than")
            }
            Size::MaxLength | Size::MaxItems | Size::MaxProperties => {
                (length <= limit, "more than")
            }
        };
        if holds {
            return Ok(true);
        }
        self.problem(place, report, || format!("it has {count} {unit}, {relation} {limit}"))
    }

    fn array(
        &mut self,
        keyword: &'v Keyword,
        items: &'v [Value],
        place: &Place<'_>,
        report: Report,
        seen: Option<&mut Seen<'v>>,
    ) -> Checked<bool> {
        match keyword {
            Keyword::UniqueItems => {
                let mut known = HashSet::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let text = fingerprint(item);
                    self.spend_on(1 + text.len() / 16)?;
                    if !known.insert(text) {
                        return self.problem(&Place::Index(place, index), report, || {
                            "the same item stands in the list before".to_owned()
                        });
                    }
                }
                Ok(true)
            }
            Keyword::Items { first, rest } => {
                let mut verdict = true;
                for (index, item) in items.iter().enumerate() {
                    let Some(node) = first.get(index).copied().or(*rest) else { break };
                    if index >= first.len() && self.refuses(node) {
                        let allowed = first.len();
                        return self.problem(place, report, || {
                            format!("it has {} items, more than {allowed}", items.len())
                        });
                    }
                    let inner = Place::Index(place, index);
                    verdict &= self.holds(node, item, &inner, report, None)?;
                    if !verdict && report == Report::Silent {
                        return Ok(false);
                    }
                }
                if let Some(seen) = seen {
                    seen.first_items = seen.first_items.max(first.len());
                    seen.all_items |= rest.is_some();
                }
                Ok(verdict)
            }
            Keyword::Contains { item, least, most } => {
                let mut count = 0_u64;
                let mut matching = HashSet::new();
                for (index, value) in items.iter().enumerate() {
                    if self.holds(*item, value, place, Report::Silent, None)? {
                        count += 1;
                        matching.insert(index);
                    }
                }
                if let Some(seen) = seen {
                    seen.items.extend(matching);
                }
                if count < *least {
                    return self.problem(place, report, || {
                        format!("{count} of its items match `contains`, fewer than {least}")
                    });
                }
                match most {
                    Some(most) if count > *most => self.problem(place, report, || {
                        format!("{count} of its items match `contains`, more than {most}")
                    }),
                    _ => Ok(true),
                }
            }
            _ => Ok(true),
        }
    }

    fn refuses(&self, node: NodeId) -> bool {
        self.schema.node(node).is_some_and(Node::refuses_everything)
    }

    fn object(
        &mut self,
        keyword: &'v Keyword,
        value: &'v Value,
        place: &Place<'_>,
        report: Report,
        mut seen: Option<&mut Seen<'v>>,
    ) -> Checked<bool> {
        let Value::Object(members) = value else { return Ok(true) };
        let mut verdict = true;
        match keyword {
            Keyword::Required(names) => {
                verdict = self.required(names, members, place, report)?;
            }
            Keyword::Properties(properties) => {
                verdict = self.properties(properties, members, place, report, seen)?;
            }
            Keyword::PropertyNames(node) => {
                for name in members.keys() {
                    self.spend_on(1 + name.len() / 64)?;
                    if !self.name_holds(*node, name)? {
                        verdict = self.problem(place, report, || {
                            format!("\"{name}\" is not an allowed name of a property")
                        })?;
                    }
                }
            }
            Keyword::DependentRequired(groups) => {
                for (name, required) in groups {
                    self.spend(1)?;
                    if members.contains_key(name) {
                        verdict &= self.required(required, members, place, report)?;
                    }
                }
            }
            Keyword::DependentSchemas(schemas) => {
                for (name, node) in schemas {
                    self.spend(1)?;
                    if members.contains_key(name) {
                        verdict &= self.holds(*node, value, place, report, seen.as_deref_mut())?;
                    }
                }
            }
            _ => {}
        }
        Ok(verdict)
    }

    /// Whether a name satisfies a schema. The name is a value of its own, so nothing about it is remembered.
    fn name_holds(&mut self, node: NodeId, name: &str) -> Checked<bool> {
        let name = Value::from(name);
        let mut check = Check::new(self.schema);
        check.fuel = self.fuel;
        check.depth = self.depth;
        let verdict = check.holds(node, &name, &Place::Root, Report::Silent, None);
        self.fuel = check.fuel;
        verdict
    }

    fn required(
        &mut self,
        names: &[String],
        members: &Map<String, Value>,
        place: &Place<'_>,
        report: Report,
    ) -> Checked<bool> {
        let mut verdict = true;
        for name in names {
            self.spend(1)?;
            if !members.contains_key(name) {
                verdict =
                    self.problem(place, report, || format!("\"{name}\" is a required property"))?;
            }
        }
        Ok(verdict)
    }

    fn properties(
        &mut self,
        properties: &'v Properties,
        members: &'v Map<String, Value>,
        place: &Place<'_>,
        report: Report,
        mut seen: Option<&mut Seen<'v>>,
    ) -> Checked<bool> {
        let mut verdict = true;
        for (name, value) in members {
            self.spend(1)?;
            let inner = Place::Key(place, name);
            let mut matched = false;
            if let Some(node) = properties.named.get(name) {
                matched = true;
                verdict &= self.holds(*node, value, &inner, report, None)?;
            }
            for (pattern, node) in &properties.patterns {
                self.spend(pattern.cost(name))?;
                if pattern.is_match(name) {
                    matched = true;
                    verdict &= self.holds(*node, value, &inner, report, None)?;
                }
            }
            if let Some(node) = properties.additional.filter(|_| !matched) {
                matched = true;
                verdict &= if self.refuses(node) {
                    self.problem(place, report, || {
                        format!("\"{name}\" is not an allowed property")
                    })?
                } else {
                    self.holds(node, value, &inner, report, None)?
                };
            }
            if !verdict && report == Report::Silent {
                return Ok(false);
            }
            if let Some(seen) = seen.as_deref_mut().filter(|_| matched) {
                seen.properties.insert(name);
            }
        }
        Ok(verdict)
    }

    fn combination(
        &mut self,
        keyword: &'v Keyword,
        value: &'v Value,
        place: &Place<'_>,
        report: Report,
        mut seen: Option<&mut Seen<'v>>,
    ) -> Checked<bool> {
        match keyword {
            Keyword::AllOf(nodes) => {
                let mut verdict = true;
                for node in nodes {
                    verdict &= self.holds(*node, value, place, report, seen.as_deref_mut())?;
                    if !verdict && report == Report::Silent {
                        break;
                    }
                }
                Ok(verdict)
            }
            Keyword::AnyOf(nodes) => {
                let mut verdict = false;
                for node in nodes {
                    verdict |=
                        self.holds(*node, value, place, Report::Silent, seen.as_deref_mut())?;
                    // What is looked at counts in every alternative that holds.
                    if verdict && seen.is_none() {
                        break;
                    }
                }
                if verdict {
                    return Ok(true);
                }
                self.problem(place, report, || {
                    format!(
                        "{} matches none of the {} schemas of `anyOf`",
                        shown(value),
                        nodes.len()
                    )
                })
            }
            Keyword::OneOf(nodes) => {
                let mut matching = 0_usize;
                for node in nodes {
                    let holds =
                        self.holds(*node, value, place, Report::Silent, seen.as_deref_mut())?;
                    matching += usize::from(holds);
                    if matching > 1 {
                        break;
                    }
                }
                if matching == 1 {
                    return Ok(true);
                }
                self.problem(place, report, || {
                    let count = if matching == 0 { "none" } else { "more than one" };
                    format!(
                        "{} matches {count} of the {} schemas of `oneOf`",
                        shown(value),
                        nodes.len()
                    )
                })
            }
            Keyword::Not(node) => {
                if !self.holds(*node, value, place, Report::Silent, None)? {
                    return Ok(true);
                }
                self.problem(place, report, || {
                    format!("{} matches the schema of `not`", shown(value))
                })
            }
            Keyword::If { test, then, otherwise } => {
                let holds = self.holds(*test, value, place, Report::Silent, seen.as_deref_mut())?;
                match if holds { then } else { otherwise } {
                    Some(node) => self.holds(*node, value, place, report, seen),
                    None => Ok(true),
                }
            }
            Keyword::Reference(node) => self.holds(*node, value, place, report, seen),
            _ => Ok(true),
        }
    }

    fn unevaluated(
        &mut self,
        id: NodeId,
        value: &'v Value,
        place: &Place<'_>,
        report: Report,
        seen: &mut Seen<'v>,
    ) -> Checked<bool> {
        let schema = self.schema;
        let Some(node) = schema.node(id) else { return Ok(true) };
        let mut verdict = true;
        match value {
            Value::Array(items) => {
                let Some(inner) = node.unevaluated.items else { return Ok(true) };
                for (index, item) in items.iter().enumerate() {
                    self.spend(1)?;
                    if !seen.has_item(index) {
                        let place = Place::Index(place, index);
                        verdict &= self.holds(inner, item, &place, report, None)?;
                    }
                }
                seen.all_items = true;
            }
            Value::Object(members) => {
                let Some(inner) = node.unevaluated.properties else { return Ok(true) };
                for (name, member) in members {
                    self.spend(1)?;
                    if seen.all_properties || seen.properties.contains(name.as_str()) {
                        continue;
                    }
                    verdict &= if self.refuses(inner) {
                        let message = || format!("\"{name}\" is not an allowed property");
                        self.problem(place, report, message)?
                    } else {
                        self.holds(inner, member, &Place::Key(place, name), report, None)?
                    };
                }
                seen.all_properties = true;
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(verdict)
    }
}
