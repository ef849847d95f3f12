//! What a run changed: the difference of two versions of a file.

pub mod line_diff;
