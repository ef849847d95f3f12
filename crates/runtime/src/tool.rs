//! Tools: what a model may ask the world for.
//!
//! Invariant: a tool's failure is text for the model, never an error of the program. A tool learns
//! of the world through its context alone.

mod apply_patch;
mod arguments;
pub(crate) mod artifacts;
pub(crate) mod caller;
pub(crate) mod catalogue;
mod change_sink;
mod command_call;
mod content;
mod edit_file;
mod exec_command;
mod file_edits;
mod file_filter;
mod file_guard;
pub(crate) mod findings;
mod glob_files;
mod grep_files;
mod list_dir;
pub(crate) mod named_paths;
mod off_thread;
pub(crate) mod output;
mod read_file;
mod seen_files;
pub(crate) mod shell;
mod text_file;
mod todo_write;
mod view_image;
pub(crate) mod web_fetch;
pub(crate) mod web_search;
pub(crate) mod wording;
pub(crate) mod workspace;
mod write_file;
mod write_stdin;

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

pub use attache_kernel::rights::permission::Foresight;
pub use attache_kernel::run::tool_spec::{Concurrency, Repeatability, ToolSpec};
use attache_kernel::{id::RunId, rights::filter::ToolSet, run::message::Image};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::{
    caller::Caller,
    change_sink::ChangeSink,
    file_guard::{FileGuard, HiddenPlaces},
    seen_files::SeenFiles,
};
use self::{findings::Findings, output::OutputSink};
use crate::{
    executor::Patience,
    host::Host,
    process::Processes,
    tasks::Delegate,
    tool::{
        artifacts::Artifacts,
        workspace::{PathError, Workspace},
    },
};

/// Something a model can call.
///
/// ```
/// use attache_runtime::prelude::*;
/// use serde_json::{Value, json};
///
/// #[derive(Debug)]
/// struct Weekday(ToolSpec);
///
/// impl Weekday {
///     fn new() -> Self {
///         Self(ToolSpec {
///             name: ToolName::Host("weekday".into()),
///             description: "Tells the day of the week.".into(),
///             parameters: json!({"type": "object", "properties": {}}).into(),
///             concurrency: Concurrency::Parallel,
///             repetition: Repeatability::Repeatable,
///         })
///     }
/// }
///
/// impl Tool for Weekday {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///
///     fn call<'a>(&'a self, _: Value, _: &'a ToolContext) -> ToolFuture<'a> {
///         Box::pin(async { ToolOutput::text("Monday") })
///     }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// let runtime = Runtime::builder(folder.path()).tool(Weekday::new()).build()?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub trait Tool: fmt::Debug + Send + Sync {
    /// What the model is told about it, paid for on every turn, and what a call does to the world.
    fn spec(&self) -> &ToolSpec;

    /// The same for an agent with these rights behind that front door, where what the model is told
    /// depends on them.
    #[doc(hidden)]
    fn spec_for(&self, host: &Host, rights: &ToolSet) -> Option<ToolSpec> {
        let (_, _) = (host, rights);
        None
    }

    /// How long a call with these arguments may take, where `usual` is what others may. Time spent
    /// asking for approval does not count.
    fn time_limit(&self, arguments: &Value, usual: Duration) -> Duration {
        let _ = arguments;
        usual
    }

    /// Why somebody must approve a call with these arguments before it begins; `None` if nobody must, as
    /// far as the tool knows. Calls of the built-in tools are judged by what they do.
    fn asks(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Finds out what a call would change and show, without doing it; it is asked before every call is
    /// judged. `None` if there is nothing to find out.
    fn foresee<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> Option<ForesightFuture<'a>> {
        let (_, _) = (arguments, context);
        None
    }

    /// Does what the arguments ask for. Dropping the future, or the context's token, stops it.
    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a>;
}

/// A call under way.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

/// What a call would do is being found out.
pub type ForesightFuture<'a> = Pin<Box<dyn Future<Output = Foresight> + Send + 'a>>;

/// What a call may touch.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// Where it works.
    pub workspace: Arc<Workspace>,
    /// Tells it to stop.
    pub cancel: CancellationToken,
    /// Where it keeps what is too long to be shown.
    pub artifacts: Arc<Artifacts>,
    /// Which files it may have.
    pub files: FileGuard,
    /// What the agent knows of files.
    pub seen: SeenFiles,
    /// What the call does to files.
    pub changes: ChangeSink,
    /// What its answer consists of.
    pub answer_form: AnswerForm,
    /// What was found out about the call before it was judged: a call that changes files changes no
    /// others than these.
    pub foresight: Arc<Foresight>,
    /// Shows what the call puts out while it goes on.
    pub output: OutputSink,
    /// How long a call may take unless it says otherwise.
    pub usual_time_limit: Duration,
    /// The processes of the run.
    pub processes: Arc<Processes>,
    /// Starts agents below the run; `None` where there are none to start.
    pub delegate: Option<Delegate>,
    /// The run that makes the call, for MCP servers that ask something of it.
    pub caller: Option<Arc<Caller>>,
}

impl ToolContext {
    /// The context of a run's calls, which nobody watches and from which nobody delegates.
    pub fn new(
        workspace: impl Into<Arc<Workspace>>,
        artifacts: impl Into<Arc<Artifacts>>,
        files: FileGuard,
    ) -> Self {
        let (workspace, artifacts) = (workspace.into(), artifacts.into());
        let root = workspace.root().to_owned();
        Self {
            processes: Arc::new(Processes::new(Arc::default(), root, Arc::clone(&artifacts))),
            usual_time_limit: Patience::default().tool,
            workspace,
            cancel: CancellationToken::new(),
            artifacts,
            files,
            seen: SeenFiles::default(),
            changes: ChangeSink::default(),
            answer_form: AnswerForm::default(),
            foresight: Arc::default(),
            output: OutputSink::default(),
            delegate: None,
            caller: None,
        }
    }
}

/// What a tool's answer consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerForm {
    /// Text for a language model.
    #[default]
    Text,
    /// Also the same as values, for a model that is a program.
    TextAndData,
}

/// What a call answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Images for the model to see.
    pub images: Vec<Image>,
    /// Files that hold more of the answer.
    pub artifacts: Vec<PathBuf>,
    /// The answer as values, where they were asked for; it never reaches a provider.
    pub data: Option<Arc<Value>>,
    /// The background agents whose results are in the answer.
    pub delivers: Vec<RunId>,
}

impl ToolOutput {
    /// An answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
            images: Vec::new(),
            artifacts: Vec::new(),
            data: None,
            delivers: Vec::new(),
        }
    }

    /// The same answer, with what else the reader must know in brackets at its end.
    pub(crate) fn with_remarks(mut self, remarks: &[String]) -> Self {
        if !remarks.is_empty() {
            self.text = format!("{}\n[{}]", self.text, remarks.join("; "));
        }
        self
    }

    /// The same answer with its findings, where they are wanted.
    pub(crate) fn with_findings(
        mut self,
        answer_form: AnswerForm,
        findings: impl FnOnce() -> Findings,
    ) -> Self {
        if answer_form == AnswerForm::TextAndData {
            self.data = findings().bounded().map(Arc::new);
        }
        self
    }

    /// A failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

impl From<PathError> for ToolOutput {
    fn from(error: PathError) -> Self {
        Self::error(error.to_string())
    }
}
