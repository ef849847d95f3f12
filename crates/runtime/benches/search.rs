//! `grep_files` and `glob_files` against `rg` on a generated tree: medians of alternating runs, as
//! ratios within one run. The time of `rg` includes the start of its process.
//!
//! `cargo bench -p attache-runtime --bench search [-- FILES ROUNDS]`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::{
    error::Error,
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use attache_runtime::internal::tool::{
    FileGuard, Tool, ToolContext, artifacts::Artifacts, catalogue::builtin_tools,
    workspace::Workspace,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const FILES: usize = 20_000;
const ROUNDS: usize = 21;
const WORDS: [&str; 16] = [
    "let", "match", "return", "value", "request", "buffer", "config", "impl", "struct", "self",
    "result", "option", "stream", "handle", "index", "context",
];

/// One question, put to both.
struct Case {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    rg: &'static [&'static str],
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let files = numbers.first().copied().unwrap_or(FILES);
    let rounds = numbers.get(1).copied().unwrap_or(ROUNDS);
    let scratch = tempfile::tempdir()?;
    let tree = scratch.path().join("tree");
    let bytes = generate(&tree, files)?;
    println!("{files} files, {} MB; {rounds} rounds", bytes >> 20);

    let has_rg = Command::new("rg").arg("--version").output().is_ok();
    if !has_rg {
        println!("rg is not on the PATH: only our own times are shown");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let context = ToolContext::new(
        Workspace::new(&tree)?,
        Artifacts::new(scratch.path().join("artifacts")),
        FileGuard::unrestricted(),
    );
    let tools = builtin_tools();
    println!("{:<34}{:>10}{:>10}{:>8}", "", "ours ms", "rg ms", "ratio");
    for case in cases() {
        let tool = tools
            .iter()
            .find(|tool| tool.spec().name.to_string() == case.tool)
            .ok_or("no such tool")?;
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..rounds {
            ours.push(time_tool(&runtime, tool.as_ref(), &case, &context)?);
            if has_rg {
                theirs.push(time_rg(&tree, &case)?);
            }
        }
        print_row(case.name, &mut ours, &mut theirs);
    }
    Ok(())
}

fn cases() -> Vec<Case> {
    let grep = |name, arguments, rg| Case { name, tool: "grep_files", arguments, rg };
    let glob = |name, arguments, rg| Case { name, tool: "glob_files", arguments, rg };
    vec![
        grep(
            "grep, rare word",
            json!({"pattern": "needle_in_haystack"}),
            &["-n", "needle_in_haystack"],
        ),
        grep(
            "grep, rare word, any case",
            json!({"pattern": "NEEDLE_in_haystack", "ignore_case": true}),
            &["-n", "-i", "NEEDLE_in_haystack"],
        ),
        grep(
            "grep, regex with context",
            json!({"pattern": r"needle_\w+\s+[a-z]+\(", "context": 3}),
            &["-n", "-C3", r"needle_\w+\s+[a-z]+\("],
        ),
        grep(
            "grep, no literal to look for",
            json!({"pattern": r"[A-Z]{5,}\d+[a-z]"}),
            &["-n", r"[A-Z]{5,}\d+[a-z]"],
        ),
        grep(
            "grep, one type of file",
            json!({"pattern": "needle_in_haystack", "type": "py"}),
            &["-n", "-tpy", "needle_in_haystack"],
        ),
        grep("grep, common word, first 200", json!({"pattern": "return"}), &["-n", "return"]),
        grep(
            "grep, files with a common word",
            json!({"pattern": "option", "mode": "files", "head_limit": 2000}),
            &["-l", "option"],
        ),
        grep(
            "grep, count a rare word",
            json!({"pattern": "needle_in_haystack", "mode": "count"}),
            &["-c", "needle_in_haystack"],
        ),
        glob(
            "glob, rare name",
            json!({"pattern": "**/special_*.rs"}),
            &["--files", "-g", "**/special_*.rs"],
        ),
        glob(
            "glob, a quarter of the files",
            json!({"pattern": "**/*.py"}),
            &["--files", "-g", "**/*.py"],
        ),
        glob("glob, every file", json!({"pattern": "**/*"}), &["--files"]),
    ]
}

fn time_tool(
    runtime: &Runtime,
    tool: &dyn Tool,
    case: &Case,
    context: &ToolContext,
) -> Result<Duration, Box<dyn Error>> {
    let arguments = case.arguments.clone();
    let start = Instant::now();
    let output = runtime.block_on(tool.call(arguments, context));
    let took = start.elapsed();
    if output.is_error {
        return Err(output.text.into());
    }
    Ok(took)
}

fn time_rg(tree: &Path, case: &Case) -> Result<Duration, Box<dyn Error>> {
    let mut command = Command::new("rg");
    command
        .args(["--no-config", "--no-ignore-global", "--no-require-git"])
        .args(case.rg)
        .arg("./")
        .current_dir(tree);
    let start = Instant::now();
    command.output()?;
    Ok(start.elapsed())
}

fn print_row(name: &str, ours: &mut [Duration], theirs: &mut [Duration]) {
    let ours = median(ours);
    let theirs = median(theirs);
    let ratio = if theirs > 0.0 { ours / theirs } else { f64::NAN };
    println!("{name:<34}{ours:>10.1}{theirs:>10.1}{ratio:>8.2}");
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}

/// A tree like a large repository: nested directories, a dozen files each, some ignored.
fn generate(tree: &Path, files: usize) -> Result<u64, Box<dyn Error>> {
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap_or(0)
    };
    fs::create_dir_all(tree)?;
    fs::write(tree.join(".gitignore"), "target/\n*.log\n/dist\n")?;
    let mut bytes = 0;
    for number in 0..files {
        let package = number / 400;
        let module = number / 12 % 33;
        let directory = tree.join(format!("package_{package:03}/src/module_{module:02}"));
        fs::create_dir_all(&directory)?;
        if number.is_multiple_of(400) {
            fs::write(tree.join(format!("package_{package:03}/.gitignore")), "*.tmp\n/out/\n")?;
        }
        let extension = ["rs", "py", "ts", "md"][number % 4];
        let stem = if number % 5000 == 8 { "special" } else { "file" };
        let mut text = String::new();
        for line in 0..20 + next(200) {
            write!(text, "{}", "    ".repeat(line % 4))?;
            for _ in 0..4 + next(6) {
                write!(text, "{} ", WORDS[next(WORDS.len())])?;
            }
            text.push('\n');
            if next(200_000) == 0 {
                text.push_str("let needle_in_haystack  call(value);\n");
            }
        }
        bytes += text.len() as u64;
        fs::write(directory.join(format!("{stem}_{number:05}.{extension}")), text)?;
        if number.is_multiple_of(50) {
            fs::write(directory.join("trace.log"), "needle_in_haystack\n".repeat(100))?;
        }
    }
    Ok(bytes)
}
