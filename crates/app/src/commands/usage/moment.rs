//! Moments: the two ends of the time that is looked at.
//!
//! A day is meant whole, whichever end it stands at: from its first moment, and up to its last.

use std::time::Duration;

use jiff::{Timestamp, ToSpan as _, Zoned, civil::Date};

use crate::{duration, failure::Failure};

const SPELLINGS: &str = "give a day (2026-11-01, today, yesterday) or an age (7d, 2w, 12h, 90m)";

/// An end as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// That day.
    Day(Date),
    /// The day that many days before today.
    DaysAgo(u32),
    /// So long before now.
    Ago(Duration),
}

/// An end as it is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Day(Date),
    At(Timestamp),
}

/// The time that is looked at; an end that is not given is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    since: Option<End>,
    until: Option<End>,
}

/// A moment such as `7d` or `2026-11-01`.
pub(super) fn parse(written: &str) -> Result<Moment, String> {
    let written = written.trim();
    match written {
        "today" => return Ok(Moment::DaysAgo(0)),
        "yesterday" => return Ok(Moment::DaysAgo(1)),
        _ => {}
    }
    let days = |unit: char, length: u32| -> Option<u32> {
        written.strip_suffix(unit)?.parse::<u32>().ok()?.checked_mul(length)
    };
    if let Some(days) = days('d', 1).or_else(|| days('w', 7)) {
        return Ok(Moment::DaysAgo(days));
    }
    // A timestamp would be read as its day, and the rest of it left aside.
    if written.len() == "2026-11-01".len() && written.contains('-') {
        let day = written.parse().map_err(|_| format!("there is no such day; {SPELLINGS}"))?;
        return Ok(Moment::Day(day));
    }
    duration::age(written).map(Moment::Ago).map_err(|_| SPELLINGS.to_owned())
}

impl Moment {
    fn meant(self, now: &Zoned) -> Result<End, Failure> {
        let too_long =
            |_| Failure::usage("that is longer ago than days are counted").hint(SPELLINGS);
        match self {
            Self::Day(day) => Ok(End::Day(day)),
            Self::DaysAgo(days) => {
                let ago = 1_i64.days().checked_mul(i64::from(days)).map_err(too_long)?;
                now.date().checked_sub(ago).map(End::Day).map_err(too_long)
            }
            Self::Ago(age) => now.timestamp().checked_sub(age).map(End::At).map_err(too_long),
        }
    }
}

impl Span {
    /// The span between two ends.
    pub(super) fn new(
        since: Option<Moment>,
        until: Option<Moment>,
        now: &Zoned,
    ) -> Result<Self, Failure> {
        let meant = |end: Option<Moment>| end.map(|end| end.meant(now)).transpose();
        let (since, until) = (meant(since)?, meant(until)?);
        let day = |end: End| match end {
            End::Day(day) => day,
            End::At(at) => now.time_zone().to_datetime(at).date(),
        };
        let backwards = match (since, until) {
            (Some(End::At(since)), Some(End::At(until))) => since > until,
            (Some(since), Some(until)) => day(since) > day(until),
            (Some(_) | None, None) | (None, Some(_)) => false,
        };
        if backwards {
            return Err(Failure::usage("--until lies before --since")
                .hint("exchange the two; both may be the same day"));
        }
        Ok(Self { since, until })
    }

    /// Whether a moment of that local day lies in it.
    pub(super) fn holds(self, at: Timestamp, day: Date) -> bool {
        let after = self.since.is_none_or(|since| match since {
            End::Day(first) => day >= first,
            End::At(first) => at >= first,
        });
        let before = self.until.is_none_or(|until| match until {
            End::Day(last) => day <= last,
            End::At(last) => at <= last,
        });
        after && before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_ages_are_told_apart() {
        let day = Date::constant(2026, 11, 1);
        for (written, expected) in [
            ("2026-11-01", Moment::Day(day)),
            ("today", Moment::DaysAgo(0)),
            ("yesterday", Moment::DaysAgo(1)),
            ("7d", Moment::DaysAgo(7)),
            ("2w", Moment::DaysAgo(14)),
            ("12h", Moment::Ago(Duration::from_hours(12))),
        ] {
            assert_eq!(parse(written), Ok(expected), "{written}");
        }
        let wrong =
            ["", "7", "d", "-7d", "soon", "2026-13-01", "2026-11-1", "2026-11-01T10:00:00Z"];
        for written in wrong {
            assert!(parse(written).is_err(), "{written}");
        }
    }

    #[test]
    fn both_days_are_whole_and_belong_to_the_span() {
        let now: Zoned = "2026-11-15T12:00:00+05:00[+05:00]".parse().unwrap();
        let span = |since, until| Span::new(parse(since).ok(), parse(until).ok(), &now).unwrap();
        let holds = |span: Span, at: &str| {
            let at: Timestamp = at.parse().unwrap();
            span.holds(at, now.time_zone().to_datetime(at).date())
        };
        let week = span("7d", "yesterday");
        assert!(!holds(week, "2026-11-07T18:59:59Z") && holds(week, "2026-11-07T19:00:00Z"));
        assert!(holds(week, "2026-11-14T18:59:59Z") && !holds(week, "2026-11-14T19:00:00Z"));
        let hours = span("12h", "1h");
        assert!(!holds(hours, "2026-11-14T18:59:59Z") && holds(hours, "2026-11-14T19:00:00Z"));
        assert!(holds(hours, "2026-11-15T06:00:00Z") && !holds(hours, "2026-11-15T06:00:01Z"));
    }

    #[test]
    fn a_span_does_not_end_before_it_begins() {
        let now: Zoned = "2026-11-15T12:00:00+05:00[+05:00]".parse().unwrap();
        let span = |since, until| Span::new(parse(since).ok(), parse(until).ok(), &now);
        assert!(span("1d", "2d").is_err() && span("1h", "2h").is_err());
        assert!(span("today", "13h").is_err() && span("2d", "2026-11-12").is_err());
        assert!(span("1d", "1d").is_ok() && span("today", "1h").is_ok());
        assert!(span("4000000000d", "today").is_err());
    }
}
