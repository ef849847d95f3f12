//! The wall clock of a run: it stands while an approval is pending, its own or one of an agent that the run
//! waits for, or while an MCP server asks the user something.
//!
//! Times are milliseconds on the caller's clock; nothing here reads one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::ToolCallId;

/// The wall clock of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Clock {
    started_ms: u64,
    paused_ms: u64,
    paused_since_ms: Option<u64>,
    waiting: BTreeSet<ToolCallId>,
    /// Whether an agent that the run waits for waits for a decision.
    #[serde(default)]
    waits_below: bool,
    /// An MCP server asks the user something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    asked_by_server: bool,
}

impl Clock {
    /// A clock that starts then.
    pub(crate) fn started(at_ms: u64) -> Self {
        Self { started_ms: at_ms, ..Self::default() }
    }

    /// A call begins to wait for a decision.
    pub(crate) fn wait_for(&mut self, call: ToolCallId, at_ms: u64) {
        self.waiting.insert(call);
        self.settle(at_ms);
    }

    /// A call no longer waits; the clock goes on when none does.
    pub(crate) fn stop_waiting_for(&mut self, call: &ToolCallId, at_ms: u64) {
        self.waiting.remove(call);
        self.settle(at_ms);
    }

    /// Whether an agent that the run waits for waits for a decision.
    pub(crate) fn set_waits_below(&mut self, waits: bool, at_ms: u64) {
        self.waits_below = waits;
        self.settle(at_ms);
    }

    /// An MCP server asks the user something.
    pub(crate) fn server_asks(&mut self, at_ms: u64) {
        self.asked_by_server = true;
        self.settle(at_ms);
    }

    /// No MCP server asks anything any more.
    pub(crate) fn server_answered(&mut self, at_ms: u64) {
        self.asked_by_server = false;
        self.settle(at_ms);
    }

    /// Whether an MCP server asks the user something.
    pub(crate) fn is_asked_by_server(&self) -> bool {
        self.asked_by_server
    }

    /// The clock stands or goes on, by what is waited for.
    fn settle(&mut self, at_ms: u64) {
        let stands = self.waits_below || self.asked_by_server || !self.waiting.is_empty();
        match (stands, self.paused_since_ms) {
            (true, None) => self.paused_since_ms = Some(at_ms),
            (false, Some(since)) => {
                self.paused_ms = self.paused_ms.saturating_add(at_ms.saturating_sub(since));
                self.paused_since_ms = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Whether the clock stands.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused_since_ms.is_some()
    }

    /// Time since the start, pauses included.
    pub(crate) fn elapsed_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.started_ms)
    }

    /// Time since the start without the pauses.
    pub(crate) fn used_ms(&self, now_ms: u64) -> u64 {
        let until = self.paused_since_ms.unwrap_or(now_ms).min(now_ms);
        self.elapsed_ms(until).saturating_sub(self.paused_ms)
    }

    /// When that much time will be used up; `None` while the clock is paused.
    pub(crate) fn deadline_ms(&self, limit_ms: u64) -> Option<u64> {
        let end = self.started_ms.saturating_add(self.paused_ms);
        (!self.is_paused()).then(|| end.saturating_add(limit_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_while_any_call_waits() {
        let (a, b) = (ToolCallId::new("a"), ToolCallId::new("b"));
        let mut clock = Clock::started(100);
        assert_eq!((clock.used_ms(150), clock.deadline_ms(1000)), (50, Some(1100)));
        clock.wait_for(a.clone(), 200);
        clock.wait_for(b.clone(), 300);
        clock.stop_waiting_for(&a, 400);
        clock.stop_waiting_for(&a, 450);
        assert_eq!((clock.used_ms(500), clock.deadline_ms(1000)), (100, None));
        clock.stop_waiting_for(&b, 700);
        assert_eq!((clock.used_ms(750), clock.elapsed_ms(750)), (150, 650));
        assert_eq!(clock.deadline_ms(1000), Some(1600));
        clock.set_waits_below(true, 800);
        clock.wait_for(a.clone(), 850);
        clock.set_waits_below(false, 900);
        assert_eq!((clock.used_ms(950), clock.deadline_ms(1000)), (200, None));
        clock.stop_waiting_for(&a, 1000);
        assert_eq!((clock.used_ms(1100), clock.deadline_ms(1000)), (300, Some(1800)));
    }

    #[test]
    fn the_clock_stands_while_a_server_asks() {
        let call = ToolCallId::new("a");
        let mut clock = Clock::started(0);
        clock.server_asks(100);
        clock.wait_for(call.clone(), 200);
        clock.server_answered(300);
        assert_eq!(clock.deadline_ms(1000), None);
        clock.stop_waiting_for(&call, 400);
        clock.server_answered(500);
        assert_eq!((clock.used_ms(600), clock.deadline_ms(1000)), (300, Some(1300)));
    }
}
