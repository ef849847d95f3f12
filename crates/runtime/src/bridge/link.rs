//! The instance's end of a bridge: what it says, and the answers it waits for.

use std::{
    collections::BTreeMap,
    fmt, io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use attache_kernel::{
    id::RunId,
    rights::rule::SessionGrant,
    run::{Expected, Question, Spent, event::ApprovalDecision, letter::Letter},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{Notify, oneshot},
};
use tokio_util::sync::CancellationToken;

use super::{
    lines::{LineError, Lines, line},
    protocol::{Down, FormWish, Up},
};
use crate::{
    approvals::{DecidedFuture, Form, FormAnswer, FormFuture, Relay},
    store::{Mail, MailKind},
    tasks::{Funding, FundingFuture, Purse},
};

/// What an instance writes to.
pub(super) type Output = Pin<Box<dyn AsyncWrite + Send>>;

/// A bridge, as the parts of an instance use it.
pub(super) struct Link {
    output: tokio::sync::Mutex<Output>,
    next_request: AtomicU64,
    waiting: Mutex<BTreeMap<u64, oneshot::Sender<Down>>>,
    /// Whether nothing more will come. Changed only while `waiting` is locked.
    is_cut: AtomicBool,
    /// What is to be said next, in this order, by those who cannot wait until it is.
    queue: Mutex<Vec<Up>>,
    queued: Notify,
    /// Letters that have come and are not in the inbox of the run yet.
    mail: Mutex<Vec<Mail>>,
    mail_came: Notify,
    /// Cancelled when the run is to stop, or the other end is gone.
    pub(super) stop: CancellationToken,
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Link")
    }
}

/// The other end is gone.
pub(super) fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the process that started this instance is gone")
}

impl Link {
    pub(super) fn new(output: Output) -> Arc<Self> {
        Arc::new(Self {
            output: tokio::sync::Mutex::new(output),
            next_request: AtomicU64::new(1),
            waiting: Mutex::default(),
            is_cut: AtomicBool::new(false),
            queue: Mutex::default(),
            queued: Notify::new(),
            mail: Mutex::default(),
            mail_came: Notify::new(),
            stop: CancellationToken::new(),
        })
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, oneshot::Sender<Down>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Vec<Up>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something said after what was queued before.
    fn put_in_queue(&self, message: Up) {
        self.queue().push(message);
        self.queued.notify_one();
    }

    /// What is queued.
    pub(super) fn take_queue(&self) -> Vec<Up> {
        std::mem::take(&mut *self.queue())
    }

    /// Says something.
    pub(super) async fn say(&self, message: &Up) -> io::Result<()> {
        let line = line(message)?;
        let mut output = self.output.lock().await;
        output.write_all(&line).await?;
        output.flush().await
    }

    /// The number of a request, and where its answer will be.
    pub(super) fn request(&self) -> (u64, oneshot::Receiver<Down>) {
        let number = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.waiting();
        if !self.is_cut.load(Ordering::Relaxed) {
            waiting.insert(number, sender);
        }
        drop(waiting);
        (number, answer)
    }

    /// Takes in what comes until the other end is gone.
    pub(super) async fn listen<R: AsyncRead + Unpin>(&self, lines: &mut Lines<R>) -> LineError {
        loop {
            let message = match lines.next::<Down>().await {
                Ok(Some(message)) => message,
                Ok(None) => break self.cut(gone().into()),
                Err(error) => break self.cut(error),
            };
            match &message {
                Down::Written { request, .. }
                | Down::Decided { request, .. }
                | Down::Funded { request, .. }
                | Down::Filled { request, .. }
                | Down::LastLook { request, .. } => {
                    let waiting = self.waiting().remove(request);
                    if let Some(waiting) = waiting {
                        // The asker may have gone.
                        waiting.send(message).map_err(drop).unwrap_or_default();
                    }
                }
                Down::Letters { letters } => {
                    self.mail().extend(letters.iter().cloned().filter_map(into_mail));
                    self.mail_came.notify_one();
                }
                Down::Cancel => self.stop.cancel(),
                Down::Hello { .. } | Down::Start(_) => {}
            }
        }
    }

    fn mail(&self) -> MutexGuard<'_, Vec<Mail>> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The letters that have come.
    pub(super) fn take_mail(&self) -> Vec<Mail> {
        std::mem::take(&mut *self.mail())
    }

    /// Waits for letters. Dropping the future loses none.
    pub(super) async fn next_mail(&self) -> Vec<Mail> {
        loop {
            let mail = self.take_mail();
            if !mail.is_empty() {
                return mail;
            }
            self.mail_came.notified().await;
        }
    }

    /// Nothing more will come: nobody waits for it.
    fn cut(&self, error: LineError) -> LineError {
        self.stop.cancel();
        let mut waiting = self.waiting();
        self.is_cut.store(true, Ordering::Relaxed);
        waiting.clear();
        drop(waiting);
        error
    }

    /// Waits for something that is to be said.
    pub(super) async fn next_queued(&self) -> Vec<Up> {
        loop {
            let queue = self.take_queue();
            if !queue.is_empty() {
                return queue;
            }
            self.queued.notified().await;
        }
    }
}

/// A letter as a mailbox holds it. The owner gives each one an id.
pub(super) fn into_mail(letter: Letter) -> Option<Mail> {
    Some(Mail { id: letter.id?, kind: MailKind::Message { text: letter.text } })
}

/// Questions go to the owner of the run.
impl Relay for Link {
    fn ask(&self, question: Question, grants: Vec<SessionGrant>) -> DecidedFuture<'_> {
        Box::pin(async move {
            let nobody = || (ApprovalDecision::Denied, Some("nobody is there to ask".to_owned()));
            let (request, answer) = self.request();
            let mut asked = Asked { link: self, request, is_answered: false };
            let message = Up::Ask { request, question: Box::new(question), grants };
            if self.say(&message).await.is_err() {
                return nobody();
            }
            let answer = answer.await;
            asked.is_answered = true;
            match answer {
                Ok(Down::Decided { decision, words, .. }) => (decision, words),
                Ok(_) | Err(_) => nobody(),
            }
        })
    }

