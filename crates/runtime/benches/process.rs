//! What a command of an agent costs beside a bare `sh -c`: one at a time, after an edit, and 100 at once.
//! Medians of alternating rounds in one process; compare the ratios.
//!
//! `cargo bench -p attache-runtime --bench process [-- ROUNDS]`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::{
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use attache_runtime::internal::{
    process::{CommandSandbox, CommandSetup, Processes},
    sandbox::{Helper, Mode, Policy, ResourceLimits, Sandbox},
    tool::{
        FileGuard, Tool, ToolContext, artifacts::Artifacts, catalogue::builtin_tools,
        workspace::Workspace,
    },
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const ROUNDS: usize = 51;
const AGENTS: usize = 100;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let rounds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(ROUNDS);
    let scratch = tempfile::tempdir()?;
    let workspace = scratch.path().join("workspace");
    fs::create_dir(&workspace)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let bare = context(scratch.path(), &workspace, None)?;
    let helper = Helper::at(env!("CARGO_BIN_EXE_attache-sandbox"));
    let sandbox = Arc::new(Sandbox::new(helper));
    let confined = context(scratch.path(), &workspace, Some(sandbox))?;
    let tools = builtin_tools();
    let tool = |name: &str| {
        let found = tools.iter().find(|tool| tool.spec().name.to_string() == name);
        found.map(Arc::as_ref).ok_or("no such tool")
    };
    let (shell, edit) = (tool("shell")?, tool("edit_file")?);

    let mut table = [const { Vec::new() }; 7];
    for round in 0..rounds {
        let [floor, plain, boxed, edited, many_floor, many_plain, many_boxed] = &mut table;
        floor.push(timed(|| bare_shell(&workspace))?);
        plain.push(timed(|| call(&runtime, shell, json!({"command": "true"}), &bare))?);
        boxed.push(timed(|| call(&runtime, shell, json!({"command": "true"}), &confined))?);
        fs::write(workspace.join("file.txt"), format!("{}old {round}\n", "line\n".repeat(200)))?;
        call(&runtime, tool("read_file")?, json!({"path": "file.txt"}), &confined)?;
        edited.push(timed(|| {
            let change = json!({"path": "file.txt", "old_string": format!("old {round}"), "new_string": "new"});
            call(&runtime, edit, change, &confined)?;
            call(&runtime, shell, json!({"command": "true"}), &confined)
        })?);
        if round % 10 == 0 {
            many_floor.push(timed(|| bare_shells(&workspace))?);
            many_plain.push(timed(|| calls(&runtime, shell, &bare))?);
            many_boxed.push(timed(|| calls(&runtime, shell, &confined))?);
        }
    }
    println!("{rounds} rounds; medians");
    println!("{:<44}{:>10}{:>10}{:>8}", "", "ms", "more ms", "ratio");
    let [floor, plain, boxed, edited, many_floor, many_plain, many_boxed] = &mut table;
    let (one, many) = (median(floor), median(many_floor));
    row("sh -c true, bare", one, one);
    row("shell, no sandbox", median(plain), one);
    row("shell, sandbox", median(boxed), one);
    row("edit_file and shell, sandbox", median(edited), one);
    row(&format!("{AGENTS} × sh -c true at once, bare"), many, many);
    row(&format!("{AGENTS} × shell at once, no sandbox"), median(many_plain), many);
    row(&format!("{AGENTS} × shell at once, sandbox"), median(many_boxed), many);
    Ok(())
}

fn context(
    scratch: &Path,
    workspace: &Path,
    sandbox: Option<Arc<Sandbox>>,
) -> Outcome<ToolContext> {
    let artifacts = Arc::new(Artifacts::new(scratch.join("artifacts")));
    let policy = Policy {
        mode: Mode::WorkspaceWrite,
        workspace: workspace.to_owned(),
        temp_dir: scratch.to_owned(),
        writable_roots: Vec::new(),
        network: false,
        writable_git: false,
        deny_read: Vec::new(),
        read_only: Vec::new(),
        shown: Vec::new(),
        limits: ResourceLimits::default(),
    };
    let setup = CommandSetup {
        temporary_root: scratch.to_owned(),
        sandbox: sandbox.map(|sandbox| CommandSandbox { sandbox, policy }),
        ..CommandSetup::default()
    };
    let processes = Processes::new(Arc::new(setup), workspace.to_owned(), Arc::clone(&artifacts));
    Ok(ToolContext {
        processes: Arc::new(processes),
        ..ToolContext::new(Workspace::new(workspace)?, artifacts, FileGuard::unrestricted())
    })
}

fn timed(act: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let began = Instant::now();
    act()?;
    Ok(began.elapsed())
}

/// The floor: start a shell, read its output to the end, wait.
fn bare_shell(workspace: &Path) -> Outcome<()> {
    let mut command = Command::new("bash");
    command.args(["-c", "true"]).current_dir(workspace).stdin(Stdio::null());
    let ran = command.output()?;
    if ran.status.success() { Ok(()) } else { Err("bash failed".into()) }
}

fn bare_shells(workspace: &Path) -> Outcome<()> {
    let failed = thread::scope(|scope| {
        let shells: Vec<_> =
            (0..AGENTS).map(|_| scope.spawn(|| bare_shell(workspace).is_err())).collect();
        shells.into_iter().any(|shell| shell.join().unwrap_or(true))
    });
    if failed { Err("a shell failed".into()) } else { Ok(()) }
}

async fn act(tool: &dyn Tool, arguments: Value, context: &ToolContext) -> Outcome<()> {
    let foresight = match tool.foresee(&arguments, context) {
        Some(foresight) => foresight.await,
        None => attache_runtime::internal::tool::Foresight::default(),
    };
    let context = ToolContext { foresight: Arc::new(foresight), ..context.clone() };
    let output = tool.call(arguments, &context).await;
    if output.is_error { Err(output.text.into()) } else { Ok(()) }
}

fn call(runtime: &Runtime, tool: &dyn Tool, arguments: Value, with: &ToolContext) -> Outcome<()> {
    runtime.block_on(act(tool, arguments, with))
}

fn calls(runtime: &Runtime, tool: &dyn Tool, with: &ToolContext) -> Outcome<()> {
    let each = (0..AGENTS).map(|_| act(tool, json!({"command": "true"}), with));
    runtime.block_on(futures_util::future::join_all(each)).into_iter().collect()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn row(name: &str, time: Duration, floor: Duration) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let ratio = time.as_secs_f64() / floor.as_secs_f64();
    println!("{name:<44}{:>10.2}{:>10.2}{ratio:>8.2}", ms(time), ms(time) - ms(floor));
}
