//! File changes: what the calls of a run did to files, as the journal keeps it.
//!
//! The journal names the versions of a file; their texts lie beside it, so that a small edit of a large
//! file is a small entry. The first version before and the last one after give the change of a whole run.

use serde::{Deserialize, Serialize};

/// One change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The real path: relative to the workspace, whole in another root.
    pub path: String,
    /// The file before; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FileVersion>,
    /// The file after; `None` if it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FileVersion>,
    /// The path the file had before, where it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
}

/// One version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// The name of its text among the artifacts of the run; `None` if it could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the file is executable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

/// Adds up changes: one for each file that is different in the end, from its first version to its
/// last, in the order of the paths.
pub fn sum<'c>(changes: impl IntoIterator<Item = &'c FileChange>) -> Vec<FileChange> {
    let mut total: std::collections::BTreeMap<&str, FileChange> = std::collections::BTreeMap::new();
    for change in changes {
        total
            .entry(&change.path)
            .and_modify(|sum| {
                sum.after.clone_from(&change.after);
                if change.moved_from.is_some() || change.after.is_none() {
                    sum.moved_from.clone_from(&change.moved_from);
                }
            })
            .or_insert_with(|| change.clone());
    }
    let is_change = |change: &FileChange| match (&change.before, &change.after) {
        (None, None) => false,
        // Versions that were not kept cannot be told apart.
        (Some(before), Some(after)) => before != after || before.text.is_none(),
        (None, Some(_)) | (Some(_), None) => true,
    };
    total.into_values().filter(is_change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        let version = |text: &str| FileVersion { text: Some(text.to_owned()), executable: false };
        let (before, after) = (before.map(version), after.map(version));
        FileChange { path: path.to_owned(), before, after, moved_from: None }
    }

    #[test]
    fn the_first_before_and_the_last_after_count() {
        let changes = [
            change("b", Some("1"), Some("2")),
            change("a", None, Some("x")),
            change("b", Some("2"), Some("3")),
        ];
        let expected = [change("a", None, Some("x")), change("b", Some("1"), Some("3"))];
        assert_eq!(sum(&changes), expected);
    }

    #[test]
    fn what_is_as_before_in_the_end_is_no_change() {
        let changes = [
            change("made", None, Some("x")),
            change("made", Some("x"), None),
            change("back", Some("1"), Some("2")),
            change("back", Some("2"), Some("1")),
        ];
        assert_eq!(sum(&changes), []);
        let unknown = Some(FileVersion { text: None, executable: false });
        let unkept = [FileChange {
            path: "large".to_owned(),
            before: unknown.clone(),
            after: unknown,
            moved_from: None,
        }];
        assert_eq!(sum(&unkept), unkept, "nobody knows whether it is the same");
    }
}
