//! Types that the items of the [`prelude`](crate::prelude) take, hold or return, and that few programs name.

#[doc(inline)]
pub use attache_kernel::{
    agent::registry::Inventory,
    id::SessionId,
    model::choice::AskedBy,
    rights::filter::ToolSet,
    run::{
        ModelRequest,
        assignment::Assignment,
        event::observed::Detail,
        letter::Letter,
        limits::ExplicitLimits,
        message::{Image, Message, ToolResult},
        transcript::{Entry, Header, Line},
    },
};

pub use crate::{
    approvals::{Field, FieldKind, Form, FormAnswer, FormFuture},
    events::TreeEvents,
    executor::Patience,
    host::{Agent, EarlierRun, InputText, ModelPolicy, Subject, TrustFor},
    mcp_client::{EntryOrigin, ServerEntry, Transport, oauth::LoginWish},
    model::{
        provider::{ApiKey, InTheClear, ProviderDescription},
        wire::WireApi,
    },
    process::{CommandEnvironment, CommandSandbox, CommandSetup, Processes},
    sandbox::{Helper, Mode, Policy as SandboxPolicy, ResourceLimits, Sandbox},
    store::{
        Durability, Held, JournalWriter, Mail, MailKind, Mailbox, Options, Posted, ResumeClaim,
        RunState, Secrets, SessionSpending, StoreFuture, Summary, Transcript,
    },
    tasks::{Child, DelegateError, FailedChild, InboxError, RuntimeDropped},
    tool::{
        AnswerForm, Caller, ChangeSink, FileGuard, Foresight, ForesightFuture, SeenFiles,
        artifacts::Artifacts,
        output::OutputSink,
        workspace::{Location, PathError, Workspace},
    },
};
