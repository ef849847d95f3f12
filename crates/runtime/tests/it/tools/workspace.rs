//! Whatever a path says, it yields nothing outside the roots, and the refusal says why.

use std::{fs, os::fd::AsRawFd as _, path::PathBuf};

use attache_runtime::internal::tool::workspace::{Kind, Location, PathError, Workspace};
use proptest::prelude::*;

use super::Fixture;

fn refusal(fixture: &Fixture, path: &str) -> String {
    match fixture.context.workspace.resolve(path) {
        Ok(location) => panic!("{path} gives {location}"),
        Err(error) => error.to_string(),
    }
}

fn found(fixture: &Fixture, path: &str) -> Location {
    fixture.context.workspace.resolve(path).unwrap()
}

#[test]
fn paths_inside_are_shown_relative_to_the_workspace() {
    let fixture = Fixture::with(&[("a/b.txt", "x")]);
    let absolute = fixture.root().join("a/b.txt");
    for path in [
        "a/b.txt",
        "./a//b.txt",
        "a/../a/b.txt",
        "../ws/a/b.txt",
        " a/b.txt\n",
        absolute.to_str().unwrap(),
    ] {
        assert_eq!(found(&fixture, path).to_string(), "a/b.txt", "{path:?}");
    }
    assert_eq!(found(&fixture, ".").to_string(), ".");
    assert_eq!(found(&fixture, "a").kind(), Kind::Directory);
}

#[test]
fn dots_and_absolute_paths_do_not_lead_out() {
    let fixture = Fixture::with(&[("a/b.txt", "x")]);
    let secret = fixture.outer().join("secret/key.txt");
    for path in [
        "..",
        "../secret/key.txt",
        "a/../../secret",
        "a/../../secret/key.txt",
        secret.to_str().unwrap(),
        "/",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
    ] {
        let message = refusal(&fixture, path);
        assert_eq!(message, format!("{path} is outside the workspace"));
    }
}

#[test]
fn nothing_is_told_about_what_is_outside_not_even_whether_it_exists() {
    let fixture = Fixture::new();
    fixture.link("gone", "../secret/none.txt");
    fixture.link("loop", "../secret/loop");
    std::os::unix::fs::symlink("loop", fixture.outer().join("secret/loop")).unwrap();
    for path in [
        "../secret/none.txt",
        "../none/none",
        "/no/such/file",
        "../secret/key.txt/below",
        "gone",
        "gone/below",
        "loop",
    ] {
        let message = refusal(&fixture, path);
        assert_eq!(message, format!("{path} is outside the workspace"));
    }
}

#[test]
fn links_that_lead_out_are_refused() {
    let fixture = Fixture::with(&[("a/b.txt", "x")]);
    fixture.link("file", "../secret/key.txt");
    fixture.link("directory", "../secret");
    fixture.link("absolute", fixture.outer().join("secret"));
    fixture.link("a/parent", "..");
    fixture.link("chain", "directory");
    fixture.link("process", "/proc/self/cwd");
    for path in [
        "file",
        "directory",
        "directory/key.txt",
        "absolute/key.txt",
        "a/parent/../secret/key.txt",
        "chain/key.txt",
        "directory/none.txt",
        "process",
    ] {
        let message = refusal(&fixture, path);
        assert_eq!(message, format!("{path} is outside the workspace"));
    }
    assert_eq!(found(&fixture, "a/parent/a/b.txt").to_string(), "a/b.txt");
}

#[test]
fn links_that_stay_inside_are_followed_to_what_they_mean() {
    let fixture = Fixture::with(&[("a/b.txt", "x")]);
    fixture.link("relative", "a/b.txt");
    fixture.link("absolute", fixture.root().join("a"));
    assert_eq!(found(&fixture, "relative").to_string(), "a/b.txt");
    assert_eq!(found(&fixture, "absolute/b.txt").to_string(), "a/b.txt");
    found(&fixture, "absolute/b.txt").open_file().unwrap();
}

#[test]
fn broken_links_and_loops_are_named() {
    let fixture = Fixture::with(&[("a/b.txt", "x")]);
    fixture.link("broken", "a/none.txt");
    fixture.link("one", "two");
    fixture.link("two", "one");
    assert_eq!(refusal(&fixture, "broken"), "broken is a broken link: a/none.txt does not exist");
    assert_eq!(refusal(&fixture, "one/x"), "one/x: its symbolic links form a loop");
}

#[test]
fn what_was_meant_is_suggested() {
    let fixture = Fixture::with(&[
        ("src/main.rs", "x"),
        ("crates/kernel/src/registry.rs", "x"),
        ("README.md", "x"),
    ]);
    for (path, message) in [
        ("src/mian.rs", "; did you mean src/main.rs?"),
        ("scr/main.rs", "; did you mean src/main.rs?"),
        ("readme.md", "; did you mean README.md?"),
        ("registry.rs", "; did you mean crates/kernel/src/registry.rs?"),
        ("zzz", ""),
    ] {
        let expected = format!("no such file or directory: {path}{message}");
        assert_eq!(refusal(&fixture, path), expected);
    }
    assert_eq!(
        refusal(&fixture, "README.md/x"),
        "README.md/x: README.md is a file, not a directory"
    );
}

