//! `attache transcript ID`: a run for people, or its lines as they are; also while it goes on.

mod html;

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use attache_kernel::run::{
    event::Event,
    file_change,
    transcript::{Header, Line},
};
use attache_runtime::internal::{
    changes::{
        place::below_repository,
        reversal::reversed,
        run_patch::{Direction, RunPatch},
    },
    store::{FileStore, RunState, Store as _, StoreError, Transcript, files::Follower},
};
use clap::Args;
use jiff::Timestamp;

use crate::{
    failure::{Exit, Failure},
    print::{
        self, Reader, Stream,
        transcript::{Detail, Place, TranscriptPage},
    },
    run_tree,
    setup::{OutputFormat, Setup},
    transcripts,
};

/// Show a run: its task, model, turns, calls, times, tokens and result.
///
/// With --json, the lines of the transcript as they are.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache transcript last                the newest run
  attache transcript agent-7f9c          the beginning of an id is enough
  attache transcript last --full         with whole tool results and thinking
  attache transcript last --follow       while it runs, until it ends
  attache transcript last --diff         what it changed, as a patch
  attache transcript last --diff --reverse | git apply
  attache transcript last --tree         the run with all that it started, on a time line
  attache transcript last --html a.html  the same as a page for a browser
  attache transcript last --json | jq -c 'select(.event.type == \"tool_returned\")'")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct TranscriptArgs {
    /// The run's id, the beginning of one, or `last`.
    #[arg(add = super::completions::runs())]
    id: String,
    /// Show whole tool results, thinking and prompts.
    #[arg(long)]
    full: bool,
    /// Follow the run until it ends.
    #[arg(short, long)]
    follow: bool,
    /// Print what the run changed, as one patch that `git apply` takes: the changes of its file tools, and in a
    /// worktree those of commands, too.
    #[arg(long, conflicts_with_all = ["full", "follow"])]
    diff: bool,
    /// Print the reverse patch, which undoes what the run changed.
    #[arg(long, requires = "diff")]
    reverse: bool,
    /// Show the run with all that it started: times, turns, tokens, cost and a time line. --full shows
    /// every run of many.
    #[arg(long, conflicts_with_all = ["follow", "diff", "html"])]
    tree: bool,
    /// Write the run with all that it started as one page for a browser; `-` is standard output. A file
    /// of that name is replaced.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["full", "follow", "diff"])]
    html: Option<PathBuf>,
}

pub(crate) fn run(args: &TranscriptArgs, setup: &Setup) -> Result<Exit, Failure> {
    let store = transcripts::store(setup);
    let id = transcripts::resolve(&args.id, &store)?;
    let failed = |error| transcripts::failure(&error);
    if args.diff {
        return show_patch(&store.read(&id).map_err(failed)?, &store, args, setup);
    }
    if args.tree {
        return show_tree(&store.read(&id).map_err(failed)?, &store, args, setup);
    }
    if let Some(file) = &args.html {
        return write_page(&store.read(&id).map_err(failed)?, &store, file, setup);
    }
    if setup.format == OutputFormat::Json {
        let follower = store.follow(&id).map_err(failed)?;
        show_lines(follower, RunState::Running, args, setup)?;
        return Ok(Exit::Success);
    }
    let state = match store.read(&id) {
        Ok(transcript) => {
            if !args.follow || !is_open(transcript.state) {
                return show(&transcript, &store, args, setup);
            }
            transcript.state
        }
        // It is only just beginning.
        Err(StoreError::NoHeader { .. }) if args.follow => RunState::Running,
        Err(error) => return Err(failed(error)),
    };
    let follower = store.follow(&id).map_err(failed)?;
    show_lines(follower, state, args, setup)?;
    Ok(Exit::Success)
}

/// The columns of a tree that does not go to a terminal.
const COLUMNS_IN_A_PIPE: usize = 100;

