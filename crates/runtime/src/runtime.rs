//! The runtime: the one thing a program holds to run agents.
//!
//! An [`Order`] becomes a [`Prepared`] run, and that a [`RunHandle`]. Dropping the last copy of a
//! runtime ends its runs and everything they hold.

mod builder;

use std::{sync::Arc, time::Duration};

use attache_kernel::{agent::registry::Inventory, id::RunId, run::Run};

pub use self::builder::{BuildError, RuntimeBuilder};
use crate::{
    approvals::Approvals,
    bridge::{Assigned, TakeOverError},
    events::TreeEvents,
    host::{Agent, EarlierRun, Host, Order, OrderError, Prepared},
    store::Store,
    tasks::{Client, Delegate, Purse, RunHandle, Runs, StartError},
};

/// Runs agents. A copy is the same runtime.
///
/// ```
/// use attache_runtime::prelude::*;
/// # #[derive(Debug)]
/// # struct HouseModel;
/// # impl Model for HouseModel {
/// #     fn call<'a>(&'a self, _: ModelCall<'a>, _: Chunks<'a>) -> ModelFuture<'a> {
/// #         let call = ToolCall::new(ToolCallId::new("1"), "complete_task", r#"{"result": "All is well."}"#);
/// #         let content = vec![AssistantPart::ToolCall { call }];
/// #         let reply = Reply { content, stop: StopReason::ToolUse, usage: Usage::default(), cost_usd: None };
/// #         Box::pin(async move { Ok(reply) })
/// #     }
/// # }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let folder = tempfile::tempdir()?;
/// let runtime = Runtime::builder(folder.path())
///     .agents_json(r#"{"reviewer": {"description": "Reviews.", "prompt": "You review code."}}"#)
///     .model("house-model", HouseModel)
///     .build()?;
/// let order = Order { model: Some("house-model".into()), ..Order::new("reviewer", "Look at src/.") };
/// let handle = runtime.start(runtime.prepare(order).await?).await?;
/// assert_eq!(handle.result().await?.result, "All is well.");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Runtime {
    host: Arc<Host>,
    runs: Runs,
}

impl Runtime {
    /// A runtime that works in that directory and is set up by hand.
    pub fn builder(working_directory: impl Into<std::path::PathBuf>) -> RuntimeBuilder {
        RuntimeBuilder::new(working_directory.into())
    }

    /// A runtime of parts that were put together elsewhere.
    #[doc(hidden)]
    pub fn new(host: Arc<Host>, runs: Runs) -> Self {
        Self { host, runs }
    }

    /// The agents there are now, each with the tools and the model it would get.
    pub fn inventory(&self) -> Inventory {
        self.host.inventory()
    }

    /// The agent of that name, in any spelling, if it can be run.
    pub fn agent(&self, name: &str) -> Result<Agent, OrderError> {
        self.host.agent(name)
    }

    /// An earlier run that can go on, by its id or the beginning of one.
    pub async fn earlier(&self, id: &str) -> Result<EarlierRun, OrderError> {
        self.host.earlier(id, &**self.runs.store()).await
    }

    /// An earlier run as it was when that turn was over, from which a new one can branch off.
    pub async fn earlier_at(&self, id: &str, turn: u32) -> Result<EarlierRun, OrderError> {
        self.host.earlier_at(id, turn, &**self.runs.store()).await
    }

    /// Turns an order into a run that can be started, or says why not.
    pub async fn prepare(&self, order: Order) -> Result<Prepared, OrderError> {
        self.host.prepare(order, &**self.runs.store()).await
    }

    /// The MCP servers that are being started: what preparing a run waits for.
    pub fn starting_servers(&self) -> Vec<String> {
        self.host.mcp.starting()
    }

    /// Starts a run. It goes on by itself; the handle tells of it.
    pub async fn start(&self, prepared: Prepared) -> Result<RunHandle, StartError> {
        self.runs.start_below(prepared.start, Some(Arc::clone(&self.host))).await
    }

    /// Starts a run, with a reader of its events and of those of the runs below it. The reader is there
    /// before the run begins and misses no piece of a message.
    pub async fn start_watched(
        &self,
        prepared: Prepared,
    ) -> Result<(RunHandle, TreeEvents), StartError> {
        self.runs.start_watched(prepared.start, Some(Arc::clone(&self.host))).await
    }

    /// Goes on with a run that another process owns.
    pub(crate) async fn take_over(
        &self,
        run: (Run, u64),
        assigned: &Assigned,
        owner: (Approvals, Arc<dyn Purse>),
    ) -> Result<(RunHandle, TreeEvents), TakeOverError> {
        let start = self.host.taken_over(run, assigned, owner).await?;
        Ok(self.runs.start_watched(start, Some(Arc::clone(&self.host))).await?)
    }

    /// The handle of a run under way.
    pub fn handle(&self, id: &RunId) -> Option<RunHandle> {
        self.runs.handle(id)
    }

    /// The runs under way.
    pub fn runs(&self) -> Vec<RunId> {
        self.runs.runs()
    }

    /// Forgets the results of background agents that ended longer ago, for programs that run for long. Those
    /// that still work stay, and a result that is asked for later is read from its transcript.
    pub fn cleanup_old_tasks(&self, older_than: Duration) {
        self.runs.cleanup_old_tasks(older_than);
    }

    /// Where runs are written down.
    pub fn store(&self) -> &Arc<dyn Store> {
        self.runs.store()
    }

    /// What starts agents for a client that is not a run.
    pub(crate) fn delegate_for(&self, client: Client) -> Delegate {
        Delegate::for_client(Arc::clone(&self.host), self.runs.downgrade(), client)
    }

    /// The front door's parts.
    #[doc(hidden)]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Closes the connections to MCP servers and waits until everything that was written is on the disk:
    /// the last thing to do before the process ends.
    pub async fn settled(&self) {
        tokio::join!(self.host.mcp.close(), self.runs.settled());
    }
}
