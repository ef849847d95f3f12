//! `attache run AGENT TASK`: one agent, from task to result.

mod inputs;
mod interrupts;
mod limits;
mod task;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use attache_kernel::{
    agent::{
        definition::{Definition, Trust},
        registry::{Inventory, Record},
    },
    id::AgentName,
    rights::filter::ToolSet,
    run::{
        Run,
        assignment::{Assignment, TemplateFacts},
        outcome::{RunResult, Status},
        transcript::fold,
    },
};
use attache_runtime::{
    executor::Patience,
    runtime::{Past, Runtime, Start, StartError, new_run_id, new_session_id},
    store::{FileStore, RunState},
};
use clap::{Args, ValueEnum};
use tokio_util::sync::CancellationToken;

use self::interrupts::{Interrupts, quit_on_second};
use crate::{
    connection::{self, Asker, Connection},
    failure::{Exit, Failure},
    no_effect,
    print::{
        self,
        palette::{Tone, paint},
        printer::Printer,
        progress::{Progress, Shown},
        stream,
    },
    setup::{OutputFormat, Setup, lookup_failure},
    transcripts,
};

/// Run an agent on a task and print its result.
///
/// The agent works in an isolated context with its own prompt, model, tools and limits. Progress goes to
/// stderr, the result to stdout. Every event is in the transcript before it is shown, so a run can be
/// resumed at any time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache run Explore \"where is the parser, and what calls it?\"
  attache run Explore -f question.md --json
  git diff | attache run reviewer -f -
  attache run reviewer --input file_path=src/main.rs
  attache run --resume last \"and what about the tests?\"
  attache run Plan \"add a cache\" --output-format stream-json

Exit code 0: the agent reached its goal. 1: it ended otherwise. 2: wrong usage. 130: interrupted.")]
pub(crate) struct RunArgs {
    /// The agent's name, in any spelling; not needed with --resume.
    #[arg(
        required_unless_present = "resume",
        add = super::completions::agents()
    )]
    agent: Option<String>,
    /// The task; `-` reads it from standard input, and after words adds that to them.
    task: Vec<String>,
    /// Read the task from a file; `-` is standard input.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A typed input of the agent.
    #[arg(long = "input", value_name = "KEY=VALUE")]
    inputs: Vec<String>,
    /// The model to run on.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The provider of that model.
    #[arg(long, value_name = "PROVIDER", add = super::completions::providers())]
    provider: Option<String>,
    /// Go on with an earlier run: its id, the beginning of it, or `last`.
    #[arg(long, value_name = "ID", add = super::completions::runs())]
    resume: Option<String>,
    /// Maximum number of turns.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Stop the run after this time: 90, 90s, 5m or 1h30m.
    #[arg(long, value_name = "TIME", value_parser = crate::duration::seconds)]
    timeout: Option<u32>,
    /// What to do when a call needs approval; off a terminal it is denied.
    #[arg(long, value_enum, value_name = "HOW")]
    approve: Option<Approve>,
    /// Trust the agent's file for this run alone.
    #[arg(long)]
    trust: bool,
    /// How to print: text for people, json for one object, stream-json for one event a line.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    output_format: Option<RunFormat>,
}

/// What to do when a call needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Approve {
    /// Ask at the terminal.
    Ask,
    /// Refuse it.
    Deny,
    /// Allow what the sandbox confines.
    Sandbox,
    /// Allow everything.
    All,
}

/// How a run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunFormat {
    /// For people.
    Text,
    /// One object.
    Json,
    /// One event a line.
    StreamJson,
}

/// How long a run that was cut short waits for somebody to read its result.
const READER_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
/// How long the end of a run waits for the disk.
const DISK_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

pub(crate) fn run(args: &RunArgs, setup: &Setup) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let exit = runtime.block_on(carry_out(args, setup));
    // Nothing that is still under way is waited for: it was told to stop.
    runtime.shutdown_background();
    exit
}