/// Prints a run with all that it started.
fn show_tree(
    root: &Transcript,
    store: &FileStore,
    args: &TranscriptArgs,
    setup: &Setup,
) -> Result<Exit, Failure> {
    let tree = run_tree::read(root, store, Timestamp::now(), |_| {});
    let tree = tree.map_err(|error| transcripts::failure(&error))?;
    if setup.format == OutputFormat::Json {
        print::json(&tree)?;
    } else {
        let columns = Stream::Out.width().filter(|_| Stream::Out.is_terminal());
        let columns = columns.unwrap_or(COLUMNS_IN_A_PIPE);
        print::out(&print::tree::rendered(&tree, columns, args.detail()))?;
    }
    Ok(Exit::Success)
}

/// Writes a run with all that it started as a page. Like a transcript, it is its owner's alone.
fn write_page(
    root: &Transcript,
    store: &FileStore,
    file: &Path,
    setup: &Setup,
) -> Result<Exit, Failure> {
    let mut stories = html::Stories::default();
    let add = |transcript: &Transcript| {
        stories.add(transcript, store.artifacts_dir(&transcript.header.run).ok().as_deref());
    };
    let tree = run_tree::read(root, store, Timestamp::now(), add);
    let tree = tree.map_err(|error| transcripts::failure(&error))?;
    let page = stories.page(&tree);
    let page =
        page.map_err(|error| Failure::unsuccessful("cannot make the page").because(&error))?;
    if file == Path::new("-") {
        print::exact(&page)?;
        return Ok(Exit::Success);
    }
    let opened = File::options().write(true).create(true).truncate(true).mode(0o600).open(file);
    let written = opened.and_then(|mut file| file.write_all(page.as_bytes()));
    written.map_err(|error| {
        let path = file.display();
        Failure::unsuccessful(format!("cannot write {path}"))
            .because(&error)
            .hint("give --html a file in a directory that exists and that you can write to")
    })?;
    match setup.format {
        OutputFormat::Json => print::json(&serde_json::json!({"path": file, "bytes": page.len()}))?,
        OutputFormat::Text => print::aside(&format!("wrote {}", file.display())),
    }
    Ok(Exit::Success)
}

/// Prints the changes of a run as a patch; its bytes count in a pipe.
fn show_patch(
    transcript: &Transcript,
    store: &FileStore,
    args: &TranscriptArgs,
    setup: &Setup,
) -> Result<Exit, Failure> {
    let artifacts = store.artifacts_dir(&transcript.header.run);
    let artifacts = artifacts.map_err(|error| transcripts::failure(&error))?;
    let changes = transcript.entries.iter().flat_map(|entry| match &entry.event {
        Event::ToolReturned { changes, .. } => changes.as_slice(),
        _ => &[],
    });
    let changes = file_change::sum(changes);
    // In a worktree commands count too: the patch that was kept has it all.
    let has_kept = transcript.header.run.worktree.is_some();
    if let Some(kept) = has_kept.then(|| fs::read(artifacts.join("changes.patch")).ok()).flatten() {
        let kept = if args.reverse { reversed(&kept) } else { kept };
        return print_patch(&kept, setup);
    }
    let run = &transcript.header.run;
    let workspace = Path::new(&run.environment.cwd);
    let below = below_repository(workspace, run.worktree.as_ref());
    let patch = if !args.reverse {
        RunPatch::from_changes(&changes, &artifacts, &below, Direction::Forward)
    } else if workspace.is_dir() {
        RunPatch::undoing(&changes, &artifacts, &below, workspace)
    } else {
        RunPatch::from_changes(&changes, &artifacts, &below, Direction::Reverse)
    };
    for (path, reason) in &patch.left_out {
        print::aside(&format!("{path} is not in the patch: {reason}"));
    }
    if changes.is_empty() {
        print::aside(&format!("{} changed no files", transcript.header.run.agent_id));
    }
    print_patch(patch.text.as_bytes(), setup)
}

