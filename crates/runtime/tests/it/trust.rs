//! The record of what the user trusts.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, thread};

use attache_runtime::internal::agents::trust::{ContentHash, TrustError, TrustStore, TrustedFile};
use tempfile::TempDir;

#[test]
fn what_is_recorded_is_there_again_and_private() {
    let home = TempDir::new().unwrap();
    let home = home.path().join("deep/.attache");
    let file = PathBuf::from("/nowhere/agent.md");
    let hash = ContentHash::from_content(b"content");
    let mut store = TrustStore::load(&home).unwrap();
    assert!(!store.knows(&file));
    store.record([(file.clone(), Some(TrustedFile::new(hash.clone())))]).unwrap();
    let store = TrustStore::load(&home).unwrap();
    assert!(store.knows(&file) && store.trusts(&file, &hash));
    assert!(!store.trusts(&file, &ContentHash::from_content(b"Content")));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.join("trust.json")), 0o600);
    assert_eq!(mode(home), 0o700);
}

#[test]
fn a_damaged_record_trusts_nothing_and_says_so() {
    let home = TempDir::new().unwrap();
    for text in [
        "",
        "{",
        "[]",
        r#"{"version": 3, "trusted": {}}"#,
        r#"{"version": 2, "trusted": {"/a": "b"}}"#,
        r#"{"trusted": {}}"#,
    ] {
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
                store
                    .record([(file, Some(TrustedFile::new(ContentHash::from_content(&[index]))))])
                    .unwrap();
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
    store.record([(link, Some(TrustedFile::new(ContentHash::from_content(b"x"))))]).unwrap();
    assert!(store.trusts(&home.path().join("./agent.md"), &ContentHash::from_content(b"x")));
}

#[test]
fn a_record_that_others_could_have_written_is_not_used() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("trust.json");
    let text = r#"{"version": 1, "trusted": {}}"#;
    for mode in [0o602, 0o620, 0o666] {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let error = TrustStore::load(home.path()).unwrap_err();
        assert!(matches!(error, TrustError::Exposed { mode: found, .. } if found == mode));
        assert!(error.hint().contains("chmod 600"), "{}", error.hint());
        fs::remove_file(&file).unwrap();
    }
    let elsewhere = home.path().join("elsewhere.json");
    fs::write(&elsewhere, text).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    let error = TrustStore::load(home.path()).unwrap_err();
    assert_eq!(error.to_string(), format!("{} is a link, not a regular file", file.display()));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(matches!(TrustStore::load(home.path()), Err(TrustError::NotAFile { .. })));
    fs::remove_dir(&file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let error = TrustStore::load(home.path()).unwrap_err();
    assert!(matches!(error, TrustError::NotAFile { what: "a pipe or a device", .. }), "{error:?}");
}

#[test]
fn no_lock_file_leads_anywhere() {
    let home = TempDir::new().unwrap();
    let victim = home.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let inner = home.path().join("home");
    fs::create_dir(&inner).unwrap();
    std::os::unix::fs::symlink(&victim, inner.join("trust.lock")).unwrap();
    let mut store = TrustStore::load(&inner).unwrap();
    let trusted = TrustedFile::new(ContentHash::from_content(b"x"));
    store.record([(PathBuf::from("/a.md"), Some(trusted))]).unwrap();
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
}

#[test]
fn the_first_format_is_still_read() {
    let home = TempDir::new().unwrap();
    let hash = ContentHash::from_content(b"x");
    let text = format!(r#"{{"version": 1, "trusted": {{"/a.md": "{}"}}}}"#, hash.as_str());
    fs::write(home.path().join("trust.json"), text).unwrap();
    let mut store = TrustStore::load(home.path()).unwrap();
    assert!(store.trusts(&PathBuf::from("/a.md"), &hash));
    store.record([]).unwrap();
    assert!(TrustStore::load(home.path()).unwrap().trusts(&PathBuf::from("/a.md"), &hash));
}
