//! What a value says by itself: its type, its place in an enumeration, bounds, sizes and patterns.

use serde_json::Value;

use super::{Check, Checked, Report};
use crate::run::schema::{
    equality::{is_equal, size},
    keyword::{Bound, Keyword, Size, Type},
    number,
    problem::{Place, listed, shown},
};

impl Check<'_> {
    pub(super) fn types(
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

    pub(super) fn one_of_values(
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

    pub(super) fn scalar(
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
}