fn print_patch(patch: &[u8], setup: &Setup) -> Result<Exit, Failure> {
    let text = String::from_utf8_lossy(patch);
    if setup.format == OutputFormat::Json {
        print::json(&serde_json::json!({"patch": text}))?;
    } else if Stream::Out.is_terminal() {
        print::out(&(print::diff::painted(&text).join("\n") + "\n"))?;
    } else {
        print::bytes(patch)?;
    }
    Ok(Exit::Success)
}

fn is_open(state: RunState) -> bool {
    matches!(state, RunState::Queued | RunState::Running)
}

fn show(
    transcript: &Transcript,
    store: &FileStore,
    args: &TranscriptArgs,
    setup: &Setup,
) -> Result<Exit, Failure> {
    let path = setup.shown(&transcript.path).display().to_string();
    let place = Place { path, artifacts: store.artifacts_dir(&transcript.header.run).ok() };
    let (mut page, mut text) =
        TranscriptPage::new(args.detail(), &transcript.header, transcript.state, place);
    for entry in &transcript.entries {
        text.push_str(&page.entry(entry));
    }
    let last = transcript.entries.last();
    if !last.is_some_and(|entry| matches!(entry.event, Event::Ended { .. })) {
        text.push_str(&page.unfinished(transcript.state));
    }
    print::out(&text)?;
    Ok(Exit::Success)
}

impl TranscriptArgs {
    fn detail(&self) -> Detail {
        if self.full { Detail::Full } else { Detail::Brief }
    }
}

/// A run that is shown while it is written.
struct Watched {
    detail: Detail,
    format: OutputFormat,
    path: String,
    store: FileStore,
    /// What had become of the run when it was first looked at.
    state: RunState,
    page: Option<TranscriptPage>,
    ended: bool,
}

fn show_lines(
    mut follower: Follower,
    state: RunState,
    args: &TranscriptArgs,
    setup: &Setup,
) -> Result<(), Failure> {
    let mut watched = Watched {
        detail: args.detail(),
        format: setup.format,
        path: setup.shown(follower.path()).display().to_string(),
        store: transcripts::store(setup),
        state,
        page: None,
        ended: false,
    };
    loop {
        let lines = if args.follow { follower.next_lines() } else { follower.read().map(Some) };
        let lines = lines.map_err(|error| transcripts::failure(&error))?;
        let Some(lines) = lines else {
            let unfinished =
                watched.page.as_mut().map(|page| page.unfinished(RunState::Interrupted));
            return print::out(&unfinished.unwrap_or_default());
        };
        let mut text = String::new();
        for line in &lines {
            text.push_str(&watched.line(line)?);
        }
        if print::piece(&text)? == Reader::Gone || watched.ended || !args.follow {
            return Ok(());
        }
    }
}

impl Watched {
    /// What is printed of a line.
    fn line(&mut self, line: &str) -> Result<String, Failure> {
        let read = Line::parse(line);
        self.ended |=
            matches!(&read, Ok(Line::Event(entry)) if matches!(entry.event, Event::Ended { .. }));
        if self.format == OutputFormat::Json {
            return Ok(format!("{line}\n"));
        }
        match (read, &mut self.page) {
            (Ok(Line::Header(header)), None) => Ok(self.head(&header)),
            (Ok(Line::Event(entry)), Some(page)) => Ok(page.entry(&entry)),
            (Ok(_), _) => Err(self.broken()),
            (Err(error), _) => Err(self.broken().because(&error)),
        }
    }

    fn head(&mut self, header: &Header) -> String {
        let artifacts = self.store.artifacts_dir(&header.run).ok();
        let place = Place { path: self.path.clone(), artifacts };
        let (page, head) = TranscriptPage::new(self.detail, header, self.state, place);
        self.page = Some(page);
        head
    }

    fn broken(&self) -> Failure {
        Failure::unsuccessful(format!("{} is damaged", self.path))
            .hint("--json prints its lines as they are")
    }
}
