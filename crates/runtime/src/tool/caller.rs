//! The run that makes a call, for MCP servers that ask something of it in the middle of one: its people, and
//! its model.
//!
//! Invariant: what its model is used for is counted as the run's.

use std::sync::Arc;

use attache_kernel::{
    model::usage::Usage,
    run::{Run, assignment::Assignment},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{approvals::Approvals, model::Model};

/// The run that makes a call.
#[derive(Debug)]
pub struct Caller {
    pub(crate) run: Arc<Assignment>,
    pub(crate) approvals: Approvals,
    pub(crate) model: Arc<dyn Model>,
    lent: UnboundedSender<Lent>,
}

/// What a server's request used of the run's model.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) server: String,
    pub(crate) usage: Usage,
    pub(crate) cost_usd: Option<f64>,
}

/// Where that is told.
pub(crate) type LentModel = UnboundedReceiver<Lent>;

impl Caller {
    pub(crate) fn new(
        run: &Run,
        approvals: &Approvals,
        model: &Arc<dyn Model>,
    ) -> (Arc<Self>, LentModel) {
        let (lent, told) = unbounded_channel();
        let run = Arc::clone(run.shared_assignment());
        let (approvals, model) = (approvals.clone(), Arc::clone(model));
        (Arc::new(Self { run, approvals, model, lent }), told)
    }

    /// The model was used for a server.
    pub(crate) fn lent(&self, lent: Lent) {
        // A run that has ended counts no more.
        self.lent.send(lent).unwrap_or_default();
    }
}
