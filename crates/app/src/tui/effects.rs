//! The effects: what the update asks for, done with the runtime.
//!
//! What takes time is a future that ends in a message; the screen never waits for it.

mod detached;
mod facts;
mod load;
mod send;

use std::{ffi::OsString, path::PathBuf, pin::Pin};

use attache_kernel::id::RunId;
use attache_runtime::internal::{
    events::TreeEvents,
    runtime::Runtime,
    store::{FileStore, MailKind, Posted},
    tasks::RunHandle,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) use self::facts::facts;
use self::{
    detached::{Detached, Group},
    facts::files,
    send::{Outcome, Sending},
};
use super::{
    approver::ScreenApprover,
    history::History,
    replay,
    state::page::{ListKind, Page},
    update::{Effect, Kept, Load, Message, Route},
};
use crate::{failure::Exit, print::palette::Tone, setup::Setup};

/// Something under way.
pub(crate) type Pending<'a> = Pin<Box<dyn Future<Output = Message> + 'a>>;

/// What effects work with.
pub(crate) struct Actions<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) runtime: Runtime,
    pub(crate) store: FileStore,
    pub(crate) approver: ScreenApprover,
    pub(crate) messages: mpsc::UnboundedSender<Message>,
    /// Where the reader of a run that was started is put.
    pub(crate) started: mpsc::UnboundedSender<Conversation>,
    /// The model and provider for the next message; none keeps what the run before had.
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    /// The model and provider that the user chose last, for conversations that begin.
    pub(crate) chosen: (Option<String>, Option<String>),
    /// The run that the next message continues.
    pub(crate) after: Option<String>,
    /// The turn after which it branches off.
    pub(crate) at: Option<u32>,
    /// The run of the latest message.
    pub(crate) handle: Option<RunHandle>,
    pub(crate) start: Start,
    /// Stops the start that is under way, as long as no run has begun.
    pub(crate) unwanted: CancellationToken,
    /// What was sent, for later sessions.
    pub(crate) history: History,
    /// The global options, for processes in the background.
    pub(crate) globals: Vec<OsString>,
    /// Agents that go on in processes of their own once this one ends.
    pub(crate) kept: Vec<Kept>,
}

/// A run that is being started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Start {
    /// There is none.
    #[default]
    None,
    UnderWay,
    /// It is to be stopped as soon as it is there.
    Unwanted,
}

/// A run that was started.
pub(crate) struct Conversation {
    pub(crate) handle: RunHandle,
    pub(crate) events: TreeEvents,
}

/// What the caller has to do itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Open a file in an editor.
    Edit(PathBuf),
    Quit,
    Repaint,
    Suspend,
    Clear,
}

/// What became of an effect.
pub(crate) enum Done<'a> {
    /// It is done.
    Now,
    /// It is under way.
    Later(Pending<'a>),
    /// The caller does it.
    Yours(Command),
}

