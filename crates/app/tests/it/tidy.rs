//! The project's own rules: the direction of the crates, a pure kernel, no forgotten file.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found
}

/// The packages a crate of ours is built with, whatever brings them in.
fn dependencies(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != package).map(str::to_owned).collect()
}

#[test]
fn the_crates_point_one_way() {
    let ours = |package: &str| {
        let all = dependencies(package);
        all.into_iter().filter(|name| name.starts_with("attache")).collect::<Vec<_>>()
    };
    assert_eq!(ours("attache-kernel"), Vec::<String>::new());
    assert_eq!(ours("attache-runtime"), ["attache-kernel"]);
    assert_eq!(ours("attache-offline"), ["attache-kernel", "attache-runtime"]);
    assert_eq!(ours("attache"), ["attache-kernel", "attache-offline", "attache-runtime"]);
}

/// What the kernel may be built with: data, parsing, matching. Nothing that waits or touches the world.
#[test]
fn the_kernel_is_pure() {
    const ALLOWED: [&str; 7] =
        ["granit-parser", "regex", "serde", "serde_json", "strsim", "thiserror", "toml"];
    const FORBIDDEN: [&str; 15] = [
        "tokio",
        "reqwest",
        "hyper",
        "rustix",
        "nix",
        "rand",
        "uuid",
        "notify",
        "tempfile",
        "chrono",
        "jiff",
        "tracing",
        "getrandom",
        "libc",
        "jsonschema",
    ];
    let manifest = fs::read_to_string(root().join("crates/kernel/Cargo.toml")).unwrap();
    let direct = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    for line in direct.lines().filter(|line| !line.trim().is_empty()) {
        let name = line.split(['.', ' ', '=']).next().unwrap();
        assert!(ALLOWED.contains(&name), "the kernel may not depend on {name}");
    }
    let all = dependencies("attache-kernel");
    for name in FORBIDDEN {
        assert!(!all.contains(name), "{name} has slipped into the kernel");
    }
    for file in files(&root().join("crates/kernel/src"), "rs") {
        let text = fs::read_to_string(&file).unwrap();
        for word in [
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "SystemTime",
            "Instant::now",
            "std::thread",
        ] {
            assert!(!text.contains(word), "{} uses {word}", file.display());
        }
    }
}

/// The environment, the arguments and the working directory are read in one file and handed down.
#[test]
fn only_one_file_reads_the_process() {
    const READS: [&str; 7] = [
        "env::var(",
        "env::var_os(",
        "env::vars(",
        "env::vars_os(",
        "env::args(",
        "env::args_os(",
        "env::current_dir(",
    ];
    let mut readers = BTreeSet::new();
    for folder in ["app", "offline", "runtime", "kernel"] {
        let folder = root().join("crates").join(folder).join("src");
        for file in files(&folder, "rs") {
            if file.ends_with("tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            if READS.iter().any(|read| text.contains(read)) {
                readers.insert(file.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
    let own_program = "crates/runtime/src/bin/attache-sandbox.rs";
    assert_eq!(
        readers,
        BTreeSet::from(["crates/app/src/environment.rs", own_program].map(str::to_owned))
    );
}

/// A name says what is made of what.
#[test]
fn no_function_is_called_of() {
    for file in files(&root().join("crates"), "rs") {
        let text = fs::read_to_string(&file).unwrap();
        let declares = |line: &str| line.contains(concat!("fn ", "of("));
        assert!(!text.lines().any(declares), "{} has a function `of`", file.display());
    }
}

#[test]
fn every_file_says_what_it_is() {
    for file in files(&root().join("crates"), "rs") {
        let text = fs::read_to_string(&file).unwrap();
        let parts: Vec<_> = file.components().map(|part| part.as_os_str().to_owned()).collect();
        let is_unit_tests = file.ends_with("tests.rs")
            || (parts.contains(&"src".into()) && parts.contains(&"tests".into()));
        assert!(text.starts_with("//!") || is_unit_tests, "{} has no `//!`", file.display());
    }
}

#[test]
fn no_test_file_is_forgotten() {
    for folder in ["app", "offline", "runtime", "kernel", "testkit"] {
        let folder = root().join("crates").join(folder).join("tests/it");
        let main = fs::read_to_string(folder.join("main.rs")).unwrap();
        for file in fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.extension().is_some_and(|extension| extension == "rs") && stem != "main" {
                assert!(main.contains(&format!("mod {stem};")), "{} is not run", path.display());
            }
        }
    }
}

#[test]
fn no_test_is_left_out() {
    for file in files(&root().join("crates"), "rs") {
        let text = fs::read_to_string(&file).unwrap();
        for word in [concat!("#[", "ignore"), concat!("#[should_", "panic")] {
            assert!(!text.contains(word), "{} holds {word}", file.display());
        }
    }
}

/// Tests wait for what happens, never for a time to pass. Those with a paused clock may let it pass.
#[test]
fn no_test_sleeps() {
    for crate_folder in fs::read_dir(root().join("crates")).unwrap() {
        let tests = crate_folder.unwrap().path().join("tests");
        for file in files(&tests, "rs") {
            let text = fs::read_to_string(&file).unwrap();
            let sleeps = |word: &str| text.contains(word);
            let is_paused = sleeps("start_paused = true");
            let sleeps = sleeps(concat!("thread::", "sleep("))
                || (sleeps(concat!("time::", "sleep(")) && !is_paused);
            assert!(!sleeps, "{} sleeps", file.display());
        }
    }
}

/// The crates' public types go from thread to thread, as hosts need them to.
#[test]
fn public_types_are_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<attache_kernel::agent::definition::Definition>();
    check::<attache_kernel::agent::registry::Inventory>();
    check::<attache_kernel::rights::filter::ToolSet>();
    check::<attache_runtime::internal::model::credentials::Credentials>();
    check::<attache_runtime::internal::agents::discovery::Discovery>();
    check::<attache_runtime::internal::store::files::FileWriter>();
    check::<attache_runtime::internal::store::FileStore>();
    check::<attache_runtime::internal::agents::trust::TrustStore>();
}
