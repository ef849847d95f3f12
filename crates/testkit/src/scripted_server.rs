//! A model server on loopback that answers from a script, faults included, and remembers what it was asked.
//!
//! A request takes the next answer of its path, else the next of any path, else the standing one, else what the
//! responder makes of it; without any it is unexpected, and gets 500.
//! Nothing sleeps: what must wait stands at a `Gate`. Dropping the server ends its connections and its threads.

mod answer;
pub mod anthropic;
pub mod chat;
mod connection;
mod gate;
pub mod gemini;
mod request;
pub mod responses;
mod turn;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

pub use answer::Answer;
pub use gate::Gate;
pub use request::Request;
pub use turn::{Turn, WireApi, text, tool_call};

/// How long a test waits for something that should come at once.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that answers from a script.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepts: Option<JoinHandle<()>>,
}

/// Makes an answer of a request.
type Responder = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    in_order: VecDeque<Answer>,
    on_path: BTreeMap<String, VecDeque<Answer>>,
    standing: BTreeMap<String, Answer>,
    standing_anywhere: Option<Answer>,
    responder: Option<Responder>,
    requests: Vec<Request>,
    unexpected: Vec<Request>,
    streams: BTreeMap<usize, Arc<TcpStream>>,
    connections: usize,
    open: usize,
    hangups: usize,
    sent: u64,
    stopping: bool,
}

impl ScriptedServer {
    /// A server on a free port of 127.0.0.1, with nothing in its script.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared::default());
        let accepts = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, &shared))
        };
        Self { address, shared, accepts: Some(accepts) }
    }

    /// Its address as `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers the next request with this, after what is in the script already.
    pub fn answer(&self, answer: Answer) -> &Self {
        self.shared.lock().in_order.push_back(answer);
        self
    }

    /// Answers the next request for that path with this.
    pub fn answer_on(&self, path: &str, answer: Answer) -> &Self {
        self.shared.lock().on_path.entry(path.to_owned()).or_default().push_back(answer);
        self
    }

    /// Answers every request with this for which the script has nothing else.
    pub fn always(&self, answer: Answer) -> &Self {
        self.shared.lock().standing_anywhere = Some(answer);
        self
    }

    /// Answers every request for that path with this for which the script has nothing else.
    pub fn always_on(&self, path: &str, answer: Answer) -> &Self {
        self.shared.lock().standing.insert(path.to_owned(), answer);
        self
    }

    /// Answers every request with what this makes of it for which the script has nothing else.
    pub fn respond(&self, make: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> &Self {
        self.shared.lock().responder = Some(Arc::new(make));
        self
    }

    /// Takes out what is in the script and was not asked for; standing answers stay.
    pub fn forget_script(&self) {
        let mut state = self.shared.lock();
        state.in_order.clear();
        state.on_path.clear();
    }

    /// The requests so far, in the order of their arrival, unexpected ones included.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// The requests for which the script had nothing.
    pub fn unexpected(&self) -> Vec<Request> {
        self.shared.lock().unexpected.clone()
    }

    /// Waits until this many requests have arrived, and returns the last of them.
    pub fn wait_for_request(&self, count: usize) -> Request {
        assert!(count > 0, "requests are counted from 1");
        self.wait(|state| state.requests.len() >= count, &format!("{count} requests"));
        self.shared.lock().requests[count - 1].clone()
    }

    /// Waits until clients have hung up on this many answers.
    pub fn wait_for_hangup(&self, count: usize) {
        self.wait(|state| state.hangups >= count, &format!("{count} hang-ups"));
    }

    /// Waits until every request has had its answer, or lost its client.
    pub fn wait_until_idle(&self) {
        self.wait(|state| state.open == 0, "an end of every answer");
    }

    /// How many connections were made so far.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    /// How many requests still wait for the end of their answer.
    pub fn open_requests(&self) -> usize {
        self.shared.lock().open
    }

    /// How many answers lost their client before their end.
    pub fn hangups(&self) -> usize {
        self.shared.lock().hangups
    }

    /// How many bytes were sent so far, heads and framing included.
    pub fn bytes_sent(&self) -> u64 {
        self.shared.lock().sent
    }

    /// Fails the test unless all of the script was asked for, and nothing else.
    pub fn assert_done(&self) {
        let state = self.shared.lock();
        let (left, unexpected) = (state.expects(), lines(&state.unexpected));
        drop(state);
        assert!(unexpected.is_empty(), "unexpected requests: {unexpected}");
        assert!(left.is_empty(), "nobody asked for {left}");
    }

    fn wait(&self, done: impl Fn(&State) -> bool, what: &str) {
        wait_on(&self.shared.changed, self.shared.lock(), done, || format!("no {what}: {self:?}"));
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopping = true;
        for stream in state.streams.values() {
            drop(stream.shutdown(Shutdown::Both));
        }
        drop(state);
        // A last connection has the listener look up; without it there is nothing to wait for.
        if TcpStream::connect(self.address).is_ok()
            && let Some(accepts) = self.accepts.take()
        {
            drop(accepts.join());
        }
    }
}

