//! How long the program takes from its start to its first request, beside a bare process that only connects and
//! sends: the real binary on a real project, against a server on loopback.
//!
//! `cargo bench -p attache --bench start`. Compare the two; times depend on the machine.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may fail")]

use std::{
    fs,
    io::Read as _,
    net::TcpListener,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

const ROUNDS: usize = 41;

/// From the start of a process to the first bytes it sends. The connection is then closed.
fn first_request(listener: &TcpListener, command: &mut Command) -> Duration {
    let began = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut first = [0; 64];
    let read = stream.read(&mut first).unwrap();
    let elapsed = began.elapsed();
    assert!(read > 0);
    drop(stream);
    child.kill().unwrap();
    child.wait().unwrap();
    elapsed
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    let folder = TempDir::new().unwrap();
    let project = folder.path().join("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    for number in 0..40 {
        let agents = project.join(".claude/agents");
        fs::create_dir_all(&agents).unwrap();
        let agent = format!("---\nname: agent-{number}\ndescription: An agent.\n---\nYou help.\n");
        fs::write(agents.join(format!("agent-{number}.md")), agent).unwrap();
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let attache = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
        command
            .args(["run", "agent-7", "look", "-c", "model=m", "-c", "model_provider=lab"])
            .args(["-c", &format!("model_providers.lab.base_url=\"http://127.0.0.1:{port}\"")])
            .args(["-c", "model_providers.lab.wire_api=\"chat\""])
            .current_dir(&project)
            .env_clear()
            .env("HOME", folder.path());
        command
    };
    let bare = || {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo GET / >&3")]);
        command
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(first_request(&listener, &mut attache()));
        theirs.push(first_request(&listener, &mut bare()));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!("start to first request, 40 agents in the project: {ours:.1?}");
    println!("a shell that only connects and sends:            {theirs:.1?}");
    println!("ratio: {:.2}", ours.as_secs_f64() / theirs.as_secs_f64());
}
