//! One client over standard input and output.

use std::io::{self, IsTerminal as _};

use rmcp::ServiceExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{lines::Lines, server::Server};
use crate::{
    failure::{Exit, Failure},
    print,
};

/// Serves the client until its input ends, or a signal ends the server.
pub(super) async fn serve(server: Server) -> Result<Exit, Failure> {
    if io::stdin().is_terminal() {
        print::aside(
            "waiting for a host that speaks MCP on standard input; `attache mcp install HOST` lets one start this command, Ctrl-C ends it",
        );
    }
    let gone = server.gone().clone();
    let stopping = CancellationToken::new();
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let transport = Lines::new(input, output, gone.clone());
    let serving = async {
        match server.serve_with_ct(transport, stopping.clone()).await {
            Ok(running) => drop(running.waiting().await),
            // Nobody asked for anything.
            Err(_) if gone.is_cancelled() => {}
            Err(error) => {
                return Err(Failure::unsuccessful("the client does not speak MCP")
                    .because(&error)
                    .hint("a host starts this command; `attache mcp --help` says how"));
            }
        }
        Ok(Exit::Success)
    };
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => return served,
        () = told_to_end() => {}
    }
    gone.cancel();
    stopping.cancel();
    serving.await
}

/// Waits for SIGINT or SIGTERM.
pub(super) async fn told_to_end() {
    async fn arrival(kind: SignalKind) {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    }
    tokio::select! {
        () = arrival(SignalKind::interrupt()) => {}
        () = arrival(SignalKind::terminate()) => {}
    }
}
