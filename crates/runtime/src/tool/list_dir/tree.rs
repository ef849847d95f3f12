//! The tree of a directory: read level by level, so that a bound leaves out the deepest first.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use ignore::IncrementalIgnore;
use tokio_util::sync::CancellationToken;

use super::super::wording::{count, size};
use crate::workspace::{
    Directory, EntryKind, Hidden, Location, PathError, has_plain_ignore_files, reason, shown, walk,
};

/// How many entries are read at most.
const MAX_READ: usize = 50_000;

/// Entries of a directory and of those below it.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// In the order they were read: a directory's own entries stand together.
    nodes: Vec<Node>,
    /// The indices of the top level's nodes.
    top: Vec<usize>,
    ignored: usize,
    unread: Vec<String>,
    is_cut: bool,
}

#[derive(Debug)]
struct Node {
    name: OsString,
    kind: EntryKind,
    children: Vec<usize>,
}

/// A directory whose entries are still to be read.
struct Pending {
    directory: Directory,
    /// Below the directory that is listed.
    path: PathBuf,
    /// Its own node; the top has none.
    node: Option<usize>,
    depth: usize,
}

impl Tree {
    pub(super) fn read(
        location: &Location,
        depth: usize,
        stop: &CancellationToken,
    ) -> Result<Self, PathError> {
        let mut tree = Self::default();
        let base = location.absolute();
        let mut rules = walk(location, Hidden::Show)?.build_matchers().pop();
        let mut queue = VecDeque::from([Pending {
            directory: location.open_directory()?,
            path: PathBuf::new(),
            node: None,
            depth,
        }]);
        while let Some(pending) = queue.pop_front() {
            if stop.is_cancelled() {
                break;
            }
            let children = tree.read_one(&pending, rules.as_mut());
            for &child in children.iter().filter(|_| pending.depth > 1) {
                tree.descend(&pending, child, &base, &mut queue);
            }
            match pending.node.and_then(|node| tree.nodes.get_mut(node)) {
                Some(node) => node.children = children,
                None => tree.top = children,
            }
        }
        Ok(tree)
    }

    /// Reads the entries of one directory, and returns their indices in order.
    fn read_one(&mut self, pending: &Pending, rules: Option<&mut IncrementalIgnore>) -> Vec<usize> {
        let left = MAX_READ.saturating_sub(self.nodes.len());
        let names = match pending.directory.names(left) {
            Ok(names) => names,
            Err(error) => {
                self.unread.push(format!("{}: {}", shown(&pending.path), reason(&error)));
                return Vec::new();
            }
        };
        self.is_cut |= names.len() == left;
        let mut rules = rules;
        let mut nodes: Vec<Node> = Vec::with_capacity(names.len());
        for entry in names.into_iter().filter_map(|name| pending.directory.entry(name)) {
            let is_directory = entry.kind == EntryKind::Directory;
            let path = pending.path.join(&entry.name);
            let is_ignored =
                rules.as_mut().is_some_and(|rules| rules.matched(&path, is_directory).is_ignore());
            if is_ignored {
                self.ignored += 1;
                continue;
            }
            nodes.push(Node { name: entry.name, kind: entry.kind, children: Vec::new() });
        }
        nodes.sort_by(|left, right| {
            let files_last = |node: &Node| node.kind != EntryKind::Directory;
            (files_last(left), &left.name).cmp(&(files_last(right), &right.name))
        });
        let first = self.nodes.len();
        self.nodes.extend(nodes);
        (first..self.nodes.len()).collect()
    }

    /// Opens a directory for later, unless its entries are nobody's business.
    fn descend(
        &mut self,
        parent: &Pending,
        index: usize,
        base: &Path,
        queue: &mut VecDeque<Pending>,
    ) {
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let path = parent.path.join(&node.name);
        if node.kind != EntryKind::Directory
            || node.name == ".git"
            || !has_plain_ignore_files(&base.join(&path))
        {
            return;
        }
        match parent.directory.child(&node.name) {
            Ok(directory) => queue.push_back(Pending {
                directory,
                path,
                node: Some(index),
                depth: parent.depth - 1,
            }),
            Err(error) => self.unread.push(format!("{}: {}", shown(&path), reason(&error))),
        }
    }

    /// How many entries were read.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The tree as text, so many entries of it at most: those read first.
    pub(super) fn render(&self, most: usize) -> String {
        let mut text = String::new();
        self.render_level(&self.top, 0, most, &mut text);
        text.pop();
        text
    }

    fn render_level(&self, level: &[usize], depth: usize, most: usize, text: &mut String) {
        let shown_nodes = level.iter().take_while(|index| **index < most);
        for node in shown_nodes.filter_map(|index| self.nodes.get(*index)) {
            text.extend(std::iter::repeat_n("  ", depth));
            text.push_str(&node.to_string());
            text.push('\n');
            self.render_level(&node.children, depth + 1, most, text);
        }
        let left_out = level.iter().filter(|index| **index >= most).count();
        if left_out > 0 {
            text.extend(std::iter::repeat_n("  ", depth));
            text.extend(["… ", &left_out.to_string(), " more\n"]);
        }
    }

    /// What the reader must know beyond the entries.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.is_cut {
            remarks.push(format!("stopped after {}", count(MAX_READ, "entry")));
        }
        if self.ignored > 0 {
            let ignored = count(self.ignored, "entry");
            remarks.push(format!("{ignored} hidden by .gitignore"));
        }
        remarks.extend(self.unread.iter().take(3).cloned());
        remarks
    }
}

impl std::fmt::Display for Node {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&shown(Path::new(&self.name)))?;
        match &self.kind {
            EntryKind::File(bytes) => write!(formatter, "  {}", size(*bytes)),
            EntryKind::Directory => formatter.write_char('/'),
            EntryKind::Link(target) => write!(formatter, " -> {}", shown(target)),
            EntryKind::Special(kind) => write!(formatter, "  ({kind})"),
        }
    }
}
