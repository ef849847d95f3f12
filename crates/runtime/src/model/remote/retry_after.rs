//! How long a provider asks to wait, in the many ways providers say it.
//!
//! The plainest word wins: the header made for it, then what the body says, then when the used-up limit
//! is reset.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Nobody waits longer than that for a limit to be reset; the run's own clock is shorter.
const LONGEST: Duration = Duration::from_hours(1);

/// How long the provider asks to wait.
pub(super) fn asked_for(headers: &HeaderMap, body: &Value, now: Timestamp) -> Option<Duration> {
    in_header(headers, now)
        .or_else(|| in_body(body))
        .or_else(|| until_reset(headers, now))
        .map(|wait| wait.min(LONGEST))
}

fn in_header(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(wait) = text("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok()) {
        return seconds(wait / 1000.0);
    }
    let text = text("retry-after")?.trim();
    match text.parse::<f64>() {
        Ok(number) => seconds(number),
        Err(_) => Some(until(date(text)?, now)),
    }
}

/// Gemini's `RetryInfo`, and what OpenAI and Gemini write into their messages.
fn in_body(body: &Value) -> Option<Duration> {
    // Gemini's errors may come as a list of one.
    let error = body.get(0).unwrap_or(body).get("error")?;
    let mut details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let delay = details.find_map(|detail| detail.get("retryDelay")?.as_str());
    if let Some(delay) = delay.and_then(in_units) {
        return Some(delay);
    }
    let message = error.get("message")?.as_str()?;
    let (_, rest) =
        message.split_once("try again in ").or_else(|| message.split_once("retry in "))?;
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.');
    let word = rest.get(..end.unwrap_or(rest.len()))?;
    in_units(word.trim_end_matches('.'))
}

/// When the limit that is used up is reset: OpenAI's `6m0s`, Anthropic's dates.
fn until_reset(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: String| headers.get(name).and_then(|value| value.to_str().ok());
    let is_spent = |remaining: Option<&str>| remaining.is_some_and(|left| left.trim() == "0");
    let mut waits = Vec::new();
    for limit in ["requests", "tokens"] {
        if is_spent(text(format!("x-ratelimit-remaining-{limit}"))) {
            waits.extend(text(format!("x-ratelimit-reset-{limit}")).and_then(in_units));
        }
    }
    for limit in ["requests", "tokens", "input-tokens", "output-tokens"] {
        if is_spent(text(format!("anthropic-ratelimit-{limit}-remaining"))) {
            let reset = text(format!("anthropic-ratelimit-{limit}-reset")).and_then(date);
            waits.extend(reset.map(|moment| until(moment, now)));
        }
    }
    waits.into_iter().max()
}

fn date(text: &str) -> Option<Timestamp> {
    let rfc2822 = || jiff::fmt::rfc2822::parse(text).ok().map(|moment| moment.timestamp());
    text.parse().ok().or_else(rfc2822)
}

/// A moment that is over asks for no wait, but it does ask.
fn until(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(now)).unwrap_or(Duration::ZERO)
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number.min(LONGEST.as_secs_f64())).ok()
}

/// `1.5s`, `250ms`, `6m0s`, `1h2m`, `12`.
fn in_units(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (number, after) = rest.split_at_checked(digits.unwrap_or(rest.len()))?;
        let number: f64 = number.parse().ok()?;
        let letters = after.find(|letter: char| !letter.is_ascii_alphabetic());
        let (unit, after) = after.split_at_checked(letters.unwrap_or(after.len()))?;
        total += match unit {
            "ms" => number / 1000.0,
            "s" | "" | "seconds" | "second" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            "d" => number * 86400.0,
            _ => return None,
        };
        rest = after;
    }
    seconds(total)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn wait(headers: &[(&str, &str)], body: &Value) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        });
        asked_for(&headers.collect(), body, "2026-11-15T10:00:00Z".parse().unwrap())
    }

    #[test]
    fn every_way_to_say_it_is_understood() {
        let nothing = json!(null);
        let reset = "2026-11-15T10:00:09Z";
        for (headers, expected) in [
            (vec![("retry-after", "7")], Some(7000)),
            (vec![("retry-after", "0.25")], Some(250)),
            (vec![("retry-after", "Sun, 15 Nov 2026 10:00:30 GMT")], Some(30_000)),
            (vec![("retry-after", "Sun, 15 Nov 2026 09:00:00 GMT")], Some(0)),
            (vec![("retry-after-ms", "150"), ("retry-after", "7")], Some(150)),
            (vec![("retry-after", "soon")], None),
            (vec![("retry-after", "-3")], None),
            (vec![("retry-after", "1e300")], Some(3_600_000)),
            (
                vec![
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-remaining-requests", "5"),
                    ("x-ratelimit-reset-requests", "1h"),
                ],
                Some(360_000),
            ),
            (
                vec![
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    ("anthropic-ratelimit-input-tokens-reset", reset),
                ],
                Some(9000),
            ),
            (vec![], None),
        ] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(wait(&headers, &nothing), expected, "{headers:?}");
        }
    }

    #[test]
    fn bodies_say_it_too() {
        let message = |text: &str| json!({ "error": { "message": text } });
        for (body, expected) in [
            (message("Rate limit reached. Please try again in 1.898s. Visit …"), Some(1898)),
            (message("try again in 20ms."), Some(20)),
            (message("try again in 1m30s"), Some(90_000)),
            (message("You exceeded your quota. Please retry in 6.5s."), Some(6500)),
            (message("try again in a while"), None),
            (json!({ "error": { "details": [{}, { "retryDelay": "31s" }] } }), Some(31_000)),
            (json!([{ "error": { "details": [{ "retryDelay": "0.5s" }] } }]), Some(500)),
            (json!("try again in 3s"), None),
        ] {
            assert_eq!(wait(&[], &body), expected.map(Duration::from_millis), "{body}");
        }
        let body = message("try again in 9s");
        assert_eq!(wait(&[("retry-after", "2")], &body), Some(Duration::from_secs(2)));
    }
}
