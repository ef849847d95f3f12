//! What a single value may be, and how that is said.

use crate::settings::written::{Node, Value};

/// What a single value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any string.
    Text,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// A whole number of 32 bits that is not smaller.
    Whole {
        /// The smallest.
        from: u32,
    },
    /// A whole number of any size that is not negative.
    Count,
    /// A number that is not negative.
    Amount,
    /// A path.
    Path,
    /// A list of strings.
    Texts,
    /// A list of paths.
    Paths,
}

impl Kind {
    /// What is expected, with its article.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Text => "a string".into(),
            Self::Word(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::Switch => "true or false".into(),
            Self::Whole { from } => format!("a whole number from {from}"),
            Self::Count => "a whole number from 0".into(),
            Self::Amount => "a number from 0".into(),
            Self::Path => "a path".into(),
            Self::Texts => "a list of strings".into(),
            Self::Paths => "a list of paths".into(),
        }
    }

    /// Whether it may be that value.
    pub(crate) fn accepts(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text | Self::Path, Value::Text(_))
            | (Self::Path, Value::Path(_))
            | (Self::Switch, Value::Switch(_)) => true,
            (Self::Word(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Self::Whole { from }, Value::Whole(number)) => {
                u32::try_from(*number).is_ok_and(|number| number >= from)
            }
            (Self::Count | Self::Amount, Value::Whole(number)) => *number >= 0,
            (Self::Amount, Value::Fraction(number)) => number.is_finite() && *number >= 0.0,
            (Self::Texts | Self::Paths, Value::List(items)) => self.misfit(items).is_none(),
            _ => false,
        }
    }

    /// What was found instead, with its article; shown in full only where it can be no secret.
    pub(crate) fn found(self, value: &Value) -> String {
        match (self, value) {
            (Self::Word(_), Value::Text(text)) => format!("{text:?}"),
            (Self::Whole { .. }, Value::Whole(number)) if *number > i64::from(u32::MAX) => {
                format!("{number}, which is too large")
            }
            (Self::Whole { .. } | Self::Count | Self::Amount, Value::Whole(number)) => {
                number.to_string()
            }
            (Self::Amount, Value::Fraction(number)) => number.to_string(),
            (Self::Texts | Self::Paths, Value::List(items)) => {
                let other = self.misfit(items).map_or(value, |item| &item.value);
                format!("a list with {} in it", other.kind())
            }
            _ => value.kind().into(),
        }
    }

    /// The first item of a list that does not belong there.
    pub(crate) fn misfit(self, items: &[Node]) -> Option<&Node> {
        let item_kind = match self {
            Self::Texts => Self::Text,
            Self::Paths => Self::Path,
            _ => return None,
        };
        items.iter().find(|item| !item_kind.accepts(&item.value))
    }

    /// The word that was probably meant.
    pub(crate) fn nearest(self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Word(words), Value::Text(text)) => {
                attache_kernel::id::nearest(text, words.iter().copied()).map(str::to_owned)
            }
            _ => None,
        }
    }
}
