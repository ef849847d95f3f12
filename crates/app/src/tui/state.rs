//! The state of the UI: the session that events make, and what the user is doing.
//!
//! Invariant: what is known of runs is in [`session::Session`], which events alone change; everything
//! else here is input that was not sent yet.

pub(crate) mod agent;
pub(crate) mod blocks;
pub(crate) mod call;
pub(crate) mod completion;
pub(crate) mod composer;
pub(crate) mod item;
pub(crate) mod page;
pub(crate) mod question;
pub(crate) mod session;
pub(crate) mod stream;

use attache_kernel::id::RunId;

use self::{
    blocks::Blocks,
    completion::{Candidate, Completion},
    composer::Composer,
    page::Page,
    question::Asked,
    session::Session,
};

/// Everything that is shown.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) session: Session,
    pub(crate) composer: Composer,
    /// The questions that wait for an answer; the first is shown.
    pub(crate) questions: Vec<Asked>,
    pub(crate) completion: Option<Completion>,
    /// An agent that fits what was just sent.
    pub(crate) offer: Option<Offer>,
    /// Messages that the agent has not read yet.
    pub(crate) waiting: Vec<String>,
    /// What is being done about the run of the latest message.
    pub(crate) request: Request,
    /// The blocks of agents: focus and folds.
    pub(crate) blocks: Blocks,
    pub(crate) hint: Option<Hint>,
    pub(crate) facts: Facts,
    /// The full screen over the conversation.
    pub(crate) page: Option<Page>,
    /// How many lines of a text a full screen shows.
    pub(crate) page_height: usize,
}

/// What is being done about a run, until its events tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Request {
    /// Nothing.
    #[default]
    None,
    /// It is being started.
    Starting,
    /// It is being stopped.
    Stopping,
}

/// An agent that fits what was just sent; somebody has to say yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The agent.
    pub(crate) agent: String,
    /// The word that it was found by.
    pub(crate) keyword: String,
    /// What was sent.
    pub(crate) text: String,
}

/// Something to know in place of the status line, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The next Ctrl-C quits.
    Quit(String),
    /// Anything else.
    Said(String),
}

impl Hint {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Quit(text) | Self::Said(text) => text,
        }
    }
}

/// What is known before the first run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    /// The model that will answer.
    pub(crate) model: String,
    /// The sandbox that commands will run in.
    pub(crate) sandbox: String,
    /// What is asked about.
    pub(crate) approval: String,
    /// The agents there are.
    pub(crate) agents: Vec<Candidate>,
    /// The files of the project, once they were asked for.
    pub(crate) files: Option<Vec<String>>,
}

impl State {
    /// The agents that the main agent waits for.
    pub(crate) fn foreground(&self) -> Vec<RunId> {
        let waited_for = self.session.agents.iter().filter(|agent| !agent.is_background);
        waited_for.map(|agent| agent.id.clone()).collect()
    }
}
