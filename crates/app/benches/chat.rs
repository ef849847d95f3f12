//! How fluid the chat is with 10,000 lines of conversation and 200 agents: the real program on a real terminal, against
//! the scripted server. A key's echo is the time from writing the key to reading it from the terminal; a frame's time is what
//! the thread that draws used, divided by the frames it drew.
//!
//! `cargo bench -p attache --bench chat`. `ATTACHE_BENCH_PROGRAM` measures another program.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, waits and may fail"
)]

#[path = "../tests/it/tui/pty.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod pty;

use std::{
    fs,
    time::{Duration, Instant},
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call},
};
use pty::Pty;
use serde_json::json;

const API: WireApi = WireApi::Gemini;
const LINES: usize = 10_000;
const AGENTS: usize = 200;
const KEYS: usize = 60;
/// What every frame begins with.
const FRAME: &[u8] = b"\x1b[?2026h";
const PROMPT: &str = "Ask something, or /help";

fn main() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer_on(&API.path("lab-1"), API.answer(&text(conversation())));
    let mut tasks = tool_call("c0", "Task", &task(0));
    for number in 1..AGENTS {
        tasks = tasks.then_tool_call(&format!("c{number}"), "Task", &task(number));
    }
    server.answer_on(&API.path("lab-1"), API.answer(&tasks));
    let never = text(["never"]);
    server.always_on(&API.path("lab-2"), API.answer(&never).gated(&gate, 0));
    let project = project(&server);
    floor();

    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    let before = Meter::read(&pty);
    pty.types("go\r");
    pty.wait_for(&format!("line {} ", LINES - 1));
    pty.wait_for(PROMPT);
    Meter::read(&pty).report(&before, "10,000 lines arrive");
    echo(&mut pty, "key echo, 10,000 lines");
    let before = Meter::read(&pty);
    std::thread::sleep(Duration::from_secs(3));
    Meter::read(&pty).report(&before, "nothing happens");
    resized(&pty, "another size");

    pty.types("agents\r");
    gate.wait_until_reached(AGENTS);
    pty.wait_until("agents", |screen| screen.contains(&format!("{AGENTS} agents running")));
    let before = Meter::read(&pty);
    std::thread::sleep(Duration::from_secs(3));
    Meter::read(&pty).report(&before, "200 agents at work");
    echo(&mut pty, "key echo, 200 agents at work");
    resized(&pty, "another size, 200 agents");
    pty.types("\x14");
    pty.wait_for(" Tasks");
    steps(&mut pty, "a step on the board, 200 agents");
    pty.types("q");
    pty.wait_for("Working");
    pty.signal(rustix::process::Signal::KILL);
    pty.end();

    let began = Instant::now();
    let pty = Pty::start(&project, &["chat", "--resume"]);
    pty.wait_for("was cut off");
    println!("{:<34} {:>7.0} ms", "chat --resume, all of it shown", millis(began.elapsed()));
    pty.signal(rustix::process::Signal::KILL);
    gate.open();
}

/// The echo of the system's own terminal driver: what measuring costs, and what the machine is busy with.
fn floor() {
    let project = TestProject::new("/bin/cat");
    let mut pty = Pty::start(&project, &[]);
    let mut times = Vec::new();
    for _ in 0..KEYS {
        let from = pty.bytes().len();
        let began = Instant::now();
        pty.types("x");
        pty.wait_for_bytes(from, b"x");
        times.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(40));
    }
    println!("echo of the system's terminal driver");
    told(times);
    pty.signal(rustix::process::Signal::KILL);
}

fn project(server: &ScriptedServer) -> TestProject {
    let program = std::env::var("ATTACHE_BENCH_PROGRAM");
    let program = program.as_deref().unwrap_or(env!("CARGO_BIN_EXE_attache"));
    let project = TestProject::new(program).with_env("TERM", "xterm-256color");
    let settings = format!(
        "model = \"lab-1\"\nmodel_provider = \"lab\"\n[subagents]\nmax_concurrent = {AGENTS}\n\
         [model_providers.lab]\nbase_url = \"{}\"\nwire_api = \"gemini\"\n",
        server.base_url()
    );
    project.file("~/.attache/config.toml", settings);
    project.agent("worker", "description: Works\nmodel: lab-2\ntools: Read, LS");
    project
}

