//! Standstill: a run tells the one above it when its clock stands because somebody is being asked.
//!
//! Invariant: waiting for an answer costs no run time, however deep below it the question is: the clock of a
//! run stands while that of an agent it waits for does.

use std::sync::Weak;

use attache_kernel::{id::RunId, run::subagent::SubagentNote};

use super::{LiveRun, NewsItem};

/// What the run above knows of a run's clock.
#[derive(Debug, Default)]
pub(crate) struct Standstill {
    above: Option<(RunId, Weak<LiveRun>)>,
    stands: bool,
}

impl Standstill {
    /// The clock of that run, which goes.
    pub(crate) fn of_run(run: &LiveRun) -> Self {
        let above = run.parent.clone().map(|parent| (run.run.agent_id.clone(), parent));
        Self { above, stands: false }
    }

    /// Tells the run above if that is new.
    pub(crate) fn note(&mut self, stands: bool) {
        if std::mem::replace(&mut self.stands, stands) == stands {
            return;
        }
        if let Some((agent_id, above)) = &self.above
            && let Some(above) = above.upgrade()
        {
            let agent_id = agent_id.clone();
            above.news.tell(NewsItem::Note(SubagentNote::Clock { agent_id, stands }));
        }
    }
}