async fn carry_out(args: &RunArgs, setup: &Setup) -> Result<Exit, Failure> {
    if args.approve == Some(Approve::Ask) && !print::is_interactive() {
        return Err(Failure::usage("nobody can be asked off a terminal")
            .hint("use --approve deny, sandbox or all"));
    }
    let store = transcripts::store(setup);
    let runtime = Runtime::new(Arc::new(store.clone()), patience(setup));
    let mut plan = match &args.resume {
        Some(id) => resumed(args, setup, &store, id)?,
        None => fresh(args, setup)?,
    };
    let session = plan.earlier.as_ref().map(|earlier| &earlier.assignment().session_id);
    let spent = limits::spent_in(session, &setup.settings.subagents, &store)?;
    let limits = &mut plan.start.assignment.limits;
    limits::apply(limits, args, &setup.settings.subagents, spent)?;
    let format = match (args.output_format, setup.format) {
        (Some(format), _) => format,
        (None, OutputFormat::Json) => RunFormat::Json,
        (None, OutputFormat::Text) => RunFormat::Text,
    };
    let interrupts = Interrupts::new();
    if let Some(earlier) = plan.earlier.take() {
        plan.start.past = Past::Earlier(Box::new(earlier));
    }
    let handle = runtime.start(plan.start).await.map_err(|error| start_failure(&error))?;
    let printer = Printer::start()?;
    let (over, cut_short) = (CancellationToken::new(), CancellationToken::new());
    let events = handle.events(1);
    let shown = async {
        match format {
            RunFormat::StreamJson => {
                stream::print(events, &printer).await;
                Shown::Cut
            }
            RunFormat::Text | RunFormat::Json if !setup.quiet => {
                Progress::new(&printer).show(events).await
            }
            RunFormat::Text | RunFormat::Json => {
                drop(events);
                Shown::Cut
            }
        }
    };
    let working = async {
        let result = handle.result().await;
        over.cancel();
        if !result.as_ref().is_ok_and(|result| result.status == Status::Goal) {
            cut_short.cancel();
        }
        result
    };
    let everything = async {
        let (result, shown) = tokio::join!(working, shown);
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                let failure = Failure::unsuccessful(error.to_string());
                printer.aside(&failure.told(setup.format));
                printer.finish().await?;
                return Ok(failure.exit);
            }
        };
        let exit = report(&result, format, shown, handle.is_cancelled(), setup, &printer).await?;
        // The answer is out; what was written down gets a moment to reach the disk.
        let in_time = tokio::time::timeout(DISK_PATIENCE, runtime.settled()).await.is_ok();
        if !in_time && !setup.quiet {
            printer
                .aside("the disk is slow: the end of the transcript may not outlive a power cut");
        }
        printer.finish().await?;
        Ok(exit)
    };
    let without_reader = async {
        cut_short.cancelled().await;
        tokio::time::sleep(READER_PATIENCE).await;
    };
    tokio::select! {
        exit = everything => exit,
        () = quit_on_second(interrupts, &handle, &over, &printer) => Ok(Exit::Interrupted),
        () = without_reader => {
            Ok(if handle.is_cancelled() { Exit::Interrupted } else { Exit::Unsuccessful })
        }
    }
}

/// What is to be run, and what it continues.
struct RunPlan {
    start: Start,
    earlier: Option<Run>,
}

fn fresh(args: &RunArgs, setup: &Setup) -> Result<RunPlan, Failure> {
    let inventory = setup.inventory()?;
    let name = args.agent.as_deref().unwrap_or_default();
    setup.record(&inventory, name)?;
    let record = inventory.find(name).map_err(|error| lookup_failure(&error))?;
    let definition = definition_of(record)?;
    if !setup.quiet {
        for notice in no_effect::of_definition(definition) {
            print::aside(&format!("{} {notice}", paint(Tone::Warning, "notice:")));
        }
    }
    let inputs = inputs::parse(&args.inputs, definition.input_config.as_ref())?;
    let may_be_empty = definition.prompt_config.query.is_some() || !inputs.is_empty();
    let task = read_task(&args.task, args, may_be_empty, setup)?;
    let trust = if args.trust { Trust::Trusted } else { record.trusted };
    let root = work_folder(definition, trust, setup)?;
    let filtered = setup.rights(definition, trust, 1);
    let choice = setup.choose_model(definition, args.model.as_deref(), args.provider.as_deref())?;
    let asker = Asker { definition, trust };
    let connection = connection::connect(&choice, asker, setup)?;
    let ids = (new_run_id(), new_session_id());
    let definition = Arc::new(definition.clone());
    let assignment = Assignment {
        inputs,
        environment: template_facts(&root),
        model_limits: connection.limits,
        withheld_tools: filtered.withheld.iter().map(Into::into).collect(),
        ..Assignment::new(ids, definition, task, connection.used.clone())
    };
    let start = start(assignment, filtered.tools, connection, root, setup);
    Ok(RunPlan { start, earlier: None })
}

