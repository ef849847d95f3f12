//! What an event spent: the tokens and the money of one call of a model.
//!
//! The one place that says which events spend. On disk that is every event with a `usage`, and every
//! one by which an answer was lost; so a line can be asked without its message being read, and both
//! ways give the same answer.

use std::borrow::Cow;

use serde::Deserialize;

use super::Event;
use crate::model::usage::Usage;

impl Event {
    /// What it spent, if it called a model.
    pub fn spent(&self) -> Option<Spent> {
        match self {
            Self::Replied { usage, cost_usd, .. } | Self::ModelLent { usage, cost_usd, .. } => {
                Some(Spent { usage: usage.clone(), cost_usd: *cost_usd, answer_lost: false })
            }
            Self::LostAnswerCounted { usage, cost_usd } => {
                Some(Spent { usage: usage.clone(), cost_usd: *cost_usd, answer_lost: true })
            }
            Self::Retrying { answer_lost: true, .. }
            | Self::Failed { answer_lost: true, .. }
            | Self::TimeUp { answer_lost: true }
            | Self::Cancelled { answer_lost: true, .. } => Some(Spent::lost()),
            _ => None,
        }
    }
}

/// What one call of a model spent.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent {
    /// The tokens.
    pub usage: Usage,
    /// What they cost; none is a call without a price.
    pub cost_usd: Option<f64>,
    /// Whether the answer was lost: nobody knows what it cost, nor how many tokens it had.
    pub answer_lost: bool,
}

impl Spent {
    fn lost() -> Self {
        Self { usage: Usage::default(), cost_usd: None, answer_lost: true }
    }
}

/// What one line of a transcript spent, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct SpentLine<'line> {
    /// When, as an RFC 3339 timestamp.
    pub ts: Cow<'line, str>,
    /// What.
    pub spent: Spent,
}

impl<'line> SpentLine<'line> {
    /// One of these every line that spent something holds, in these very bytes; no other line need be
    /// parsed.
    pub const MARKS: [&'static str; 2] = ["\"usage\"", "\"answer_lost\":true"];

    /// What a line spent; none if it spent nothing. Its other fields are ignored.
    pub fn parse(line: &'line [u8]) -> Result<Option<Self>, serde_json::Error> {
        let LightLine { ts, event } = serde_json::from_slice(line)?;
        let spent = match event {
            Some(LightEvent { r#type, usage: Some(usage), cost_usd, .. }) => {
                Spent { usage, cost_usd, answer_lost: r#type == "lost_answer_counted" }
            }
            Some(LightEvent { answer_lost: true, .. }) => Spent::lost(),
            Some(_) | None => return Ok(None),
        };
        Ok(Some(Self { ts, spent }))
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
    #[serde(default)]
    r#type: String,
    usage: Option<Usage>,
    cost_usd: Option<f64>,
    #[serde(default)]
    answer_lost: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::transcript::{Entry, Line};

    const GOLDEN: &str = include_str!("../../../tests/it/golden/transcript.jsonl");

    #[test]
    fn a_line_tells_what_its_event_tells() {
        let mut spending = 0;
        for text in GOLDEN.lines() {
            let line = SpentLine::parse(text.as_bytes()).unwrap();
            let whole = match Line::parse(text).unwrap() {
                Line::Header(_) => None,
                Line::Event(entry) => entry
                    .event
                    .spent()
                    .map(|spent| SpentLine { ts: entry.ts.clone().into(), spent }),
            };
            assert_eq!(line, whole, "{text}");
            assert!(
                line.is_none() || SpentLine::MARKS.iter().any(|mark| text.contains(mark)),
                "{text}"
            );
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
        assert_eq!((spent.spent.usage.total_tokens(), spent.spent.cost_usd), (7, None));
    }

    #[test]
    fn an_answer_that_was_lost_cost_nobody_knows_what() {
        let reason = "it broke off".to_owned();
        let retrying = |answer_lost| {
            let reason = reason.clone();
            Event::Retrying { attempt: 2, max_retries: 5, delay_ms: 1, reason, answer_lost }
        };
        let usage = Usage { input_tokens: 7, ..Usage::default() };
        let counted = Some(Event::LostAnswerCounted { usage, cost_usd: Some(0.5) });
        let failed = |answer_lost| Event::Failed { message: reason.clone(), answer_lost };
        for lost in [true, false] {
            for event in [
                retrying(lost),
                failed(lost),
                Event::TimeUp { answer_lost: lost },
                Event::Cancelled { answer_lost: lost, turn_only: false },
            ]
            .into_iter()
            .chain(counted.clone().filter(|_| lost))
            {
                let spent = event.spent();
                assert_eq!(spent.as_ref().map(|spent| spent.answer_lost), lost.then_some(true));
                let entry = Entry::new(1, "t", std::time::Duration::ZERO, event);
                let text = Line::Event(entry).to_json().unwrap();
                let marked = SpentLine::MARKS.iter().any(|mark| text.contains(mark));
                assert_eq!(marked, lost, "{text}");
                let line = SpentLine::parse(text.as_bytes()).unwrap();
                assert_eq!(line.map(|line| line.spent), spent, "{text}");
            }
        }
    }
}
