//! Mounts: the files as a command sees them, in a mount namespace of its own.
//!
//! Everything is read-only, also for changes that Landlock does not know (modes, owners, times, attributes).
//! The writable directories are mounted writable on top, their protected paths read-only on top of those,
//! and what is denied is covered. Invariant: what was mounted before the writable directories were cloned is
//! read-only or covered.

mod devices;
mod table;

use std::{
    fs::{self, Permissions},
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    fs::{Access, CWD, access},
    io::Errno,
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
        mount_remount, move_mount, open_tree,
    },
    process::{chdir, getcwd},
};

use self::devices::{Covers, Devices};
use super::setup_error::{SetupError, Step as _};
use crate::sandbox::{Policy, protected::Protected};

/// Files with keys that their programs read whenever they start, and fail if they may not. They are empty for
/// a command, and others cannot be opened.
const READ_AT_START: [&str; 7] =
    [".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", "pip.conf", ".condarc", ".my.cnf"];

/// Mounts everything for a policy.
pub(super) fn set_up(policy: &Policy, protected: &[Protected]) -> Result<(), SetupError> {
    let directory = getcwd(Vec::new()).step("find the working directory")?;
    unshare(CloneFlags::CLONE_NEWNS).step("create a mount namespace")?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).step("make the mounts private")?;

    let mut layers = writable_layers(policy)?;
    layers.extend(shown_layers(policy)?);
    layers.extend(denied_layers(policy));
    layers.sort_by(|one, other| one.order().cmp(&other.order()));
    let devices = Devices::clone_of_machine();
    make_read_only()?;
    let no_programs = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", no_programs, None).step("mount /proc")?;
    let covers = devices.mount()?;
    for layer in &layers {
        layer.mount(&covers)?;
    }
    for protected in protected {
        protect(protected)?;
    }
    for layer in &layers {
        layer.finish()?;
    }
    // The old one is below the mounts that were added.
    chdir(directory.as_c_str()).step("enter the working directory")
}

/// Makes `/proc` read-only, once the init has no more to write there.
pub(super) fn seal_proc() -> Result<(), SetupError> {
    read_only(Path::new("/proc"), MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC)
}

/// Something that is mounted on top of the read-only machine.
#[derive(Debug)]
enum Layer {
    /// A directory as it was before it became read-only.
    Writable(PathBuf, OwnedFd),
    /// A directory that can be read although it lies below a covered one.
    Shown(PathBuf, OwnedFd),
    /// An empty directory over one that is denied.
    Covered { path: PathBuf, has_something_below: bool },
    /// An empty file over one that is denied.
    CoveredFile(PathBuf),
}

impl Layer {
    /// Parents come first; a writable directory that is denied as well is writable.
    fn order(&self) -> (&Path, bool) {
        match self {
            Self::Writable(path, _) | Self::Shown(path, _) => (path, true),
            Self::Covered { path, .. } | Self::CoveredFile(path) => (path, false),
        }
    }

    fn mount(&self, covers: &Covers) -> Result<(), SetupError> {
        match self {
            Self::Writable(path, tree) | Self::Shown(path, tree) => {
                // It is missing only where a cover lies over one of its parents.
                let mut builder = fs::DirBuilder::new();
                drop(builder.recursive(true).mode(0o711).create(path));
                attach(tree, path)?;
                match self {
                    Self::Shown(..) => read_only_with_flags_of(path),
                    _ => Ok(()),
                }
            }
            Self::Covered { path, has_something_below } => {
                let mode =
                    if *has_something_below { c"mode=711,size=64k" } else { c"mode=000,size=4k" };
                let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
                mount("none", path, "tmpfs", flags, Some(mode)).step_at("cover", path)
            }
            Self::CoveredFile(path) => {
                let name = path.file_name().unwrap_or_default();
                let is_config = READ_AT_START.iter().any(|config| name == *config);
                let cover = if is_config { &covers.empty } else { &covers.hidden };
                attach(&clone(cover)?, path)
            }
        }
    }

    /// What has to wait until everything is in its place.
    fn finish(&self) -> Result<(), SetupError> {
        let Self::Covered { path, has_something_below: true } = self else { return Ok(()) };
        // Its directories can be entered and not listed.
        fs::set_permissions(path, Permissions::from_mode(0o111)).step_at("hide", path)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        read_only(path, flags)
    }
}

/// The writable directories as they are now.
fn writable_layers(policy: &Policy) -> Result<Vec<Layer>, SetupError> {
    let existing = policy.writable().filter_map(|path| fs::canonicalize(path).ok());
    let mut paths: Vec<PathBuf> = existing.collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().map(|path| Ok(Layer::Writable(path.clone(), clone(&path)?))).collect()
}

