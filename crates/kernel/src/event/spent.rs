//! What an event spent: the tokens and the money of one call of a model.
//!
//! The one place that says which events spend. On disk that is every event with a `usage`, so a line
//! can be asked without its message being read; both ways give the same answer.

use std::borrow::Cow;

use serde::Deserialize;

use super::Event;
use crate::usage::Usage;

impl Event {
    /// The tokens it used and what they cost, if it called a model; no cost is one without a price.
    pub fn spent(&self) -> Option<(&Usage, Option<f64>)> {
        match self {
            Self::Replied { usage, cost_usd, .. } => Some((usage, *cost_usd)),
            _ => None,
        }
    }
}

/// What one line of a transcript spent, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct SpentLine<'line> {
    /// When, as an RFC 3339 timestamp.
    pub ts: Cow<'line, str>,
    /// The tokens.
    pub usage: Usage,
    /// What they cost; none is a call without a price.
    pub cost_usd: Option<f64>,
}

impl<'line> SpentLine<'line> {
    /// What every line that spent something holds, in these very bytes; no other line need be parsed.
    pub const MARK: &'static str = "\"usage\"";

    /// What a line spent; none if it spent nothing. Whatever else it holds is passed over.
    pub fn parse(line: &'line [u8]) -> Result<Option<Self>, serde_json::Error> {
        let LightLine { ts, event } = serde_json::from_slice(line)?;
        let Some(LightEvent { usage: Some(usage), cost_usd }) = event else { return Ok(None) };
        Ok(Some(Self { ts, usage, cost_usd }))
    }
}

#[derive(Deserialize)]
struct LightLine<'line> {
    #[serde(borrow)]
    ts: Cow<'line, str>,
    event: Option<LightEvent>,
}

#[derive(Deserialize)]
struct LightEvent {
    usage: Option<Usage>,
    cost_usd: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Line;

    const GOLDEN: &str = include_str!("../../tests/it/golden/transcript.jsonl");

    #[test]
    fn a_line_tells_what_its_event_tells() {
        let mut spending = 0;
        for text in GOLDEN.lines() {
            let line = SpentLine::parse(text.as_bytes()).unwrap();
            let whole = match Line::parse(text).unwrap() {
                Line::Header(_) => None,
                Line::Event(entry) => entry.event.spent().map(|(usage, cost_usd)| SpentLine {
                    ts: entry.ts.clone().into(),
                    usage: usage.clone(),
                    cost_usd,
                }),
            };
            assert_eq!(line, whole, "{text}");
            assert!(line.is_none() || text.contains(SpentLine::MARK), "{text}");
            spending += usize::from(line.is_some());
        }
        assert_eq!(spending, 2);
    }

    #[test]
    fn what_a_message_says_of_usage_spends_nothing() {
        let line = r#"{"type":"event","seq":1,"ts":"t","at_ms":0,"event":{"type":"reminded","message":{"usage":{"input_tokens":7}}}}"#;
        assert_eq!(SpentLine::parse(line.as_bytes()).unwrap(), None);
        assert!(SpentLine::parse(b"{\"usage\"").is_err());
    }

    #[test]
    fn a_call_without_a_price_has_no_cost() {
        let line = r#"{"ts":"t","event":{"type":"summed_up","usage":{"input_tokens":7}}}"#;
        let spent = SpentLine::parse(line.as_bytes()).unwrap().unwrap();
        assert_eq!((spent.usage.total_tokens(), spent.cost_usd), (7, None));
    }
}
