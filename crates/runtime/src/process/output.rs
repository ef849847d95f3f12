//! What a process writes: bytes as they come, made into text, bounded, kept and shown.

mod collector;
mod decoder;
mod excerpt;
mod lines;

pub(crate) use self::collector::{Collected, Collector};
