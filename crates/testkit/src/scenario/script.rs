//! The script of a scenario: `scenario.toml`, read strictly. A key that is not known fails.

use std::{fs, path::Path, sync::Arc, time::Duration};

use attache_kernel::{
    model::usage::Usage,
    run::{ModelFailure, Stage, limits::ExplicitLimits},
};
use attache_runtime::prelude::ApprovalAnswer;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Notify;

use crate::scripted_model::{Turn, fails};

/// What happens in a scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// What it shows, in a sentence for its reader.
    what: String,
    /// Agents as JSON would give them, by name. They count as trusted; files in `input/agents/` do not.
    #[serde(default)]
    agents: serde_json::Map<String, Value>,
    /// The runs, each continuing the one before.
    run: Vec<RunScript>,
}

/// One run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunScript {
    /// The agent; a run that continues another has none.
    pub agent: Option<String>,
    pub task: String,
    #[serde(default)]
    limits: Limits,
    /// What is said to the questions that are asked, in order.
    #[serde(default)]
    approvals: Vec<Answer>,
    /// What the model does, one a call.
    #[serde(default)]
    turn: Vec<TurnScript>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    max_time_seconds: Option<u32>,
    max_turns: Option<u32>,
    grace_period_seconds: Option<u32>,
    max_tokens: Option<u64>,
    max_cost_usd: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Once,
    Session,
    No(String),
    Abort,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnScript {
    thinks: Option<String>,
    says: Option<String>,
    #[serde(default)]
    calls: Vec<Call>,
    fails: Option<Failure>,
    #[serde(default)]
    usage: Usage,
    cost_usd: Option<f64>,
    /// What somebody does while the model is at this turn.
    meanwhile: Option<Meanwhile>,
    /// Whether the answer never ends.
    #[serde(default)]
    hangs: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    /// A text is given as it is written, good JSON or bad.
    arguments: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Failure {
    Transient(String),
    ContextLength(String),
    Fatal(String),
}

/// What somebody does while the model is at a turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Meanwhile {
    /// Cancels the run.
    Cancel,
    /// Leaves a message in its inbox.
    Message(String),
}

/// Something that is done while the model is at a turn.
#[derive(Debug)]
pub(super) struct Interlude {
    /// The turn has arrived.
    pub arrived: Arc<Notify>,
    /// What is done then.
    pub doing: Meanwhile,
    /// The turn may end.
    pub go: Arc<Notify>,
}

impl Script {
    /// Reads it.
    pub(super) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        let script: Self = toml::from_str(&text)
            .unwrap_or_else(|error| panic!("{} is not a scenario: {error}", path.display()));
        assert!(!script.what.trim().is_empty(), "{} does not say what it shows", path.display());
        for (number, run) in script.run.iter().enumerate() {
            let is_first = number == 0;
            assert_eq!(run.agent.is_some(), is_first, "the first run alone has an agent");
        }
        assert!(!script.run.is_empty(), "{} has no run", path.display());
        script
    }

    pub(super) fn runs(&self) -> &[RunScript] {
        &self.run
    }

    /// The agents as one JSON object.
    pub(super) fn agents_json(&self) -> Option<String> {
        let has_agents = !self.agents.is_empty();
        has_agents.then(|| serde_json::to_string(&self.agents).expect("a table is JSON"))
    }
}

impl RunScript {
    pub(super) fn limits(&self) -> ExplicitLimits {
        let Limits { max_time_seconds, max_turns, grace_period_seconds, max_tokens, max_cost_usd } =
            self.limits;
        ExplicitLimits {
            max_time_seconds,
            max_turns,
            grace_period_seconds,
            max_tokens,
            max_cost_usd,
        }
    }

    pub(super) fn answers(&self) -> impl Iterator<Item = ApprovalAnswer> {
        self.approvals.iter().map(|answer| match answer {
            Answer::Once => ApprovalAnswer::Once,
            Answer::Session => ApprovalAnswer::Session,
            Answer::No(words) => ApprovalAnswer::No { words: words.clone() },
            Answer::Abort => ApprovalAnswer::Abort,
        })
    }

    /// What the model does, and what others do meanwhile.
    pub(super) fn turns(&self) -> (Vec<Turn>, Vec<Interlude>) {
        let mut interludes = Vec::new();
        let turns = self.turn.iter().map(|script| {
            let turn = script.turn();
            let Some(doing) = script.meanwhile.clone() else { return turn };
            let interlude = Interlude { arrived: Arc::default(), doing, go: Arc::default() };
            let turn = turn.telling(&interlude.arrived).waiting_for(&interlude.go);
            interludes.push(interlude);
            turn
        });
        (turns.collect(), interludes)
    }
}

impl TurnScript {
    fn turn(&self) -> Turn {
        let mut turn = match &self.fails {
            Some(failure) => fails(failure.as_failure()),
            None => Turn::default(),
        };
        turn = turn.using(self.usage.clone());
        if let Some(text) = &self.thinks {
            turn = turn.then_thinks(text);
        }
        if let Some(text) = &self.says {
            turn = turn.then_says(text);
        }
        for call in &self.calls {
            turn = match &call.arguments {
                Value::String(written) => turn.then_calls_as("", &call.tool, written),
                arguments => turn.then_calls(&call.tool, arguments),
            };
        }
        if let Some(usd) = self.cost_usd {
            turn = turn.costing(usd);
        }
        if self.hangs { turn.then_hangs() } else { turn }
    }
}

impl Failure {
    fn as_failure(&self) -> ModelFailure {
        match self {
            Self::Transient(message) => ModelFailure::Transient {
                message: message.clone(),
                stage: Stage::Request,
                retry_after: Some(Duration::ZERO),
            },
            Self::ContextLength(message) => {
                ModelFailure::ContextLength { message: message.clone() }
            }
            Self::Fatal(message) => ModelFailure::Fatal { message: message.clone() },
        }
    }
}
