//! What a program that runs agents imports.
//!
//! ```
//! use attache_runtime::prelude::*;
//! ```
//!
//! - [`Runtime`] runs agents; [`RuntimeBuilder`] sets one up.
//! - An [`Order`] says which agent is to do what. `Runtime::prepare` checks it and gives a [`Prepared`] run.
//! - A [`RunHandle`] watches and stops a run: its result, its [`Event`]s, its inbox.
//! - A [`Tool`] is something agents can call, a [`Model`] what answers them, an [`Approver`] who is asked about
//!   their calls, a [`Store`] where their runs are written down. A program can bring its own of each.

/// Something that happened to a run.
///
/// ```
/// use attache_runtime::prelude::*;
///
/// /// What a progress line shows of an event.
/// fn line(event: &Event) -> Option<String> {
///     match event {
///         Event::ToolStarted { tool_name, .. } => Some(format!("calls {tool_name}")),
///         Event::Retrying { reason, .. } => Some(format!("tries again: {reason}")),
///         _ => None,
///     }
/// }
///
/// let event = Event::ToolStarted { call_id: ToolCallId::new("1"), tool_name: "grep_files".into() };
/// assert_eq!(line(&event).as_deref(), Some("calls grep_files"));
/// assert_eq!(line(&Event::Started), None);
/// ```
#[doc(inline)]
pub use attache_kernel::run::event::Event;
#[doc(inline)]
pub use attache_kernel::{
    id::{RunId, ToolCallId},
    model::usage::Usage,
    rights::{
        permission::{PermissionRule, PermissionRules, Policy},
        tool_name::ToolName,
    },
    run::{
        ModelFailure, Question, Reply,
        event::{StopReason, observed::RunEvent},
        message::{AssistantPart, ToolCall},
        outcome::{RunResult, Status},
        tool_spec::{Concurrency, Repeatability, ToolSpec},
    },
};
pub use tokio_util::sync::CancellationToken;

pub use crate::{
    approvals::{ApprovalAnswer, ApprovalFuture, ApproveAll, Approver},
    events::Events,
    host::{Inputs, Notice, Order, OrderError, Prepared},
    model::{Chunk, Chunks, Model, ModelCall, ModelFuture},
    runtime::{BuildError, Runtime, RuntimeBuilder},
    store::{FileStore, Store, StoreError},
    tasks::{Delegate, Inbox, RunHandle, StartError, TreeLimits},
    tool::{Tool, ToolContext, ToolFuture, ToolOutput},
};
