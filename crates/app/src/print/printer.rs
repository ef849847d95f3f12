//! The printer of a run: one thread for each stream, so that the thread that drives runs never blocks on a
//! reader.
//!
//! Standard error: lines that find no room in the queue are dropped and counted. Standard output: nothing is
//! dropped; the caller waits for room outside of the run, and can stop waiting at any time. A terminal gets live lines (see [`super::live`]).

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, oneshot};

use super::{
    Reader,
    live::{Change, LiveScreen, Moment},
    writer::Stream,
};
use crate::{environment::terminal_is_dumb, failure::Failure};

/// How many kilobytes may wait for a stream; a short line counts as one.
const ROOM: u32 = 4096;
/// How often a live line is drawn again.
const TICK: Duration = Duration::from_millis(120);
/// How long the end waits for live lines to be taken away, and standard error for its reader.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The columns of a terminal that does not tell.
const USUAL_COLUMNS: usize = 80;

/// What a thread is asked to do.
enum Order {
    Change(Change, Room),
    /// Bytes as they are.
    Bytes(String, Room),
    /// To tell when everything before is written.
    Flush(oneshot::Sender<()>),
}

/// The room that an order takes until it is written.
#[derive(Debug, Clone, Copy)]
struct Room(u32);

impl Room {
    fn of_text(text: &str) -> Self {
        Self(u32::try_from(text.len() / 1024).unwrap_or(ROOM).saturating_add(1).min(ROOM))
    }

    fn of_change(change: &Change) -> Self {
        match change {
            Change::Line(text) | Change::Text { piece: text, .. } => Self::of_text(text),
            Change::TextEnd { .. }
            | Change::Doing { .. }
            | Change::Done { .. }
            | Change::Hold
            | Change::Release => Self(1),
        }
    }
}

/// Both streams, for as long as a run lasts.
pub(crate) struct Printer {
    out: Outlet,
    err: Outlet,
    out_is_terminal: bool,
}

impl Printer {
    /// Starts the threads.
    pub(crate) fn start() -> Result<Self, Failure> {
        let start = |stream| {
            Outlet::start(stream)
                .map_err(|error| Failure::unsuccessful("cannot start a thread").because(&error))
        };
        Ok(Self {
            out: start(Stream::Out)?,
            err: start(Stream::Err)?,
            out_is_terminal: Stream::Out.is_terminal(),
        })
    }

    /// Whether standard error shows live lines.
    pub(super) fn is_live(&self) -> bool {
        self.err.live
    }

    /// Whether what a model says is shown as it comes where results are printed, too.
    pub(crate) fn shows_text_live(&self) -> bool {
        self.is_live() && Stream::Out.is_terminal()
    }

    /// Prints a line to standard error. Never waits.
    pub(crate) fn aside(&self, text: &str) {
        self.show(Change::Line(text.to_owned()));
    }

    /// Shows progress. Never waits.
    pub(super) fn show(&self, change: Change) {
        self.err.offer(change);
    }

    /// Keeps the terminal free for somebody else, until what this returns is dropped.
    pub(crate) async fn hold(&self) -> Held<'_> {
        self.err.must(Change::Hold);
        if self.err.live {
            self.err.flushed().await;
        }
        Held { printer: self }
    }

    /// Prints a part of the result, byte for byte; waits for room.
    pub(crate) async fn result(&self, text: String) -> Reader {
        if self.err.live && self.out_is_terminal {
            // Both streams are one terminal: what was said before stands before, and what follows after.
            self.err.flushed().await;
        }
        let reader = self.out.deliver(text).await;
        if self.err.live && self.out_is_terminal {
            self.out.flushed().await;
        }
        reader
    }

    /// Waits until the result is written, and up to [`LAST_WORDS`] for standard error.
    pub(crate) async fn finish(&self) -> Result<(), Failure> {
        self.out.flushed().await;
        tokio::time::timeout(LAST_WORDS, self.err.flushed()).await.unwrap_or_default();
        super::settle(self.out.failure().map_or(Ok(()), Err))
    }
}

/// The terminal is somebody else's while this lives.
pub(crate) struct Held<'a> {
    printer: &'a Printer,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.printer.err.must(Change::Release);
    }
}

/// A stream and its thread.
struct Outlet {
    /// None only while it is being dropped.
    orders: Option<mpsc::Sender<Order>>,
    room: Arc<Semaphore>,
    skipped: AtomicU64,
    failed: Arc<Mutex<Option<io::Error>>>,
    ended: Mutex<mpsc::Receiver<()>>,
    live: bool,
}

