//! `stream-json`: one event a line as it happens, the result last.
//!
//! Events wait here for a reader that is slow; the run does not.

use std::io;

use attache_kernel::run::outcome::RunResult;
use attache_runtime::internal::events::TreeEvents;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Reader, harmless, printer::Printer};

/// Prints every event until the last.
pub(crate) async fn print(mut events: TreeEvents, printer: &Printer) {
    while let Some(event) = events.next().await {
        let Some(activity) = event.activity() else { continue };
        let Ok(line) = line("event", &activity) else { continue };
        if printer.result(line).await == Reader::Gone {
            // The reader is gone; the run continues.
            return;
        }
    }
}

/// The result, the last line.
pub(crate) fn result(result: &RunResult) -> io::Result<String> {
    line("result", result)
}

/// The type first, the fields beside it.
fn line(kind: &str, value: &impl Serialize) -> io::Result<String> {
    let mut object = json!({ "type": kind });
    if let (Value::Object(all), Value::Object(fields)) = (&mut object, serde_json::to_value(value)?)
    {
        all.extend(fields);
    }
    Ok(format!("{}\n", harmless(&serde_json::to_string(&object)?)))
}
