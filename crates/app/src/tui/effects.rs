//! The effects: what the update asks for, done with the runtime.
//!
//! What takes time is a future that ends in a message; the screen never waits for it.

mod load;

use std::{
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

use attache_kernel::{
    agent::{registry::Status, suggest::keyword_hit},
    id::RunId,
    rights::permission::{ApprovalPolicy, AutoApproval},
    run::assignment::{BackgroundWork, SessionSource},
};
use attache_runtime::{
    events::TreeEvents,
    host::{Order, Subject},
    runtime::Runtime,
    store::{FileStore, MailKind},
    tasks::RunHandle,
};
use tokio::sync::mpsc;

use super::{
    approver::ScreenApprover,
    replay,
    state::{
        Facts, Offer,
        completion::Candidate,
        page::{ListKind, Page},
    },
    update::{Effect, Load, Message, Route},
};
use crate::{
    commands::run::{Approve, start_failure},
    environment,
    failure::Failure,
    print::palette::Tone,
    setup::Setup,
};

/// How many files are offered for completion.
const MOST_FILES: usize = 20_000;

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
    /// The model and provider for the next message.
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    /// The run that the next message continues.
    pub(crate) after: Option<String>,
    /// The turn after which it branches off.
    pub(crate) at: Option<u32>,
    /// The run of the latest message.
    pub(crate) handle: Option<RunHandle>,
    pub(crate) start: Start,
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
                return Done::Later(self.send(text, route));
            }
            Effect::Tell(text) => self.tell(text),
            Effect::Stop if self.start == Start::UnderWay => self.start = Start::Unwanted,
            Effect::Stop => self.handle.iter().for_each(RunHandle::cancel),
            Effect::Answer(id, answer) => self.approver.answer(&id, answer),
            Effect::ToBackground(agents) => self.to_background(&agents),
            Effect::ListFiles => return Done::Later(self.files()),
            Effect::Model(model) => {
                self.model = Some(model);
                self.provider = None;
            }
            Effect::Approve(how) => {
                if let Ok(how) = clap::ValueEnum::from_str(&how, true) {
                    self.approver.set(how);
                }
            }
            Effect::Clear => {
                self.after = None;
                self.at = None;
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
            Load::Tasks => load::runs(ListKind::Tasks, &store).map(Some),
            Load::Conversations => load::runs(ListKind::Conversations, &store).map(Some),
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
            (None, kind) => {
                let store = self.store.clone();
                return Done::Later(Box::pin(async move {
                    let posted = tokio::task::spawn_blocking(move || store.post(&id, &kind)).await;
                    match posted {
                        Ok(Ok(_)) => Message::Told(Tone::Faint, "the run was told".to_owned()),
                        Ok(Err(error)) => Message::Told(Tone::Bad, format!("error: {error}")),
                        Err(error) => Message::Told(Tone::Bad, format!("error: {error}")),
                    }
                }));
            }
        }
        Done::Now
    }

    /// Goes on with an earlier conversation.
    fn resume(&mut self, id: String, at: Option<u32>) {
        let found = replay::events(&id, &self.store);
        let message = match found {
            Ok(events) => {
                self.after = Some(id);
                self.at = at;
                self.handle = None;
                Message::Resumed(events)
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

/// The files of a project, as far as its ignore rules leave them.
fn files(root: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(root).require_git(false).build();
    let found = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let names = found.filter_map(|entry| {
        let path = entry.path().strip_prefix(root).ok()?;
        path.to_str().map(str::to_owned)
    });
    names.take(MOST_FILES).collect()
}

/// A message on its way.
struct Sending<'a> {
    setup: &'a Setup,
    runtime: Runtime,
    approver: ScreenApprover,
    model: Option<String>,
    provider: Option<String>,
    after: Option<String>,
    at: Option<u32>,
    /// The run before, which may still be putting things away.
    before: Option<RunHandle>,
}

/// What became of a message.
enum Outcome {
    Started(Box<Conversation>, Vec<String>),
    Offered(Offer),
}

impl Sending<'_> {
    async fn start(self, text: String, route: Route) -> Result<Outcome, Failure> {
        let mut notices = Vec::new();
        let mut task = text.clone();
        let through = match route {
            Route::Main => None,
            Route::Through(agent) => Some(agent),
            Route::Offer => match self.fitting(&text) {
                Some(offer) if self.setup.settings.subagents.auto_route => {
                    let keyword = &offer.keyword;
                    notices.push(format!(
                        "`{}` gets this: its keyword `{keyword}` is in it",
                        offer.agent
                    ));
                    Some(offer.agent)
                }
                Some(offer) => return Ok(Outcome::Offered(offer)),
                None => None,
            },
        };
        if let Some(agent) = through {
            task = format!("{text}\n\nUse the agent `{agent}` for this.");
        }
        if let Some(before) = &self.before {
            // The runtime lives as long as the conversation.
            drop(before.result().await);
        }
        let subject = match &self.after {
            None => Subject::Main,
            Some(id) => {
                let earlier = match self.at {
                    Some(turn) => self.runtime.earlier_at(id, turn).await,
                    None => self.runtime.earlier(id).await,
                };
                earlier.map_err(|error| self.setup.order_failure(&error))?.into()
            }
        };
        let order = Order {
            model: self.model,
            provider: self.provider,
            background_work: BackgroundWork::Awaited,
            source: Some(SessionSource::Interactive),
            today: Some(environment::today()),
            auto_approval: match self.approver.how() {
                Approve::Sandbox => AutoApproval::InSandbox,
                Approve::Ask | Approve::Deny | Approve::All => AutoApproval::AsConfigured,
            },
            approver: Some(Arc::new(self.approver)),
            ..Order::new(subject, task)
        };
        let prepared = self.runtime.prepare(order).await;
        let prepared = prepared.map_err(|error| self.setup.order_failure(&error))?;
        notices.extend(prepared.notices.iter().map(ToString::to_string));
        let started = self.runtime.start_watched(prepared).await;
        let (handle, events) = started.map_err(|error| start_failure(&error))?;
        Ok(Outcome::Started(Box::new(Conversation { handle, events }), notices))
    }

    /// The agent whose keyword is in a message.
    fn fitting(&self, text: &str) -> Option<Offer> {
        let inventory = self.runtime.inventory();
        inventory.records.iter().filter(|record| record.status == Status::Active).find_map(
            |record| {
                let definition = record.definition.as_deref()?;
                let keyword = keyword_hit(text, definition)?;
                Some(Offer { agent: record.name.clone(), keyword, text: text.to_owned() })
            },
        )
    }
}

/// What is known before the first run.
pub(crate) fn facts(setup: &Setup, runtime: &Runtime, how: Option<Approve>) -> Facts {
    let parent = setup.parent_model();
    let agents =
        runtime.inventory().records.into_iter().filter(|record| record.status == Status::Active);
    let agents = agents.map(|record| {
        let about = record.definition.as_ref().and_then(|it| it.when_to_use.clone());
        Candidate {
            text: format!("@{}", record.name),
            about: super::text::first_line(&about.unwrap_or_default()),
        }
    });
    let approval = match how {
        Some(Approve::Deny) => "approve deny".to_owned(),
        Some(Approve::Sandbox) => "approve sandbox".to_owned(),
        Some(Approve::All) => "approve all".to_owned(),
        None | Some(Approve::Ask) => policy_word(setup.settings.approval_policy).to_owned(),
    };
    Facts {
        model: setup.settings.model.clone().unwrap_or(parent.model),
        sandbox: setup.settings.sandbox.mode.as_str().to_owned(),
        approval,
        agents: agents.collect(),
        files: None,
    }
}

fn policy_word(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Untrusted => "untrusted",
        ApprovalPolicy::OnRequest => "on-request",
        ApprovalPolicy::Never => "never",
    }
}
