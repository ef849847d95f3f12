//! The pager: long pages on a terminal go through `$PAGER`, else `less` if it is there.

use std::{
    io::{ErrorKind, Write as _},
    process::{Command, Stdio},
};

use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

use super::{Stream, out};
use crate::{environment::Environment, failure::Failure};

/// Prints a page for people; on a terminal with a pager.
pub(crate) fn page(text: &str, environment: &Environment) -> Result<(), Failure> {
    if !Stream::Out.is_terminal() {
        return out(text);
    }
    let chosen = environment.get("PAGER");
    // An empty PAGER, or `cat`, is how people switch it off.
    let words: Vec<&str> = chosen.unwrap_or("less -FRX").split_whitespace().collect();
    let Some((program, arguments)) = words.split_first().filter(|(first, _)| **first != "cat")
    else {
        return out(text);
    };
    let interrupts = keep_running_on_interrupt();
    let started = Command::new(program)
        .args(arguments)
        .env("LESSCHARSET", "utf-8")
        .stdin(Stdio::piped())
        .spawn();
    let mut pager = match started {
        Ok(pager) => pager,
        Err(error) if error.kind() == ErrorKind::NotFound && chosen.is_none() => return out(text),
        Err(error) => {
            return Err(Failure::usage(format!("cannot start the pager `{program}`"))
                .because(&error)
                .hint("set PAGER to a program that is installed, or to nothing"));
        }
    };
    if let Some(mut input) = pager.stdin.take() {
        // The pager may be closed before it has read everything.
        input.write_all(Stream::Out.shown(text).as_bytes()).unwrap_or_default();
    }
    pager.wait().map_err(|error| Failure::unsuccessful("the pager failed").because(&error))?;
    drop(interrupts);
    Ok(())
}

/// Leaves Ctrl-C to the pager: it would otherwise end this program and leave the pager on the terminal.
fn keep_running_on_interrupt() -> Option<(Signal, Runtime)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().ok()?;
    let entered = runtime.enter();
    let interrupts = signal(SignalKind::interrupt()).ok()?;
    drop(entered);
    Some((interrupts, runtime))
}
