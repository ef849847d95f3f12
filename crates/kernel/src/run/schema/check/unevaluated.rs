//! What no other keyword has looked at: `unevaluatedItems` and `unevaluatedProperties`.

use serde_json::Value;

use super::{Check, Checked, Report, Seen};
use crate::run::schema::{keyword::NodeId, problem::Place};

impl<'v> Check<'v> {
    pub(super) fn unevaluated(
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
