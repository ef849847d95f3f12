//! What a hostile project, model or neighbour does to the tools that write: nothing outside the
//! workspace changes, nothing hangs, and a failure leaves the old file and no other.

use std::{
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _, symlink},
        net::UnixListener,
    },
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::{Fixture, as_nobody};

/// The calls that write a path.
fn calls(path: &str) -> [(&'static str, Value); 2] {
    [
        ("write_file", json!({"path": path, "content": "PWNED\n"})),
        ("edit_file", json!({"path": path, "old_string": "", "new_string": "PWNED\n"})),
    ]
}

/// Every way to write that path fails, with those words; nothing is left behind.
fn refused(fixture: &Fixture, path: &str, expected: &str) {
    let before = fixture.names(".");
    for (tool, arguments) in calls(path) {
        let error = fixture.error(tool, arguments);
        assert!(error.contains(expected), "{tool} {path:?}: {error}");
        assert!(!error.contains("SECRET"), "{tool} {path:?}: {error}");
    }
    assert_eq!(fixture.names("."), before, "{path:?}");
    assert_eq!(fs::read_to_string(fixture.outer().join("secret/key.txt")).unwrap(), "SECRET\n");
    assert_eq!(fs::read_dir(fixture.outer().join("secret")).unwrap().count(), 1, "{path:?}");
}

#[test]
fn no_path_leads_out() {
    let fixture = Fixture::with(&[("a/b.txt", "b\n")]);
    fixture.link("to_file", "../secret/key.txt");
    fixture.link("to_new", "../secret/new.txt");
    fixture.link("to_dir", "../secret");
    fixture.link("a/up", "../..");
    fixture.link("chain", "to_dir");
    let absolute = fixture.outer().join("secret/key.txt");
    let new = fixture.outer().join("secret/new.txt");
    for path in [
        "../secret/key.txt",
        "../secret/new.txt",
        "a/../../secret/new.txt",
        "to_file",
        "to_new",
        "to_dir/key.txt",
        "to_dir/new.txt",
        "to_dir/made/new.txt",
        "a/up/secret/new.txt",
        "chain/new.txt",
        absolute.to_str().unwrap(),
        new.to_str().unwrap(),
        "/proc/self/cwd/x",
        "/proc/self/root/tmp/x",
        "/dev/null",
        "/dev/zero",
    ] {
        refused(&fixture, path, "is outside the workspace");
    }
}

#[test]
fn links_to_nothing_and_in_circles_are_refused() {
    let fixture = Fixture::new();
    fixture.link("loop", "loop");
    fixture.link("broken", "missing.txt");
    fixture.link("broken_dir", "missing");
    refused(&fixture, "loop", "its symbolic links form a loop");
    refused(&fixture, "broken", "is a broken link: missing.txt does not exist");
    refused(&fixture, "broken_dir/x", "is a broken link");
}

#[test]
fn a_path_through_what_is_missing_has_no_way_up() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    refused(&fixture, "missing/../../secret/key.txt", "`..` behind a directory that is missing");
    refused(&fixture, "missing/../a.txt", "`..` behind a directory that is missing");
}

#[test]
fn only_regular_files_are_written() {
    let fixture = Fixture::with(&[("dir/a.txt", "a\n"), ("file", "x\n")]);
    fixture.fifo("pipe");
    let _socket = UnixListener::bind(fixture.root().join("socket")).unwrap();
    fixture.link("zero", "/dev/zero");
    refused(&fixture, "pipe", "is a FIFO");
    refused(&fixture, "socket", "is a socket");
    refused(&fixture, "zero", "is outside the workspace");
    refused(&fixture, "dir", "is a directory");
    refused(&fixture, ".", "is a directory");
    refused(&fixture, "dir/", "ends with a slash");
    refused(&fixture, "file/below", "file is a file, not a directory");
}

#[test]
fn names_that_are_none_are_refused() {
    let fixture = Fixture::new();
    refused(&fixture, "", "");
    refused(&fixture, "  ", "the path is empty");
    refused(&fixture, "a\0b", "NUL");
    refused(&fixture, "a\nb.txt", "a new name may not hold control characters");
    refused(&fixture, "a\u{1b}[31mb/c.txt", "a new name may not hold control characters");
    refused(&fixture, &"n".repeat(300), "too long");
    refused(&fixture, &"n/".repeat(3000), "too long");
}

