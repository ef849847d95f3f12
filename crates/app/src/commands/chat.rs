//! `attache chat`: a conversation with the main agent, on the screen or line by line.
//!
//! Every message continues the run before it, so the conversation is in the transcripts and can go on at
//! any time, in another process.

use std::io::{self, IsTerminal as _, Write as _};

use attache_kernel::run::assignment::BackgroundWork;
use clap::Args;
use tokio::sync::mpsc;

use super::run::{self, Answers, Approve, ClientArgs, Offer, RunArgs, RunOptions, Who, task};
use crate::{
    cli::{Globals, model_words::require_agreement},
    failure::{Exit, Failure},
    open_files,
    print::{
        self,
        palette::{Tone, paint},
    },
    settings::Flag,
    setup::{
        Setup,
        resumed::{Earlier, Newest},
    },
    transcripts,
    tui::{self, Beginning},
};

/// Talk to the main agent, and watch the agents it starts.
///
/// `attache` without a command does the same on a terminal. `/help` lists keys and commands. With --plain
/// one line is one message: answers go to stdout, what the agents do to stderr, `/quit` or the end of the
/// input ends the conversation, and Ctrl-C stops the current answer.
#[derive(Debug, Default, Args)]
#[command(after_help = "Examples:
  attache chat
  attache chat --resume                        resume the last conversation
  attache chat --plain                         for screen readers, pipes and simple terminals
  attache chat --plain --resume                resume the last conversation
  printf 'what is this?\\nand who calls it?\\n' | attache chat --plain")]
pub(crate) struct ChatArgs {
    /// Read lines and print answers, without the terminal UI.
    #[arg(long)]
    plain: bool,
    /// Resume an earlier conversation: the id of a run, the beginning of one, or the last.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "last")]
    resume: Option<String>,
    /// The model to talk to.
    #[arg(
        long,
        value_name = "MODEL",
        value_parser = crate::cli::model_words::name,
        add = super::completions::models()
    )]
    model: Option<String>,
    /// The provider of that model.
    #[arg(
        long,
        value_name = "PROVIDER",
        value_parser = crate::cli::model_words::name,
        add = super::completions::providers()
    )]
    provider: Option<String>,
    /// What to do when a call needs approval. Default: ask at the terminal, deny without one.
    #[arg(long, value_enum, value_name = "HOW")]
    approve: Option<Approve>,
    /// How far commands are confined: read-only, workspace-write or danger-full-access.
    #[arg(long, value_name = "MODE", value_parser = run::sandbox_modes())]
    sandbox: Option<String>,
}

impl ChatArgs {
    /// The options that stand for settings.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        run::sandbox_flag(self.sandbox.as_deref()).into_iter().collect()
    }

    /// The earlier conversation that it goes on with.
    pub(crate) fn resumes(&self) -> Option<Earlier> {
        let newest = if self.plain { Newest::Conversation } else { Newest::OnScreen };
        self.resume.clone().map(|id| Earlier { id, newest })
    }

    /// One message, after the run of that id.
    fn message(&self, line: &str, after: Option<&str>) -> RunArgs {
        RunArgs {
            agent: None,
            task: vec![line.to_owned()],
            inputs: Vec::new(),
            trust: false,
            client: ClientArgs::default(),
            options: RunOptions {
                // What was chosen for the first message stays.
                model: self
                    .model
                    .clone()
                    .filter(|_| after.is_none() || after == self.resume.as_deref()),
                provider: self.provider.clone().filter(|_| after.is_none()),
                resume: after.map(str::to_owned),
                approve: self.approve,
                sandbox: self.sandbox.clone(),
                ..RunOptions::default()
            },
            who: Who::Main(BackgroundWork::Awaited),
            offer: Offer::Noted,
            answers: Answers::Each,
            agent_stands_first: false,
        }
    }
}

