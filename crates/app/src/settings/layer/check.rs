//! Holds what was written against the schema: names, types, paths, and what a project may set.
//!
//! What comes out has only known keys in their listed spelling, values of the right kind, and paths
//! that are absolute.

use std::path::Path;

use attache_kernel::id::nearest;

use crate::settings::{
    error::{SettingsError, UnusablePath},
    origin::Origin,
    schema::{Judged, Key, Keys, Kind, ProjectUse, ROOT, Shape},
    written::{KeyPath, Node, Table, Value},
};

/// How a layer is to be read.
pub(crate) struct Reading<'a> {
    /// What relative paths start from.
    pub(crate) base: &'a Path,
    /// Whether entries of lists of paths may be relative.
    pub(crate) relative: Relative,
    /// What `~` stands for.
    pub(crate) home: Option<&'a Path>,
    /// Who decides what may be set; none where everything may.
    pub(crate) judge: Option<Judge<'a>>,
}

/// Whether a path in a list may be relative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relative {
    /// It starts from the base.
    ToBase,
    /// The layer holds in every project, so it is not known what the path starts from.
    Refused,
}

/// Decides what the files of an untrusted project may set.
pub(crate) struct Judge<'a> {
    /// What holds without the project's files.
    pub(crate) in_force: &'a Table,
    /// The project's directory.
    pub(crate) project_root: &'a Path,
}

/// A layer that was checked.
#[derive(Default)]
pub(crate) struct Checked {
    /// What it sets.
    pub(crate) table: Table,
    /// Keys that do not exist.
    pub(crate) unknown: Vec<Unknown>,
    /// Keys that exist and were not allowed.
    pub(crate) withheld: Vec<String>,
}

/// A key that does not exist.
pub(crate) struct Unknown {
    /// The key.
    pub(crate) key: KeyPath,
    /// The key that was probably meant.
    pub(crate) nearest: Option<String>,
    /// Where it was written.
    pub(crate) origin: Origin,
}

impl Unknown {
    /// Whether the key may have been meant as a restriction: of calls, of commands or of a server's tools.
    pub(crate) fn may_restrict(&self) -> bool {
        let names = self.key.names();
        let names = match names {
            [profiles, _, rest @ ..] if profiles == "profiles" => rest,
            _ => names,
        };
        let is_about = |name: &str| RESTRICTING.iter().any(|word| name.contains(word));
        let first = names.first().map(|name| name.to_lowercase());
        first.is_some_and(|name| is_about(&name)) || self.nearest.as_deref().is_some_and(is_about)
    }
}

/// Keys of an MCP server that decide which of its tools are offered.
const OFFERING: [&str; 3] = ["enabled", "enabled_tools", "disabled_tools"];

/// What the keys of restrictions contain.
const RESTRICTING: [&str; 6] = ["permission", "sandbox", "approval", "deny", "allow", "_tools"];

