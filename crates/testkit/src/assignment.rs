//! The assignment most tests begin with: an agent called `tester`, on no real model, without tools.

use std::sync::Arc;

use attache_kernel::{
    agent::definition::Definition,
    id::{AgentName, RunId, SessionId},
    model::choice::ChosenBy,
    run::{assignment::Assignment, outcome::ModelUsed},
};

/// An assignment of an agent that has nothing but a prompt.
pub fn assignment(task: &str) -> Assignment {
    let mut definition = Definition::named(AgentName::new("tester"));
    definition.prompt_config.system_prompt = Some("You test.".to_owned());
    assignment_of(definition, task)
}

/// An assignment of that agent.
pub fn assignment_of(definition: Definition, task: &str) -> Assignment {
    let ids = (RunId::new("agent-1"), SessionId::new("session-1"));
    let model = ModelUsed {
        id: "scripted-1".to_owned(),
        provider: "lab".to_owned(),
        chosen_by: ChosenBy::Call,
        asked: None,
    };
    Assignment::new(ids, Arc::new(definition), task, model)
}