/// A blank at the end of a path is a slip, unless a file has that name.
#[test]
fn blanks_around_a_path_are_a_slip() {
    let fixture = Fixture::with(&[("named ", "x\n")]);
    fixture.text("write_file", json!({"path": " a.txt\n", "content": "a"}));
    assert_eq!(fixture.names("."), ["a.txt", "named "]);
    fixture.text("edit_file", json!({"path": "named ", "old_string": "x", "new_string": "y"}));
    assert_eq!(fixture.content("named "), "y\n");
}

#[test]
fn a_name_that_is_not_utf8_is_left_alone() {
    let fixture = Fixture::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(fixture.root().join(name), "x\n").unwrap();
    let error = fixture.error(
        "edit_file",
        json!({"path": "caf\u{fffd}.txt", "old_string": "x", "new_string": "y"}),
    );
    assert!(error.contains("not UTF-8"), "{error}");
}

/// The artifacts of a run can be read and not written.
#[test]
fn what_a_run_kept_is_not_its_to_change() {
    let fixture = Fixture::new();
    let kept = fixture.context.artifacts.keep("grep", "text").unwrap();
    for path in [kept.clone(), kept.with_file_name("new.txt")] {
        for (tool, arguments) in calls(path.to_str().unwrap()) {
            let error = fixture.error(tool, arguments);
            assert!(error.contains("may be read but not written"), "{error}");
        }
    }
    assert_eq!(fs::read_to_string(kept).unwrap(), "text");
}

#[test]
fn a_file_that_is_read_only_stays() {
    let fixture = Fixture::with(&[("locked.txt", "one\n")]);
    let path = fixture.root().join("locked.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let arguments = json!({"path": "locked.txt", "old_string": "one", "new_string": "two"});
    let error = fixture.error("edit_file", arguments);
    assert!(error.contains("locked.txt is read-only"), "{error}");
    assert_eq!((fixture.content("locked.txt").as_str(), fixture.names(".").len()), ("one\n", 1));
}

#[test]
fn a_directory_that_may_not_be_written_and_a_file_of_another_owner_stay() {
    let fixture = Fixture::with(&[("dir/a.txt", "one\n"), ("open/b.txt", "one\n")]);
    let mode = |path: &str, mode| {
        fs::set_permissions(fixture.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("dir", 0o555);
    mode("open", 0o777);
    mode("open/b.txt", 0o666);
    mode("dir/a.txt", 0o666);
    mode(".", 0o755);
    let is_root = rustix::process::geteuid().is_root();
    as_nobody(&fixture, || {
        let edit = |path: &str| json!({"path": path, "old_string": "one", "new_string": "two"});
        let error = fixture.error("edit_file", edit("dir/a.txt"));
        assert!(error.contains("cannot write dir/a.txt: permission denied"), "{error}");
        if is_root {
            let error = fixture.error("edit_file", edit("open/b.txt"));
            assert!(error.contains("belongs to another user"), "{error}");
            assert_eq!(fixture.content("open/b.txt"), "one\n");
        }
    });
    assert_eq!(fixture.names("dir"), ["a.txt"]);
    assert_eq!(fixture.names("open"), ["b.txt"]);
    assert_eq!(fixture.content("dir/a.txt"), "one\n");
}

#[test]
fn owner_and_special_bits_are_kept() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not checked: only the superuser can give files away");
        return;
    }
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    let path = fixture.root().join("a.txt");
    std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o2664)).unwrap();
    fixture.text("edit_file", json!({"path": "a.txt", "old_string": "one", "new_string": "two"}));
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (1234, 2345, 0o2664));
}

