//! Names of called tools on the way back: providers refuse a conversation with a name that no tool can have.

use std::borrow::Cow;

use attache_kernel::run::message::ToolCall;

/// The longest name that every provider takes.
const LONGEST: usize = 64;

/// The name of a called tool as every provider takes it. A model may have made one up.
pub(super) fn call_name(call: &ToolCall) -> Cow<'_, str> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let name = call.name.as_str();
    if !name.is_empty() && name.len() <= LONGEST && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let letters = name.chars().map(|letter| if fits(letter) { letter } else { '_' });
    let name: String = letters.take(LONGEST).collect();
    Cow::Owned(if name.is_empty() { "unknown".to_owned() } else { name })
}
