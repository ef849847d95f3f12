//! Objects: names that are required, the schemas of properties and of their names.

use serde_json::{Map, Value};

use super::{Check, Checked, Report, Seen};
use crate::run::schema::{
    keyword::{Keyword, NodeId, Properties},
    problem::Place,
};

impl<'v> Check<'v> {
    pub(super) fn object(
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
}