fn read_task(
    words: &[String],
    args: &RunArgs,
    may_be_empty: bool,
    setup: &Setup,
) -> Result<String, Failure> {
    let file = args.file.as_deref();
    let task = task::read(words, file, may_be_empty)?;
    if !setup.quiet && task::passes_over_input(words, file) {
        print::aside("standard input is not read: put a `-` after the task to add it");
    }
    Ok(task)
}

/// Where an agent works: in its base directory, which a file nobody vouches for cannot put outside of
/// the workspace.
fn work_folder(definition: &Definition, trust: Trust, setup: &Setup) -> Result<PathBuf, Failure> {
    let workspace = &setup.working_directory;
    let Some(base) = &definition.base_dir else { return Ok(workspace.clone()) };
    let folder = workspace.join(base);
    let real = folder.canonicalize().map_err(|error| {
        Failure::usage(format!("cannot work in {}", folder.display())).because(&error)
    })?;
    match trust {
        Trust::Untrusted if !setup.is_in_workspace(&real) => Err(outside(definition, &real)),
        Trust::Untrusted | Trust::Trusted => Ok(folder),
    }
}

fn outside(definition: &Definition, folder: &Path) -> Failure {
    Failure::usage(format!(
        "`{}` wants to work in {}, outside of the workspace",
        definition.agent_type,
        folder.display()
    ))
    .hint("trust the agent, or add the folder to workspace_roots in your settings")
}

fn resumed(args: &RunArgs, setup: &Setup, store: &FileStore, id: &str) -> Result<RunPlan, Failure> {
    let id = transcripts::resolve(id, store)?;
    let transcript = store.read(&id).map_err(|error| transcripts::failure(&error))?;
    if transcript.state == RunState::Running {
        return Err(Failure::usage(format!("{} still runs", transcript.header.run.agent_id))
            .hint("wait for it, or stop it first"));
    }
    let earlier = fold(transcript.into_lines())
        .map_err(|error| Failure::usage("the transcript cannot be continued").because(&error))?;
    let before = earlier.assignment();
    // Without an agent's name on the command line, its place holds the first word of the task.
    let mut words: Vec<String> = args.agent.iter().chain(&args.task).cloned().collect();
    let names_agent =
        |word: &String| AgentName::new(word.as_str()).key() == before.definition.agent_type.key();
    if words.first().is_some_and(|word| stands_before_resume(word) && names_agent(word)) {
        words.remove(0);
    }
    if !args.inputs.is_empty() {
        return Err(Failure::usage("--input cannot be changed: a resumed run has its inputs")
            .hint("say what is new in the task"));
    }
    let task = read_task(&words, args, true, setup)?;
    let mut assignment = before.resumed_as(new_run_id(), task);
    let inventory = setup.inventory()?;
    let record = unchanged(&assignment.definition, &inventory);
    let config_today = record.map_or(before.definition.run_config, |(_, now)| now.run_config);
    let definition = Arc::clone(&assignment.definition);
    let trust = match record {
        _ if args.trust => Trust::Trusted,
        Some((record, _)) => record.trusted,
        None => Trust::Untrusted,
    };
    let filtered = setup.rights(&definition, trust, before.depth);
    assignment.withheld_tools = filtered.withheld.iter().map(Into::into).collect();
    assignment = assignment.narrowed_to(&filtered.tools, (&config_today).into());
    let choice = match (&args.model, &args.provider) {
        (None, None) => connection::as_before(&before.model),
        (model, provider) => {
            setup.choose_model(&definition, model.as_deref(), provider.as_deref())?
        }
    };
    let asker = Asker { definition: &definition, trust };
    let connection = connection::connect(&choice, asker, setup)?;
    assignment.model = connection.used.clone();
    assignment.model_limits = connection.limits;
    let root = PathBuf::from(&before.environment.cwd);
    if !root.is_dir() {
        return Err(Failure::usage(format!("the run's folder {} is gone", root.display()))
            .hint("restore the folder"));
    }
    let same_folder = root.canonicalize().ok() == setup.working_directory.canonicalize().ok();
    if setup.moved.is_some() && !same_folder && !setup.quiet {
        print::aside(&format!("the run goes on where it began, in {}", root.display()));
    }
    // What could be worked in then need not be now.
    if trust == Trust::Untrusted && definition.base_dir.is_some() && !setup.is_in_workspace(&root) {
        return Err(outside(&definition, &root));
    }
    let rights = assignment.rights.clone();
    let start = start(assignment, rights, connection, root, setup);
    Ok(RunPlan { start, earlier: Some(earlier) })
}

