//! Connections are kept from turn to turn, and shared by all runs of a process.

use attache_kernel::{id::RunId, run::outcome::Status};
use attache_testkit::scripted_server::{Gate, ScriptedServer, WireApi as Api};
use futures_util::future::join_all;

use super::{Lab, completes, everywhere, model_at, reads};

// On one thread: on several, a connection may still be on its way back when it is wanted again.
#[tokio::test]
async fn ten_turns_use_one_connection() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        lab.file("0.txt", "some notes\n").file("1.txt", "more notes\n");
        for number in 0..9 {
            // The same call again and again would be a loop.
            lab.turn(&reads(&format!("call-{number}"), &format!("{}.txt", number % 2)));
        }
        let done = lab.turn(&completes()).run().await;
        assert_eq!((done.result.status, done.result.turns_used), (Status::Goal, 10), "{api:?}");
        assert_eq!(lab.server.connections(), 1, "{api:?}");
        lab.server.assert_done();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_use_their_connections_again() {
    const RUNS: usize = 32;
    let server = ScriptedServer::start();
    let (first, second) = (Gate::new(), Gate::new());
    for _ in 0..RUNS {
        server.answer(Api::Chat.answer(&reads("a", "notes.txt")).gated(&first, 0));
    }
    for _ in 0..RUNS {
        server.answer(Api::Chat.answer(&completes()).gated(&second, 0));
    }
    let model = model_at(Api::Chat, &server);
    let lab = Lab::with(Api::Chat, server, model);
    lab.file("notes.txt", "some notes\n");
    let runs = (0..RUNS).map(|number| {
        lab.run_with(move |start| start.assignment.agent_id = RunId::new(format!("agent-{number}")))
    });
    let gates = lab.server_says(move |server| {
        // All of them are under way at once, twice.
        server.wait_for_request(RUNS);
        assert_eq!(server.connections(), RUNS);
        first.open();
        server.wait_for_request(2 * RUNS);
        second.open();
    });
    let (done, ()) = tokio::join!(join_all(runs), gates);
    assert!(done.iter().all(|done| done.result.status == Status::Goal));
    // A request may find its connection still on its way back, and make another one.
    let made = lab.server.connections();
    assert!(made <= RUNS + RUNS / 4, "{made} connections");
    lab.server.assert_done();
}
