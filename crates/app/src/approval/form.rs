//! A form at the terminal: what an MCP server wants to know, a line for each value.
//!
//! Invariant: nothing is sent before somebody has said that they want to answer.

use std::io;

use attache_runtime::internal::approvals::{Form, FormAnswer};
use serde_json::Map;

use super::tty::{Pressed, Tty};
use crate::print::palette::{Colours, Tone, paint, rendered};

/// Asks for the values of a form.
pub(super) async fn fill_in(form: &Form, tty: &Tty, colours: Colours) -> io::Result<FormAnswer> {
    let write = async |text: &str| tty.write(&rendered(text, colours)).await;
    write(&opening(form)).await?;
    tty.settle().await?;
    loop {
        match tty.key().await? {
            Pressed::Gone | Pressed::End => return Ok(FormAnswer::Cancelled),
            Pressed::Continued => write(&opening(form)).await?,
            Pressed::Letter('y') => break,
            Pressed::Letter('n') => {
                write("no\n").await?;
                return Ok(FormAnswer::Declined);
            }
            Pressed::Letter(_) => {}
        }
    }
    write("yes\n").await?;
    let mut values = Map::new();
    for field in &form.fields {
        let hint = match field.hint() {
            hint if hint.is_empty() => String::new(),
            hint => format!(" ({hint})"),
        };
        if !field.description.is_empty() {
            write(&format!("  {}\n", paint(Tone::Faint, &field.description))).await?;
        }
        let value = loop {
            write(&format!("  {}{hint}: ", paint(Tone::Strong, &field.title))).await?;
            let Some(typed) = tty.line().await? else { return Ok(FormAnswer::Cancelled) };
            match field.read(&typed) {
                Ok(value) => break value,
                Err(wrong) => write(&format!("  {wrong}\n")).await?,
            }
        };
        if let Some(value) = value {
            values.insert(field.name.clone(), value);
        }
    }
    Ok(FormAnswer::Filled(values))
}

/// Who asks for what.
fn opening(form: &Form) -> String {
    let agent = paint(Tone::Name, form.agent_type.as_str());
    let server = paint(Tone::Strong, &form.server);
    let mut lines = vec![format!("[{agent}] the MCP server {server} asks you:")];
    lines.extend(form.message.lines().map(|line| format!("  {line}")));
    let names: Vec<&str> = form.fields.iter().map(|field| field.title.as_str()).collect();
    lines.push(format!("  {} {}", paint(Tone::Warning, "it gets:"), names.join(", ")));
    format!("{}\n  [y] answer  [n]o: ", lines.join("\n"))
}
