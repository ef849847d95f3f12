//! The tree of a directory: read level by level, so that a bound leaves out the deepest first.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use tokio_util::sync::CancellationToken;

use super::super::{
    file_guard::Readable,
    findings::{Findings, FoundFile},
    wording::{count, left_out, size},
};
use crate::tool::workspace::{
    Directory, EntryKind, IgnoreRules, Location, PathError, reason, shown,
};

/// How many entries are read at most.
const MAX_READ: usize = 50_000;

/// How many entries are given as values at most.
const MAX_GIVEN: usize = 1000;

/// Entries of a directory and of those below it.
#[derive(Debug)]
pub(super) struct Tree {
    location: Location,
    /// In the order they were read: a directory's own entries stand together.
    nodes: Vec<Node>,
    /// The indices of the top level's nodes.
    top: Vec<usize>,
    ignored: usize,
    forbidden: usize,
    unread: Vec<String>,
    notices: Vec<String>,
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
    /// The rules of the directories above it.
    above: IgnoreRules,
}

impl Tree {
    pub(super) fn read(
        location: Location,
        depth: usize,
        readable: &Readable,
        stop: &CancellationToken,
    ) -> Result<Self, PathError> {
        let base = location.absolute();
        let ignore_files = location.ignore_files();
        let mut queue = VecDeque::from([Pending {
            directory: location.open_directory()?,
            path: PathBuf::new(),
            node: None,
            depth,
            above: ignore_files.above(&base),
        }]);
        let mut tree = Self {
            location,
            nodes: Vec::new(),
            top: Vec::new(),
            ignored: 0,
            forbidden: 0,
            unread: Vec::new(),
            notices: Vec::new(),
            is_cut: false,
        };
        while let Some(pending) = queue.pop_front() {
            if stop.is_cancelled() {
                break;
            }
            let names = tree.names(&pending);
            let directory = base.join(&pending.path);
            let has = |wanted: &str| names.iter().any(|name| name == wanted);
            let rules = ignore_files.enter(&pending.above, &directory, has);
            let children = tree.read_one(&pending, names, &rules, readable);
            for &child in children.iter().filter(|_| pending.depth > 1) {
                tree.descend(&pending, child, &rules, &mut queue);
            }
            match pending.node.and_then(|node| tree.nodes.get_mut(node)) {
                Some(node) => node.children = children,
                None => tree.top = children,
            }
        }
        tree.notices = ignore_files.notices();
        Ok(tree)
    }

    /// The names in one directory, as many as may still be read.
    fn names(&mut self, pending: &Pending) -> Vec<OsString> {
        let left = MAX_READ.saturating_sub(self.nodes.len());
        let names = pending.directory.names(left).unwrap_or_else(|error| {
            self.unread.push(format!("{}: {}", shown(&pending.path), reason(&error)));
            Vec::new()
        });
        self.is_cut |= names.len() == left;
        names
    }

    /// Reads the entries of one directory, and returns their indices in order.
    fn read_one(
        &mut self,
        pending: &Pending,
        names: Vec<OsString>,
        rules: &IgnoreRules,
        readable: &Readable,
    ) -> Vec<usize> {
        let below_root = self.location.relative().join(&pending.path);
        let absolute = self.location.absolute().join(&pending.path);
        let mut nodes: Vec<Node> = Vec::with_capacity(names.len());
        for entry in names.into_iter().filter_map(|name| pending.directory.entry(name)) {
            let is_directory = entry.kind == EntryKind::Directory;
            if rules.ignores(&absolute.join(&entry.name), is_directory) {
                self.ignored += 1;
                continue;
            }
            let path = below_root.join(&entry.name);
            let may_lead = match &entry.kind {
                EntryKind::Link(target) => readable.allows_link(&self.location, &path, target),
                EntryKind::File(_) | EntryKind::Directory | EntryKind::Special(_) => true,
            };
            if !may_lead || !readable.allows(&self.location, &path) {
                self.forbidden += 1;
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
        rules: &IgnoreRules,
        queue: &mut VecDeque<Pending>,
    ) {
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let path = parent.path.join(&node.name);
        if node.kind != EntryKind::Directory || node.name == ".git" {
            return;
        }
        match parent.directory.child(&node.name) {
            Ok(directory) => queue.push_back(Pending {
                directory,
                path,
                node: Some(index),
                depth: parent.depth - 1,
                above: rules.clone(),
            }),
            Err(error) => self.unread.push(format!("{}: {}", shown(&path), reason(&error))),
        }
    }

    /// What is listed.
    pub(super) fn location(&self) -> &Location {
        &self.location
    }

    /// The same as values.
    pub(super) fn findings(&self) -> Findings {
        let mut files = Vec::new();
        self.collect(&self.top, Path::new(""), &mut files);
        Findings {
            files,
            is_cut: self.is_cut || self.nodes.len() > MAX_GIVEN,
            searched: None,
            ignored: self.ignored,
            forbidden: self.forbidden,
        }
    }

    /// The paths of a level and of what is below it; as deep as the tree, which is bounded.
    fn collect(&self, level: &[usize], above: &Path, files: &mut Vec<FoundFile>) {
        for node in level.iter().filter_map(|index| self.nodes.get(*index)) {
            if files.len() >= MAX_GIVEN {
                return;
            }
            let below = above.join(&node.name);
            let mut path = self.location.show(&self.location.relative().join(&below));
            if node.kind == EntryKind::Directory {
                path.push('/');
            }
            files.push(FoundFile { path, ..FoundFile::default() });
            self.collect(&node.children, &below, files);
        }
    }

    /// How many entries were read.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The tree as text, up to a maximum number of entries: those read first.
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
        if self.forbidden > 0 {
            remarks.push(left_out(self.forbidden));
        }
        remarks.extend(self.unread.iter().take(3).cloned());
        remarks.extend(self.notices.iter().cloned());
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
