//! Numbers in sentences: counts with their noun, sizes with their unit.

/// A number with its noun: `1 line`, `12,345 lines`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let number_text = grouped(number as u64);
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("{number_text} {noun}"),
        (_, Some(stem)) => format!("{number_text} {stem}ies"),
        (_, None) if noun.ends_with("ch") => format!("{number_text} {noun}es"),
        (_, None) => format!("{number_text} {noun}s"),
    }
}

/// That files or directories were left out because the agent may not read them.
pub(crate) fn left_out(number: usize) -> String {
    let them = if number == 1 { "it" } else { "them" };
    format!("{} left out: this agent may not read {them}", count(number, "entry"))
}

/// A number with its thousands set apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes, to two or three figures: `812 B`, `4.2 KB`, `64 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Tenths of the unit, so that no floating point is needed.
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    let unit = UNITS.get(unit).copied().unwrap_or_default();
    if tenths < 100 {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    } else {
        format!("{} {unit}", tenths / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1, "line"), "1 line");
        assert_eq!(count(0, "match"), "0 matches");
        assert_eq!(count(1234, "entry"), "1,234 entries");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(999), "999");
    }

    #[test]
    fn sizes_have_two_or_three_figures() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KB"),
            (4300, "4.1 KB"),
            (64 << 20, "64 MB"),
            (1 << 30, "1.0 GB"),
            (u64::MAX, "16383 PB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }
}
