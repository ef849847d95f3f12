//! Changes of the user's own settings file: one key at a time, comments and order kept.
//!
//! What is written was checked against the schema before; the file is replaced as a whole or not at all.
//! From reading it to replacing it a lock is held, so no change of another process is lost.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::retry_on_intr,
};
use toml_edit::{Document, DocumentMut, Item, Table, TableLike, Value};

use super::{
    error::SettingsError,
    findings::Findings,
    layer::{
        check::{Reading, Relative},
        command_line::{self, key_path},
        files,
    },
    meaning::permissions,
    origin::Origin,
    schema::{self, Kind, Shape},
    written::{self, KeyPath, Node, Value as Written, toml as written_toml},
};

/// Where a value comes from that is typed to be written down.
const TYPED: Origin = Origin::Flag { name: "attache config" };

/// A key that can be typed, and what it takes.
#[derive(Debug)]
pub(crate) struct KeyWords {
    pub(crate) key: String,
    pub(crate) expected: String,
    /// The words it takes, where there are only a few.
    pub(crate) values: Vec<&'static str>,
}

/// Every key with a fixed name.
pub(crate) fn key_words() -> Vec<KeyWords> {
    schema::fixed_keys()
        .into_iter()
        .filter_map(|(path, key)| {
            let Shape::Value(kind) = key.shape else { return None };
            let values = match kind {
                Kind::Word(words) => words.to_vec(),
                Kind::Switch => vec!["true", "false"],
                _ => Vec::new(),
            };
            Some(KeyWords { key: path.to_string(), expected: kind.expected(), values })
        })
        .collect()
}

/// The user's settings file, being changed.
#[derive(Debug)]
pub(crate) struct SettingsFile<'a> {
    path: PathBuf,
    home: Option<&'a Path>,
    document: DocumentMut,
    _locked: Locked,
}

/// The folder of the settings file, for this process alone until this is dropped.
#[derive(Debug)]
struct Locked {
    _folder: File,
}

impl Locked {
    /// Waits until nobody else changes the file. The folder is locked, and no file in it that somebody
    /// could have put there.
    fn wait(path: &Path) -> Result<Self, SettingsError> {
        let folder = path.parent().unwrap_or(path);
        let locked = fs::create_dir_all(folder).and_then(|()| {
            let folder = File::open(folder)?;
            retry_on_intr(|| flock(&folder, FlockOperation::LockExclusive))?;
            Ok(Self { _folder: folder })
        });
        locked.map_err(|source| SettingsError::Unwritten { path: path.to_owned(), source })
    }
}

