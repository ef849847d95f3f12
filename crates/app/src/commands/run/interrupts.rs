//! Interrupts: the first stops the run cleanly, the second quits.

use attache_runtime::internal::tasks::RunHandle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::print::printer::Printer;

/// Somebody stops the program: at the keyboard, or another program. From the moment there is one of
/// these, no signal ends the program by itself.
pub(super) struct Interrupts {
    keyboard: Option<Signal>,
    program: Option<Signal>,
    terminal: Option<Signal>,
    /// A file that may not grow is then an error of its write, and told.
    _file_size: Option<Signal>,
}

/// SIGXFSZ: a file reached the limit of `ulimit -f`.
const FILE_SIZE: SignalKind = SignalKind::from_raw(25);

impl Interrupts {
    pub(super) fn new() -> Self {
        Self {
            keyboard: signal(SignalKind::interrupt()).ok(),
            program: signal(SignalKind::terminate()).ok(),
            terminal: signal(SignalKind::hangup()).ok(),
            _file_size: signal(FILE_SIZE).ok(),
        }
    }

    /// Waits for the next.
    async fn next(&mut self) {
        async fn arrival(signal: Option<&mut Signal>) -> Option<()> {
            signal?.recv().await
        }
        tokio::select! {
            Some(()) = arrival(self.keyboard.as_mut()) => {}
            Some(()) = arrival(self.program.as_mut()) => {}
            Some(()) = arrival(self.terminal.as_mut()) => {}
            // Without signals there is nothing to wait for.
            else => std::future::pending().await,
        }
    }
}

/// The first interrupt stops the run cleanly; this returns at the second, or at the first once the run is
/// `over`.
pub(super) async fn quit_on_second(
    mut interrupts: Interrupts,
    run: &RunHandle,
    over: &CancellationToken,
    printer: &Printer,
) {
    loop {
        interrupts.next().await;
        if run.is_cancelled() || over.is_cancelled() {
            return;
        }
        printer.aside("stopping; once more to quit at once");
        run.cancel();
    }
}
