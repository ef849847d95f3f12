use std::{os::unix::fs::symlink, time::Duration};

use super::*;
use crate::sandbox::ResourceLimits;

/// A workspace, and a place for what is moved out of it.
struct Yard {
    folder: tempfile::TempDir,
    nested: Arc<NestedPaths>,
    bystanders: Arc<Bystanders>,
    with_top: bool,
}

impl Yard {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for path in ["workspace/sub", "further"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        Self { folder, nested: Arc::default(), bystanders: Arc::default(), with_top: false }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn make(&self, path: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), "evil").unwrap();
    }

    fn begin(&self, mode: Mode) -> Aftermath {
        let policy = Policy {
            mode,
            workspace: self.at("workspace"),
            temp_dir: self.at("temp"),
            writable_roots: vec![self.at("further")],
            network: false,
            writable_git: false,
            deny_read: Vec::new(),
            read_only: Vec::new(),
            shown: Vec::new(),
            limits: ResourceLimits::default(),
        };
        let shared = (&self.nested, &self.bystanders);
        Aftermath::of_command(&policy, shared, self.with_top, self.at("planted"))
    }
}

#[test]
fn what_was_planted_is_moved_and_what_was_there_stays() {
    let yard = Yard::new();
    yard.make("workspace/vendor/.git/config");
    let sweep = yard.begin(Mode::WorkspaceWrite);
    yard.make("workspace/sub/.git/config");
    yard.make("workspace/new/deep/.claude/agents/evil.md");
    yard.make("workspace/vendor/.mcp.json");
    yard.make("workspace/.config/opencode/agent/evil.md");
    yard.make("further/a/.cursor/rules");
    symlink("/etc", yard.at("workspace/sub/.codex")).unwrap();
    // Mounts hold the paths at the top, so somebody else created this.
    yard.make("workspace/.claude/settings.json");
    let told = sweep.settle().unwrap();
    for gone in [
        "workspace/sub/.git",
        "workspace/new/deep/.claude",
        "workspace/vendor/.mcp.json",
        "workspace/sub/.codex",
        "workspace/.config/opencode",
        "further/a/.cursor",
    ] {
        assert!(yard.at(gone).symlink_metadata().is_err(), "{gone}: {told}");
    }
    for (kept, content) in [
        ("workspace/vendor/.git/config", "evil"),
        ("workspace/.claude/settings.json", "evil"),
        ("planted/sub/.git.planted/config", "evil"),
        ("planted/new/deep/.claude.planted/agents/evil.md", "evil"),
        ("planted/a/.cursor.planted/rules", "evil"),
    ] {
        assert_eq!(fs::read_to_string(yard.at(kept)).unwrap(), content, "{kept}");
    }
    assert!(told.contains("sub/.git to ") && told.contains("with_escalated_permissions"), "{told}");
    let list = fs::read_to_string(yard.at("planted/moved.txt")).unwrap();
    assert_eq!(list.lines().count(), 6, "{list}");
    assert!(fs::metadata("/etc").unwrap().is_dir(), "only the link was moved");
}

#[test]
fn nothing_is_told_and_nothing_made_where_nothing_was_planted() {
    let yard = Yard::new();
    let sweep = yard.begin(Mode::WorkspaceWrite);
    yard.make("workspace/sub/file");
    assert_eq!(sweep.settle(), None);
    assert!(!yard.at("planted").exists());
    let nothing = yard.begin(Mode::ReadOnly);
    yard.make("workspace/sub/.git/config");
    assert_eq!(nothing.settle(), None);
}

#[test]
fn things_of_one_name_are_all_kept() {
    let yard = Yard::new();
    for _ in 0..2 {
        let sweep = yard.begin(Mode::WorkspaceWrite);
        yard.make("workspace/sub/.git/config");
        assert!(sweep.settle().is_some());
    }
    assert!(yard.at("planted/sub/.git.planted").is_dir());
    assert!(yard.at("planted/sub/.git.planted-2").is_dir());
}

