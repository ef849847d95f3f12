//! The library's public face: what is public, that each main item has an example, and that the door for our own
//! crates has nothing that none of them uses.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use attache_testkit::golden;

/// The items that a program begins with, and where each is declared.
const MAIN_ITEMS: [(&str, &str); 8] = [
    ("pub struct Runtime ", "src/runtime.rs"),
    ("pub struct Order ", "src/host/order.rs"),
    ("pub struct RunHandle ", "src/tasks/handle.rs"),
    ("pub use attache_kernel::run::event::Event;", "src/prelude.rs"),
    ("pub trait Tool:", "src/tool.rs"),
    ("pub trait Model:", "src/model.rs"),
    ("pub trait Approver:", "src/approvals.rs"),
    ("pub trait Store:", "src/store.rs"),
];

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn source(path: &str) -> String {
    fs::read_to_string(crate_root().join(path)).unwrap()
}

/// The text without comments.
fn code(path: &str) -> String {
    let text = source(path);
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The names that the `pub use` statements of a text bring in.
fn names(text: &str) -> Vec<String> {
    let statements = text.split("pub use ").skip(1);
    let trees = statements.map(|rest| rest.split(';').next().unwrap_or_default());
    let words = trees.flat_map(|tree| tree.split(['{', '}', ',']));
    words
        .map(str::trim)
        .filter(|word| !word.is_empty() && !word.ends_with("::"))
        .map(|word| {
            let name = word.rsplit_once(" as ").map_or(word, |(_, name)| name);
            name.rsplit("::").next().unwrap_or(name).to_owned()
        })
        .collect()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn three_modules_are_public_and_one_of_them_is_hidden() {
    let code = code("src/lib.rs");
    let public: Vec<&str> = code.lines().filter(|line| line.starts_with("pub")).collect();
    assert_eq!(public, ["pub mod parts;", "pub mod prelude;", "pub mod internal;"]);
    assert!(code.contains("#[doc(hidden)]\npub mod internal;"), "{code}");
}

#[test]
fn the_public_items_are_those_that_are_listed() {
    let listed = ["prelude", "parts"].map(|module| {
        let mut names = names(&code(&format!("src/{module}.rs")));
        names.sort();
        names.iter().map(|name| format!("{module}::{name}\n")).collect::<Vec<_>>().concat()
    });
    golden::check(&crate_root().join("tests/it/public_items.txt"), &listed.concat());
}

#[test]
fn each_main_item_has_an_example() {
    for (declaration, path) in MAIN_ITEMS {
        let text = source(path);
        let before: Vec<&str> =
            text.lines().take_while(|line| !line.starts_with(declaration)).collect();
        let documentation = before.iter().rev().take_while(|line| line.starts_with(['/', '#']));
        let fences = documentation.filter(|line| line.starts_with("/// ```")).count();
        assert!(fences >= 2, "{declaration} in {path} has no example");
    }
}

#[test]
fn the_door_for_our_own_crates_has_only_what_they_use() {
    let mut files = Vec::new();
    for folder in ["../app", "../offline", "../testkit", "tests", "benches", "src/bin"] {
        rust_files(&crate_root().join(folder), &mut files);
    }
    let mut used = BTreeSet::new();
    for path in files {
        let text = fs::read_to_string(path).unwrap();
        if text.contains("attache_runtime") {
            let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            used.extend(words.map(str::to_owned));
        }
    }
    let unused: Vec<String> =
        names(&code("src/internal.rs")).into_iter().filter(|name| !used.contains(name)).collect();
    assert_eq!(unused, Vec::<String>::new());
}
