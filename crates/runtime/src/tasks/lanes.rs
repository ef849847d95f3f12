//! Lanes: threads that drive subagents, so that many at once use more than one core.
//!
//! Invariant: a run stays on one lane from its start to its end, with its connections, timers and
//! processes. The first subagent stays where its parent is; a thread is started when there is a second one.

use std::{
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, ThreadId},
    time::Duration,
};

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// How long the end waits for what is under way on a lane and was told to stop.
const TIDYING: Duration = Duration::from_millis(500);

/// The threads besides the one of the caller. None is there until it is needed.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    further: Vec<OnceLock<Option<Lane>>>,
    /// How many subagents were given a place.
    placed: AtomicUsize,
}

#[derive(Debug)]
struct Lane {
    handle: Handle,
    thread: ThreadId,
    over: CancellationToken,
    /// Closes when the thread has ended.
    ended: Mutex<mpsc::Receiver<()>>,
}

impl Lanes {
    /// That many threads besides the caller's.
    pub(super) fn new(further: usize) -> Self {
        Self {
            further: std::iter::repeat_with(OnceLock::new).take(further).collect(),
            placed: AtomicUsize::new(0),
        }
    }

    /// Where the next subagent runs: on a lane, or where its parent is.
    pub(super) fn place(&self) -> Option<&Handle> {
        let number = self.placed.fetch_add(1, Ordering::Relaxed) % (self.further.len() + 1);
        let lane = self.further.get(number.checked_sub(1)?)?;
        // A thread that the system refuses is done without.
        lane.get_or_init(Lane::start).as_ref().map(|lane| &lane.handle)
    }
}

impl Lane {
    fn start() -> Option<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let handle = runtime.handle().clone();
        let over = CancellationToken::new();
        let told = over.clone();
        let (alive, ended) = mpsc::channel();
        let started = thread::Builder::new().name("runs".to_owned()).spawn(move || {
            let alive: mpsc::Sender<()> = alive;
            runtime.block_on(told.cancelled());
            runtime.shutdown_timeout(TIDYING);
            drop(alive);
        });
        let thread = started.ok()?.thread().id();
        Some(Self { handle, thread, over, ended: Mutex::new(ended) })
    }
}

/// Ends the threads and, unless it happens on one of them, waits until they have ended.
impl Drop for Lanes {
    fn drop(&mut self) {
        let lanes = || self.further.iter().filter_map(OnceLock::get).flatten();
        lanes().for_each(|lane| lane.over.cancel());
        for lane in lanes().filter(|lane| lane.thread != thread::current().id()) {
            let ended = lane.ended.lock().unwrap_or_else(PoisonError::into_inner);
            // Whether it ended or its time is up, nothing more is to be done.
            ended.recv_timeout(TIDYING).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells on drop that a task has ended.
    struct Told(#[expect(dead_code, reason = "its drop closes the channel")] mpsc::Sender<()>);

    #[test]
    fn without_further_threads_everything_stays_with_its_parent() {
        let lanes = Lanes::default();
        assert!((0..5).all(|_| lanes.place().is_none()));
    }

    #[test]
    fn places_take_turns_and_the_first_is_with_the_parent() {
        let lanes = Lanes::new(2);
        let places: Vec<_> = (0..6).map(|_| lanes.place().map(Handle::id)).collect();
        assert_eq!(places[0], None);
        assert!(places[1].is_some() && places[2].is_some() && places[1] != places[2]);
        assert_eq!(places[..3], places[3..]);
    }

    #[test]
    fn a_thread_is_started_for_the_second_subagent_only() {
        let lanes = Lanes::new(1);
        lanes.place();
        assert!(lanes.further[0].get().is_none());
        lanes.place();
        assert!(lanes.further[0].get().is_some());
    }

    #[test]
    fn a_lane_is_a_thread_of_its_own() {
        let lanes = Lanes::new(1);
        lanes.place();
        let (sender, receiver) = mpsc::channel();
        drop(lanes.place().unwrap().spawn(async move { sender.send(thread::current().id()) }));
        assert_ne!(receiver.recv().unwrap(), thread::current().id());
    }

    #[test]
    fn the_end_drops_what_is_under_way() {
        let lanes = Lanes::new(1);
        lanes.place();
        let (sender, receiver) = mpsc::channel();
        let told = Told(sender);
        drop(lanes.place().unwrap().spawn(async move {
            let _told = told;
            std::future::pending::<()>().await;
        }));
        drop(lanes);
        assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }
}
