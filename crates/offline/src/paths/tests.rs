//! What paths tell.

use super::*;

#[test]
fn a_path_tells_what_a_file_is() {
    for (path, sort) in [
        ("src/main.rs", Sort::Source),
        ("crates/a/tests/it/b.rs", Sort::Test),
        ("pkg/thing_test.go", Sort::Test),
        ("web/app.spec.ts", Sort::Test),
        ("src/LatestNews.java", Sort::Source),
        ("src/UserServiceTest.java", Sort::Test),
        ("README.md", Sort::Document),
        ("config/app.toml", Sort::Config),
        ("Cargo.lock", Sort::Foreign),
        ("web/dist/x.js", Sort::Foreign),
        ("lib/jquery.min.js", Sort::Foreign),
        ("", Sort::Source),
    ] {
        assert_eq!(sort_of(path), sort, "{path}");
    }
}

#[test]
fn words_are_not_taken_for_paths() {
    for (token, expected) in [
        ("src/main.rs", true),
        ("main.rs", true),
        ("crates/kernel/src", true),
        ("/etc/passwd", true),
        ("and/or", false),
        ("e.g", false),
        ("3.14", false),
        (".rs", false),
        ("https://x.dev/a.js", false),
        ("std::fs", false),
        ("//", false),
        ("", false),
    ] {
        assert_eq!(is_path(token), expected, "{token}");
    }
}
