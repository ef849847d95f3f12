//! Arrays: unique items, the schemas of items, and how many items satisfy one.

use std::collections::HashSet;

use serde_json::Value;

use super::{Check, Checked, Report, Seen};
use crate::run::schema::{equality::fingerprint, keyword::Keyword, problem::Place};

impl<'v> Check<'v> {
    pub(super) fn array(
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
}
