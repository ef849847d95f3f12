//! The clock of a run: what it said, and when. It stands still while somebody is asked.

/// The clock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Clock {
    /// The milliseconds it showed.
    elapsed_ms: u64,
    /// The seconds there are.
    pub(crate) max_seconds: u64,
    /// When it showed them, in milliseconds.
    as_of_ms: u64,
    is_paused: bool,
}

impl Clock {
    /// A clock that was not started yet.
    pub(crate) fn stopped(max_seconds: u64) -> Self {
        Self { max_seconds, is_paused: true, ..Self::default() }
    }

    /// A clock that starts now.
    pub(crate) fn started(now_ms: u64) -> Self {
        Self { as_of_ms: now_ms, ..Self::default() }
    }

    /// The milliseconds it shows now.
    pub(crate) fn milliseconds(&self, now_ms: u64) -> u64 {
        let since = if self.is_paused { 0 } else { now_ms.saturating_sub(self.as_of_ms) };
        self.elapsed_ms + since
    }

    /// The seconds it shows now.
    pub(crate) fn seconds(&self, now_ms: u64) -> u64 {
        self.milliseconds(now_ms) / 1000
    }

    /// Whether it stands still.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub(crate) fn pause(&mut self, now_ms: u64) {
        self.elapsed_ms = self.milliseconds(now_ms);
        self.as_of_ms = now_ms;
        self.is_paused = true;
    }

    pub(crate) fn go_on(&mut self, now_ms: u64) {
        self.elapsed_ms = self.milliseconds(now_ms);
        self.as_of_ms = now_ms;
        self.is_paused = false;
    }

    /// It shows that many seconds now, and goes on.
    pub(crate) fn shows(&mut self, seconds: u64, now_ms: u64) {
        *self = Self { elapsed_ms: seconds * 1000, as_of_ms: now_ms, is_paused: false, ..*self };
    }

    /// It shows that time from now on.
    pub(crate) fn ended(&mut self, elapsed_ms: u64) {
        self.elapsed_ms = elapsed_ms;
        self.is_paused = true;
    }

    /// Stops it, or lets it go on.
    pub(crate) fn hold(&mut self, is_held: bool, now_ms: u64) {
        match (is_held, self.is_paused) {
            (true, false) => self.pause(now_ms),
            (false, true) => self.go_on(now_ms),
            (true, true) | (false, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_still_while_it_is_held() {
        let mut clock = Clock::started(1_000);
        assert_eq!(clock.seconds(4_000), 3);
        clock.hold(true, 4_000);
        clock.hold(true, 6_000);
        assert_eq!(clock.seconds(60_000), 3);
        clock.hold(false, 60_000);
        assert_eq!(clock.milliseconds(61_500), 4_500);
        clock.shows(9, 61_500);
        assert_eq!(clock.seconds(62_500), 10);
    }
}
