//! `stream-json`: one event a line as it happens, the result last.

use std::io::{self, Write as _};

use attache_kernel::run::outcome::RunResult;
use attache_runtime::events::Events;
use serde::Serialize;
use serde_json::{Value, json};

use super::settle;
use crate::failure::Failure;

/// Prints every event until the last.
pub(crate) async fn print(mut events: Events) {
    while let Some(event) = events.next().await {
        let written = event.activity().map_or(Ok(()), |activity| line("event", &activity));
        if written.is_err() {
            // Nobody reads any more; the run itself goes on.
            return;
        }
    }
}

/// Prints the result, the last line.
pub(crate) fn result(result: &RunResult) -> Result<(), Failure> {
    settle(line("result", result))
}

/// The type first, the fields beside it.
fn line(kind: &str, value: &impl Serialize) -> io::Result<()> {
    let mut object = json!({ "type": kind });
    if let (Value::Object(all), Value::Object(fields)) = (&mut object, serde_json::to_value(value)?)
    {
        all.extend(fields);
    }
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, &object)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}
