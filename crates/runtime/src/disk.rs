//! The disk: files that are their owner's alone, and what to do when the system refuses.

pub(crate) mod private_file;
pub(crate) mod remedy;
