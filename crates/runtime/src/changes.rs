//! What a run changed: the versions of its files, their differences, and the patch of all of them.

pub(crate) mod git_patch;
pub(crate) mod line_diff;
pub(crate) mod place;
pub(crate) mod reversal;
pub(crate) mod run_patch;
pub(crate) mod versions;
