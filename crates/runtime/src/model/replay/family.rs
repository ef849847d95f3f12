//! The recordings of the runs that a recorded run started, directly or not.
//!
//! They lie in the directory of its own recording. Invariant: a file that cannot be read, or is not a
//! transcript, is left out; it never hides another one.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

use attache_kernel::{id::RunId, run::transcript::Line};

/// The longest header that is read.
const LONGEST_HEADER: u64 = 16 * 1024 * 1024;

/// The recordings of what a run started, in the order of their names. `path` is its own recording.
pub(super) fn started_by(run: &RunId, path: &Path) -> Vec<PathBuf> {
    let mut children: HashMap<RunId, Vec<(RunId, PathBuf)>> = HashMap::new();
    for path in beside(path) {
        if let Some((parent, child)) = parent_and_child(&path) {
            children.entry(parent).or_default().push((child, path));
        }
    }
    let mut found = Vec::new();
    // Each run has one parent and is taken out once, so this ends for any set of files.
    let mut parents = vec![run.clone()];
    while let Some(parent) = parents.pop() {
        for (child, path) in children.remove(&parent).unwrap_or_default() {
            parents.push(child);
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}

/// The other transcripts in the directory.
fn beside(path: &Path) -> Vec<PathBuf> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(directory.unwrap_or_else(|| Path::new("."))) else {
        return Vec::new();
    };
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let paths = entries.filter_map(Result::ok).filter(is_file).map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
}

fn parent_and_child(path: &Path) -> Option<(RunId, RunId)> {
    match Line::parse(&first_line(path).ok()?).ok()? {
        Line::Header(header) => Some((header.run.parent_id?, header.run.agent_id)),
        Line::Event(_) => None,
    }
}

fn first_line(path: &Path) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(File::open(path)?.take(LONGEST_HEADER)).read_line(&mut line)?;
    Ok(line)
}
