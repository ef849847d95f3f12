//! What a run changed: the versions of its files, their differences, and the patch of all of them.

pub mod git_patch;
pub mod line_diff;
pub mod reversal;
pub mod run_patch;
pub mod versions;
