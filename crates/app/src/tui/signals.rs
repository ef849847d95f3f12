//! The signals that end the program.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the program.
pub(super) struct Signals {
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
    interrupt: Option<Signal>,
}

impl Signals {
    pub(super) fn new() -> Self {
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            hang_up: signal(SignalKind::hangup()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
        }
    }

    pub(super) async fn next(&mut self) {
        async fn arrival(signal: Option<&mut Signal>) -> Option<()> {
            signal?.recv().await
        }
        tokio::select! {
            Some(()) = arrival(self.terminate.as_mut()) => {}
            Some(()) = arrival(self.hang_up.as_mut()) => {}
            Some(()) = arrival(self.interrupt.as_mut()) => {}
            else => std::future::pending().await,
        }
    }
}