#[test]
fn what_cannot_be_moved_out_gets_another_name() {
    let yard = Yard::new();
    fs::write(yard.at("planted"), "not a directory").unwrap();
    let sweep = yard.begin(Mode::WorkspaceWrite);
    yard.make("workspace/sub/.git/config");
    // The command takes the right to rename in it.
    fs::set_permissions(yard.at("workspace/sub"), Permissions::from_mode(0o555)).unwrap();
    let told = sweep.settle().unwrap();
    assert!(told.contains("sub/.git to sub/.git.planted"), "{told}");
    assert!(yard.at("workspace/sub/.git.planted/config").is_file());
    let mode = fs::metadata(yard.at("workspace/sub")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o555, "it is as it was");
    fs::set_permissions(yard.at("workspace/sub"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn no_link_is_followed_to_what_lies_elsewhere() {
    let yard = Yard::new();
    yard.make("elsewhere/.git/config");
    symlink(yard.at("elsewhere"), yard.at("workspace/link")).unwrap();
    let moved = moved_away(&yard.at("workspace"), Path::new("link/.git"), &yard.at("planted"));
    assert!(moved.is_err());
    assert!(yard.at("elsewhere/.git/config").is_file());
}

#[test]
fn what_others_may_have_created_is_left() {
    let yard = Yard::new();
    let sweep = yard.begin(Mode::WorkspaceWrite);
    yard.bystanders.approve(yard.at("workspace/sub/.claude/agents/mine.md"));
    yard.make("workspace/sub/.claude/agents/mine.md");
    assert_eq!(sweep.settle(), None, "a file tool wrote it");

    for ends_before in [true, false] {
        let sweep = yard.begin(Mode::WorkspaceWrite);
        let mut outside = Some(yard.begin(Mode::DangerFullAccess));
        yard.make(&format!("workspace/{ends_before}/.git/config"));
        if ends_before {
            assert_eq!(outside.take().unwrap().settle(), None);
        }
        let told = sweep.settle().unwrap();
        assert!(told.contains("They were left"), "{told}");
        assert!(yard.at(&format!("workspace/{ends_before}/.git")).is_dir());
    }
    // What was created before this one begins stays, and what it creates does not.
    let outside = yard.begin(Mode::DangerFullAccess);
    yard.make("workspace/outside/.git/config");
    assert_eq!(outside.settle(), None);
    let sweep = yard.begin(Mode::WorkspaceWrite);
    yard.make("workspace/later/.git/config");
    assert!(sweep.settle().unwrap().contains("moved out of the way"));
    assert!(
        yard.at("workspace/outside/.git").is_dir() && !yard.at("workspace/later/.git").exists()
    );
}

#[test]
fn where_not_everything_was_seen_only_what_is_younger_is_moved() {
    let yard = Yard::new();
    yard.make("workspace/old/.git/config");
    let Aftermath::Sweep(mut sweep) = yard.begin(Mode::WorkspaceWrite) else { panic!() };
    for (_, found) in &mut sweep.roots {
        *found = Arc::new(Found::default());
    }
    let born = |path: &str| fs::metadata(yard.at(path)).unwrap().created().unwrap();
    sweep.clock = born("workspace/old/.git") + Duration::from_nanos(1);
    // The clock of file systems ticks slowly.
    for number in 0.. {
        let tick = format!("workspace/tick-{number}");
        yard.make(&tick);
        if born(&tick) >= sweep.clock {
            break;
        }
    }
    yard.make("workspace/young/.git/config");
    assert!(sweep.sweep().is_some());
    assert!(yard.at("workspace/old/.git").is_dir() && !yard.at("workspace/young/.git").exists());
}

#[test]
fn a_helper_that_is_alone_moves_what_was_not_known() {
    let yard = Yard::new();
    yard.make("workspace/vendor/.git/config");
    yard.make("workspace/sub/.git/config");
    let known = yard.at("workspace/vendor/.git");
    sweep_known(&[yard.at("workspace")], &[&known], false, &yard.at("planted"));
    assert!(known.is_dir() && !yard.at("workspace/sub/.git").exists());
    assert!(yard.at("planted/sub/.git.planted").is_dir());
}

#[test]
fn without_mounts_the_paths_at_the_top_are_moved_too() {
    let yard = Yard { with_top: true, ..Yard::new() };
    yard.make("workspace/.git/config");
    let sweep = yard.begin(Mode::WorkspaceWrite);
    yard.make("workspace/.claude/settings.json");
    assert!(sweep.settle().is_some());
    assert!(!yard.at("workspace/.claude").exists() && yard.at("workspace/.git").is_dir());
}