impl<'a> SettingsFile<'a> {
    /// Opens `config.toml` in `attache_home` to change it; a missing file counts as empty. Others wait
    /// until this is dropped.
    pub(crate) fn open(attache_home: &Path, home: Option<&'a Path>) -> Result<Self, SettingsError> {
        let path = attache_home.join("config.toml");
        let locked = Locked::wait(&path)?;
        let text = files::text(&path)?.unwrap_or_default();
        // Parsed first by our own reader, whose errors have line and column.
        written_toml::read(&path, &text)?;
        let document = text.parse().map_err(|error: toml_edit::TomlError| {
            SettingsError::Unwritable { path: path.clone(), problem: error.message().to_owned() }
        })?;
        Ok(Self { path, home, document, _locked: locked })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Sets a key; the value is TOML, or else a string.
    pub(crate) fn set(&mut self, key: &str, text: &str) -> Result<(), SettingsError> {
        let names = key_path(key)?;
        if text.trim().is_empty() {
            return Err(SettingsError::Empty { key: key.to_owned() });
        }
        let read = written_toml::read_value(text, &TYPED);
        let value = match (read, text.parse::<Value>()) {
            (Some(node), Ok(value)) if !is_meant_as_text(&names, &node.value) => {
                self.check(&names, node)?;
                value
            }
            _ => {
                let written = Written::Text(text.to_owned());
                self.check(&names, Node::new(written, TYPED))?;
                Value::from(text)
            }
        };
        let (last, tables) = names.names().split_last().ok_or_else(|| unknown(key))?;
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for name in tables {
            let inner = table.entry(name).or_insert_with(|| {
                let mut new = Table::new();
                new.set_implicit(true);
                Item::Table(new)
            });
            table = inner.as_table_like_mut().ok_or_else(|| SettingsError::Unwritable {
                path: self.path.clone(),
                problem: format!("`{name}` is not a table there"),
            })?;
        }
        let mut value = value;
        match table.get_mut(last) {
            Some(item) => {
                if let Some(old) = item.as_value() {
                    // A comment behind the old value stays; the key keeps what stands before it.
                    *value.decor_mut() = old.decor().clone();
                }
                *item = Item::Value(value);
            }
            None => drop(table.insert(last, Item::Value(value))),
        }
        Ok(())
    }

    /// Removes a key; whether it was there. A key that is not there and does not exist is an error.
    pub(crate) fn unset(&mut self, key: &str) -> Result<bool, SettingsError> {
        let names = key_path(key)?;
        if let Some(document) = without_line(&self.document.to_string(), &names) {
            self.document = document;
            return Ok(true);
        }
        // A table, a value that shares its line, or nothing.
        let (last, tables) = names.names().split_last().ok_or_else(|| unknown(key))?;
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for name in tables {
            match table.get_mut(name).and_then(Item::as_table_like_mut) {
                Some(inner) => table = inner,
                None => return self.require_known(&names).map(|()| false),
            }
        }
        if table.remove(last).is_some() {
            return Ok(true);
        }
        self.require_known(&names).map(|()| false)
    }

    fn require_known(&self, key: &KeyPath) -> Result<(), SettingsError> {
        // Whether the value fits does not matter here.
        match self.check(key, Node::new(Written::Text(String::new()), TYPED)) {
            Err(error @ SettingsError::UnknownKey { .. }) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Replaces the file, once the whole of it is right.
    pub(crate) fn save(&self) -> Result<(), SettingsError> {
        replace(&self.path, self.home, &self.document.to_string())
    }

    fn check(&self, key: &KeyPath, node: Node) -> Result<(), SettingsError> {
        check(key.clone().table_of(node), &self.path, self.home)
    }
}

/// The document without the lines of a key and its value; comments above them stay. `None` if they do not
/// have lines of their own.
fn without_line(text: &str, key: &KeyPath) -> Option<DocumentMut> {
    let parsed = Document::parse(text).ok()?;
    let (last, tables) = key.names().split_last()?;
    let mut table: &dyn TableLike = parsed.as_table();
    for name in tables {
        table = table.get(name)?.as_table()?;
    }
    let (written, item) = table.get_key_value(last)?;
    let (start, end) = (written.span()?.start, item.as_value()?.span()?.end);
    let before = text.get(..start)?;
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let after = text.get(end..)?.find('\n').map_or(text.len(), |at| end + at + 1);
    let indent = before.get(line..)?;
    if !indent.trim().is_empty() {
        return None;
    }
    format!("{}{}", before.get(..line)?, text.get(after..)?).parse().ok()
}

/// Whether the value is taken as text: for a text key, `5` means the string `5`.
fn is_meant_as_text(key: &KeyPath, value: &Written) -> bool {
    let known = schema::fixed_keys().into_iter().find(|(path, _)| path == key);
    let takes_text = known.is_some_and(|(_, key)| {
        matches!(key.shape, Shape::Value(Kind::Text | Kind::Path | Kind::Word(_)))
    });
    takes_text && !matches!(value, Written::Text(_))
}

fn unknown(key: &str) -> SettingsError {
    SettingsError::UnknownKey { key: key.to_owned(), nearest: None, origin: TYPED }
}

/// How the user's settings file is read.
fn users<'a>(base: &'a Path, home: Option<&'a Path>) -> Reading<'a> {
    Reading { base, relative: Relative::Refused, home, judge: None }
}

/// Checks what is to stand in the settings file: its keys, its values and its rules.
fn check(written: written::Table, path: &Path, home: Option<&Path>) -> Result<(), SettingsError> {
    let base = path.parent().unwrap_or(path);
    let table = command_line::strictly(written, &users(base, home))?;
    let mut findings = Findings::default();
    permissions::told(&table, |_| true, &mut findings);
    findings.slips.into_iter().next().map_or(Ok(()), Err)
}

/// Puts a text that somebody edited in the place of the settings file, if there is no slip in it and the
/// file is still as it was before.
pub(crate) fn replace_edited(
    path: &Path,
    home: Option<&Path>,
    before: &[u8],
    text: &str,
) -> Result<(), SettingsError> {
    check(written_toml::read(path, text)?, path, home)?;
    let _locked = Locked::wait(path)?;
    if fs::read(path).unwrap_or_default() != before {
        return Err(SettingsError::ChangedMeanwhile { path: path.to_owned() });
    }
    replace(path, home, text)
}

/// Checks the values of a text and puts it in the place of the settings file, whole or not at all. An unknown
/// key is not an error: of several, one can be removed after the other.
fn replace(path: &Path, home: Option<&Path>, text: &str) -> Result<(), SettingsError> {
    let base = path.parent().unwrap_or(path);
    users(base, home).check(written_toml::read(path, text)?)?;
    let unwritten =
        |source: std::io::Error| SettingsError::Unwritten { path: path.to_owned(), source };
    // A link stays a link: what it leads to is replaced.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = real.parent().unwrap_or(&real);
    fs::create_dir_all(folder).map_err(unwritten)?;
    let mode = fs::metadata(&real).map_or(0o600, |found| found.permissions().mode() & 0o777);
    let new = folder.join(format!(".config.toml.{}.new", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &real)
    })();
    if written.is_err() {
        // The error is reported below.
        fs::remove_file(&new).unwrap_or_default();
    }
    written.map_err(unwritten)
}
