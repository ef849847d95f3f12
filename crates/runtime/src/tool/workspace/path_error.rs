//! Why a path yields no handle, in words that help a model to a better one.

/// Why a path yields no handle; its text is for the model.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The text is not a path.
    #[error("{0}")]
    Invalid(&'static str),
    /// The path, or a link on its way, leads out of the roots.
    #[error("{given} is outside the workspace")]
    Outside {
        /// The path as given.
        given: String,
    },
    /// Nothing is there.
    #[error("no such file or directory: {given}{}", did_you_mean(near))]
    NotFound {
        /// The path as given.
        given: String,
        /// Paths that may have been meant, best first.
        near: Vec<String>,
    },
    /// A part on the way is a file.
    #[error("{given}: {file} is a file, not a directory")]
    NotADirectory {
        /// The path as given.
        given: String,
        /// The part that is a file.
        file: String,
    },
    /// A file was needed.
    #[error("{given} is a directory; use list_dir to see what is in it")]
    IsADirectory {
        /// The path as given.
        given: String,
    },
    /// A directory was needed.
    #[error("{given} is a file, not a directory; use read_file")]
    IsAFile {
        /// The path as given.
        given: String,
    },
    /// It is a pipe, a socket or a device.
    #[error("{given} is a {kind}; only files and directories can be opened")]
    Special {
        /// The path as given.
        given: String,
        /// What it is.
        kind: &'static str,
    },
    /// Its links go round in a circle.
    #[error("{given}: its symbolic links form a loop")]
    Loop {
        /// The path as given.
        given: String,
    },
    /// It is a link to nothing.
    #[error("{given} is a broken link: {target} does not exist")]
    BrokenLink {
        /// The path as given.
        given: String,
        /// Where the link points.
        target: String,
    },
    /// It lies in a root that may only be read.
    #[error("{given} may be read but not written; write inside the workspace")]
    NotWritable {
        /// The path as given.
        given: String,
    },
    /// It changed between check and open.
    #[error("{given} changed while it was being opened; try again")]
    Changed {
        /// The path as given.
        given: String,
    },
    /// The system refused.
    #[error("cannot open {given}: {reason}")]
    System {
        /// The path as given.
        given: String,
        /// What the system said.
        reason: String,
    },
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [near @ .., last] => format!("; did you mean {} or {last}?", near.join(", ")),
    }
}