fn start(
    assignment: Assignment,
    rights: ToolSet,
    connection: Connection,
    root: PathBuf,
    setup: &Setup,
) -> Start {
    let further_roots = setup.settings.workspace_roots.clone();
    Start {
        stall: connection.stall,
        further_roots,
        ..Start::new(assignment, rights, connection.model, root)
    }
}

/// The record of a resumed agent, and its definition, if its file still says what it said. Its limits
/// do not count: the command line and the settings change them from run to run.
fn unchanged<'a>(
    before: &Definition,
    inventory: &'a Inventory,
) -> Option<(&'a Record, &'a Definition)> {
    let record = inventory.record(before.agent_type.as_str()).ok()?;
    let now = record.definition.as_deref()?;
    let same = Definition { run_config: before.run_config, ..now.clone() } == *before;
    same.then_some((record, now))
}

fn definition_of(record: &Record) -> Result<&Definition, Failure> {
    record.definition.as_deref().ok_or_else(|| {
        Failure::usage(format!("nothing could be read of the agent `{}`", record.name))
            .hint("`attache validate` says what is wrong")
    })
}

fn template_facts(root: &Path) -> TemplateFacts {
    TemplateFacts { cwd: root.display().to_string(), today: jiff::Zoned::now().date().to_string() }
}

fn patience(setup: &Setup) -> Patience {
    Patience {
        stall: std::time::Duration::from_secs(u64::from(setup.settings.stall_seconds)),
        tool: std::time::Duration::from_secs(u64::from(setup.settings.tool_timeout_seconds)),
    }
}

async fn report(
    result: &RunResult,
    format: RunFormat,
    shown: Shown,
    interrupted: bool,
    setup: &Setup,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let cannot = |error| Failure::unsuccessful("cannot print the result").because(&error);
    let printed = match format {
        RunFormat::Json => print::json_text(result).map_err(cannot)?,
        RunFormat::StreamJson => stream::result(result).map_err(cannot)?,
        RunFormat::Text if result.result.trim().is_empty() => String::new(),
        RunFormat::Text => print::markdown(&result.result),
    };
    printer.result(printed).await;
    // Whoever watched the progress has read it there.
    let error = result.error.as_ref().filter(|_| shown == Shown::Cut);
    if let Some(error) = error.filter(|_| format == RunFormat::Text) {
        printer.aside(&format!("{} {error}", paint(Tone::Bad, "error:")));
    }
    if format == RunFormat::Text
        && result.partial
        && !setup.quiet
        && !result.result.trim().is_empty()
    {
        printer.aside("what was printed is partial: the run was cut off");
    }
    if !setup.quiet && is_uncounted(result) {
        printer.aside(&format!(
            "notice: {} counted no tokens: what was used is not known, and limits held by an estimate",
            result.model.provider
        ));
    }
    if result.status != Status::Goal && !setup.quiet {
        printer.aside(&format!("resume with: attache run --resume {}", result.agent_id));
    }
    Ok(match result.status {
        Status::Goal => Exit::Success,
        _ if interrupted => Exit::Interrupted,
        _ => Exit::Unsuccessful,
    })
}

/// Whether a provider answered and counted nothing.
fn is_uncounted(result: &RunResult) -> bool {
    let local = ["offline", "replay"].iter().any(|local| result.model.id.starts_with(local));
    let answered = result.status == Status::Goal || result.total_tool_use_count > 0;
    !local && answered && result.total_tokens == 0
}

/// Whether a word was written before `--resume`, in the place of the agent. After it, it is the task's.
fn stands_before_resume(word: &str) -> bool {
    let before = std::env::args().take_while(|given| !given.starts_with("--resume"));
    before.skip(1).any(|given| given == word)
}

fn start_failure(error: &StartError) -> Failure {
    match error {
        StartError::Run(_) | StartError::Workspace(_) => Failure::usage(error.to_string()),
        StartError::Store(inner) => transcripts::failure(inner),
    }
}
