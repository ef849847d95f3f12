//! Schemas made of schemas: all, any, one or none of them, conditions and references.

use serde_json::Value;

use super::{Check, Checked, Report, Seen};
use crate::run::schema::{
    keyword::Keyword,
    problem::{Place, shown},
};

impl<'v> Check<'v> {
    pub(super) fn combination(
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
}
