//! Runs as resources: a host fetches a result, or a transcript, again.
//!
//! `attache://runs/ID` is the result as JSON, `attache://runs/ID/transcript` the transcript as JSON Lines. A
//! client reads what it may reach, and is shown the newest of it.

use attache_kernel::run::assignment::SessionSource;
use attache_runtime::internal::{
    delegation::Desk,
    store::{Store, Summary},
    tasks::{ClientReach, RecordedRun},
};
use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};

use super::Session;

/// What every address begins with.
const RUNS: &str = "attache://runs/";
/// What the address of a transcript ends with.
const TRANSCRIPT: &str = "/transcript";
/// The maximum number of runs that are listed, and of bytes in a transcript that is sent.
const MOST_LISTED: usize = 100;
const LONGEST: u64 = 8 << 20;

/// The address of a run's result.
pub(super) fn address(id: &str) -> String {
    format!("{RUNS}{id}")
}

/// The runs that a client may reach, newest first.
pub(super) async fn list(session: &Session, store: &dyn Store) -> Vec<Resource> {
    let runs = store.list().await.unwrap_or_default();
    let reached = runs.iter().filter(|run| match session.reach {
        ClientReach::Session => run.session_id == session.id,
        ClientReach::AllClients => run.session_id == session.id || run.source == SessionSource::Mcp,
    });
    reached.take(MOST_LISTED).flat_map(both).collect()
}

/// The result and the transcript of a run.
fn both(run: &Summary) -> [Resource; 2] {
    let (id, name) = (&run.agent_id, &run.agent_type);
    let described = format!("{}: {}", run.state.as_str(), run.description);
    [
        Resource::new(address(id.as_str()), format!("{name} {id}"))
            .with_title(format!("Result of {name}"))
            .with_description(described.clone())
            .with_mime_type("application/json"),
        Resource::new(format!("{RUNS}{id}{TRANSCRIPT}"), format!("{name} {id} transcript"))
            .with_title(format!("Transcript of {name}"))
            .with_description(described)
            .with_mime_type("application/x-ndjson"),
    ]
}

/// How the addresses are made.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{RUNS}{{agent_id}}"), "result")
            .with_description("The result of a run, as JSON")
            .with_mime_type("application/json"),
        ResourceTemplate::new(format!("{RUNS}{{agent_id}}{TRANSCRIPT}"), "transcript")
            .with_description("The transcript of a run, as JSON Lines")
            .with_mime_type("application/x-ndjson"),
    ]
}

/// The run of an address, and whether it is that of its transcript.
pub(super) fn named(uri: &str) -> Option<(&str, bool)> {
    let id = uri.strip_prefix(RUNS)?;
    Some(id.strip_suffix(TRANSCRIPT).map_or((id, false), |id| (id, true)))
}

/// A resource.
pub(super) async fn read(
    uri: &str,
    desk: &Desk,
    store: &dyn Store,
) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let message = format!("there is no resource {uri}; a run is {RUNS}ID");
        ErrorData::resource_not_found(message, None)
    };
    let failed = |message: String| ErrorData::internal_error(message, None);
    let (id, is_transcript) = named(uri).ok_or_else(unknown)?;
    let transcript = desk.transcript(id).await.ok_or_else(unknown)?;
    let (text, kind) = if is_transcript {
        let path = transcript.path;
        if tokio::fs::metadata(&path).await.is_ok_and(|file| file.len() > LONGEST) {
            return Err(failed(format!("the transcript is longer than {} MB", LONGEST >> 20)));
        }
        let text = tokio::fs::read_to_string(&path).await;
        (text.map_err(|error| failed(error.to_string()))?, "application/x-ndjson")
    } else {
        let id = transcript.header.run.agent_id;
        let run = RecordedRun::read(id.as_str(), store).await;
        let run = run.map_err(|error| failed(error.to_string()))?;
        let text = serde_json::to_string_pretty(&run.result);
        (text.map_err(|error| failed(error.to_string()))?, "application/json")
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(kind);
    Ok(ReadResourceResult::new(vec![contents]))
}