impl Outlet {
    fn start(stream: Stream) -> io::Result<Self> {
        let (orders, given) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let room = Arc::new(Semaphore::new(ROOM as usize));
        let failed = Arc::new(Mutex::new(None));
        let live = stream == Stream::Err && stream.is_terminal() && !terminal_is_dumb();
        let worker = Worker {
            stream,
            given,
            room: Arc::clone(&room),
            failed: Arc::clone(&failed),
            screen: live.then(|| LiveScreen::new(stream.colours())),
        };
        thread::Builder::new().name(format!("{stream:?}")).spawn(move || {
            worker.work();
            drop(end);
        })?;
        let skipped = AtomicU64::new(0);
        Ok(Self { orders: Some(orders), room, skipped, failed, ended: Mutex::new(ended), live })
    }

    fn send(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread lives as long as this does.
            orders.send(order).unwrap_or_default();
        }
    }

    /// Hands a change over, if there is room.
    fn offer(&self, change: Change) {
        let skipped = self.skipped.load(Ordering::Relaxed);
        if skipped > 0 {
            let told = format!("({skipped} lines were dropped: standard error was not read)");
            if self.fits(Change::Line(told)) {
                self.skipped.fetch_sub(skipped, Ordering::Relaxed);
            }
        }
        if !self.fits(change) {
            self.skipped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Hands a change over that takes no room.
    fn must(&self, change: Change) {
        self.send(Order::Change(change, Room(0)));
    }

    /// Whether there was room for the change.
    fn fits(&self, change: Change) -> bool {
        let room = Room::of_change(&change);
        let Ok(permit) = self.room.try_acquire_many(room.0) else { return false };
        permit.forget();
        self.send(Order::Change(change, room));
        true
    }

    /// Hands bytes over, as soon as there is room.
    async fn deliver(&self, text: String) -> Reader {
        let room = Room::of_text(&text);
        if let Ok(permit) = self.room.acquire_many(room.0).await {
            permit.forget();
            self.send(Order::Bytes(text, room));
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_some() { Reader::Gone } else { Reader::There }
    }

    async fn flushed(&self) {
        let (done, waiting) = oneshot::channel();
        self.send(Order::Flush(done));
        waiting.await.unwrap_or_default();
    }

    fn failure(&self) -> Option<io::Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.orders = None;
        if self.live {
            let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            // A terminal that was stopped keeps its live lines.
            ended.recv_timeout(LAST_WORDS).unwrap_or_default();
        }
    }
}

/// The thread of a stream.
struct Worker {
    stream: Stream,
    given: mpsc::Receiver<Order>,
    room: Arc<Semaphore>,
    failed: Arc<Mutex<Option<io::Error>>>,
    screen: Option<LiveScreen>,
}

impl Worker {
    fn work(mut self) {
        loop {
            let ticking = self.screen.as_ref().is_some_and(LiveScreen::is_ticking);
            let order = if ticking {
                self.given.recv_timeout(TICK)
            } else {
                self.given.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match order {
                Ok(Order::Flush(done)) => done.send(()).unwrap_or_default(),
                Ok(Order::Bytes(text, room)) => self.write(&text, room),
                Ok(Order::Change(change, room)) => self.change(change, room),
                Err(RecvTimeoutError::Timeout) => self.draw(LiveScreen::tick),
                Err(RecvTimeoutError::Disconnected) => {
                    self.draw(LiveScreen::clear);
                    return;
                }
            }
        }
    }

    fn change(&mut self, change: Change, room: Room) {
        match (&mut self.screen, change) {
            (Some(screen), change) => {
                let written = screen.take(change, moment(self.stream));
                self.write(&written, room);
            }
            (None, Change::Line(line)) => {
                let line = self.stream.shown(&format!("{line}\n"));
                self.write(&line, room);
            }
            (None, _) => self.room.add_permits(room.0 as usize),
        }
    }

    fn draw(&mut self, how: impl FnOnce(&mut LiveScreen, Moment) -> String) {
        let Some(screen) = &mut self.screen else { return };
        let written = how(screen, moment(self.stream));
        self.keep(self.stream.write(written.as_bytes()));
    }

    /// Writes what there was room for, and makes the room free again.
    fn write(&self, text: &str, room: Room) {
        let gone = self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if !gone {
            self.keep(self.stream.write(text.as_bytes()));
        }
        self.room.add_permits(room.0 as usize);
    }

    fn keep(&self, written: io::Result<()>) {
        if let Err(error) = written {
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

fn moment(stream: Stream) -> Moment {
    Moment { now: Instant::now(), columns: stream.width().unwrap_or(USUAL_COLUMNS) }
}
