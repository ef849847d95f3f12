//! The state of the UI: the session that events make, and what the user is doing.
//!
//! Invariant: what is known of runs is in [`session::Session`], which events alone change; everything
//! else here is input that was not sent yet.

pub(crate) mod agent;
pub(crate) mod blocks;
pub(crate) mod call;
pub(crate) mod clock;
pub(crate) mod completion;
pub(crate) mod composer;
pub(crate) mod item;
pub(crate) mod page;
pub(crate) mod question;
pub(crate) mod session;
pub(crate) mod stream;

use attache_kernel::id::RunId;
use ratatui::layout::Size;

use self::{
    blocks::Blocks,
    completion::{Candidate, Completion},
    composer::Composer,
    page::Page,
    question::Asked,
    session::Session,
};
use crate::print::number::count;

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
    /// The message that the run being started is to get.
    pub(crate) sending: Option<String>,
    /// The blocks of agents: focus and folds.
    pub(crate) blocks: Blocks,
    pub(crate) hint: Option<Hint>,
    pub(crate) facts: Facts,
    /// The full screen over the conversation.
    pub(crate) page: Option<Page>,
    /// How large the screen was when it was drawn last.
    pub(crate) screen: Size,
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
    /// This key quits, if it comes again.
    Quit(&'static str),
    /// Esc stops no background agents; said as long as there are some.
    AgentsGoOn,
    /// Another message is being sent; said as long as it is.
    BeingSent,
    /// Anything else.
    Said(String),
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
    /// What is said in place of the status line. What becomes of work under way is told as it is now.
    pub(crate) fn hint(&self) -> Option<String> {
        match self.hint.as_ref()? {
            Hint::Quit(key) => Some(self.leaving(key)),
            Hint::AgentsGoOn if self.session.agents.is_empty() => None,
            Hint::AgentsGoOn => {
                Some("background agents go on; Ctrl-T shows them, s stops one there".to_owned())
            }
            Hint::BeingSent if self.request == Request::None => None,
            Hint::BeingSent => Some("the message before is being sent; Esc stops it".to_owned()),
            Hint::Said(text) => Some(text.clone()),
        }
    }

    /// A run is being started with this message.
    pub(crate) fn starts(&mut self, text: &str) {
        self.request = Request::Starting;
        self.sending = Some(text.to_owned());
    }

    /// Nothing is being done about a run any more.
    pub(crate) fn has_settled(&mut self) {
        self.request = Request::None;
        self.sending = None;
    }

    /// What the key does, if it comes again.
    fn leaving(&self, key: &str) -> String {
        let is_busy = self.session.is_busy() || self.request == Request::Starting;
        let background = self.session.agents.iter().filter(|agent| agent.is_background).count();
        let agents = count(background as u64, "background agent");
        match (is_busy, background) {
            (false, 0) => format!("{key} again quits"),
            // The first Ctrl-C stops the answer itself.
            (true, 0) if key == "Ctrl-C" => format!("{key} again quits"),
            (true, 0) => format!("an answer is under way: {key} again stops it and quits"),
            (_, _) => format!("{key} again stops {agents} and quits · k quits, they go on"),
        }
    }

    /// The agents that the main agent waits for.
    pub(crate) fn foreground(&self) -> Vec<RunId> {
        let waited_for = self.session.agents.iter().filter(|agent| !agent.is_background);
        waited_for.map(|agent| agent.id.clone()).collect()
    }
}
