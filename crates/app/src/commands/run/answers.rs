//! The answers of a conversation without a screen: each is printed as it comes, not only the last.

use attache_kernel::run::{
    event::Event,
    message::{Message, text_of},
};
use attache_runtime::internal::tasks::RunHandle;

use crate::print::{self, number::count, printer::Printer};

/// Which answers of the main agent are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::commands) enum Answers {
    /// The last, which is the result.
    #[default]
    Last,
    /// Also those that it gives while agents still work in the background.
    Each,
}

/// Prints the answers that are not the last, until the run ends. Returns what the live progress has shown of
/// the last one.
pub(super) async fn print_each(handle: &RunHandle, printer: &Printer, is_quiet: bool) -> String {
    let is_shown_live = printer.shows_text_live() && !is_quiet;
    let mut events = handle.events(0);
    let (mut answer, mut streamed) = (String::new(), String::new());
    while let Some(seen) = events.next().await {
        match &seen.event {
            Event::TextChunk { text } if is_shown_live => streamed.push_str(text),
            Event::Replied { message, .. } => {
                // What is said beside calls is no answer.
                let is_answer = message.calls().next().is_none();
                if let (true, Message::Assistant { content }) = (is_answer, &**message) {
                    answer = text_of(content);
                }
            }
            Event::TurnStarted { .. } => printed(&mut answer, &mut streamed, printer).await,
            Event::Awaiting { agents } => {
                printed(&mut answer, &mut streamed, printer).await;
                if !is_quiet {
                    let agents = count(agents.len() as u64, "agent");
                    printer.aside(&format!(
                        "{agents} at work in the background; what they find comes by itself"
                    ));
                }
            }
            _ => {}
        }
    }
    streamed
}

/// Prints an answer, unless all of it stands on the screen already.
async fn printed(answer: &mut String, streamed: &mut String, printer: &Printer) {
    let (answer, streamed) = (std::mem::take(answer), std::mem::take(streamed));
    if !answer.trim().is_empty() && answer.trim() != streamed.trim() {
        printer.result(print::markdown(&answer)).await;
    }
}
