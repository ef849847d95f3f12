//! The layers of settings: where each is found, how it is checked, and how they are put together.
//!
//! A layer is checked by itself before it is merged, so a mistake is reported even where a later
//! layer would hide it.

pub(crate) mod check;
pub(crate) mod claude;
pub(crate) mod command_line;
pub(crate) mod files;
pub(crate) mod merge;
pub(crate) mod profile;
pub(crate) mod project;
pub(crate) mod variables;
