//! Routing: an agent whose keyword is in the prompt is the one for it.
//!
//! With `subagents.auto_route` it gets the prompt, which is said. Without, it is offered: it gets the prompt
//! after a yes, and where nobody can be asked it is only named. The run's first event says which it was.

use attache_kernel::{
    agent::{registry::Status, suggest::best_keyword_hit},
    run::assignment::{Routing, RoutingDecision},
};
use attache_runtime::internal::{host::Subject, runtime::Runtime};

use super::{Offer, RunArgs, RunFormat};
use crate::{
    failure::Failure,
    print::{
        self,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup, order_failure},
};

/// Who gets a prompt for the main agent, and why.
pub(super) fn routed(
    prompt: &str,
    args: &RunArgs,
    setup: &Setup,
    runtime: &Runtime,
) -> Result<(Subject, Option<Routing>), Failure> {
    let Some((agent, keyword)) = fitting(prompt, runtime) else {
        return Ok((Subject::Main, None));
    };
    let decision = decide(&agent, &keyword, args, setup);
    let subject = match decision {
        RoutingDecision::Routed | RoutingDecision::Accepted => {
            runtime.agent(&agent).map_err(|error| order_failure(&error))?.into()
        }
        RoutingDecision::Declined | RoutingDecision::Noted => Subject::Main,
    };
    Ok((subject, Some(Routing { agent, keyword, decision })))
}

/// The agent that a prompt for the main agent is for, and its keyword that is in the prompt.
pub(crate) fn fitting(prompt: &str, runtime: &Runtime) -> Option<(String, String)> {
    let inventory = runtime.inventory();
    let active = inventory.records.iter().filter(|record| record.status == Status::Active);
    let definitions = active.filter_map(|record| record.definition.as_deref());
    let (definition, keyword) = best_keyword_hit(prompt, definitions)?;
    Some((definition.agent_type.to_string(), keyword))
}

fn decide(agent: &str, keyword: &str, args: &RunArgs, setup: &Setup) -> RoutingDecision {
    let notice = paint(Tone::Warning, "notice:");
    if setup.settings.subagents.auto_route {
        if !setup.quiet {
            print::aside(&format!(
                "{notice} `{agent}` gets this: its keyword `{keyword}` is in the prompt (subagents.auto_route)"
            ));
        }
        return RoutingDecision::Routed;
    }
    if setup.quiet {
        return RoutingDecision::Noted;
    }
    if can_offer(args, setup) {
        let question =
            format!("`{agent}` is for this (keyword `{keyword}`). Let it do this? [y/N] ");
        let answer = print::ask(&question).unwrap_or_default().to_lowercase();
        let is_yes = matches!(answer.as_str(), "y" | "yes");
        return if is_yes { RoutingDecision::Accepted } else { RoutingDecision::Declined };
    }
    print::aside(&format!(
        "{notice} `{agent}` is for this (keyword `{keyword}`): attache run {agent} \"…\""
    ));
    RoutingDecision::Noted
}

/// Whether somebody sits at the terminal who can say yes.
fn can_offer(args: &RunArgs, setup: &Setup) -> bool {
    let is_text = match args.options.output_format {
        Some(format) => format == RunFormat::Text,
        None => setup.format == OutputFormat::Text,
    };
    args.offer == Offer::Asked && is_text && !args.options.background && print::is_interactive()
}
