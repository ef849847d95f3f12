//! One run: what is said in it, what happens to it, how it ends, and the machine that decides.

pub mod conversation;
pub mod message;

pub mod assignment;
pub mod event;
pub mod file_change;
pub mod files_then;
pub mod letter;
pub mod limits;
pub mod outcome;
pub mod subagent;
pub mod tool_spec;

mod machine;
mod schema;

pub mod transcript;

pub use self::machine::{
    Demand, Expected, ModelFailure, ModelRequest, PendingCall, Question, Reply, Run, RunError,
    Spent, Stage, Step, ToolAnswer, fork, inputs, retry, state,
};
pub(crate) use self::machine::{check_schema, milliseconds};
