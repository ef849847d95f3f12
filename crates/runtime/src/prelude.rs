//! What a program that runs agents needs, and little else.
//!
//! ```
//! use attache_runtime::prelude::*;
//! ```

pub use attache_kernel::{
    rights::permission::{PermissionRule, PermissionRules, Policy},
    run::{
        Question,
        event::{Event, observed::RunEvent},
        outcome::{RunResult, Status},
    },
};

pub use crate::{
    approvals::{ApprovalAnswer, ApprovalFuture, Approver},
    events::Events,
    host::{Inputs, Notice, Order, OrderError, Prepared},
    model::{Chunk, Chunks, Model, ModelCall, ModelFuture},
    runtime::{BuildError, Runtime, RuntimeBuilder},
    store::Store,
    tasks::{Delegate, Inbox, RunHandle, StartError, TreeLimits},
    tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec},
};
