//! One run: what is said in it, what happens to it, how it ends, and the machine that decides.

pub mod conversation;
pub mod message;

pub mod assignment;
pub mod event;
pub mod outcome;

mod machine;

pub mod transcript;

pub use self::machine::{
    ModelFailure, ModelRequest, PendingCall, Reply, Run, RunError, Stage, Step, ToolOutput, fork,
    inputs, retry, state,
};
pub(crate) use self::machine::{check_schema, milliseconds};
