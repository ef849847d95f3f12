//! The run that makes a call, for MCP servers that ask something of it in the middle of one: its people, and
//! its model.
//!
//! Invariant: what its model is used for is counted as the run's. Its clock stands while a server asks its people.

use std::sync::{Arc, Mutex, PoisonError};

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
    news: UnboundedSender<ServerNews>,
    /// How many questions of servers are open.
    open: Mutex<usize>,
}

/// What servers do to the run that calls them.
#[derive(Debug)]
pub(crate) enum ServerNews {
    /// Its model was used.
    Lent(Lent),
    /// The first question is open.
    Asks {
        /// The server.
        server: String,
    },
    /// No question is open any more.
    Answered,
}

/// What a server's request used of the run's model.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) server: String,
    pub(crate) usage: Usage,
    pub(crate) cost_usd: Option<f64>,
}

/// Where that is told.
pub(crate) type ServersNews = UnboundedReceiver<ServerNews>;

/// A question of a server is open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenQuestion<'a>(&'a Caller);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open = open.saturating_sub(1);
        if *open == 0 {
            self.0.tell(ServerNews::Answered);
        }
    }
}

impl Caller {
    pub(crate) fn new(
        run: &Run,
        approvals: &Approvals,
        model: &Arc<dyn Model>,
    ) -> (Arc<Self>, ServersNews) {
        let (news, told) = unbounded_channel();
        let run = Arc::clone(run.shared_assignment());
        let (approvals, model) = (approvals.clone(), Arc::clone(model));
        (Arc::new(Self { run, approvals, model, news, open: Mutex::default() }), told)
    }

    fn tell(&self, news: ServerNews) {
        // A run that has ended needs none.
        self.news.send(news).unwrap_or_default();
    }

    /// The model was used for a server.
    pub(crate) fn lent(&self, lent: Lent) {
        self.tell(ServerNews::Lent(lent));
    }

    /// A server asks the people of the run something.
    pub(crate) fn ask(&self, server: &str) -> OpenQuestion<'_> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if *open == 0 {
            self.tell(ServerNews::Asks { server: server.to_owned() });
        }
        *open += 1;
        drop(open);
        OpenQuestion(self)
    }
}
