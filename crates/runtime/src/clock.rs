//! The wall clock: the moment now, within the years that timestamps can hold.
//!
//! A machine whose clock is set to a year above 9999 gets the last moment there is, not a panic.

use std::time::SystemTime;

use jiff::Timestamp;

/// The moment now.
pub fn now() -> Timestamp {
    moment(SystemTime::now())
}

fn moment(time: SystemTime) -> Timestamp {
    let nearest = if time < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(nearest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn a_clock_beyond_all_years_shows_the_last_moment() {
        let far_future = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 9500);
        let last = moment(far_future);
        assert_eq!(last, Timestamp::MAX);
        // It can be written and read back, and has a date in every time zone.
        let written = format!("{last:.3}");
        assert!(written.parse::<Timestamp>().is_ok(), "{written}");
        for hours in [-25, 0, 25] {
            let zone = TimeZone::fixed(jiff::tz::offset(hours));
            assert_eq!(last.to_zoned(zone).year(), 9999);
        }
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
        assert_eq!(moment(now).to_string(), "2027-01-15T08:00:00Z");
    }
}
