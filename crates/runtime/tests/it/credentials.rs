//! Keys that are kept: what they are used for, and what they are only masked for.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
};

use attache_runtime::internal::model::credentials::{
    Credentials, CredentialsError, KeyLookup, WebOrigin,
};
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;

const KEY: &str = "sk-0123456789";

fn origin(url: &str) -> WebOrigin {
    WebOrigin::from_url(url).unwrap()
}

fn keep(home: &TempDir) {
    let mut credentials = Credentials::load(home.path()).unwrap();
    let here = origin("https://api.openai.com/v1");
    credentials.set("openai", here, SecretString::from(KEY)).unwrap();
}

#[test]
fn a_key_is_found_for_its_provider_and_origin_alone() {
    let home = TempDir::new().unwrap();
    keep(&home);
    let credentials = Credentials::load(home.path()).unwrap();
    let here = origin("https://api.openai.com");
    match credentials.key("openai", &here) {
        KeyLookup::Found(key) => assert_eq!(key.expose_secret(), KEY),
        other => panic!("{other:?}"),
    }
    for elsewhere in [
        "http://api.openai.com",
        "https://api.openai.com:444",
        "https://api.openai.com.evil.example",
    ] {
        match credentials.key("openai", &origin(elsewhere)) {
            KeyLookup::OtherOrigin { kept_for } => assert_eq!(*kept_for, here),
            other => panic!("{elsewhere}: {other:?}"),
        }
    }
    assert!(matches!(credentials.key("OpenAI", &here), KeyLookup::None));
    assert_eq!(credentials.all_keys().count(), 1);
    assert!(!format!("{credentials:?}").contains(KEY));
}

#[test]
fn keys_that_are_not_used_are_masked_all_the_same() {
    let home = TempDir::new().unwrap();
    assert_eq!(Credentials::keys_to_mask(home.path()).len(), 0);
    keep(&home);
    let file = home.path().join("credentials.json");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let refused = Credentials::load(home.path()).unwrap_err();
    assert!(matches!(refused, CredentialsError::Exposed { mode: 0o644, .. }), "{refused}");
    let masked = Credentials::keys_to_mask(home.path());
    assert_eq!(masked.len(), 1);
    assert_eq!(masked[0].expose_secret(), KEY);
    fs::write(&file, "{").unwrap();
    assert_eq!(Credentials::keys_to_mask(home.path()).len(), 0);
}

#[test]
fn a_link_that_comes_between_is_neither_followed_nor_replaced() {
    let home = TempDir::new().unwrap();
    let elsewhere = home.path().join("elsewhere");
    fs::write(&elsewhere, "theirs").unwrap();
    let mut credentials = Credentials::load(home.path()).unwrap();
    symlink(&elsewhere, home.path().join("credentials.json")).unwrap();
    let kept = credentials.set("openai", origin("https://a.example"), SecretString::from(KEY));
    assert!(matches!(kept, Err(CredentialsError::NoFile { what: "a link", .. })));
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "theirs");
    assert_eq!(credentials.all_keys().count(), 0, "what could not be kept is not used either");
}

#[test]
fn removing_tells_what_was_there() {
    let home = TempDir::new().unwrap();
    keep(&home);
    let mut credentials = Credentials::load(home.path()).unwrap();
    assert_eq!(credentials.remove("anthropic").unwrap(), None);
    assert_eq!(credentials.remove("openai").unwrap(), Some(origin("https://api.openai.com")));
    assert_eq!(credentials.iter().count(), 0);
    assert!(!home.path().join("credentials.json").exists());
}
