//! Approvals: who is asked whether a call may begin, and what was approved for the session.
//!
//! A question is always decided: without anybody to ask it is refused at once, never awaited.

mod form;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

pub use attache_kernel::run::Question;
use attache_kernel::{
    rights::{permission::Foresight, rule::SessionGrant},
    run::event::ApprovalDecision,
};
use tokio_util::sync::CancellationToken;

pub use self::form::{Field, FieldKind, Form, FormAnswer};

/// Somebody who can be asked whether a call may begin.
///
/// ```
/// use std::sync::Arc;
///
/// use attache_runtime::prelude::*;
///
/// /// Approves what only reads.
/// #[derive(Debug)]
/// struct Cautious;
///
/// impl Approver for Cautious {
///     fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
///         let answer = match question.tool.to_string().as_str() {
///             "read_file" | "grep_files" => ApprovalAnswer::Session,
///             other => ApprovalAnswer::No { words: format!("{other} is not for you") },
///         };
///         Box::pin(async { answer })
///     }
/// }
///
/// let order = Order { approver: Some(Arc::new(Cautious)), ..Order::new("Explore", "look around") };
/// # drop(order);
/// ```
pub trait Approver: fmt::Debug + Send + Sync {
    /// Asks. Once the token is cancelled nobody waits for the answer any more, and the future is
    /// dropped.
    fn ask(&self, question: Question, cancel: CancellationToken) -> ApprovalFuture<'_>;

    /// Asks for values that an MCP server wants to have. An approver that cannot ask declines.
    fn fill_in(&self, form: Form) -> FormFuture<'_> {
        drop(form);
        Box::pin(std::future::ready(FormAnswer::Declined))
    }
}

/// A form that is being filled in.
pub type FormFuture<'a> = Pin<Box<dyn Future<Output = FormAnswer> + Send + 'a>>;

/// A question under way.
pub type ApprovalFuture<'a> = Pin<Box<dyn Future<Output = ApprovalAnswer> + Send + 'a>>;

/// What somebody says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Yes, this once.
    Once,
    /// Yes, and the same kind of call again in this session: see [`SessionGrant`].
    Session,
    /// No; the agent is told and goes on.
    No {
        /// What the agent is told; empty for nothing but the refusal.
        words: String,
    },
    /// No, and the run ends.
    Abort,
}

/// Refuses every question, because nobody is there to ask.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DenyAll;

impl Approver for DenyAll {
    fn ask(&self, question: Question, _cancel: CancellationToken) -> ApprovalFuture<'_> {
        let words = format!("nobody is there to ask ({})", question.reason);
        Box::pin(std::future::ready(ApprovalAnswer::No { words }))
    }
}

/// Approves every question.
#[derive(Debug, Clone, Copy, Default)]
pub struct ApproveAll;

impl Approver for ApproveAll {
    fn ask(&self, _question: Question, _cancel: CancellationToken) -> ApprovalFuture<'_> {
        Box::pin(std::future::ready(ApprovalAnswer::Once))
    }
}

/// Who is asked, and what was approved for the session. Clones share both.
#[derive(Debug, Clone)]
pub struct Approvals {
    asked: Asked,
    approved: Arc<Mutex<Vec<SessionGrant>>>,
}

/// Who is asked.
#[derive(Debug, Clone)]
enum Asked {
    Approver(Arc<dyn Approver>),
    /// The owner of the run, in another process; what was approved for the session is known there.
    Owner(Arc<dyn Relay>),
}

/// Brings questions to the process that owns a run.
pub(crate) trait Relay: fmt::Debug + Send + Sync {
    /// Asks, with what a yes for the session would cover. Dropping the future withdraws the question.
    fn ask(&self, question: Question, grants: Vec<SessionGrant>) -> DecidedFuture<'_>;

    /// Asks for values that a server wants to have. Dropping the future withdraws the form.
    fn fill_in(&self, form: Form) -> FormFuture<'_>;
}

/// A decision, and the words that came with it.
pub(crate) type Decided = (ApprovalDecision, Option<String>);

/// A decision under way.
pub(crate) type DecidedFuture<'a> = Pin<Box<dyn Future<Output = Decided> + Send + 'a>>;

impl Default for Approvals {
    fn default() -> Self {
        Self::new(Arc::new(DenyAll))
    }
}

impl Approvals {
    /// A session's approvals, in which nothing is approved yet.
    pub fn new(approver: Arc<dyn Approver>) -> Self {
        Self { asked: Asked::Approver(approver), approved: Arc::default() }
    }

    /// The approvals of a session that another process owns.
    pub(crate) fn relayed(owner: Arc<dyn Relay>) -> Self {
        Self { asked: Asked::Owner(owner), approved: Arc::default() }
    }

    /// Decides a question: by what was approved for the session, or by asking.
    pub(crate) async fn decide(
        &self,
        question: Question,
        foresight: &Foresight,
        cancel: CancellationToken,
    ) -> Decided {
        let parts = SessionGrant::of_call(&question.tool, &question.arguments, foresight);
        self.decide_parts(question, parts, cancel).await
    }

    /// The same for a call with those parts.
    pub(crate) async fn decide_parts(
        &self,
        question: Question,
        parts: Vec<SessionGrant>,
        cancel: CancellationToken,
    ) -> Decided {
        let approver = match &self.asked {
            Asked::Approver(approver) => approver,
            Asked::Owner(owner) => return owner.ask(question, parts).await,
        };
        let is_approved = |part| self.lock().contains(part);
        if !parts.is_empty() && parts.iter().all(is_approved) {
            let words = "approved earlier in this session".to_owned();
            return (ApprovalDecision::ApprovedForSession, Some(words));
        }
        match approver.ask(question, cancel).await {
            ApprovalAnswer::Once => (ApprovalDecision::ApprovedOnce, None),
            ApprovalAnswer::Session => {
                self.lock().extend(parts);
                (ApprovalDecision::ApprovedForSession, None)
            }
            ApprovalAnswer::No { words } => (ApprovalDecision::Denied, Some(words)),
            ApprovalAnswer::Abort => (ApprovalDecision::Aborted, None),
        }
    }

    /// Asks for values that a server wants to have.
    pub(crate) async fn fill_in(&self, form: Form) -> FormAnswer {
        match &self.asked {
            Asked::Approver(approver) => approver.fill_in(form).await,
            Asked::Owner(owner) => owner.fill_in(form).await,
        }
    }

    /// Whether the same people are asked.
    pub(crate) fn asks_the_same(&self, other: &Self) -> bool {
        match (&self.asked, &other.asked) {
            (Asked::Approver(one), Asked::Approver(other)) => Arc::ptr_eq(one, other),
            (Asked::Owner(one), Asked::Owner(other)) => Arc::ptr_eq(one, other),
            (Asked::Approver(_), Asked::Owner(_)) | (Asked::Owner(_), Asked::Approver(_)) => false,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<SessionGrant>> {
        self.approved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
