//! What the files of an untrusted project may set.
//!
//! A repository that was only cloned may shape how its own agents are found and may be stricter than
//! the user; it may not decide where a conversation or a key goes, what is run on the machine, who
//! is asked, or how much may be spent.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::settings::{
    meaning::Mode,
    written::{Table, Value, find},
};

/// What an untrusted project may do with a key.
#[derive(Clone, Copy)]
pub(crate) enum ProjectUse {
    /// Set it.
    Free,
    /// Nothing.
    Trusted,
    /// Set it to some values.
    Within {
        /// Whether it may be set so.
        admits: fn(&Judged<'_>) -> bool,
        /// What it may do, for the documentation.
        #[cfg_attr(not(test), expect(dead_code, reason = "the documents are held against it"))]
        label: &'static str,
    },
}

/// A value a project file wants to set.
pub(crate) struct Judged<'a> {
    /// The value.
    pub(crate) value: &'a Value,
    /// What holds of this key without the project's files.
    pub(crate) in_force: Option<&'a Value>,
    /// What holds of all keys without them.
    pub(crate) settings: &'a Table,
    /// The project's directory.
    pub(crate) project_root: &'a Path,
}

impl ProjectUse {
    /// A model, but not one whose answers the project wrote itself.
    pub(super) const LIVE_MODEL: Self =
        Self::Within { admits: is_live_model, label: "yes, but no `replay:` or `offline`" };
    /// What the user has not named yet.
    pub(super) const ADDED: Self = Self::Within { admits: is_added, label: "may add" };
    /// A number that is not larger.
    pub(super) const LOWERED: Self = Self::Within { admits: is_lowered, label: "may lower" };
    /// A cap that is not larger, where 0 means no cap.
    pub(super) const CAPPED: Self = Self::Within { admits: is_capped, label: "may lower" };
    /// A list of which nothing is new, where the empty one is everything.
    pub(super) const FEWER: Self = Self::Within { admits: is_fewer, label: "may narrow" };
    /// A list of which nothing is new, where the empty one is nothing.
    pub(super) const SOME: Self = Self::Within { admits: is_some_of, label: "may narrow" };
    /// A list of which nothing is missing.
    pub(super) const MORE: Self = Self::Within { admits: is_more, label: "may add" };
    /// A sandbox that is not wider.
    pub(super) const NARROWER_MODE: Self =
        Self::Within { admits: is_narrower_mode, label: "may narrow" };
    /// Off.
    pub(super) const SWITCHED_OFF: Self =
        Self::Within { admits: is_switched_off, label: "may switch off" };
    /// Discovery that looks in fewer places.
    pub(super) const MANUAL: Self =
        Self::Within { admits: |judged| is_same_or(judged, "manual"), label: "may set \"manual\"" };
    /// Durability that holds more.
    pub(super) const DURABLE: Self = Self::Within {
        admits: |judged| is_same_or(judged, "machine"),
        label: "may set \"machine\"",
    };
    /// A path inside the project, where the user has not said where to look.
    pub(super) const INSIDE: Self =
        Self::Within { admits: is_own_place, label: "a path inside the project, if you set none" };

    /// What it may do, for the documentation.
    #[cfg(test)]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Free => "yes",
            Self::Trusted => "trusted only",
            Self::Within { label, .. } => label,
        }
    }
}

fn is_live_model(judged: &Judged<'_>) -> bool {
    match judged.value {
        Value::Text(model) => {
            let model = model.trim();
            model != "offline" && !model.starts_with("replay:")
        }
        _ => false,
    }
}

fn is_added(judged: &Judged<'_>) -> bool {
    // As JSON, since where the two were written makes no difference.
    judged.in_force.is_none_or(|in_force| in_force.to_json() == judged.value.to_json())
}

fn is_lowered(judged: &Judged<'_>) -> bool {
    match (number(judged.value), judged.in_force.and_then(number)) {
        (Some(new), Some(old)) => new <= old,
        (Some(_), None) => judged.in_force.is_none(),
        (None, _) => false,
    }
}

fn is_capped(judged: &Judged<'_>) -> bool {
    match (number(judged.value), judged.in_force.and_then(number)) {
        (Some(new), Some(old)) => old <= 0.0 || (new > 0.0 && new <= old),
        (Some(_), None) => judged.in_force.is_none(),
        (None, _) => false,
    }
}

fn is_fewer(judged: &Judged<'_>) -> bool {
    let Value::List(new) = judged.value else {
        return false;
    };
    match judged.in_force {
        None => true,
        Some(Value::List(old)) if old.is_empty() => true,
        Some(Value::List(old)) => {
            !new.is_empty()
                && new.iter().all(|item| old.iter().any(|allowed| allowed.value == item.value))
        }
        Some(_) => false,
    }
}

fn is_some_of(judged: &Judged<'_>) -> bool {
    is_part_of(Some(judged.value), judged.in_force)
}

fn is_more(judged: &Judged<'_>) -> bool {
    matches!(judged.value, Value::List(_)) && is_part_of(judged.in_force, Some(judged.value))
}

/// Whether everything of one list is in the other; nothing is the empty list.
fn is_part_of(list: Option<&Value>, other: Option<&Value>) -> bool {
    let items = |value: Option<&Value>| match value {
        None => Some(Vec::new()),
        Some(Value::List(items)) => Some(items.iter().map(|item| item.value.clone()).collect()),
        Some(_) => None,
    };
    let (Some(list), Some(other)) = (items(list), items(other)) else { return false };
    list.iter().all(|item| other.contains(item))
}

fn is_narrower_mode(judged: &Judged<'_>) -> bool {
    let mode = |value: &Value| match value {
        Value::Text(word) => Mode::of_word(word),
        _ => None,
    };
    match (mode(judged.value), judged.in_force.and_then(mode)) {
        (Some(new), Some(old)) => new <= old,
        _ => false,
    }
}

fn is_switched_off(judged: &Judged<'_>) -> bool {
    *judged.value == Value::Switch(false)
        || judged.in_force.is_none_or(|in_force| *in_force == Value::Switch(true))
}

fn is_same_or(judged: &Judged<'_>, word: &str) -> bool {
    judged.value == &Value::Text(word.to_owned())
        || judged.in_force.is_none_or(|in_force| in_force == judged.value)
}

fn is_own_place(judged: &Judged<'_>) -> bool {
    let Value::Path(path) = judged.value else {
        return false;
    };
    let discovery = find(judged.settings, &["subagents", "discovery"]);
    let only_where_told = discovery.is_some_and(|node| node.value == Value::Text("manual".into()));
    is_added(judged) && !only_where_told && real(path).starts_with(real(judged.project_root))
}

/// A number as an amount; the settings hold none large enough to lose digits that matter.
#[expect(clippy::cast_precision_loss, reason = "only compared, and far below 2^53")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Whole(number) => Some(*number as f64),
        Value::Fraction(number) => Some(*number),
        _ => None,
    }
}

/// Where a path leads: links are followed as far as there is something, the rest is taken as written.
fn real(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                real.push(part);
                if let Ok(followed) = fs::canonicalize(&real) {
                    real = followed;
                }
            }
        }
    }
    real
}
