//! The record of what the user vouches for.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, thread};

use attache_runtime::trust::{ContentHash, TrustError, TrustStore};
use tempfile::TempDir;

#[test]
fn what_is_recorded_is_there_again_and_private() {
    let home = TempDir::new().unwrap();
    let home = home.path().join("deep/.attache");
    let file = PathBuf::from("/nowhere/agent.md");
    let hash = ContentHash::of(b"content");
    let mut store = TrustStore::load(&home).unwrap();
    assert!(!store.knows(&file));
    store.record([(file.clone(), Some(hash.clone()))]).unwrap();
    let store = TrustStore::load(&home).unwrap();
    assert!(store.knows(&file) && store.trusts(&file, &hash));
    assert!(!store.trusts(&file, &ContentHash::of(b"Content")));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.join("trust.json")), 0o600);
    assert_eq!(mode(home), 0o700);
}

#[test]
fn a_damaged_record_trusts_nothing_and_says_so() {
    let home = TempDir::new().unwrap();
    for text in ["", "{", "[]", r#"{"version": 2, "trusted": {}}"#, r#"{"trusted": {}}"#] {
        fs::write(home.path().join("trust.json"), text).unwrap();
        let error = TrustStore::load(home.path()).unwrap_err();
        assert!(matches!(error, TrustError::Damaged { .. }), "{text}");
        assert!(error.hint().contains("trust.json"));
    }
}

#[test]
fn records_made_at_the_same_time_are_all_kept() {
    let home = TempDir::new().unwrap();
    let path = home.path();
    thread::scope(|scope| {
        for index in 0..8 {
            scope.spawn(move || {
                let mut store = TrustStore::load(path).unwrap();
                let file = PathBuf::from(format!("/agents/{index}.md"));
                store.record([(file, Some(ContentHash::of(&[index])))]).unwrap();
            });
        }
    });
    assert_eq!(TrustStore::load(path).unwrap().files().count(), 8);
}

#[test]
fn one_file_has_one_spelling() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("agent.md");
    fs::write(&file, "x").unwrap();
    let link = home.path().join("link.md");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let mut store = TrustStore::load(home.path()).unwrap();
    store.record([(link, Some(ContentHash::of(b"x")))]).unwrap();
    assert!(store.trusts(&home.path().join("./agent.md"), &ContentHash::of(b"x")));
}
