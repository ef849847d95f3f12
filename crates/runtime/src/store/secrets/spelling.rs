//! Spellings: the forms in which a secret appears in texts: as it is, in JSON, in base64.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use serde_json::Value;

/// JSON in JSON in JSON: arguments are JSON text within a line, and may hold JSON text themselves.
const NESTING: usize = 3;

/// The secret as it is, and as JSON within JSON spells it. Some writers of JSON escape slashes.
pub(super) fn in_json(secret: &str) -> Vec<String> {
    let mut all = vec![secret.to_owned()];
    let mut plain = secret.to_owned();
    for level in 1..=NESTING {
        plain = escaped(&plain);
        all.push(plain.clone());
        let mut slashed = plain.replace('/', "\\/");
        for _ in level..=NESTING {
            all.push(slashed.clone());
            slashed = escaped(&slashed);
        }
    }
    all
}

fn escaped(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}

/// The base64 of a whole secret, in both alphabets.
pub(super) fn as_base64(secret: &str) -> Vec<String> {
    vec![STANDARD_NO_PAD.encode(secret), URL_SAFE_NO_PAD.encode(secret)]
}

/// The part of the base64 of any text around a secret that the secret alone decides, for each of the
/// three ways it can be aligned, in both alphabets. `user:secret`, as basic authentication encodes it,
/// is such a text.
pub(super) fn within_base64(secret: &str) -> Vec<String> {
    let mut all = Vec::new();
    for before in 0..3 {
        let text = [&[0; 2][..before], secret.as_bytes()].concat();
        // Each letter stands for six bits; those that share bits with other bytes are left out.
        let (first, end) = ((before * 8).div_ceil(6), text.len() * 8 / 6);
        for encoded in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
            all.extend(encoded.get(first..end).map(str::to_owned));
        }
    }
    all
}