impl fmt::Debug for ScriptedServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        let mut shown = formatter.debug_struct("ScriptedServer");
        shown.field("address", &self.address).field("requests", &lines(&state.requests));
        shown.field("expects", &state.expects()).field("open", &state.open);
        shown.field("connections", &state.connections).field("hangups", &state.hangups);
        shown.finish_non_exhaustive()
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut served = Vec::new();
    while let Ok((stream, _)) = listener.accept() {
        let Some((stream, number)) = shared.welcome(stream) else { break };
        let shared = Arc::clone(shared);
        served.push(thread::spawn(move || connection::serve(&shared, stream, number)));
    }
    for thread in served {
        drop(thread.join());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection; `None` once the server stops.
    fn welcome(&self, stream: TcpStream) -> Option<(Arc<TcpStream>, usize)> {
        let mut state = self.lock();
        if state.stopping {
            return None;
        }
        // Every piece is to arrive as it is sent.
        drop(stream.set_nodelay(true));
        let (stream, number) = (Arc::new(stream), state.connections);
        state.connections += 1;
        state.streams.insert(number, Arc::clone(&stream));
        Some((stream, number))
    }

    /// Lets go of a connection.
    fn forget(&self, number: usize) {
        self.lock().streams.remove(&number);
    }

    /// Remembers a request, and takes its answer from the script.
    fn take_answer(&self, request: Request) -> Answer {
        let mut state = self.lock();
        let scripted = state.on_path.get_mut(&request.path).and_then(VecDeque::pop_front);
        let scripted = scripted.or_else(|| state.in_order.pop_front());
        let standing = || state.standing.get(&request.path).or(state.standing_anywhere.as_ref());
        let answer = scripted.or_else(|| standing().cloned());
        let answer = answer.or_else(|| state.responder.as_ref().map(|make| make(&request)));
        let answer = answer.unwrap_or_else(|| {
            let (expected, line) = (state.expects(), lines(std::slice::from_ref(&request)));
            let expected = if expected.is_empty() { "nothing more" } else { &expected };
            state.unexpected.push(request.clone());
            Answer::new().status(500).body(format!("unexpected {line}; expected {expected}"))
        });
        state.requests.push(request);
        state.open += 1;
        drop(state);
        self.changed.notify_all();
        answer
    }

    fn open_one(&self) {
        self.lock().open += 1;
    }

    fn close_one(&self, hung_up: bool) {
        let mut state = self.lock();
        state.open -= 1;
        state.hangups += usize::from(hung_up);
        drop(state);
        self.changed.notify_all();
    }

    fn sent(&self, bytes: usize) {
        self.lock().sent += bytes as u64;
    }
}

impl State {
    /// What the script still waits for, in words.
    fn expects(&self) -> String {
        let paths = self.on_path.iter().map(|(path, answers)| (path.as_str(), answers.len()));
        let all = paths.chain([("any path", self.in_order.len())]);
        let left = all.filter(|(_, count)| *count > 0);
        left.map(|(path, count)| format!("{path} ({count})")).collect::<Vec<_>>().join(", ")
    }
}

fn lines(requests: &[Request]) -> String {
    let line = |request: &Request| format!("{} {}", request.method, request.path);
    requests.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// Waits until `done`, or fails the test.
fn wait_on<T>(
    changed: &Condvar,
    guard: MutexGuard<'_, T>,
    done: impl Fn(&T) -> bool,
    otherwise: impl FnOnce() -> String,
) {
    let waited = changed.wait_timeout_while(guard, PATIENCE, |state| !done(state));
    let (guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
    drop(guard);
    assert!(!result.timed_out(), "{}", otherwise());
}
