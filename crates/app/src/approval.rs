//! Approvals at the terminal: one question at a time, answered with a key.
//!
//! The terminal is `/dev/tty`, so that standard input and output may be pipes. Without a terminal, or in
//! the background of one, there is nobody to ask, and nobody is waited for.

mod dialog;
mod form;
mod tty;

use std::{io, sync::Arc};

use attache_runtime::internal::approvals::{
    ApprovalAnswer, ApprovalFuture, Approver, Form, FormAnswer, FormFuture, Question,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use self::{
    dialog::{Dialog, Key},
    tty::{Pressed, Tty},
};
use crate::print::{palette::Colours, printer::Printer, writer_colours};

/// Asks at the terminal.
pub(crate) struct TerminalApprover {
    printer: Arc<Printer>,
    colours: Colours,
    /// Questions of several agents wait for each other.
    turn: Mutex<()>,
}

impl TerminalApprover {
    /// Somebody at the terminal, if there is one to ask.
    pub(crate) fn at_terminal(printer: &Arc<Printer>) -> Option<Arc<Self>> {
        Tty::open().ok()?;
        Some(Arc::new(Self {
            printer: Arc::clone(printer),
            colours: writer_colours(),
            turn: Mutex::new(()),
        }))
    }

    async fn asked(&self, question: &Question) -> io::Result<ApprovalAnswer> {
        let _turn = self.turn.lock().await;
        let _held = self.printer.hold().await;
        let tty = Tty::open()?;
        let dialog = Dialog::new(question, tty.columns(), self.colours);
        tty.write(&dialog.question()).await?;
        tty.settle().await?;
        let answer = loop {
            let key = match tty.key().await? {
                Pressed::Letter(letter) => dialog.key(letter),
                Pressed::Continued => {
                    tty.write(&dialog.question()).await?;
                    None
                }
                Pressed::End => {
                    tty.write("no\n").await?;
                    break ApprovalAnswer::No { words: String::new() };
                }
                Pressed::Gone => return Ok(gone()),
            };
            match key {
                Some(Key::Yes) => break ApprovalAnswer::Once,
                Some(Key::Session) => break ApprovalAnswer::Session,
                Some(Key::Abort) => break ApprovalAnswer::Abort,
                Some(Key::No) => {
                    tty.write(&dialog.words()).await?;
                    let Some(words) = tty.line().await? else { return Ok(gone()) };
                    let words: String =
                        words.chars().filter(|letter| !letter.is_control()).collect();
                    break ApprovalAnswer::No { words: words.trim().to_owned() };
                }
                Some(Key::ViewAll) => tty.write(&dialog.whole()).await?,
                None => {}
            }
        };
        tty.write(&dialog.answered(&answer)).await?;
        Ok(answer)
    }
}

impl TerminalApprover {
    async fn filled_in(&self, form: &Form) -> io::Result<FormAnswer> {
        let _turn = self.turn.lock().await;
        let _held = self.printer.hold().await;
        let tty = Tty::open()?;
        form::fill_in(form, &tty, self.colours).await
    }
}

fn gone() -> ApprovalAnswer {
    ApprovalAnswer::No { words: "the terminal is closed".to_owned() }
}

impl Approver for TerminalApprover {
    fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        Box::pin(async move {
            self.asked(&question).await.unwrap_or_else(|error| ApprovalAnswer::No {
                words: format!("nobody can be asked at the terminal: {error}"),
            })
        })
    }

    fn fill_in(&self, form: Form) -> FormFuture<'_> {
        // A terminal that cannot be asked has said nothing.
        Box::pin(async move { self.filled_in(&form).await.unwrap_or(FormAnswer::Cancelled) })
    }
}

impl std::fmt::Debug for TerminalApprover {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TerminalApprover").finish_non_exhaustive()
    }
}