    fn fill_in(&self, form: Form) -> FormFuture<'_> {
        Box::pin(async move {
            let (request, answer) = self.request();
            let mut asked = Asked { link: self, request, is_answered: false };
            let Form { agent_id, agent_type, server, message, schema, .. } = form;
            let form = Box::new(FormWish { agent_id, agent_type, server, message, schema });
            if self.say(&Up::Form { request, form }).await.is_err() {
                return FormAnswer::Declined;
            }
            let answer = answer.await;
            asked.is_answered = true;
            match answer {
                Ok(Down::Filled { answer, .. }) => answer,
                Ok(_) | Err(_) => FormAnswer::Declined,
            }
        })
    }
}

/// The budget of the tree is kept by the owner of the run.
impl Purse for Link {
    fn fund(&self, run: &RunId, expected: Expected) -> FundingFuture<'_> {
        let agent_id = run.clone();
        Box::pin(async move {
            let (request, answer) = self.request();
            let mut asked = Asked { link: self, request, is_answered: false };
            // Given up, the request may have been paid for already.
            let mut unsent =
                Unfunded { link: self, agent_id: agent_id.clone(), expected: Some(expected) };
            self.put_in_queue(Up::Fund { request, agent_id, expected });
            let answer = answer.await;
            asked.is_answered = true;
            match answer {
                Ok(Down::Funded { short: None, .. }) => {
                    unsent.expected = None;
                    Funding::Paid
                }
                Ok(Down::Funded { short: Some(left), .. }) => Funding::Short(left),
                // The other end is gone, and stops the run.
                Ok(_) | Err(_) => std::future::pending().await,
            }
        })
    }

    fn spend(&self, run: &RunId, used: Spent) {
        self.put_in_queue(Up::Spent { agent_id: run.clone(), used });
    }

    fn settle(&self, run: &RunId, request: Spent) {
        self.put_in_queue(Up::Settled { agent_id: run.clone(), size: request });
    }

    fn close(&self, run: &RunId) {
        self.put_in_queue(Up::Closed { agent_id: run.clone() });
    }
}

/// A request somebody wants to send, until it is paid for.
struct Unfunded<'l> {
    link: &'l Link,
    agent_id: RunId,
    expected: Option<Expected>,
}

impl Drop for Unfunded<'_> {
    fn drop(&mut self) {
        if let Some(expected) = self.expected {
            self.link.settle(&self.agent_id, expected.request);
        }
    }
}

/// A question somebody waits for.
struct Asked<'l> {
    link: &'l Link,
    request: u64,
    is_answered: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.link.waiting().remove(&self.request);
        self.link.put_in_queue(Up::Withdrawn { request: self.request });
    }
}
