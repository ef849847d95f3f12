//! Files: what a command may open, by Landlock. The kernel's version decides how much of it is enforced.
//!
//! With namespaces the mounts say the same and more; without, this is all there is, and it cannot take a
//! part out of a writable directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use super::setup_error::SetupError;
use crate::sandbox::Policy;

/// The newest version whose rights are known here.
const KNOWN: ABI = ABI::V7;

/// Devices that every program may use.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];

/// Directories of devices that are the command's own in its namespaces.
const OWN_DEVICES: [&str; 2] = ["/dev/pts", "/dev/shm"];

/// Restricts this process to the files of its policy. Returns the version of Landlock in force.
pub(super) fn restrict(policy: &Policy, has_own_mounts: bool) -> Result<u32, SetupError> {
    let failed = |error: RulesetError| {
        SetupError::new("restrict files with Landlock", io::Error::other(error))
    };
    let status = ruleset(policy, has_own_mounts).and_then(RulesetCreated::restrict_self);
    let status = status.map_err(failed)?;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. }
            if status.ruleset != RulesetStatus::NotEnforced =>
        {
            Ok(effective_abi as u32)
        }
        _ => {
            let unsupported = io::Error::from(io::ErrorKind::Unsupported);
            Err(SetupError::new("restrict files with Landlock", unsupported))
        }
    }
}

fn ruleset(policy: &Policy, has_own_mounts: bool) -> Result<RulesetCreated, RulesetError> {
    let everything = AccessFs::from_all(KNOWN);
    let read = AccessFs::from_read(KNOWN);
    let write = everything & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let device = read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;

    let mut ruleset =
        Ruleset::default().handle_access(everything)?.scope(Scope::from_all(KNOWN))?;
    if !policy.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut created = ruleset.create()?;
    if has_own_mounts {
        created = allow(created, Path::new("/"), read)?;
        // The terminal that the command was given.
        created = allow(created, Path::new("/dev/console"), device)?;
        for own in OWN_DEVICES {
            created = allow(created, Path::new(own), write | AccessFs::IoctlDev)?;
        }
    } else {
        // Rights hold for everything below, so names can be listed everywhere.
        created = allow(created, Path::new("/"), AccessFs::ReadDir.into())?;
        for readable in readable(&policy.deny_read) {
            created = allow(created, &readable, read)?;
        }
        for shown in &policy.shown {
            created = allow(created, shown, read)?;
        }
    }
    for path in DEVICES {
        created = allow(created, Path::new(path), device)?;
    }
    for path in policy.writable() {
        created = allow(created, path, write)?;
    }
    Ok(created)
}

/// Allows access to a path and what is below it; a path that does not exist needs no rule.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(ruleset) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
    ruleset.add_rule(PathBeneath::new(opened, access))
}

/// The largest directories and files that contain nothing that is denied.
fn readable(denied: &[PathBuf]) -> Vec<PathBuf> {
    let mut denied: Vec<PathBuf> =
        denied.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    denied.push(PathBuf::from("/dev"));
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from("/")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            // A rule for a link would be one for its target.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let path = entry.path();
            if is_link || denied.contains(&path) {
                continue;
            }
            if denied.iter().any(|denied| denied.starts_with(&path)) {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}
