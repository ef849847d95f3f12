//! What a run that was cut short leaves pending: the agents it had started and that were stopped with it.

use attache_kernel::run::outcome::{RunResult, Status};
use attache_runtime::internal::store::{FileStore, RunState, Summary};

use crate::print::printer::Printer;

/// The agents that are named; of more only the number is told.
const MOST_NAMED: usize = 10;

/// Names the agents of a run that did not end with it, and how to get at what they have. A run that reached
/// its goal in time has none.
pub(super) async fn tell(result: &RunResult, store: &FileStore, printer: &Printer) {
    let was_cut_short = result.status != Status::Goal || result.recovered_from.is_some();
    if !was_cut_short || result.tree.agents < 2 {
        return;
    }
    let store = store.clone();
    let listed = tokio::task::spawn_blocking(move || store.list()).await;
    // A list that cannot be read is told by `attache tasks`.
    let Ok(Ok(runs)) = listed else { return };
    let is_pending = |run: &&Summary| {
        run.parent_id.as_ref() == Some(&result.agent_id)
            && matches!(run.state, RunState::Queued | RunState::Running | RunState::Interrupted)
    };
    let pending: Vec<&Summary> = runs.iter().filter(is_pending).collect();
    for run in pending.iter().take(MOST_NAMED) {
        let (name, id) = (&run.agent_type, &run.agent_id);
        printer.aside(&format!(
            "`{name}` was still at work; what it has: attache output {id}, continue it: attache run --resume {id}"
        ));
    }
    let more = pending.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        printer.aside(&format!("{more} more were still at work: attache tasks"));
    }
}
