//! A snapshot: the files of a working tree as they are, as a tree object of its repository.
//!
//! Invariant: neither the index nor any file of the working tree changes. Ignored files, submodules and
//! repositories inside the working tree are not in it; submodules stay as the index has them.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::ffi::OsStringExt as _,
    path::Path,
};

use tempfile::TempDir;

use super::{WorktreeError, git::Git};

/// The mode of a submodule in an index.
const SUBMODULE: &[u8] = b"160000 ";

/// Writes the files of a working tree as a tree, and gives its name.
pub(super) async fn tree(git: &Git, temporary: &Path) -> Result<String, WorktreeError> {
    let index = git.line(["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?;
    let scratch =
        TempDir::with_prefix_in("index-", temporary).map_err(WorktreeError::disk(temporary))?;
    let copy = scratch.path().join("index");
    copied(Path::new(&index), &copy).map_err(WorktreeError::disk(&index))?;
    let git = git.clone().with("GIT_INDEX_FILE", &copy);
    let mut paths = b":(top)\0".to_vec();
    for path in submodules(&git).await? {
        paths.extend_from_slice(b":(top,exclude,literal)");
        paths.extend_from_slice(&path);
        paths.push(0);
    }
    let add = ["add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
    git.run_with(add, paths).await?;
    let tree = git.object(["write-tree"]).await?;
    // The temporary index goes now, and off the threads that drive runs it is quick enough.
    drop(scratch);
    Ok(tree)
}

/// The submodules and the repositories inside the working tree. Git would look into them, and start
/// what their configuration says.
async fn submodules(git: &Git) -> Result<Vec<Vec<u8>>, WorktreeError> {
    let staged = git.run(["ls-files", "--stage", "-z", "--full-name", ":(top)"]).await?;
    let others = ["ls-files", "--others", "--exclude-standard", "-z", "--full-name", ":(top)"];
    let others = git.run(others).await?;
    let lines = |bytes: &'_ [u8]| -> Vec<Vec<u8>> {
        bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
    };
    let recorded = lines(&staged).into_iter().filter(|entry| entry.starts_with(SUBMODULE));
    let recorded = recorded.filter_map(|entry| {
        let path = entry.iter().position(|byte| *byte == b'\t')? + 1;
        Some(entry.get(path..)?.to_vec())
    });
    let nested = lines(&others).into_iter().filter(|path| path.ends_with(b"/"));
    Ok(recorded
        .chain(nested.map(|mut path| {
            path.pop();
            path
        }))
        .collect())
}

/// Copies an index with its time, by which git tells which files it has to read again.
fn copied(index: &Path, copy: &Path) -> io::Result<()> {
    let found = match fs::metadata(index) {
        // A repository where nothing was ever added.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    fs::copy(index, copy)?;
    File::options().write(true).open(copy)?.set_modified(found.modified()?)
}

/// The paths in an answer that separates them with NUL.
pub(super) fn paths(listed: &[u8]) -> Vec<OsString> {
    listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| OsString::from_vec(path.to_vec()))
        .collect()
}
