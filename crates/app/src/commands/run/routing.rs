//! Routing: an agent whose keyword is in the prompt is the one for it.
//!
//! With `subagents.auto_route` it gets the prompt, which is said. Without, it is offered: it gets the prompt
//! after a yes, and where nobody can be asked it is only named. The run's first event says which it was.

use attache_kernel::{
    agent::{
        definition::Definition,
        registry::Status,
        suggest::{keyword_hit, suggest},
    },
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
    let inventory = runtime.inventory();
    let active = inventory.records.iter().filter(|record| record.status == Status::Active);
    let definitions = active.filter_map(|record| record.definition.as_deref());
    let mut hits: Vec<_> = definitions
        .filter_map(|definition| Some((definition, keyword_hit(prompt, definition)?)))
        .collect();
    if hits.len() > 1 {
        // Of several the one that `attache suggest` puts first.
        let ranked = suggest(prompt, hits.iter().map(|(definition, _)| *definition));
        let rank = |definition: &Definition| {
            ranked.iter().position(|one| one.name == definition.agent_type.as_str())
        };
        hits.sort_by_key(|(definition, _)| rank(definition).unwrap_or(usize::MAX));
    }
    let hit = hits.into_iter().next();
    let hit = hit.map(|(definition, keyword)| (definition.agent_type.to_string(), keyword));
    let Some((agent, keyword)) = hit else { return Ok((Subject::Main, None)) };
    let decision = decide(&agent, &keyword, args, setup);
    let subject = match decision {
        RoutingDecision::Routed | RoutingDecision::Accepted => {
            runtime.agent(&agent).map_err(|error| order_failure(&error))?.into()
        }
        RoutingDecision::Declined | RoutingDecision::Noted => Subject::Main,
    };
    Ok((subject, Some(Routing { agent, keyword, decision })))
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