fn task(number: usize) -> serde_json::Value {
    let about = format!("look at part {number}");
    json!({"subagent_type": "worker", "prompt": &about, "description": about})
}

/// Lines of every kind, in pieces as a model sends them.
fn conversation() -> Vec<String> {
    let line = |number: usize| match number % 20 {
        0 => format!("\n## line {number} is a heading\n\n"),
        5 => "```rust\n".to_owned(),
        6..10 => format!("let x{number} = \"text\"; // line {number} of code\n"),
        10 => "```\n".to_owned(),
        11 => format!("- line {number} is **long**: {}\n", "word ".repeat(40)),
        _ => format!("line {number} with `code` and 数据库 👩‍💻\n"),
    };
    let lines: Vec<String> = (0..LINES).map(line).collect();
    let mut pieces: Vec<String> = lines.chunks(4).map(<[String]>::concat).collect();
    pieces.push(format!("line {} is the last\n", LINES - 1));
    pieces
}

/// Types letters one by one, each when the one before is seen.
fn echo(pty: &mut Pty, what: &str) {
    let before = Meter::read(pty);
    let mut times = Vec::new();
    let mut typed = String::new();
    for number in 0..KEYS {
        // No sequence ends in one of these.
        let letter = ["Q", "V", "W", "X", "Y", "Z"][number % 6];
        typed.push_str(letter);
        let from = pty.bytes().len();
        let began = Instant::now();
        pty.types(letter);
        pty.wait_for_bytes(from, letter.as_bytes());
        times.push(began.elapsed());
        // As fast as somebody types.
        std::thread::sleep(Duration::from_millis(40));
    }
    Meter::read(pty).report(&before, what);
    told(times);
    pty.types("\x15");
    pty.wait_until("empty", |screen| !screen.contains(&typed));
}

fn steps(pty: &mut Pty, what: &str) {
    let before = Meter::read(pty);
    let mut times = Vec::new();
    for _ in 0..KEYS / 2 {
        let from = pty.bytes().len();
        let began = Instant::now();
        pty.types("j");
        pty.wait_for_bytes(from, b"\x1b[?2026l");
        times.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(40));
    }
    Meter::read(pty).report(&before, what);
    told(times);
}

fn resized(pty: &Pty, what: &str) {
    let mut times = Vec::new();
    for (rows, columns) in [(40, 120), (15, 40), (24, 80)].repeat(3) {
        let rule = "─".repeat(usize::from(columns));
        let from = pty.bytes().len();
        let began = Instant::now();
        pty.resize(rows, columns);
        pty.wait_for_bytes(from, rule.as_bytes());
        times.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("{what}");
    told(times);
}

fn told(mut times: Vec<Duration>) {
    times.sort();
    let at = |part: usize| millis(times[(times.len() - 1) * part / 100]);
    let (median, most) = (at(50), at(95));
    println!("{:<34} {median:>7.1} ms median, {most:.1} ms at the 95th percentile", "");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// What was used and drawn so far.
struct Meter {
    at: Instant,
    frames: usize,
    drawing: Duration,
}

impl Meter {
    fn read(pty: &Pty) -> Self {
        let frames = pty.bytes().windows(FRAME.len()).filter(|bytes| *bytes == FRAME).count();
        // The first thread draws; its time on a processor, in nanoseconds.
        let id = pty.id();
        let used = fs::read_to_string(format!("/proc/{id}/task/{id}/schedstat")).unwrap();
        let used = used.split_whitespace().next().unwrap().parse().unwrap();
        Self { at: Instant::now(), frames, drawing: Duration::from_nanos(used) }
    }

    fn report(&self, before: &Self, what: &str) {
        let frames = self.frames - before.frames;
        let seconds = (self.at - before.at).as_secs_f64();
        let used = millis(self.drawing.saturating_sub(before.drawing));
        let each = if frames == 0 { 0.0 } else { used / f64::from(u32::try_from(frames).unwrap()) };
        let rate = f64::from(u32::try_from(frames).unwrap()) / seconds;
        println!(
            "{what:<34} {seconds:>7.2} s, {frames} frames ({rate:.1} a second), {each:.2} ms CPU a frame"
        );
    }
}
