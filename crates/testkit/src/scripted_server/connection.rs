//! One connection of the scripted server: one thread reads requests, another plays their answers.
//!
//! The reader stays until the client has gone, so that a hang-up is noticed even while an answer stands at a gate.
//! A client that only closes its sending side counts as gone.

use std::{
    io::{self, BufReader, ErrorKind, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use super::{
    Shared,
    answer::{Answer, End, Step},
    gate::Gate,
    request::Request,
};

/// What both threads of a connection know of it.
#[derive(Default)]
struct State {
    /// The client hung up, or the server stops.
    gone: AtomicBool,
    /// The last answer closed it: further bytes are not a request.
    ended: AtomicBool,
    waits_at: Mutex<Option<Gate>>,
}

/// Serves a connection until its client has gone.
pub(super) fn serve(shared: &Arc<Shared>, stream: Arc<TcpStream>, number: usize) {
    let state = Arc::new(State::default());
    let (sender, answers) = channel();
    let writer = {
        let (shared, stream, state) = (Arc::clone(shared), Arc::clone(&stream), Arc::clone(&state));
        thread::spawn(move || write_answers(&shared, stream, number, &state, &answers))
    };
    read_requests(shared, &stream, number, &state, &sender);
    drop((sender, stream));
    state.gone.store(true, Ordering::SeqCst);
    let gate = state.waits_at.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(gate) = gate {
        gate.wake();
    }
    writer.join().expect("the writer of a connection does not panic");
    shared.forget(number);
}

fn read_requests(
    shared: &Shared,
    stream: &TcpStream,
    number: usize,
    state: &State,
    answers: &Sender<Answer>,
) {
    let mut from = BufReader::new(stream);
    let go_on = || (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
    while !state.ended.load(Ordering::SeqCst) {
        let answer = match Request::read(&mut from, number, go_on) {
            Ok(Some(_)) if state.ended.load(Ordering::SeqCst) => break,
            Ok(Some(request)) => shared.take_answer(request),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                shared.open_one();
                Answer::new().status(400).header("connection", "close").body(error.to_string())
            }
            Ok(None) | Err(_) => return,
        };
        answers.send(answer).expect("the writer stays as long as the reader");
    }
    // To notice the client going.
    let mut rest = [0; 4096];
    while from.read(&mut rest).is_ok_and(|read| read > 0) {}
}

fn write_answers(
    shared: &Shared,
    stream: Arc<TcpStream>,
    number: usize,
    state: &State,
    answers: &Receiver<Answer>,
) {
    for answer in answers {
        let player = Player { shared, stream: &stream, state, answer: &answer, head_out: false };
        let played = player.play();
        if played.is_ok() && answer.end == End::Whole && !answer.says_close() {
            shared.close_one(false);
            continue;
        }
        state.ended.store(true, Ordering::SeqCst);
        if answer.end == End::Reset && played.is_ok() {
            reset(shared, stream, number);
        } else {
            // It fails if the client has gone, which is the end as well.
            drop(stream.shutdown(Shutdown::Write));
        }
        shared.close_one(played.is_err());
        break;
    }
    // Nobody answers what was sent after the last answer.
    for _ in answers {
        shared.close_one(true);
    }
}

/// Closes a connection so that the client gets a reset instead of an end: that takes the last hold on it to be let go unsent.
fn reset(shared: &Shared, stream: Arc<TcpStream>, number: usize) {
    let lingers = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    lingers.expect("a socket can be told not to linger");
    shared.forget(number);
    drop(stream.shutdown(Shutdown::Read));
    drop(stream);
}

struct Player<'a> {
    shared: &'a Shared,
    stream: &'a TcpStream,
    state: &'a State,
    answer: &'a Answer,
    head_out: bool,
}

impl Player<'_> {
    fn play(mut self) -> io::Result<()> {
        for step in &self.answer.steps {
            match step {
                Step::Head => self.send_head()?,
                Step::Bytes(bytes) => self.send(bytes)?,
                Step::Repeat(bytes, Some(times)) => {
                    for _ in 0..*times {
                        self.send(bytes)?;
                    }
                }
                Step::Repeat(bytes, None) => loop {
                    self.send(bytes)?;
                },
                Step::Wait(gate) => self.wait(gate)?,
            }
        }
        if matches!(self.answer.end, End::Whole | End::Early) {
            self.send_head()?;
        }
        if self.answer.end == End::Whole && self.answer.chunked {
            self.write(b"0\r\n\r\n")?;
        }
        Ok(())
    }

    fn send_head(&mut self) -> io::Result<()> {
        if self.head_out {
            return Ok(());
        }
        self.head_out = true;
        self.write(&self.answer.head_bytes())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send_head()?;
        if bytes.is_empty() {
            // An empty chunk would be the last one.
            return Ok(());
        }
        if !self.answer.chunked {
            return self.write(bytes);
        }
        let size = format!("{:x}\r\n", bytes.len());
        self.write(&[size.as_bytes(), bytes, b"\r\n"].concat())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(bytes)?;
        self.shared.sent(bytes.len());
        Ok(())
    }

    fn wait(&self, gate: &Gate) -> io::Result<()> {
        let waits_at = || self.state.waits_at.lock().unwrap_or_else(PoisonError::into_inner);
        *waits_at() = Some(gate.clone());
        let passed = gate.wait(&self.state.gone);
        *waits_at() = None;
        if passed { Ok(()) } else { Err(ErrorKind::ConnectionAborted.into()) }
    }
}