impl Reading<'_> {
    /// Checks a layer.
    pub(crate) fn check(&self, written: Table) -> Result<Checked, SettingsError> {
        let mut checked = Checked::default();
        let table = self.section(&KeyPath::default(), ROOT, written, &mut checked)?;
        checked.table = table;
        Ok(checked)
    }

    fn section(
        &self,
        at: &KeyPath,
        keys: Keys,
        written: Table,
        checked: &mut Checked,
    ) -> Result<Table, SettingsError> {
        let mut table = Table::new();
        // Capitals sort before `_`, so where both spellings of a key are there, the listed one is
        // inserted last and wins.
        for (name, node) in written {
            let Some(key) = keys.find(&name) else {
                checked.unknown.push(unknown(at, keys, &name, node.origin));
                continue;
            };
            if let Some(node) = self.keyed(&at.child(key.name), key, node, checked)? {
                table.insert(key.name.to_owned(), node);
            }
        }
        Ok(table)
    }

    /// The value of a known key; none if it may not be set.
    fn keyed(
        &self,
        at: &KeyPath,
        key: &Key,
        node: Node,
        checked: &mut Checked,
    ) -> Result<Option<Node>, SettingsError> {
        match (key.project, &self.judge) {
            (ProjectUse::Trusted, Some(_)) => {
                withhold(at, &node, checked);
                Ok(None)
            }
            (ProjectUse::Within { admits, .. }, Some(judge)) => {
                self.admitted(at, key, node, &|at, value| judge.admits(at, value, admits), checked)
            }
            (ProjectUse::Free, Some(_)) | (_, None) => {
                self.shaped(at, key.shape, node, checked).map(Some)
            }
        }
    }

    /// The value, or those of its entries, that are admitted.
    fn admitted(
        &self,
        at: &KeyPath,
        key: &Key,
        node: Node,
        admits: &dyn Fn(&KeyPath, &Value) -> bool,
        checked: &mut Checked,
    ) -> Result<Option<Node>, SettingsError> {
        let Node { value, origin } = self.shaped(at, key.shape, node, checked)?;
        let value = match (key.shape, value) {
            (Shape::Named(..), Value::Table(mut entries)) => {
                entries.retain(|name, entry| {
                    let at = at.child(name);
                    let admitted = admits(&at, &entry.value);
                    if !admitted {
                        checked.withheld.push(at.to_string());
                    }
                    admitted
                });
                if entries.is_empty() {
                    return Ok(None);
                }
                Value::Table(entries)
            }
            (_, value) if admits(at, &value) => value,
            (_, _) => {
                checked.withheld.push(at.to_string());
                return Ok(None);
            }
        };
        Ok(Some(Node::new(value, origin)))
    }

    fn shaped(
        &self,
        at: &KeyPath,
        shape: Shape,
        node: Node,
        checked: &mut Checked,
    ) -> Result<Node, SettingsError> {
        let Node { value, origin } = node;
        let kind = match shape {
            Shape::Value(kind) => kind,
            Shape::Section(keys) => {
                let table = table(at, value, &origin)?;
                let table = self.section(at, keys, table, checked)?;
                return Ok(Node::new(Value::Table(table), origin));
            }
            Shape::Open(keys) => {
                let table = self.open(at, keys, table(at, value, &origin)?, checked)?;
                return Ok(Node::new(Value::Table(table), origin));
            }
            Shape::Named(_, inner) => {
                let mut entries = table(at, value, &origin)?;
                for (name, entry) in &mut entries {
                    *entry = self.shaped(&at.child(name), *inner, entry.clone(), checked)?;
                }
                return Ok(Node::new(Value::Table(entries), origin));
            }
        };
        if kind.accepts(&value) {
            self.require_usable(at, kind, &value)?;
            Ok(Node::new(self.resolved(kind, value), origin))
        } else {
            Err(wrong_value(at, kind, &value, origin))
        }
    }

    /// Refuses entries of a list of paths that would do nothing: they may be restrictions.
    fn require_usable(&self, at: &KeyPath, kind: Kind, value: &Value) -> Result<(), SettingsError> {
        let (Kind::Paths, Value::List(items)) = (kind, value) else { return Ok(()) };
        for Node { value, origin } in items {
            let Value::Text(text) = value else { continue };
            if let Some(unusable) = self.unusable(at, text) {
                return Err(SettingsError::UnusablePath {
                    key: at.to_string(),
                    path: text.clone(),
                    unusable,
                    origin: Box::new(origin.clone()),
                });
            }
        }
        Ok(())
    }

    fn unusable(&self, at: &KeyPath, text: &str) -> Option<UnusablePath> {
        if text.trim().is_empty() {
            return Some(UnusablePath::Empty);
        }
        if text.contains("${") {
            return None;
        }
        let Value::Path(path) = self.path(text.to_owned()) else { return None };
        if text.contains(['*', '?', '[']) && path.symlink_metadata().is_err() {
            return Some(UnusablePath::Pattern);
        }
        let is_whole = text.starts_with('/') || text == "~" || text.starts_with("~/");
        if !is_whole && self.relative == Relative::Refused {
            return Some(UnusablePath::Relative);
        }
        let is_writable_root = at.names().last().is_some_and(|name| name == "writable_roots");
        // What an untrusted project may not set is told as such.
        let may_be_set = self.judge.is_none();
        let is_everything = path.components().eq(Path::new("/").components());
        (is_writable_root && is_everything && may_be_set).then_some(UnusablePath::Everything)
    }

    fn open(
        &self,
        at: &KeyPath,
        keys: Keys,
        mut table: Table,
        checked: &mut Checked,
    ) -> Result<Table, SettingsError> {
        for (name, node) in &mut table {
            if let Some(key) = keys.find(name) {
                *node = self.shaped(&at.child(name), key.shape, node.clone(), checked)?;
                continue;
            }
            // Other keys belong to other programs, but a slip in one of these would offer more tools.
            let meant = unknown(at, keys, name, node.origin.clone());
            let is_slip = nearest(name, keys.iter().map(|key| key.name))
                .is_some_and(|meant| OFFERING.contains(&meant));
            if is_slip {
                checked.unknown.push(meant);
            }
        }
        Ok(table)
    }

    /// The value with its paths made absolute.
    fn resolved(&self, kind: Kind, value: Value) -> Value {
        match (kind, value) {
            (Kind::Path, Value::Text(text)) => self.path(text),
            (Kind::Paths, Value::List(items)) => Value::List(
                items
                    .into_iter()
                    .map(|Node { value, origin }| {
                        Node::new(self.resolved(Kind::Path, value), origin)
                    })
                    .collect(),
            ),
            (_, value) => value,
        }
    }

    fn path(&self, text: String) -> Value {
        // A variable is filled in when the path is used; only then is it known to be relative.
        if text.contains("${") {
            return Value::Path(text.into());
        }
        Value::Path(match (self.home, text.strip_prefix('~')) {
            (Some(home), Some("")) => home.to_owned(),
            (Some(home), Some(rest)) if rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => self.base.join(text),
        })
    }
}