/// Another name of the same file, which may lie outside, keeps the old content.
#[test]
fn a_hard_link_to_a_file_outside_is_broken_and_said() {
    let fixture = Fixture::new();
    let outside = fixture.outer().join("secret/key.txt");
    fs::hard_link(&outside, fixture.root().join("key.txt")).unwrap();
    let arguments = json!({"path": "key.txt", "old_string": "SECRET", "new_string": "PWNED"});
    let said = fixture.text("edit_file", arguments);
    assert!(
        said.ends_with("[the file had 2 hard links; its other names keep the old content]"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(outside).unwrap(), "SECRET\n");
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_read() {
    let fixture = Fixture::with(&[("small.txt", "one\n")]);
    let large = fs::File::create(fixture.root().join("large.txt")).unwrap();
    large.set_len(100 << 20).unwrap();
    let error = fixture
        .error("edit_file", json!({"path": "large.txt", "old_string": "a", "new_string": "b"}));
    assert!(error.contains("too large to be changed with this tool (100 MB"), "{error}");
    let content = "x".repeat((10 << 20) + 1);
    let error = fixture.error("write_file", json!({"path": "new.txt", "content": content}));
    assert!(error.contains("the content is too long"), "{error}");
    assert_eq!(fixture.names("."), ["large.txt", "small.txt"]);
}

#[test]
fn a_call_that_is_cancelled_writes_nothing() {
    let fixture = Fixture::with(&[("a.txt", "one\n")]);
    fixture.context.cancel.cancel();
    for arguments in [
        json!({"path": "a.txt", "old_string": "one", "new_string": "two"}),
        json!({"path": "b/c.txt", "old_string": "", "new_string": "two"}),
    ] {
        fixture.error("edit_file", arguments);
    }
    assert_eq!(fixture.names("."), ["a.txt"]);
    assert_eq!(fixture.content("a.txt"), "one\n");
}

/// Does something again and again while another thread does something else.
fn meanwhile(neighbour: impl Fn() + Sync, action: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                neighbour();
            }
        });
        action();
        done.store(true, Ordering::Relaxed);
    });
}

fn swap(one: &Path, two: &Path) {
    renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
}

/// A directory that changes places with a link to the outside all the time.
#[test]
fn a_directory_that_is_swapped_for_a_link_lets_nothing_out() {
    let fixture = Fixture::with(&[("door/deep/key.txt", "plain 0\n")]);
    fs::create_dir(fixture.outer().join("secret/deep")).unwrap();
    fs::write(fixture.outer().join("secret/deep/key.txt"), "plain 0\n").unwrap();
    fixture.link("other", "../secret");
    let (door, other) = (fixture.root().join("door"), fixture.root().join("other"));
    let mut written = 0;
    meanwhile(
        || swap(&door, &other),
        || {
            for number in 0..400 {
                let path = format!("door/deep/new-{number}.txt");
                let output =
                    fixture.call("write_file", json!({"path": path, "content": "PWNED\n"}));
                written += usize::from(!output.is_error);
                fixture.call(
                    "edit_file",
                    json!({"path": "door/deep/key.txt", "old_string": "plain", "new_string": "plane"}),
                );
            }
        },
    );
    assert!(written > 0);
    let names = fs::read_dir(fixture.outer().join("secret/deep")).unwrap().count();
    assert_eq!(names, 1, "nothing was written outside");
    let outside = fs::read_to_string(fixture.outer().join("secret/deep/key.txt")).unwrap();
    assert_eq!(outside, "plain 0\n");
}

/// A file that changes places with a link to one outside all the time.
#[test]
fn a_file_that_is_swapped_for_a_link_lets_nothing_out() {
    let fixture = Fixture::with(&[("key.txt", "SECRET\n")]);
    fixture.link("other", "../secret/key.txt");
    let (file, other) = (fixture.root().join("key.txt"), fixture.root().join("other"));
    meanwhile(
        || swap(&file, &other),
        || {
            for _ in 0..400 {
                for (old, new) in [("SECRET", "PUBLIC"), ("PUBLIC", "SECRET")] {
                    let arguments =
                        json!({"path": "key.txt", "old_string": old, "new_string": new});
                    fixture.call("edit_file", arguments);
                }
            }
        },
    );
    assert_eq!(fs::read_to_string(fixture.outer().join("secret/key.txt")).unwrap(), "SECRET\n");
    let hidden = fixture.names(".").into_iter().filter(|name| name.starts_with('.')).count();
    assert_eq!(hidden, 0, "no hidden file is left");
}

