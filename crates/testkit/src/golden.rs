//! Golden files: what a test must produce, kept beside it and reviewed as text.
//!
//! `UPDATE_GOLDEN=1` rewrites them. A missing one is written and fails once, so that it is looked at.

use std::{env, fs, path::Path};

/// Whether golden files are rewritten.
#[expect(clippy::disallowed_methods, reason = "the switch for rewriting golden files")]
pub fn is_update() -> bool {
    env::var_os("UPDATE_GOLDEN").is_some()
}

/// Compares with the golden file.
///
/// # Panics
/// If they differ.
pub fn check(path: &Path, actual: &str) {
    let update = is_update();
    let expected = fs::read_to_string(path).ok();
    if expected.as_deref() == Some(actual) {
        return;
    }
    if update || expected.is_none() {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("the folder of a golden file can be made");
        }
        fs::write(path, actual).expect("a golden file can be written");
    }
    match expected {
        _ if update => {}
        None => panic!("{} was missing; look at it and run the test again", path.display()),
        Some(expected) => {
            panic!("{} differs\n{}", path.display(), difference(&expected, actual));
        }
    }
}

/// The first lines that differ, with a little of what stands around them.
fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) =
        (expected.lines().collect(), actual.lines().collect());
    let same = expected.iter().zip(&actual).take_while(|(left, right)| left == right).count();
    let from = same.saturating_sub(3);
    let show = |lines: &[&str], mark: char| {
        let shown: Vec<String> =
            lines.iter().skip(from).take(20).map(|line| format!("{mark} {line}")).collect();
        shown.join("\n")
    };
    format!("from line {}:\n{}\n{}", from + 1, show(&expected, '-'), show(&actual, '+'))
}
