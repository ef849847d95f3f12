//! Lengths of time as people write them: `90`, `90s`, `5m`, `1h30m`. A bare number is seconds.

/// A length of time in whole seconds, at least one.
pub(crate) fn seconds(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is not a length of time; write 90, 90s, 5m or 1h30m");
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return at_least_one(seconds);
    }
    let mut total: u64 = 0;
    let mut digits = String::new();
    let mut smallest = u64::MAX;
    for letter in text.chars() {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        let unit = match letter.to_ascii_lowercase() {
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return Err(wrong()),
        };
        // Larger units come first, each once.
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        if unit >= smallest {
            return Err(wrong());
        }
        smallest = unit;
        digits.clear();
        total = total.saturating_add(number.saturating_mul(unit));
    }
    if !digits.is_empty() || smallest == u64::MAX {
        return Err(wrong());
    }
    at_least_one(u32::try_from(total).map_err(|_| format!("`{text}` is too long"))?)
}

fn at_least_one(seconds: u32) -> Result<u32, String> {
    if seconds == 0 { Err("it must be at least one second".to_owned()) } else { Ok(seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for wrong in
            ["", "x", "5", "m", "5x", "5m5", "1m1h", "5m5m", "-5", "1.5h", "0", "0s", "9999999d"]
        {
            assert_eq!(seconds(wrong).is_err(), wrong != "5", "{wrong}");
        }
        for (text, expected) in
            [("90", 90), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("1H", 3600), ("1d2h", 93_600)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
    }
}
