//! Numbers, compared by value: `1` and `1.0` are one number, and `0.3` is a multiple of `0.1`.

use std::cmp::Ordering;

use serde_json::Number;

/// A number as a whole number, if it is one.
pub(super) fn integer(number: &Number) -> Option<i128> {
    if let Some(value) = number.as_i64() {
        return Some(i128::from(value));
    }
    if let Some(value) = number.as_u64() {
        return Some(i128::from(value));
    }
    let value = number.as_f64()?;
    // Within these bounds every whole f64 is an exact i128.
    if value.fract() != 0.0 || value.abs() >= 1e38 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and smaller than 2^127")]
    let whole = value as i128;
    Some(whole)
}

/// Whether a number has no fraction, however large it is.
pub(super) fn is_whole(number: &Number) -> bool {
    integer(number).is_some() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

/// The order of two numbers.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return left.cmp(&right);
    }
    // A number with a fraction is smaller than 2^53, where whole numbers are exact as f64.
    let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
    float(left).partial_cmp(&float(right)).unwrap_or(Ordering::Equal)
}

/// Whether a number is a whole multiple of a positive one, in decimal arithmetic.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    if let (Some(number), Some(of)) = (integer(number), integer(of)) {
        return of != 0 && number % of == 0;
    }
    if let (Some(number), Some(of)) = (Decimal::new(number), Decimal::new(of))
        && let Some(exact) = number.is_multiple(of)
    {
        return exact;
    }
    match (number.as_f64(), of.as_f64()) {
        (Some(number), Some(of)) => number % of == 0.0,
        _ => false,
    }
}

/// `digits` times ten to the power of `exponent`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that stands for a number.
    fn new(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        Some(Self { digits, exponent: exponent.checked_sub(places)? })
    }

    /// None if the numbers lie too far apart to tell.
    fn is_multiple(self, of: Self) -> Option<bool> {
        let lowest = self.exponent.min(of.exponent);
        let scaled = |number: Self| {
            let power = u32::try_from(number.exponent.checked_sub(lowest)?).ok()?;
            number.digits.checked_mul(10_i128.checked_pow(power)?)
        };
        let (number, of) = (scaled(self)?, scaled(of)?);
        Some(of != 0 && number % of == 0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn number(value: &Value) -> Number {
        value.as_number().unwrap().clone()
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for (left, right, order) in [
            (json!(1), json!(1.0), Ordering::Equal),
            (json!(-1), json!(0.5), Ordering::Less),
            (json!(u64::MAX), json!(i64::MAX), Ordering::Greater),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), Ordering::Greater),
            (json!(1e300), json!(u64::MAX), Ordering::Greater),
        ] {
            assert_eq!(compare(&number(&left), &number(&right)), order, "{left} {right}");
        }
        assert!(is_whole(&number(&json!(1e300))));
    }

    #[test]
    fn multiples_are_decimal() {
        for (value, of, expected) in [
            (json!(0.3), json!(0.1), true),
            (json!(0.35), json!(0.1), false),
            (json!(7), json!(3.5), true),
            (json!(1e10), json!(1e-5), true),
            (json!(4), json!(3), false),
            (json!(1e300), json!(0.5), true),
            (json!(0), json!(0.7), true),
        ] {
            assert_eq!(is_multiple(&number(&value), &number(&of)), expected, "{value} {of}");
        }
    }
}
