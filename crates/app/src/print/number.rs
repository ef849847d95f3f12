//! Numbers as people read them: thousands set apart, sizes and times with their unit.

pub(crate) use attache_runtime::internal::tool::wording::grouped;

/// A number with its noun: `1 turn`, `2,000 turns`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// A number of bytes: `812 B`, `4.2 KB`, `64.0 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for larger in units {
        if tenths < 10_240 {
            break;
        }
        tenths /= 1024;
        unit = larger;
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// A time: `42 ms`, `1.9 s`, `3 min 20 s`.
pub(crate) fn time(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1000),
    }
}

/// A sum of money: `$0.1234`; what is less than can be shown is never shown as nothing.
pub(crate) fn money(usd: f64) -> String {
    if usd > 0.0 && usd < 0.000_05 { "< $0.0001".to_owned() } else { format!("${usd:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            (grouped(1_234_567), count(1, "turn"), count(1000, "turn")),
            ("1,234,567".to_owned(), "1 turn".to_owned(), "1,000 turns".to_owned())
        );
        for (bytes, text) in [(1023, "1023 B"), (4300, "4.1 KB"), (64 << 20, "64.0 MB")] {
            assert_eq!(size(bytes), text);
        }
        for (usd, text) in [(0.0, "$0.0000"), (0.000_01, "< $0.0001"), (1234.5, "$1234.5000")] {
            assert_eq!(money(usd), text);
        }
        for (length, text) in [(42, "42 ms"), (1_902, "1.9 s"), (200_000, "3 min 20 s")] {
            assert_eq!(time(length), text);
        }
    }
}