impl<'a> Actions<'a> {
    /// Does something, or begins to.
    pub(crate) fn perform(&mut self, effect: Effect) -> Done<'a> {
        match effect {
            Effect::Send(text, route) => {
                self.start = Start::UnderWay;
                self.unwanted = CancellationToken::new();
                return Done::Later(self.send(text, route));
            }
            Effect::Tell(text) => self.tell(text),
            Effect::Stop if self.start == Start::UnderWay => {
                self.start = Start::Unwanted;
                self.unwanted.cancel();
            }
            Effect::Stop => self.handle.iter().for_each(RunHandle::stop_turn),
            Effect::Remember(text) => self.history.add(&text),
            Effect::Leave(kept) => {
                self.kept = kept;
                return Done::Yours(Command::Quit);
            }
            Effect::Answer(id, answer) => self.approver.answer(&id, answer),
            Effect::ToBackground(agents) => self.to_background(&agents),
            Effect::ListFiles => return Done::Later(self.files()),
            Effect::Model(model) => {
                self.chosen = (Some(model), None);
                (self.model, self.provider) = self.chosen.clone();
            }
            Effect::Approve(how) => {
                if let Ok(how) = clap::ValueEnum::from_str(&how, true) {
                    self.approver.set(how);
                }
            }
            Effect::Clear => {
                self.after = None;
                self.at = None;
                (self.model, self.provider) = self.chosen.clone();
                return Done::Yours(Command::Clear);
            }
            Effect::Load(what) => return Done::Later(self.load(what, Message::Loaded)),
            Effect::Refresh(what) => return Done::Later(self.load(what, Message::Refreshed)),
            Effect::StopRun(id) => return self.posted(id, MailKind::Stop),
            Effect::Post(id, text) => return self.posted(id, MailKind::Message { text }),
            Effect::Resume(id, at) => self.resume(id, at),
            Effect::Try(agent) => self.messages.send(Message::Try(agent)).unwrap_or_default(),
            Effect::Edit(agent) => return self.edit(&agent),
            Effect::Repaint => return Done::Yours(Command::Repaint),
            Effect::Suspend => return Done::Yours(Command::Suspend),
            Effect::Quit => return Done::Yours(Command::Quit),
        }
        Done::Now
    }

    /// The message that a run was started with was its first.
    pub(crate) fn began(&mut self, conversation: &Conversation) {
        self.after = Some(conversation.handle.id().to_string());
        self.handle = Some(conversation.handle.clone());
        if std::mem::take(&mut self.start) == Start::Unwanted {
            conversation.handle.cancel();
        }
        // The next run keeps what this one has.
        self.model = None;
        self.provider = None;
        self.at = None;
    }

    /// Reads again what the screen with the agents shows.
    pub(crate) fn agents_again(&self) -> Pending<'a> {
        self.load(Load::Agents, Message::Refreshed)
    }

    fn say(&self, tone: Tone, text: impl Into<String>) {
        // The screen lives as long as this does.
        self.messages.send(Message::Told(tone, text.into())).unwrap_or_default();
    }

    fn tell(&mut self, text: String) {
        let left = self.handle.as_ref().map(|handle| handle.inbox().message(text.clone()));
        if let Some(Err(error)) = left {
            let why = format!("the message was not sent: {error}");
            self.messages.send(Message::Refused { text, why }).unwrap_or_default();
        }
    }

    fn to_background(&self, agents: &[RunId]) {
        for handle in agents.iter().filter_map(|id| self.runtime.handle(id)) {
            handle.send_to_background();
        }
        self.say(
            Tone::Faint,
            "they go on in the background; their results come when they are there",
        );
    }

    fn send(&self, text: String, route: Route) -> Pending<'a> {
        let order = Sending {
            setup: self.setup,
            runtime: self.runtime.clone(),
            approver: self.approver.clone(),
            model: self.model.clone(),
            provider: self.provider.clone(),
            after: self.after.clone(),
            at: self.at,
            before: self.handle.clone(),
            unwanted: self.unwanted.clone(),
        };
        let started = self.started.clone();
        Box::pin(async move {
            let sent = text.clone();
            match order.start(text, route).await {
                Ok(Outcome::Started(conversation, notices)) => {
                    // The loop lives as long as its futures.
                    drop(started.send(*conversation));
                    Message::Started(notices)
                }
                Ok(Outcome::Offered(offer)) => Message::Offered(offer),
                Ok(Outcome::Unwanted) => {
                    Message::Refused { text: sent, why: "stopped before it began".to_owned() }
                }
                Err(failure) => {
                    let advice = failure.advice();
                    let hint =
                        if advice.is_empty() { String::new() } else { format!("\n{advice}") };
                    Message::Refused {
                        text: sent,
                        why: format!("error: {}{hint}", failure.message()),
                    }
                }
            }
        })
    }

    /// Reads what a full screen shows.
    fn load(&self, what: Load, into: fn(Page) -> Message) -> Pending<'a> {
        let (store, runtime, after) =
            (self.store.clone(), self.runtime.clone(), self.after.clone());
        let read = move || match what {
            Load::Tasks => load::runs(ListKind::Tasks, &store, &runtime).map(Some),
            Load::Conversations => load::runs(ListKind::Conversations, &store, &runtime).map(Some),
            Load::Transcript(id) => load::transcript(&id, &store).map(Some),
            Load::Changes => load::changes(after.as_deref(), &store).map(Some),
            Load::Agents => Ok(Some(load::agents(&runtime))),
            Load::Agent(name) => Ok(load::agent(&name, &runtime)),
        };
        Box::pin(async move {
            match tokio::task::spawn_blocking(read).await {
                Ok(Ok(Some(page))) => into(page),
                Ok(Err(error)) => Message::Told(Tone::Bad, format!("error: {error}")),
                Ok(Ok(None)) | Err(_) => {
                    Message::Told(Tone::Bad, "it is not there any more".to_owned())
                }
            }
        })
    }

    /// Leaves something for a run, in this process or another.
    fn posted(&self, id: String, kind: MailKind) -> Done<'a> {
        let handle = self.runtime.handle(&RunId::new(id.as_str()));
        match (handle, kind) {
            (Some(handle), MailKind::Stop) => handle.cancel(),
            (Some(handle), MailKind::Message { text }) => {
                if let Err(error) = handle.inbox().message(text) {
                    self.say(Tone::Bad, format!("the message was not sent: {error}"));
                }
            }
            (None, kind) => return Done::Later(self.posted_elsewhere(id, kind)),
        }
        Done::Now
    }

    /// Leaves something for a run of another process; a message to one that has ended resumes it in the
    /// background.
    fn posted_elsewhere(&self, id: String, kind: MailKind) -> Pending<'a> {
        let store = self.store.clone();
        let globals = self.globals.clone();
        Box::pin(async move {
            let (run, mail) = (id.clone(), kind.clone());
            let posted = tokio::task::spawn_blocking(move || store.post(&run, &mail)).await;
            match (posted, kind) {
                (Ok(Ok(Posted::Left(_))), _) => told("the run was told"),
                (Ok(Ok(_)), MailKind::Message { text }) => {
                    match (Detached { globals, group: Group::Same }).resume(&id, &text).await {
                        Ok(id) => told(&format!("it goes on in the background as {id}")),
                        Err(why) => Message::Told(Tone::Bad, format!("error: {why}")),
                    }
                }
                (Ok(Ok(_)), MailKind::Stop) => told("it has ended"),
                (Ok(Err(error)), _) => Message::Told(Tone::Bad, format!("error: {error}")),
                (Err(error), _) => Message::Told(Tone::Bad, format!("error: {error}")),
            }
        })
    }

    /// Lets the agents that were kept go on in processes of their own; what there is to say of it.
    pub(crate) async fn hand_over(&self, exit: Exit) -> Vec<String> {
        let group = if exit == Exit::Interrupted { Group::Own } else { Group::Same };
        let detached = Detached { globals: self.globals.clone(), group };
        let mut said = Vec::new();
        for Kept { id, description } in &self.kept {
            let text = format!("Go on with your task: {description}");
            said.push(match detached.resume(id.as_str(), &text).await {
                Ok(new) => format!("{id} goes on in the background as {new}"),
                Err(why) => format!("{id} does not go on: {why}"),
            });
        }
        said
    }

    /// Goes on with an earlier conversation.
    fn resume(&mut self, id: String, at: Option<u32>) {
        let found = replay::read(&id, &self.store);
        let message = match found {
            Ok(replay) => {
                self.after = Some(id);
                self.at = at;
                self.handle = None;
                Message::Resumed(replay)
            }
            Err(error) => Message::Told(Tone::Bad, format!("error: {error}")),
        };
        self.messages.send(message).unwrap_or_default();
    }

    /// The file of an agent, for an editor.
    fn edit(&self, agent: &str) -> Done<'a> {
        let records = self.runtime.inventory().records;
        let record = records.into_iter().find(|record| record.name == agent);
        let Some(path) = record.and_then(|record| record.source_path) else {
            self.say(Tone::Warning, format!("{agent} has no file"));
            return Done::Now;
        };
        Done::Yours(Command::Edit(path))
    }

    fn files(&self) -> Pending<'a> {
        let root = self.setup.working_directory.clone();
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || files(&root)).await;
            Message::Files(found.unwrap_or_default())
        })
    }
}

fn told(text: &str) -> Message {
    Message::Told(Tone::Faint, text.to_owned())
}
