//! Calls that go on between the requests of their client: as a task that it asks for again, or in rounds in
//! which it answers questions.
//!
//! Invariants: a call is reached only by the session that made it. It ends with the server, when it is
//! cancelled, or when its questions stay unanswered and its run ends. Dropping it stops its agent.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use attache_kernel::id::{RunId, SessionId};
use attache_runtime::internal::{clock, delegation::Desk, tasks::RunHandle};
use rmcp::model::{CallToolResult, ElicitRequest, ElicitResult, InputRequest, InputResponses};
use serde_json::Value;
use tokio::sync::{
    mpsc::UnboundedReceiver,
    watch::{self, Sender},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    answer,
    elicitation::{Asked, Wording},
    progress::Steps,
};

/// How long a question waits for a client that asks when it likes.
pub(super) const QUESTION_PATIENCE: Duration = Duration::from_mins(10);
/// How long a call that has ended is kept, and how many calls are kept.
const KEPT: Duration = Duration::from_mins(10);
const MOST_KEPT: usize = 1000;

/// The calls of all clients.
#[derive(Debug, Default)]
pub(super) struct Calls {
    by_name: Mutex<BTreeMap<String, Arc<LongCall>>>,
}

/// A call that goes on by itself.
#[derive(Debug)]
pub(super) struct LongCall {
    owner: SessionId,
    pub(super) began: String,
    state: watch::Receiver<State>,
    questions: Questions,
    _work: AbortOnDropHandle<()>,
}

/// How far a call is.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// The run it started.
    pub(super) run: Option<RunId>,
    /// What is being done.
    pub(super) message: Option<String>,
    /// When that changed.
    pub(super) changed: jiff::Timestamp,
    /// How many questions are open.
    pub(super) open: usize,
    /// Its result.
    pub(super) ended: Option<CallToolResult>,
}

/// Questions that wait for an answer, by the names they were given.
type Questions = Arc<Mutex<BTreeMap<String, Asked>>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Calls {
    /// Keeps a call under that name.
    pub(super) fn keep(&self, name: String, call: Arc<LongCall>) {
        let mut calls = locked(&self.by_name);
        let now = clock::now();
        let is_old = |call: &LongCall| {
            let state = call.state.borrow();
            let age = now.duration_since(state.changed).unsigned_abs();
            state.ended.is_some() && age > KEPT
        };
        calls.retain(|_, call| !is_old(call));
        while calls.len() >= MOST_KEPT {
            let ended = calls.iter().find(|(_, call)| call.state.borrow().ended.is_some());
            let Some(name) = ended.map(|(name, _)| name.clone()) else { break };
            calls.remove(&name);
        }
        calls.insert(name, call);
    }

    /// The call of that name, if that session made it.
    pub(super) fn find(&self, name: &str, session: &SessionId) -> Option<Arc<LongCall>> {
        locked(&self.by_name).get(name).filter(|call| call.owner == *session).cloned()
    }

    /// Forgets a call.
    pub(super) fn forget(&self, name: &str) {
        locked(&self.by_name).remove(name);
    }
}

/// What a call works with.
pub(super) struct Work {
    pub(super) desk: Desk,
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) runs: UnboundedReceiver<RunHandle>,
    pub(super) asked: UnboundedReceiver<Asked>,
}

impl LongCall {
    /// Begins a call.
    pub(super) fn begin(owner: SessionId, work: Work) -> Arc<Self> {
        let now = clock::now();
        let (sender, state) =
            watch::channel(State { run: None, message: None, changed: now, open: 0, ended: None });
        let questions = Questions::default();
        let work = tokio::spawn(drive(work, sender, Arc::clone(&questions)));
        let work = AbortOnDropHandle::new(work);
        Arc::new(Self { owner, began: now.to_string(), state, questions, _work: work })
    }

    /// How far it is.
    pub(super) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Waits until that holds of it.
    pub(super) async fn until(&self, is_so: impl Fn(&State) -> bool) -> State {
        let mut state = self.state.clone();
        match state.wait_for(|state| is_so(state)).await {
            Ok(state) => state.clone(),
            // It broke off.
            Err(_) => State { ended: Some(answer::failure("the call broke off")), ..self.state() },
        }
    }

    /// The questions that are open, as requests to the client.
    pub(super) fn questions(&self) -> BTreeMap<String, InputRequest> {
        let mut open = locked(&self.questions);
        open.retain(|_, asked| !asked.is_withdrawn());
        let requests = open.iter().filter_map(|(name, asked)| {
            let form = asked.form(Wording::Titled)?;
            Some((name.clone(), InputRequest::Elicitation(ElicitRequest::new(form))))
        });
        requests.collect()
    }

    /// Takes in the client's answers. Names that are not open are passed over.
    pub(super) fn answer(&self, answers: &InputResponses) {
        let mut open = locked(&self.questions);
        for (name, value) in answers {
            let Some(asked) = open.remove(name) else { continue };
            let result = serde_json::from_value::<ElicitResult>(value.clone());
            let unreadable = |_| "the answer cannot be read".to_owned();
            asked.answer(result.as_ref().map_err(unreadable));
        }
    }
}

/// Makes a call to its end.
async fn drive(work: Work, state: Sender<State>, questions: Questions) {
    let Work { desk, tool, arguments, mut runs, mut asked } = work;
    let change = |change: &dyn Fn(&mut State)| {
        state.send_modify(|state| {
            change(state);
            state.changed = clock::now();
        });
    };
    let called = desk.call(&tool, arguments);
    tokio::pin!(called);
    let mut steps: Option<Steps> = None;
    let mut number = 0_u64;
    let output = loop {
        tokio::select! {
            biased;
            output = &mut called => break output,
            Some(run) = runs.recv() => {
                steps = Some(Steps::of_run(&run));
                change(&|state| state.run = Some(run.id().clone()));
            }
            Some(message) = next_step(&mut steps) => {
                change(&|state| state.message = Some(message.clone()));
                let open = open(&questions);
                change(&|state| state.open = open);
            }
            Some(question) = asked.recv() => {
                number += 1;
                locked(&questions).insert(format!("approval-{number}"), question);
                let open = open(&questions);
                change(&|state| state.open = open);
            }
        }
    };
    let unknown = || answer::failure("there is no such tool");
    let result = output.map_or_else(unknown, answer::result);
    change(&|state| state.ended = Some(result.clone()));
}

fn open(questions: &Questions) -> usize {
    locked(questions).values().filter(|asked| !asked.is_withdrawn()).count()
}

/// The next step of the run; it waits for ever where there is none.
async fn next_step(steps: &mut Option<Steps>) -> Option<String> {
    let step = match steps {
        Some(steps) => steps.next().await,
        None => None,
    };
    match step {
        Some(step) => Some(step),
        None => std::future::pending().await,
    }
}