#[test]
fn pipes_sockets_and_devices_are_refused_and_nothing_hangs() {
    let fixture = Fixture::new();
    fixture.fifo("pipe");
    fixture.link("to_pipe", "pipe");
    let _socket = std::os::unix::net::UnixListener::bind(fixture.root().join("socket")).unwrap();
    for (path, kind) in [("pipe", "FIFO"), ("to_pipe", "FIFO"), ("socket", "socket")] {
        assert_eq!(
            refusal(&fixture, path),
            format!("{path} is a {kind}; only files and directories can be opened")
        );
    }
    let devices = Workspace::new("/dev".as_ref()).unwrap();
    let error = devices.resolve("zero").unwrap_err().to_string();
    assert_eq!(error, "zero is a device; only files and directories can be opened");
}

#[test]
fn what_is_no_path_is_refused() {
    let fixture = Fixture::new();
    assert_eq!(refusal(&fixture, "  "), "the path is empty");
    assert_eq!(refusal(&fixture, "a\0b"), "the path holds a NUL character");
    assert_eq!(refusal(&fixture, &"a/".repeat(3000)), "the path is too long");
    let long_name = refusal(&fixture, &"a".repeat(300));
    assert!(long_name.ends_with("file name too long"), "{long_name}");
}

#[test]
fn another_root_counts_from_the_moment_it_exists() {
    let fixture = Fixture::new();
    let extra = fixture.outer().join("extra");
    let workspace = Workspace::new(fixture.root()).unwrap().allowing(extra.clone());
    let path = extra.join("x.txt");
    let given = path.to_str().unwrap();
    let before = workspace.resolve(given);
    assert!(matches!(before, Err(PathError::Outside { .. })), "{before:?}");
    fs::create_dir(&extra).unwrap();
    fs::write(&path, "x").unwrap();
    assert_eq!(workspace.resolve(given).unwrap().to_string(), given);
    let beside = fixture.outer().join("extra_not");
    fs::write(&beside, "x").unwrap();
    let beside = workspace.resolve(beside.to_str().unwrap());
    assert!(matches!(beside, Err(PathError::Outside { .. })), "{beside:?}");
}

#[test]
fn a_name_that_is_no_utf8_can_be_given_as_it_was_shown() {
    use std::os::unix::ffi::OsStringExt as _;
    let fixture = Fixture::new();
    let name = std::ffi::OsString::from_vec(b"caf\xe9.txt".to_vec());
    fs::write(fixture.root().join(name), "x").unwrap();
    let location = found(&fixture, "caf\u{fffd}.txt");
    assert_eq!(location.to_string(), "caf\u{fffd}.txt");
    location.open_file().unwrap();
}

#[test]
fn a_directory_that_is_not_there_is_no_workspace() {
    let fixture = Fixture::with(&[("file", "x")]);
    for path in ["none", "file"] {
        let error = Workspace::new(&fixture.root().join(path)).unwrap_err();
        assert!(error.to_string().starts_with("cannot work in "), "{error}");
    }
}

/// A place with every trap there is.
fn trapped() -> Fixture {
    let fixture = Fixture::with(&[("a/b/f", "in"), ("a/f", "in"), ("f", "in")]);
    fixture.link("out", "../secret");
    fixture.link("abs", fixture.outer().join("secret/key.txt"));
    fixture.link("a/up", "../..");
    fixture.link("a/b/top", "/");
    fixture.link("loop", "loop");
    fixture.link("gone", "nowhere");
    fixture.link("in", "a/b");
    fixture.link("back", "a/up/ws");
    fixture.fifo("pipe");
    fixture
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_path_ever_yields_a_handle_outside_the_roots(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "..", ".", "", "a", "b", "f", "out", "abs", "up", "top", "loop", "gone", "in",
                "back", "pipe", "ws", "secret", "key.txt", "etc", "passwd", "proc", "self", "root",
                "cwd", "~", "*", " ", "é",
            ]),
            0..9,
        ),
        start in 0_usize..5,
        wild in prop::option::of(".{0,20}"),
    ) {
        thread_local! {
            static TRAPPED: Fixture = trapped();
        }
        TRAPPED.with(|fixture| {
            let outer = fixture.outer().to_string_lossy().into_owned();
            let root = fixture.root().to_string_lossy().into_owned();
            let prefix = ["", "/", "/proc/self/root", &outer, &root][start];
            let mut path = [prefix, &parts.join("/")].join(if start > 1 { "/" } else { "" });
            path.extend(wild);
            let Ok(location) = fixture.context.workspace.resolve(&path) else {
                return Ok(());
            };
            prop_assert!(location.absolute().starts_with(fixture.root()), "{path}");
            match location.kind() {
                Kind::File => {
                    let file = location.open_file().unwrap();
                    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
                    let real: PathBuf = fs::read_link(link).unwrap();
                    prop_assert!(real.starts_with(fixture.root()), "{path} opened {real:?}");
                }
                Kind::Directory => {
                    let names = location.open_directory().unwrap().names(1000).unwrap();
                    let leaks = names.iter().any(|name| name == "secret" || name == "key.txt");
                    prop_assert!(!leaks, "{path} lists {names:?}");
                }
            }
            Ok(())
        })?;
    }
}