pub(crate) fn run(args: &ChatArgs, globals: &Globals, setup: &Setup) -> Result<Exit, Failure> {
    open_files::require_enough()?;
    require_agreement(args.model.as_deref(), args.provider.as_deref())?;
    if !args.plain {
        return run_on_screen(args, globals, setup);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let exit = runtime.block_on(talk(args, setup));
    // A line that is still being read is not waited for.
    runtime.shutdown_background();
    exit
}

/// The terminal may stop reading at any time; the runs go on, on a thread of their own.
fn run_on_screen(args: &ChatArgs, globals: &Globals, setup: &Setup) -> Result<Exit, Failure> {
    if !tui::has_terminal() {
        return Err(Failure::usage("the terminal UI needs a terminal")
            .hint("`attache chat --plain` talks line by line, `attache exec` answers once"));
    }
    let store = transcripts::store(setup);
    let resume = args.resumes().map(|earlier| earlier.resolved(&store)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let beginning = Beginning {
        resume,
        model: args.model.clone(),
        provider: args.provider.clone(),
        approve: args.approve,
        globals: globals.words(),
    };
    let exit = runtime.block_on(tui::talk(beginning, setup));
    runtime.shutdown_timeout(run::TIDYING_PATIENCE);
    exit
}

/// The commands of the conversation without a screen.
const PLAIN_HELP: &str =
    "one line is one message to the main agent; its answer goes to standard output
  /help          this
  /quit, /exit   end, as the end of input does";

async fn talk(args: &ChatArgs, setup: &Setup) -> Result<Exit, Failure> {
    if let Some(id) = &args.resume {
        let store = transcripts::store(setup);
        let id = transcripts::resolve_main(id, &store)?;
        store.read(&id).map(drop).map_err(|error| transcripts::failure(&error))?;
    }
    let mut after = args.resume.clone();
    let mut has_begun = false;
    let mut lines = lines();
    let is_terminal = io::stdin().is_terminal();
    loop {
        if is_terminal && !setup.quiet {
            let mut stderr = io::stderr().lock();
            write!(stderr, "{} ", paint(Tone::Strong, ">")).unwrap_or_default();
            stderr.flush().unwrap_or_default();
        }
        let line = tokio::select! {
            line = lines.next() => line,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
        };
        let Some(line) = line else {
            if is_terminal && !setup.quiet {
                // The prompt has no end of line.
                print::aside(&format!("\n{}", farewell(after.as_deref())));
            }
            return Ok(Exit::Success);
        };
        let line = line?;
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => {
                if is_terminal && !setup.quiet {
                    print::aside(&farewell(after.as_deref()));
                }
                return Ok(Exit::Success);
            }
            "/help" => print::aside(PLAIN_HELP),
            // A path has a second slash, and a message more than one word.
            word if is_command(word) => {
                print::aside(&format!("there is no command {word}; /help lists them"));
            }
            message => {
                let message = args.message(message, after.as_deref());
                match Box::pin(run::carry_out(&message, setup)).await {
                    Ok((_, id)) => {
                        after = Some(id.to_string());
                        has_begun = true;
                    }
                    // The first message tells whether anything works at all.
                    Err(failure) if !has_begun => return Err(failure),
                    Err(failure) => print::aside(&failure.told(setup.format)),
                }
            }
        }
    }
}

/// The last words: an end of input that was typed while an answer was under way is seen only after it.
fn farewell(last: Option<&str>) -> String {
    match last {
        Some(id) => format!("resume with: attache chat --plain --resume {id}"),
        None => "nothing was said; `attache chat --plain` begins again".to_owned(),
    }
}

fn is_command(line: &str) -> bool {
    line.strip_prefix('/').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphabetic())
    })
}

/// The lines of standard input. One is read only when it is asked for: between two of them the terminal
/// belongs to questions about calls.
struct Lines {
    wanted: std::sync::mpsc::Sender<()>,
    read: mpsc::Receiver<Result<String, Failure>>,
}

impl Lines {
    /// The next line; none at the end of input.
    async fn next(&mut self) -> Option<Result<String, Failure>> {
        self.wanted.send(()).ok()?;
        self.read.recv().await
    }
}

fn lines() -> Lines {
    let (wanted, wishes) = std::sync::mpsc::channel();
    let (sender, read) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let (Ok(()), Some(line)) = (wishes.recv(), task::next_line(&mut input)) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    Lines { wanted, read }
}