/// Of a file that a neighbour appends to, no line is lost: either the edit is refused, or it was
/// made on all that was there.
#[test]
fn a_file_that_is_written_meanwhile_is_not_overwritten() {
    let fixture = Fixture::with(&[("log.txt", "start\n")]);
    let mut made = 0;
    for number in 0..200 {
        let path = fixture.root().join("log.txt");
        let line = format!("line {number}\n");
        thread::scope(|scope| {
            let neighbour = scope.spawn(|| {
                // As an editor does: the whole file, put in place at once.
                let text = fs::read_to_string(&path).unwrap();
                let beside = fixture.outer().join("beside");
                fs::write(&beside, text + &line).unwrap();
                fs::rename(beside, &path).unwrap();
            });
            neighbour.join().unwrap();
        });
        let (old, new) = if number % 2 == 0 { ("start", "begin") } else { ("begin", "start") };
        let output = fixture
            .call("edit_file", json!({"path": "log.txt", "old_string": old, "new_string": new}));
        if output.is_error {
            assert!(output.text.contains("changed"), "{}", output.text);
            fixture.text("read_file", json!({"path": "log.txt"}));
            fixture.text(
                "edit_file",
                json!({"path": "log.txt", "old_string": old, "new_string": new}),
            );
        } else {
            made += 1;
        }
    }
    assert!(made > 0, "the first edit, of a file that was never read, is made");
    assert_eq!(fixture.content("log.txt").lines().count(), 201);
}

/// Two that create the same file: one does, the other is told.
#[test]
fn a_file_that_appears_meanwhile_is_not_overwritten() {
    let fixture = Fixture::new();
    for number in 0..100 {
        let path = format!("new-{number}.txt");
        let full = fixture.root().join(&path);
        let (by_neighbour, output) = thread::scope(|scope| {
            let neighbour = scope.spawn(|| {
                use std::io::Write as _;
                let made = fs::OpenOptions::new().write(true).create_new(true).open(&full);
                made.is_ok_and(|mut file| file.write_all(b"theirs").is_ok())
            });
            let output = fixture.call("write_file", json!({"path": path, "content": "ours"}));
            (neighbour.join().unwrap(), output)
        });
        let expected = if by_neighbour { "theirs" } else { "ours" };
        let content = fixture.content(&path);
        // A neighbour that had not written yet left an empty file, which may be replaced.
        assert!(content == expected || content == "ours", "{content} {}", output.text);
        assert_eq!(output.is_error, content != "ours", "{}", output.text);
    }
    assert!(fixture.names(".").iter().all(|name| !name.starts_with('.')));
}

#[test]
fn a_directory_that_becomes_a_link_on_the_way_is_not_followed() {
    let fixture = Fixture::new();
    let (way, target) = (fixture.root().join("way"), fixture.outer().join("secret"));
    meanwhile(
        || {
            symlink(&target, &way).unwrap_or_default();
            fs::remove_file(&way).unwrap_or_default();
            fs::remove_dir_all(&way).unwrap_or_default();
        },
        || {
            for number in 0..300 {
                let path = format!("way/new-{number}.txt");
                fixture.call("write_file", json!({"path": path, "content": "PWNED"}));
            }
        },
    );
    assert_eq!(fs::read_dir(fixture.outer().join("secret")).unwrap().count(), 1);
}

/// A file that somebody appends to all the time: nothing hangs, and what is refused says why.
#[test]
fn a_file_that_grows_is_edited_or_refused() {
    use std::io::Write as _;
    let fixture = Fixture::with(&[("log.txt", "start\n")]);
    let path = fixture.root().join("log.txt");
    meanwhile(
        || {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(b"line\n").unwrap();
        },
        || {
            for number in 0..100 {
                let (old, new) =
                    if number % 2 == 0 { ("start", "begin") } else { ("begin", "start") };
                let arguments = json!({"path": "log.txt", "old_string": old, "new_string": new});
                let output = fixture.call("edit_file", arguments);
                let known = ["changed log.txt", "log.txt changed", "log.txt changes", "is not in"];
                assert!(known.iter().any(|word| output.text.contains(word)), "{}", output.text);
                fixture.call("read_file", json!({"path": "log.txt"}));
            }
        },
    );
    assert_eq!(fixture.names("."), ["log.txt"]);
}
