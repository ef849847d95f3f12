//! The door for the crates of this program: `attache`, `attache-offline`, the tests and the benchmarks.
//!
//! It is not part of the library: it changes without notice, and other programs use the
//! [`prelude`](crate::prelude). Only what one of those crates uses is listed, under the name of its module.

pub mod agents {
    pub mod discovery {
        pub use crate::agents::discovery::{
            Discovery, DiscoveryMode, Found, NamedFile, Places, content_hash, list_path, read_paths,
        };

        pub mod watch {
            pub use crate::agents::discovery::watch::Watch;
        }
    }

    pub mod used {
        pub use crate::agents::used::UsedAgents;
    }

    pub mod trust {
        pub use crate::agents::trust::{
            ContentHash, TrustError, TrustStore, TrustedFile, resolved_base_dir,
        };
    }
}

pub mod approvals {
    pub use crate::approvals::{
        ApprovalAnswer, ApprovalFuture, Approvals, ApproveAll, Approver, Field, Form, FormAnswer,
        FormFuture, Question,
    };
}

pub mod bridge {
    pub use crate::bridge::{BridgeError, Greeted, Instances};
}

pub mod changes {
    pub mod line_diff {
        pub use crate::changes::line_diff::LineDiff;
    }

    pub mod place {
        pub use crate::changes::place::below_repository;
    }

    pub mod reversal {
        pub use crate::changes::reversal::reversed;
    }

    pub mod run_patch {
        pub use crate::changes::run_patch::{Direction, RunPatch};
    }

    pub mod versions {
        pub use crate::changes::versions::read;
    }
}

pub mod clock {
    pub use crate::clock::now;
}

pub mod delegation {
    pub use crate::delegation::Desk;
}

pub mod events {
    pub use crate::events::{EventLog, Events, TreeEvents};
}

pub mod executor {
    pub use crate::executor::{Execution, Patience, drive};
}

pub mod host {
    pub use crate::host::{
        Asker, ConnectError, Host, InputText, Inputs, Leave, McpOffer, ModelPolicy, Models, Offer,
        Order, OrderError, ParentModel, Prepared, Providers, Subject, Switchboard, TrustFor,
        Workplace, appraise, not_sent,
    };
}

pub mod mcp_client {
    pub use crate::mcp_client::{
        EntryError, EntryOrigin, McpServers, McpSetup, NoLogin, ServerEntry, ServerReport,
        ServerState, Transport, Variables, check_type,
    };

    pub mod oauth {
        pub use crate::mcp_client::oauth::{
            Begun, Login, LoginError, LoginWish, Logins, Revocation, begin, log_out,
        };
    }
}

pub mod model {
    pub use crate::model::{Chunk, Chunks, Model, ModelCall, ModelFuture};

    pub mod credentials {
        pub use crate::model::credentials::{
            Credentials, CredentialsError, KeyLookup, StoredKey, WebOrigin,
        };
    }

    pub mod http {
        pub use crate::model::http::{HttpClient, Proxies};
    }

    pub mod provider {
        pub use crate::model::provider::{ApiKey, InTheClear, Provider, ProviderDescription};

        pub mod builtin {
            pub use crate::model::provider::builtin::{described, key_variables};
        }
    }

    pub mod remote {
        pub use crate::model::remote::RemoteModel;
    }

    pub mod replay {
        pub use crate::model::replay::{ReplayError, ReplayModel};
    }

    pub mod wire {
        pub use crate::model::wire::{Traits, WireApi};
    }
}

pub mod process {
    pub use crate::process::{
        CommandEnvironment, CommandSandbox, CommandSetup, LeftoverDirectory, Processes, leftovers,
    };
}

pub mod runtime {
    pub use crate::runtime::Runtime;
}

pub mod sandbox {
    pub use crate::sandbox::{
        Helper, Level, Mode, Part, Policy, Rehearsal, ResourceLimits, Sandbox, places_of_keys,
        refusal_hint, run_if_helper,
    };
}

pub mod store {
    pub use crate::store::{
        Advance, Durability, FileStore, JournalWriter, Mail, MailKind, Options, Posted, RunState,
        Secrets, Store, StoreError, StoreFuture, Summary, Transcript,
    };

    pub mod files {
        pub use crate::store::files::{Cleaned, FileWriter, Follower, RunSpending, TurnSpending};
    }
}

pub mod tasks {
    pub use crate::tasks::{
        Client, ClientReach, DetachedOrder, DetachedSubject, FailedChild, FileStates, LaunchFuture,
        Launcher, Links, RecordedError, RecordedRun, RulesWatch, RunHandle, Runs, RuntimeDropped,
        Start, StartError, TreeBudgetStart, TreeLimits, new_run_id, new_session_id,
    };
}

pub mod telemetry {
    pub use crate::telemetry::{
        CONTENT, Protocol, RunsOf, SpanLayer, Telemetry, TelemetrySetup, TraceParent, telemetry,
    };
}

pub mod tool {
    pub use crate::tool::{
        AnswerForm, Concurrency, FileGuard, Foresight, ForesightFuture, HiddenPlaces,
        Repeatability, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    };

    pub mod artifacts {
        pub use crate::tool::artifacts::{Artifacts, Bound};
    }

    pub mod catalogue {
        pub use crate::tool::catalogue::builtin_tools;
    }

    pub mod findings {
        pub use crate::tool::findings::{Findings, FoundFile};
    }

    pub mod web_fetch {
        pub use crate::tool::web_fetch::{WebAccess, WebFetch};
    }

    pub mod web_search {
        pub use crate::tool::web_search::{
            NO_PROVIDER, SearchKey, SearchProvider, SearchSetup, SearchSetupError, WebSearch,
        };
    }

    pub mod wording {
        pub use crate::tool::wording::grouped;
    }

    pub mod workspace {
        pub use crate::tool::workspace::{Kind, Location, PathError, Workspace};
    }
}

pub mod worktree {
    pub use crate::worktree::{WorktreeError, Worktrees};
}
