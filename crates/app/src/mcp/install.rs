//! Setting the server up in a host: one entry in the host's own settings, and nothing else.
//!
//! Invariants: nothing is written before somebody said yes; what was there before is kept beside the file;
//! doing it twice is doing it once; undoing it brings the file back as it was, if nobody changed it since.
//! Comments and layout of the rest of the file stay as they are.

pub(crate) mod hosts;
mod jsonc;
mod toml_table;

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use attache_runtime::internal::changes::line_diff::LineDiff;
use serde_json::json;

use self::hosts::{Entry, HostName, Layout};
use crate::{
    failure::{Exit, Failure},
    print::{self, diff},
    setup::{OutputFormat, Setup},
};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Install,
    Uninstall,
}

/// Whether somebody has said yes already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    Asked,
}

/// The file of a host, as it is and as it is to be.
#[derive(Debug)]
struct Change {
    path: PathBuf,
    before: Option<String>,
    /// None removes the file.
    after: Option<String>,
}

/// Why a host's settings cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum EditError {
    /// They cannot be understood.
    #[error("line {line}: {problem}")]
    Syntax { line: usize, problem: String },
    /// Something else has the place of the entry.
    #[error("`{0}` is not a table of servers")]
    NoTable(&'static str),
}

/// Sets the server up in a host, or undoes it.
pub(crate) fn run(
    wish: Wish,
    host: HostName,
    consent: Consent,
    setup: &Setup,
) -> Result<Exit, Failure> {
    let change = change(wish, host, setup)?;
    let name = host.title();
    if change.before == change.after {
        let state = match wish {
            Wish::Install => "has it already",
            Wish::Uninstall => "does not have it",
        };
        return told(
            host,
            &change,
            None,
            &format!("{name} {state}: {}", change.path.display()),
            setup,
        );
    }
    show(&change, setup);
    agree(consent, &change)?;
    let backup = write(&change).map_err(|error| {
        Failure::unsuccessful(format!("cannot write {}", change.path.display())).because(&error)
    })?;
    let done = match wish {
        Wish::Install => format!("{name} has it now; restart {name} to use it"),
        Wish::Uninstall => format!("{name} does not have it any more"),
    };
    told(host, &change, backup, &done, setup)
}

fn change(wish: Wish, host: HostName, setup: &Setup) -> Result<Change, Failure> {
    let path = host.file(setup)?;
    let failed = |path: &Path, error: &io::Error| {
        Failure::unsuccessful(format!("cannot read {}", path.display())).because(error)
    };
    let before = read(&path).map_err(|error| failed(&path, &error))?;
    let layout = host.layout();
    let entry = Entry::of_this_program().map_err(|error| failed(&path, &error))?;
    let wrong = |error: EditError| {
        Failure::unsuccessful(format!("{} cannot be changed", path.display()))
            .because(&error)
            .hint("correct the file, or add the entry by hand: docs/mcp.md shows it")
    };
    let after = match wish {
        Wish::Install => Some(installed(before.as_deref(), layout, &entry).map_err(wrong)?),
        Wish::Uninstall => {
            let backup_path = backup_of(&path);
            let backup = read(&backup_path).map_err(|error| failed(&backup_path, &error))?;
            uninstalled(before.as_deref(), backup.as_deref(), layout, &entry).map_err(wrong)?
        }
    };
    Ok(Change { path, before, after })
}

/// The settings with the entry.
fn installed(before: Option<&str>, layout: Layout, entry: &Entry) -> Result<String, EditError> {
    let text = before.unwrap_or_default();
    match layout {
        Layout::Json { section, kind } => jsonc::with_entry(text, section, &entry.as_json(kind)),
        Layout::Toml { section } => toml_table::with_entry(text, section, entry),
    }
}

/// The settings without the entry: as they were before, if nobody has changed them since.
fn uninstalled(
    before: Option<&str>,
    backup: Option<&str>,
    layout: Layout,
    entry: &Entry,
) -> Result<Option<String>, EditError> {
    let Some(text) = before else { return Ok(None) };
    let without = |text: &str| match layout {
        Layout::Json { section, .. } => jsonc::without_entry(text, section),
        Layout::Toml { section } => toml_table::without_entry(text, section),
    };
    // A backup with an entry in it was made when the program had moved.
    let backup = backup.filter(|text| without(text).is_ok_and(|without| without == *text));
    for earlier in [backup, None] {
        if installed(earlier, layout, entry).is_ok_and(|installed| installed == text) {
            return Ok(earlier.map(str::to_owned));
        }
    }
    without(text).map(Some)
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn show(change: &Change, setup: &Setup) {
    if setup.quiet || setup.format == OutputFormat::Json {
        return;
    }
    print::aside(&format!("{}:", change.path.display()));
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let difference = LineDiff::between(before.unwrap_or_default(), after.unwrap_or_default());
    for line in diff::painted(&difference.to_string()) {
        print::aside(&line);
    }
}

fn agree(consent: Consent, change: &Change) -> Result<(), Failure> {
    if consent == Consent::Given {
        return Ok(());
    }
    if !print::is_interactive() {
        return Err(Failure::usage(format!("{} is not changed unasked", change.path.display()))
            .hint("off a terminal, say --yes"));
    }
    match print::ask("Write it? [y/N] ").as_deref() {
        Some("y" | "Y" | "yes" | "Yes") => Ok(()),
        _ => Err(Failure::unsuccessful("nothing was changed")),
    }
}

/// Where the file is kept as it was.
fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".attache-backup");
    PathBuf::from(name)
}

/// Puts the new text in place of the old one at once, and keeps the old one beside it. A link stays a link.
fn write(change: &Change) -> io::Result<Option<PathBuf>> {
    let path = change.path.canonicalize().unwrap_or_else(|_| change.path.clone());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mode = fs::metadata(&path).map_or(0o600, |file| file.permissions().mode() & 0o777);
    let backup = backup_of(&change.path);
    if let Some(before) = &change.before {
        replace(&backup, before, mode)?;
    }
    match &change.after {
        Some(after) => replace(&path, after, mode)?,
        None => fs::remove_file(&path)?,
    }
    Ok(change.before.is_some().then_some(backup))
}

fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(name);
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    })();
    written.inspect_err(|_| fs::remove_file(&new).unwrap_or_default())
}

fn told(
    host: HostName,
    change: &Change,
    backup: Option<PathBuf>,
    words: &str,
    setup: &Setup,
) -> Result<Exit, Failure> {
    match setup.format {
        OutputFormat::Json => print::json(&json!({
            "host": host.as_str(),
            "path": change.path,
            "changed": change.before != change.after,
            "backup": backup,
        }))?,
        OutputFormat::Text => {
            print::aside(words);
            if let Some(backup) = backup.filter(|_| !setup.quiet) {
                print::aside(&format!("the file as it was: {}", backup.display()));
            }
        }
    }
    Ok(Exit::Success)
}
