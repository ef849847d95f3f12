//! `/dev` as a command sees it: the harmless devices, terminals and shared memory of its own.

use std::{
    fs::{self, File, Permissions},
    os::{
        fd::OwnedFd,
        unix::fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::{
    mount::{MountFlags, mount},
    stdio::stdin,
    termios::isatty,
};

use super::{attach, clone, read_only};
use crate::sandbox::helper::setup_error::{SetupError, Step as _};

const NAMES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Files that are mounted over others.
#[derive(Debug)]
pub(super) struct Covers {
    /// Nobody may open it.
    pub(super) hidden: PathBuf,
    /// It can be read and is empty.
    pub(super) empty: PathBuf,
}

/// The devices of the machine, before they are covered.
#[derive(Debug)]
pub(super) struct Devices(Vec<(PathBuf, OwnedFd)>);

impl Devices {
    /// A machine that lacks one has none to give.
    pub(super) fn clone_of_machine() -> Self {
        let paths = NAMES.map(|name| Path::new("/dev").join(name)).into_iter();
        let devices = paths.filter_map(|path| Some((path.clone(), clone(&path).ok()?)));
        // The terminals are a new instance, which lacks the one that the command was given.
        let terminal = isatty(stdin()).then(|| fs::read_link("/proc/self/fd/0").ok()).flatten();
        let console = terminal.and_then(|path| clone(&path).ok());
        let console = console.map(|tree| (PathBuf::from("/dev/console"), tree));
        Self(devices.chain(console).collect())
    }

    /// Mounts a new `/dev`. Returns what covers files.
    pub(super) fn mount(self) -> Result<Covers, SetupError> {
        let (dev, quiet) = (Path::new("/dev"), MountFlags::NOSUID | MountFlags::NOEXEC);
        mount("dev", dev, "tmpfs", quiet, Some(c"mode=755,size=64k")).step("mount /dev")?;
        for (path, tree) in self.0 {
            drop(File::create(&path).step_at("create", &path)?);
            attach(&tree, &path)?;
        }
        for (name, target) in LINKS {
            symlink(target, dev.join(name)).step_at("create /dev", Path::new(name))?;
        }
        let hidden = dev.join(".hidden");
        drop(File::create(&hidden).step_at("create", &hidden)?);
        fs::set_permissions(&hidden, Permissions::from_mode(0o000)).step_at("hide", &hidden)?;
        let empty = dev.join(".empty");
        drop(File::create(&empty).step_at("create", &empty)?);
        let (terminals, memory) = (dev.join("pts"), dev.join("shm"));
        fs::create_dir(&terminals).step_at("create", &terminals)?;
        fs::create_dir(&memory).step_at("create", &memory)?;
        let options = Some(c"newinstance,ptmxmode=0666,mode=620");
        mount("devpts", &terminals, "devpts", quiet, options).step_at("mount", &terminals)?;
        let options = Some(c"mode=1777,size=512m");
        mount("shm", &memory, "tmpfs", quiet | MountFlags::NODEV, options)
            .step_at("mount", &memory)?;
        read_only(dev, quiet)?;
        Ok(Covers { hidden, empty })
    }
}
