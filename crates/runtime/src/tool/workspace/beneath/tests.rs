//! Both ways of opening agree, and neither leaves the root.

use std::os::{fd::AsRawFd as _, unix::fs::symlink};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

fn trapped() -> (TempDir, Root) {
    let scratch = tempfile::tempdir().unwrap();
    let outer = scratch.path();
    fs::create_dir_all(outer.join("ws/a/b")).unwrap();
    fs::create_dir(outer.join("secret")).unwrap();
    for file in ["ws/f", "ws/a/f", "ws/a/b/f", "secret/f"] {
        fs::write(outer.join(file), "x").unwrap();
    }
    symlink("../secret", outer.join("ws/out")).unwrap();
    symlink("b", outer.join("ws/a/in")).unwrap();
    symlink("f", outer.join("ws/a/b/link")).unwrap();
    let root = Root::open(&outer.join("ws"), PathBuf::new()).unwrap();
    (scratch, root)
}

proptest! {
    #[test]
    fn both_ways_of_opening_agree(
        parts in prop::collection::vec(
            prop::sample::select(vec!["a", "b", "f", "out", "in", "link", "..", "none", "/"]),
            0..6,
        ),
    ) {
        thread_local! {
            static TRAPPED: (TempDir, Root) = trapped();
        }
        TRAPPED.with(|(_, root)| {
            let relative: PathBuf = parts.iter().collect();
            let climbs = relative.components().any(|part| part == Component::ParentDir);
            let stepwise = open_stepwise(root.handle.as_fd(), &relative, READ);
            #[cfg(target_os = "linux")]
            {
                let at_once = open_at_once(root.handle.as_fd(), &relative, READ);
                // One call can go up and down again inside the root; step by step it is refused.
                prop_assert!(climbs || at_once.is_ok() == stepwise.is_ok(), "{relative:?}");
                for handle in at_once.iter().chain(&stepwise) {
                    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
                    let real = fs::read_link(link).unwrap();
                    prop_assert!(real.starts_with(root.path()), "{relative:?} opened {real:?}");
                }
            }
            prop_assert!(!(climbs && stepwise.is_ok()), "{relative:?}");
            Ok(())
        })?;
    }
}

#[test]
fn where_the_one_call_is_forbidden_the_steps_take_over() {
    let (_scratch, root) = trapped();
    root.stepwise.store(true, Ordering::Relaxed);
    root.open_file(Path::new("a/b/f")).unwrap();
    root.open_directory(Path::new("")).unwrap();
    for refused in ["out/f", "a/in/f", "a/b/link", "../secret/f", "a"] {
        root.open_file(Path::new(refused)).unwrap_err();
    }
    assert!(root.holds(Path::new("out")));
    assert!(!root.holds(Path::new("out/f")));
}

#[test]
fn a_root_stays_the_same_directory_when_its_path_becomes_another() {
    let (scratch, root) = trapped();
    let path = scratch.path().join("ws");
    fs::rename(&path, scratch.path().join("moved")).unwrap();
    symlink("secret", &path).unwrap();
    let file = root.open_file(Path::new("f")).unwrap();
    let real = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
    assert!(real.ends_with("moved/f"), "{real:?}");
}
