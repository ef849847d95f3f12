//! A directory that is swapped for a link while it is read gives nothing away.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::Fixture;

/// A directory and a link to the secret one that change places all the time.
fn while_swapping(action: impl FnOnce(&Fixture)) {
    let fixture = Fixture::with(&[("door/key.txt", "plain\n"), ("door/deep/key.txt", "plain\n")]);
    fs::create_dir(fixture.outer().join("secret/deep")).unwrap();
    fs::write(fixture.outer().join("secret/deep/key.txt"), "SECRET\n").unwrap();
    fs::write(fixture.outer().join("secret/hush.txt"), "SECRET\n").unwrap();
    fixture.link("other", "../secret");
    let (door, other) = (fixture.root().join("door"), fixture.root().join("other"));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&door, &other);
            }
        });
        action(&fixture);
        done.store(true, Ordering::Relaxed);
    });
}

fn swap(one: &Path, two: &Path) {
    renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn reading_sees_the_inside_or_nothing() {
    while_swapping(|fixture| {
        let mut seen = 0;
        for _ in 0..3000 {
            let Ok(location) = fixture.context.workspace.resolve("door/deep/key.txt") else {
                continue;
            };
            if let Ok(file) = location.open_file() {
                assert_eq!(std::io::read_to_string(file).unwrap(), "plain\n");
                seen += 1;
            }
        }
        assert!(seen > 0);
    });
}

#[test]
fn searching_and_listing_see_the_inside_or_nothing() {
    while_swapping(|fixture| {
        for _ in 0..150 {
            let found = fixture.call("grep_files", json!({"pattern": "SECRET"})).text;
            assert!(found.starts_with("no matches"), "{found}");
            assert!(!found.contains("hush"), "{found}");
            let listed = fixture.call("list_dir", json!({"depth": 4})).text;
            assert!(!listed.contains("hush"), "{listed}");
            let globbed = fixture.call("glob_files", json!({"pattern": "**/hush*"})).text;
            assert!(!globbed.contains("hush.txt"), "{globbed}");
            for entry in fixture.call("glob_files", json!({"pattern": "**/*"})).text.lines() {
                assert!(!entry.contains("hush"), "{entry}");
            }
        }
    });
}
