//! The kernel's integration tests, in one binary.

mod definitions;
mod properties;