impl Judge<'_> {
    fn admits(&self, at: &KeyPath, value: &Value, admits: fn(&Judged<'_>) -> bool) -> bool {
        let admitted = |in_force: Option<&Node>| {
            admits(&Judged {
                value,
                in_force: in_force.map(|node| &node.value),
                settings: self.in_force,
                project_root: self.project_root,
            })
        };
        let here = at.find(self.in_force);
        match at.names() {
            // What a profile sets replaces what holds without it, so it is held against both.
            [profiles, _, rest @ ..] if profiles == "profiles" => {
                admitted(here) && admitted(KeyPath::new(rest.to_vec()).find(self.in_force))
            }
            _ => admitted(here),
        }
    }
}

fn table(at: &KeyPath, value: Value, origin: &Origin) -> Result<Table, SettingsError> {
    match value {
        Value::Table(table) => Ok(table),
        other => Err(SettingsError::WrongValue {
            key: at.to_string(),
            expected: "a table".into(),
            found: other.kind().into(),
            origin: Box::new(origin.clone()),
            nearest: None,
        }),
    }
}

fn wrong_value(at: &KeyPath, kind: Kind, value: &Value, origin: Origin) -> SettingsError {
    let misfit = match value {
        Value::List(items) => kind.misfit(items),
        _ => None,
    };
    let origin = misfit.map_or(origin, |item| item.origin.clone());
    SettingsError::WrongValue {
        key: at.to_string(),
        expected: kind.expected(),
        found: kind.found(value),
        nearest: kind.nearest(value),
        origin: Box::new(origin),
    }
}

fn unknown(at: &KeyPath, keys: Keys, name: &str, origin: Origin) -> Unknown {
    Unknown {
        key: at.child(name),
        nearest: nearest(name, keys.iter().map(|key| key.name))
            .map(|meant| at.child(meant).to_string()),
        origin,
    }
}

/// Notes what of a key is not used: its entries by name, where it is a table.
fn withhold(at: &KeyPath, node: &Node, checked: &mut Checked) {
    match &node.value {
        Value::Table(entries) if !entries.is_empty() => {
            checked.withheld.extend(entries.keys().map(|name| at.child(name).to_string()));
        }
        _ => checked.withheld.push(at.to_string()),
    }
}
