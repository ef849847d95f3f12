//! The order a command line means.

use attache_kernel::{
    id::SessionId,
    run::{
        assignment::{BackgroundWork, SessionSource},
        limits::ExplicitLimits,
    },
};
use attache_runtime::internal::{
    host::{InputText, Inputs, Order, OrderError, Subject, TrustFor},
    runtime::Runtime,
    store::FileStore,
};

use super::{Offer, RunArgs, Who, routing, task};
use crate::{
    cli::model_words::require_agreement,
    environment,
    failure::Failure,
    no_effect,
    print::{
        self,
        palette::{Tone, paint},
    },
    setup::{Setup, order_failure},
    transcripts,
};

/// What the command line asks for.
pub(super) async fn order(
    args: &RunArgs,
    setup: &Setup,
    runtime: &Runtime,
    store: &FileStore,
) -> Result<Order, Failure> {
    let options = &args.options;
    require_agreement(options.model.as_deref(), options.provider.as_deref())?;
    let mut routing = None;
    let (subject, task) = match args.resumes() {
        Some(earlier) => {
            let id = earlier.resolved(store)?;
            let (subject, task) = resumed(args, setup, runtime, &id).await?;
            if args.options.at.is_none() && !setup.quiet {
                tell_of_continuation(&subject, store)?;
            }
            (subject, task)
        }
        None => match args.who {
            Who::Named => fresh(args, setup, runtime)?,
            Who::Main(_) => {
                let task = read_task(&args.task, args, false, setup)?;
                let (subject, found) = routing::routed(&task, args, setup, runtime)?;
                routing = found;
                (subject, task)
            }
        },
    };
    let working_directory = match &subject {
        Subject::Earlier(_) => setup.is_called_from_elsewhere().then(|| setup.called_from.clone()),
        Subject::Main | Subject::Named(_) | Subject::Found(_) => None,
    };
    Ok(Order {
        inputs: inputs(&args.inputs)?,
        routing,
        model: args.options.model.clone(),
        provider: args.options.provider.clone(),
        limits: ExplicitLimits {
            max_turns: args.options.max_turns,
            max_time_seconds: args.options.timeout,
            ..ExplicitLimits::default()
        },
        background_work: match args.who {
            Who::Named => BackgroundWork::Awaited,
            Who::Main(work) => work,
        },
        source: source(args),
        session: args.client.mcp_session.as_ref().map(SessionId::new),
        description: args.client.description.clone(),
        trust: if args.trust { TrustFor::ThisRun } else { TrustFor::Recorded },
        working_directory,
        today: Some(environment::today()),
        ..Order::new(subject, task)
    })
}

/// Where a run is started from, where that is not the command line of a program or a script.
fn source(args: &RunArgs) -> Option<SessionSource> {
    let is_chat = matches!(args.who, Who::Main(_)) && args.offer == Offer::Noted;
    let of_host = args.client.mcp_session.as_ref().map(|_| SessionSource::Mcp);
    of_host.or_else(|| is_chat.then_some(SessionSource::Interactive))
}

fn fresh(args: &RunArgs, setup: &Setup, runtime: &Runtime) -> Result<(Subject, String), Failure> {
    let name = args.agent.as_deref().unwrap_or_default();
    let agent = runtime.agent(name).map_err(|error| order_failure(&error))?;
    if !setup.quiet {
        for notice in no_effect::of_definition(agent.definition()) {
            print::aside(&format!("{} {notice}", paint(Tone::Warning, "notice:")));
        }
    }
    let may_be_empty = agent.can_begin_without_task(!args.inputs.is_empty());
    let task = read_task(&args.task, args, may_be_empty, setup)?;
    Ok((agent.into(), task))
}

/// Says so if another run went on from the one that is resumed: this one does not have what that one did.
fn tell_of_continuation(subject: &Subject, store: &FileStore) -> Result<(), Failure> {
    let Subject::Earlier(earlier) = subject else { return Ok(()) };
    let id = &earlier.run().assignment().agent_id;
    if let Some(next) = transcripts::continued_by(id.as_str(), store)? {
        print::aside(&format!(
            "{} {next} has gone on from {id} already; this run begins without what it did \
             (--resume {next} goes on from there)",
            paint(Tone::Warning, "notice:")
        ));
    }
    Ok(())
}

async fn resumed(
    args: &RunArgs,
    setup: &Setup,
    runtime: &Runtime,
    id: &str,
) -> Result<(Subject, String), Failure> {
    let earlier = match args.options.at {
        Some(turn) => runtime.earlier_at(id, turn).await,
        None => runtime.earlier(id).await,
    };
    let earlier = earlier.map_err(|error| order_failure(&error))?;
    // Without an agent's name on the command line, its place holds the first word of the task.
    let mut words: Vec<String> = args.agent.iter().chain(&args.task).cloned().collect();
    if args.agent_stands_first && !words.is_empty() {
        let named = words.remove(0);
        if !earlier.is_named(&named) {
            let before = earlier.run().assignment();
            return Err(order_failure(&OrderError::OtherAgent {
                run: before.agent_id.clone(),
                agent: before.definition.agent_type.to_string(),
                named,
            }));
        }
    }
    let task = read_task(&words, args, true, setup)?;
    Ok((earlier.into(), task))
}

fn inputs(given: &[String]) -> Result<Inputs, Failure> {
    if given.is_empty() {
        return Ok(Inputs::Typed(serde_json::Map::new()));
    }
    let written = given.iter().map(|pair| {
        let (name, text) = pair.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--input {pair} has no `=`")).hint("write --input KEY=VALUE")
        })?;
        Ok(InputText { name: name.to_owned(), text: text.to_owned() })
    });
    Ok(Inputs::Written(written.collect::<Result<_, Failure>>()?))
}

fn read_task(
    words: &[String],
    args: &RunArgs,
    may_be_empty: bool,
    setup: &Setup,
) -> Result<String, Failure> {
    let file = args.options.file.as_deref();
    let task = task::read(words, file, may_be_empty)?;
    if !setup.quiet && task::passes_over_input(words, file) {
        print::aside("standard input is not read: put a `-` after the task to add it");
    }
    Ok(task)
}
