//! Routing: an agent whose keyword is in the prompt is the one for it.
//!
//! With `subagents.auto_route` it gets the prompt, which is said; without, it is only named.

use attache_kernel::agent::{registry::Status, suggest::keyword_hit};
use attache_runtime::{host::Subject, runtime::Runtime};

use crate::{
    failure::Failure,
    print::{
        self,
        palette::{Tone, paint},
    },
    setup::{Setup, order_failure},
};

/// Who gets a prompt for the main agent.
pub(super) fn routed(prompt: &str, setup: &Setup, runtime: &Runtime) -> Result<Subject, Failure> {
    let inventory = runtime.inventory();
    let hit = inventory.records.iter().find_map(|record| {
        let definition =
            record.definition.as_deref().filter(|_| record.status == Status::Active)?;
        Some((record.name.clone(), keyword_hit(prompt, definition)?))
    });
    let Some((name, keyword)) = hit else { return Ok(Subject::Main) };
    let notice = paint(Tone::Warning, "notice:");
    if setup.settings.subagents.auto_route {
        if !setup.quiet {
            print::aside(&format!(
                "{notice} `{name}` gets this: its keyword `{keyword}` is in the prompt (subagents.auto_route)"
            ));
        }
        let agent = runtime.agent(&name).map_err(|error| order_failure(&error))?;
        return Ok(agent.into());
    }
    if !setup.quiet {
        print::aside(&format!(
            "{notice} `{name}` is for this (keyword `{keyword}`): attache run {name} \"…\""
        ));
    }
    Ok(Subject::Main)
}
