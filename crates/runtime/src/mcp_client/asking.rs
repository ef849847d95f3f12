//! Calls under way, as a server sees them: where their progress is shown, who is asked, and how long that takes.
//!
//! Invariants: a request of a server is for the run whose call it works on. Where calls of different people are
//! under way, nobody is asked: the server does not say whom it means. Waiting for an answer does not count as
//! time of the call.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::model::ProgressToken;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::tool::{caller::Caller, output::OutputSink};

/// The calls of one connection.
#[derive(Debug, Default)]
pub(super) struct CallsUnderWay {
    /// By a number that grows.
    calls: Mutex<BTreeMap<u64, CallUnderWay>>,
    next: AtomicU64,
}

/// A call that has no answer yet.
#[derive(Debug, Clone)]
pub(super) struct CallUnderWay {
    pub(super) token: Option<ProgressToken>,
    pub(super) output: OutputSink,
    pub(super) caller: Option<Arc<Caller>>,
    pub(super) clock: AskClock,
}

/// Why nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NobodyToAsk {
    #[error("no call is under way for which this could be asked")]
    NoCall,
    #[error("calls of several users are under way; ask again when one of them is over")]
    Several,
}

impl CallsUnderWay {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, CallUnderWay>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call is under way until the value is dropped.
    pub(super) fn begin(self: &Arc<Self>, call: CallUnderWay) -> Listed {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, call);
        Listed { calls: Arc::clone(self), number }
    }

    /// Where the progress with that token is shown.
    pub(super) fn output(&self, token: &ProgressToken) -> Option<OutputSink> {
        let calls = self.lock();
        calls
            .values()
            .find(|call| call.token.as_ref() == Some(token))
            .map(|call| call.output.clone())
    }

    /// The call that a request is for: the newest one, if all have the same people.
    pub(super) fn asked(&self) -> Result<(CallUnderWay, Arc<Caller>), NobodyToAsk> {
        let calls = self.lock();
        let known = calls.values().filter_map(|call| Some((call, call.caller.as_ref()?)));
        let known: Vec<_> = known.collect();
        let (call, caller) = known.last().ok_or(NobodyToAsk::NoCall)?;
        let is_same = |(_, other): &(_, &Arc<Caller>)| {
            other.approvals.asks_the_same(&caller.approvals)
                && other.run.session_id == caller.run.session_id
        };
        if !known.iter().all(is_same) {
            return Err(NobodyToAsk::Several);
        }
        Ok(((*call).clone(), Arc::clone(caller)))
    }
}

/// A call in the list.
#[derive(Debug)]
pub(super) struct Listed {
    calls: Arc<CallsUnderWay>,
    number: u64,
}

impl Listed {
    /// The token of the call's progress is known.
    pub(super) fn has_token(&self, token: ProgressToken) {
        if let Some(call) = self.calls.lock().get_mut(&self.number) {
            call.token = Some(token);
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.number);
    }
}

/// How long somebody was asked during a call.
#[derive(Debug, Clone)]
pub(super) struct AskClock {
    asked: Arc<watch::Sender<Asked>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

impl Default for AskClock {
    fn default() -> Self {
        Self { asked: Arc::new(watch::Sender::new(Asked::default())) }
    }
}

impl AskClock {
    /// Somebody is asked until the value is dropped.
    pub(super) fn ask(&self) -> Asking {
        self.asked.send_modify(|asked| {
            asked.open += 1;
            asked.since.get_or_insert_with(Instant::now);
        });
        Asking { clock: self.clone() }
    }

    /// Waits until the limit is used up, without the time in which somebody was asked.
    pub(super) async fn time_up(&self, limit: Duration) {
        let began = Instant::now();
        let mut asked = self.asked.subscribe();
        loop {
            // The sender lives as long as this.
            let Ok(now) = asked.wait_for(|asked| asked.open == 0).await.map(|asked| *asked) else {
                return;
            };
            let due = began + limit + now.total;
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
        }
    }
}

/// Somebody is asked.
#[derive(Debug)]
pub(super) struct Asking {
    clock: AskClock,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.clock.asked.send_modify(|asked| {
            asked.open = asked.open.saturating_sub(1);
            if asked.open == 0
                && let Some(since) = asked.since.take()
            {
                asked.total += since.elapsed();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_in_which_somebody_is_asked_does_not_count() {
        let clock = AskClock::default();
        let began = Instant::now();
        let limit = clock.time_up(Duration::from_secs(10));
        let asking = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let asking = clock.ask();
            tokio::time::sleep(Duration::from_secs(100)).await;
            drop(asking);
        };
        tokio::join!(limit, asking);
        assert_eq!(began.elapsed().as_secs(), 110);
    }
}