/// The directories that are shown and not writable, as far as they lie below denied ones.
fn shown_layers(policy: &Policy) -> Result<Vec<Layer>, SetupError> {
    let real = |paths: &mut dyn Iterator<Item = &Path>| -> Vec<PathBuf> {
        paths.filter_map(|path| fs::canonicalize(path).ok()).collect()
    };
    let denied = real(&mut policy.deny_read.iter().map(PathBuf::as_path));
    let writable = real(&mut policy.writable());
    let mut shown = real(&mut policy.shown.iter().map(PathBuf::as_path));
    shown.retain(|path| {
        denied.iter().any(|above| path.starts_with(above)) && !writable.contains(path)
    });
    shown.into_iter().map(|path| Ok(Layer::Shown(path.clone(), clone(&path)?))).collect()
}

/// What covers the denied paths, as far as they exist.
fn denied_layers(policy: &Policy) -> Vec<Layer> {
    let mut denied: Vec<PathBuf> =
        policy.deny_read.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    denied.sort();
    denied.dedup();
    let outer = denied.clone();
    let writable: Vec<PathBuf> =
        policy.writable().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let shown: Vec<PathBuf> =
        policy.shown.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    denied.retain(|path| {
        // What lies in a denied directory is denied with it, unless it is mounted again in between.
        let is_denied_by = |above: &PathBuf| {
            let is_between =
                |root: &&PathBuf| root.starts_with(above) && path.starts_with(root.as_path());
            let is_mounted_again = writable.iter().chain(&shown).any(|root| is_between(&root));
            above != path && path.starts_with(above) && !is_mounted_again
        };
        !outer.iter().any(is_denied_by)
    });
    denied.retain(|path| !writable.contains(path));
    let cover = |path: PathBuf| {
        if path.is_dir() {
            let has_something_below =
                writable.iter().chain(&shown).any(|root| root.starts_with(&path));
            Layer::Covered { path, has_something_below }
        } else {
            Layer::CoveredFile(path)
        }
    };
    denied.into_iter().map(cover).collect()
}

/// Makes every mount read-only.
fn make_read_only() -> Result<(), SetupError> {
    let text = fs::read_to_string("/proc/self/mountinfo").step("read the mounts")?;
    for mounted in table::parse(&text).filter(|mounted| !mounted.is_read_only) {
        match read_only(&mounted.path, mounted.flags) {
            Ok(()) => {}
            // A mount that cannot be reached by its path lies below another.
            Err(_) if is_unreachable(&mounted.path) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether nothing is mounted at a path, or nobody gets there.
fn is_unreachable(path: &Path) -> bool {
    match open_tree(CWD, path, OpenTreeFlags::OPEN_TREE_CLOEXEC) {
        Err(_) => true,
        Ok(opened) => {
            let above = path.parent().and_then(|above| fs::metadata(above).ok());
            let here = rustix::fs::fstat(&opened).ok();
            above.zip(here).is_none_or(|(above, here)| above.dev() == here.st_dev)
        }
    }
}

/// Makes the mount at a path read-only; flags that are locked in this namespace have to be kept.
fn read_only(path: &Path, kept: MountFlags) -> Result<(), SetupError> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | kept;
    mount_remount(path, flags, "").step_at("make read-only", path)
}

fn protect(protected: &Protected) -> Result<(), SetupError> {
    let path = match protected {
        Protected::ReadOnly(path) | Protected::InPlace(path) => path,
    };
    let Ok(found) = path.symlink_metadata() else {
        let above = path.parent().unwrap_or(path);
        return match access(above, Access::WRITE_OK) {
            // Where nothing can be created, nothing has to be protected.
            Err(_) => Ok(()),
            Ok(()) => {
                Err(SetupError::new(format!("protect {}", path.display()), Errno::NOENT.into()))
            }
        };
    };
    attach(&clone(path)?, path)?;
    if *protected == Protected::InPlace(path.clone()) {
        return Ok(());
    }
    if found.is_symlink() {
        // The link stays where it is, and so does what it leads to.
        let Ok(target) = fs::canonicalize(path) else { return Ok(()) };
        attach(&clone(&target)?, &target)?;
        return read_only_with_flags_of(&target);
    }
    read_only_with_flags_of(path)
}

fn read_only_with_flags_of(path: &Path) -> Result<(), SetupError> {
    let found = rustix::fs::statvfs(path).step_at("look at", path)?.f_flag;
    read_only(path, table::flags_of(found))
}

/// A copy of the mounts at and below a path; of the link itself, if it is one.
fn clone(path: &Path) -> Result<OwnedFd, SetupError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, path, flags).step_at("clone the mount of", path)
}

/// Mounts a copy at a path; on the link itself, if it is one.
fn attach(tree: &OwnedFd, path: &Path) -> Result<(), SetupError> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(tree, "", CWD, path, flags).step_at("mount", path)
}
