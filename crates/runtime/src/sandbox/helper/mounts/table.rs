//! The table of mounts, as `/proc/self/mountinfo` has it.

use std::{ffi::OsString, os::unix::ffi::OsStringExt as _, path::PathBuf};

use rustix::{fs::StatVfsMountFlags, mount::MountFlags};

/// A mount.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    pub(super) path: PathBuf,
    pub(super) is_read_only: bool,
    /// The flags that a remount must repeat.
    pub(super) flags: MountFlags,
}

/// The mounts of the table; lines that are not understood are left out.
pub(super) fn parse(text: &str) -> impl Iterator<Item = Mounted> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(4);
        let (path, options) = (fields.next()?, fields.next()?);
        let has = |option: &str| options.split(',').any(|found| found == option);
        let flags = [
            ("nosuid", MountFlags::NOSUID),
            ("nodev", MountFlags::NODEV),
            ("noexec", MountFlags::NOEXEC),
        ];
        let flags = flags.into_iter().filter(|(option, _)| has(option)).map(|(_, flag)| flag);
        Some(Mounted {
            path: unescaped(path),
            is_read_only: has("ro"),
            flags: flags.fold(MountFlags::empty(), MountFlags::union),
        })
    })
}

/// The flags that a remount must repeat, of the flags of a file system.
pub(super) fn flags_of(found: StatVfsMountFlags) -> MountFlags {
    let flags = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::from_bits_retain(4), MountFlags::NODEV),
        (StatVfsMountFlags::from_bits_retain(8), MountFlags::NOEXEC),
    ];
    let flags = flags.into_iter().filter(|(flag, _)| found.contains(*flag)).map(|(_, flag)| flag);
    flags.fold(MountFlags::empty(), MountFlags::union)
}

/// A path of the table: blanks, tabs, newlines and backslashes are octal numbers there.
fn unescaped(field: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let [first, after @ ..] = rest {
        let escape = after.get(..3).filter(|_| *first == b'\\');
        let number = escape
            .and_then(|digits| str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(number.unwrap_or(*first));
        rest = after.get(number.map_or(0, |_| 3)..).unwrap_or_default();
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_line_gives_path_and_flags() {
        let text = "36 35 98:0 /mnt1 /a\\040b\\134c rw,nosuid,noexec,relatime master:1 - ext4 /dev/x rw\n\
                    torn\n\
                    37 35 0:5 / /dev ro - devtmpfs x rw\n";
        let found: Vec<Mounted> = parse(text).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].path, Path::new("/a b\\c"));
        assert!(!found[0].is_read_only);
        assert_eq!(found[0].flags, MountFlags::NOSUID | MountFlags::NOEXEC);
        assert_eq!(found[1].path, Path::new("/dev"));
        assert!(found[1].is_read_only);
    }
}
