//! Lengths of time as people write them: `90s`, `5m`, `1h30m`, `2w`. The only place that reads them.

use std::time::Duration;

/// A length of time in whole seconds, at least one; a bare number is seconds.
pub(crate) fn seconds(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => Ok(seconds),
        Err(_) => with_units(text)
            .ok_or_else(|| format!("`{text}` is not a length of time; write 90, 90s, 5m or 1h30m")),
    }?;
    match u32::try_from(seconds) {
        Ok(0) => Err("it must be at least one second".to_owned()),
        Ok(seconds) => Ok(seconds),
        Err(_) => Err(format!("`{text}` is too long")),
    }
}

/// An age such as `30d`: a number always has its unit.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    with_units(text)
        .map(Duration::from_secs)
        .ok_or_else(|| format!("`{text}` is not an age; write 30d, 12h, 90m or 2w"))
}

/// The seconds of numbers with their units; larger units come first, each once.
fn with_units(text: &str) -> Option<u64> {
    let mut total: u64 = 0;
    let mut smallest = u64::MAX;
    let mut rest = text;
    while !rest.is_empty() {
        let letters = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, after) = rest.split_at(letters);
        let end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let unit = match unit.to_ascii_lowercase().as_str() {
            "w" => 7 * 86_400,
            "d" => 86_400,
            "h" => 3_600,
            "m" | "min" => 60,
            "s" => 1,
            _ => return None,
        };
        if unit >= smallest {
            return None;
        }
        smallest = unit;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit)?)?;
        rest = next;
    }
    (smallest < u64::MAX).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for wrong in
            ["", "x", "m", "5x", "5m5", "1m1h", "5m5m", "-5", "1.5h", "0", "0s", "9999999d", "é"]
        {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        for (text, expected) in [
            ("5", 5),
            ("90s", 90),
            ("5m", 300),
            ("1h30m", 5400),
            ("1H", 3600),
            ("1d2h", 93_600),
            ("1w", 604_800),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn ages_have_a_unit() {
        for (written, hours) in
            [("30d", 720), ("12h", 12), ("120m", 2), ("120min", 2), ("2w", 336), ("0s", 0)]
        {
            assert_eq!(age(written), Ok(Duration::from_hours(hours)), "{written}");
        }
        for wrong in
            ["", "30", "d", "-1d", "1.5h", "3y", "99999999999999999999d", "99999999999999999w"]
        {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
