//! What the sandbox adds to a command, beside a bare `sh -c` in the same run.
//!
//! `cargo bench -p attache-runtime --bench sandbox [-- ROUNDS]`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::{
    error::Error,
    ffi::OsString,
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use attache_runtime::internal::sandbox::{
    Helper, Mode, Part, Policy, ResourceLimits, Sandbox, places_of_keys,
};

const ROUNDS: usize = 200;
/// Number of commands that run at once, one per agent.
const AT_ONCE: usize = 100;

fn helper() -> Helper {
    Helper::at(env!("CARGO_BIN_EXE_attache-sandbox"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(ROUNDS);
    let top = tempfile::tempdir()?;
    let (workspace, temp_dir) = (top.path().join("workspace"), top.path().join("temp"));
    fs::create_dir(&workspace)?;
    fs::create_dir(&temp_dir)?;
    let policy = |mode| Policy {
        mode,
        workspace: workspace.clone(),
        temp_dir: temp_dir.clone(),
        writable_roots: Vec::new(),
        network: false,
        writable_git: false,
        deny_read: places_of_keys(Some(top.path())),
        read_only: Vec::new(),
        shown: Vec::new(),
        limits: ResourceLimits::default(),
    };
    let whole = Sandbox::new(helper()).keeping_spares_in(top.path().join("placeholders"));
    let lesser = Sandbox::new(helper()).without(Part::Namespaces);
    println!("level: {:?}; {rounds} rounds of `exit 0`, milliseconds", whole.level());
    println!("{:<34}{:>8}{:>8}{:>10}", "", "median", "p95", "more");
    let kinds: [(&str, Option<(&Sandbox, Mode)>); 5] = [
        ("sh -c", None),
        ("workspace-write", Some((&whole, Mode::WorkspaceWrite))),
        ("read-only", Some((&whole, Mode::ReadOnly))),
        ("workspace-write, no namespaces", Some((&lesser, Mode::WorkspaceWrite))),
        ("danger-full-access", Some((&whole, Mode::DangerFullAccess))),
    ];
    let mut times = vec![Vec::new(); kinds.len()];
    for _ in 0..rounds {
        // One of each in turn, so that what else the machine does falls on all of them.
        for ((_, kind), times) in kinds.iter().zip(&mut times) {
            let mut command = command(kind.map(|(sandbox, mode)| (sandbox, policy(mode))))?;
            let began = Instant::now();
            let status = command.current_dir(&workspace).stdin(Stdio::null()).status()?;
            times.push(began.elapsed());
            assert!(status.success(), "{status}");
        }
    }
    let mut bare = 0.0;
    for ((name, kind), mut times) in kinds.into_iter().zip(times) {
        times.sort();
        let (median, p95) = (at(&times, 50), at(&times, 95));
        bare = if kind.is_none() { median } else { bare };
        println!("{name:<34}{median:>8.2}{p95:>8.2}{:>10.2}", median - bare);
    }
    for (name, kind) in [("sh -c", None), ("workspace-write", Some(&whole))] {
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                let policy = policy(Mode::WorkspaceWrite);
                let workspace = &workspace;
                let _handle = scope.spawn(move || {
                    let mut command = command(kind.map(|sandbox| (sandbox, policy))).ok()?;
                    command.current_dir(workspace).stdin(Stdio::null()).status().ok()
                });
            }
        });
        println!("{AT_ONCE} at once, {name:<22}{:>8.2}", milliseconds(began.elapsed()));
    }
    Ok(())
}

fn command(kind: Option<(&Sandbox, Policy)>) -> Result<Command, Box<dyn Error>> {
    let arguments = [OsString::from("-c"), OsString::from("exit 0")];
    Ok(match kind {
        None => {
            let mut command = Command::new("sh");
            command.args(arguments);
            command
        }
        Some((sandbox, policy)) => sandbox.command(&policy, "sh".as_ref(), &arguments)?,
    })
}

fn at(sorted: &[Duration], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().map_or(0.0, milliseconds)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
