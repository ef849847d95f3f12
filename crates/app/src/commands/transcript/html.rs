//! A tree of runs as one page for a browser: everything is in the file, and nothing is loaded.
//!
//! Invariant: what models, tools and files said is data of the page and never part of its markup or its
//! script. The policy of the page allows its own script and style, by their hashes, and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use attache_kernel::run::{
    event::Event,
    file_change::FileChange,
    message::{AssistantPart, Message, UserPart},
};
use attache_runtime::internal::{
    changes::{line_diff::LineDiff, versions},
    store::Transcript,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::run_tree::{RunTree, clock};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How much of one text is in the page.
const LONGEST: usize = 64 * 1024;

/// What happened in the runs of a session, by run.
#[derive(Debug, Default)]
pub(super) struct Stories {
    runs: BTreeMap<String, (u64, Vec<Item>)>,
}

/// Something that happened in a run.
#[derive(Debug, Serialize)]
struct Item {
    kind: Kind,
    /// From the beginning of its run.
    at_ms: u64,
    title: String,
    text: String,
    ok: bool,
}

/// What an item is; each is drawn in a way of its own.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    System,
    User,
    Text,
    Thinking,
    Call,
    Result,
    Diff,
    Note,
    End,
}

/// The data of a page.
#[derive(Serialize)]
struct Data<'t> {
    tree: &'t RunTree,
    items: BTreeMap<&'t str, &'t [Item]>,
}

impl Stories {
    /// Adds what happened in a run.
    pub(super) fn add(&mut self, transcript: &Transcript, artifacts: Option<&Path>) {
        let begin = clock(&transcript.header.ts);
        let mut items = Vec::new();
        for entry in &transcript.entries {
            let at_ms = clock(&entry.ts).saturating_sub(begin);
            let mut told = Telling { at_ms, artifacts, items: &mut items };
            told.event(&entry.event);
        }
        self.runs.insert(transcript.header.run.agent_id.to_string(), (begin, items));
    }

    /// The page of a tree.
    pub(super) fn page(&self, tree: &RunTree) -> Result<String, serde_json::Error> {
        let shown: BTreeSet<&str> = tree.runs.iter().map(|run| run.agent_id.as_str()).collect();
        let items = self.runs.iter().filter(|(id, _)| shown.contains(id.as_str()));
        let items = items.map(|(id, (_, items))| (id.as_str(), items.as_slice())).collect();
        let data = as_data(&serde_json::to_string(&Data { tree, items })?);
        let title = tree.runs.first().map(|run| run.agent_type.as_str()).unwrap_or_default();
        let title = as_text(&format!("{title} {}", tree.agent_id));
        // The data comes last: what is in it is not looked through for marks.
        let page = PAGE
            .replace("{{script-hash}}", &hash(SCRIPT))
            .replace("{{style-hash}}", &hash(STYLE))
            .replace("{{style}}", STYLE)
            .replace("{{script}}", SCRIPT);
        let (head, rest) = page.split_once("{{title}}").unwrap_or((&page, ""));
        let (body, tail) = rest.split_once("{{data}}").unwrap_or((rest, ""));
        Ok([head, &title, body, &data, tail].concat())
    }
}

/// A hash as a policy names it.
fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// JSON that cannot end the element it stands in.
fn as_data(json: &str) -> String {
    let mut safe = String::with_capacity(json.len() + json.len() / 16);
    for letter in json.chars() {
        match letter {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            other => safe.push(other),
        }
    }
    safe
}

/// A text as markup has it.
fn as_text(text: &str) -> String {
    crate::print::harmless(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// What one entry tells.
struct Telling<'i> {
    at_ms: u64,
    artifacts: Option<&'i Path>,
    items: &'i mut Vec<Item>,
}

impl Telling<'_> {
    fn item(&mut self, kind: Kind, title: impl Into<String>, text: &str, ok: bool) {
        let mut shown: String = text.to_owned();
        if text.len() > LONGEST {
            let end = text.floor_char_boundary(LONGEST);
            shown.truncate(end);
            shown.push_str("\n… cut here; `attache transcript --full` shows all");
        }
        self.items.push(Item { kind, at_ms: self.at_ms, title: title.into(), text: shown, ok });
    }

    fn note(&mut self, title: impl Into<String>, ok: bool) {
        self.item(Kind::Note, title, "", ok);
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Opened { messages, .. } => {
                let system = messages.iter().find(|it| matches!(***it, Message::System { .. }));
                if let Some(Message::System { text }) = system.map(|message| &**message) {
                    self.item(Kind::System, "instructions", text, true);
                }
                let earlier = messages.len().saturating_sub(2);
                if earlier > 0 {
                    self.note(format!("{earlier} messages from before"), true);
                }
                if let Some(task) = messages.last() {
                    self.message("task", task);
                }
            }
            Event::Queued { ahead } => self.note(format!("queued, {ahead} ahead"), true),
            Event::TurnStarted { turn, grace, .. } => {
                let grace = if *grace { ", a last chance" } else { "" };
                self.note(format!("turn {turn}{grace}"), true);
            }
            Event::Replied { message, .. } => self.reply(message),
            Event::ReplyCutOff { text } => self.item(Kind::Text, "cut off", text, false),
            Event::ToolReturned { tool_name, result, changes, .. } => {
                let title = format!("{tool_name} answered");
                self.item(Kind::Result, title, &result.text, !result.is_error);
                for change in changes {
                    self.change(change);
                }
            }
            Event::Reminded { message } | Event::Announced { message, .. } => {
                self.message("told", message);
            }
            Event::Ended { ending } => {
                let ok = ending.error.is_none() && !ending.partial;
                let text = ending.error.as_deref().map_or_else(
                    || ending.result.clone(),
                    |error| format!("{error}\n\n{}", ending.result),
                );
                self.item(Kind::End, format!("ended: {}", ending.status.as_str()), &text, ok);
            }
            other => self.remark(other),
        }
    }

    /// What is told in a line.
    fn remark(&mut self, event: &Event) {
        match event {
            Event::Retrying { attempt, reason, .. } => {
                self.note(format!("attempt {attempt}: {reason}"), false);
            }
            Event::Failed { message, .. } => self.note(message.clone(), false),
            Event::ApprovalRequested { tool_name, reason, preview, .. } => {
                let title = format!("asks to call {tool_name}: {reason}");
                self.item(Kind::Call, title, preview.as_deref().unwrap_or_default(), true);
            }
            Event::ApprovalResolved { decision, reason, .. } => {
                let reason = reason.as_deref().unwrap_or_default();
                self.note(format!("{decision:?} {reason}"), true);
            }
            Event::Compacted(_) => self.note("the conversation was made shorter", true),
            Event::TimeUp { .. } => self.note("the time was up", false),
            Event::TreeBudgetSpent { .. } => self.note("the budget was spent", false),
            Event::Cancelled { .. } => self.note("it was cancelled", false),
            Event::GraceStarted { reason, .. } => {
                self.note(format!("a last chance ({})", reason.as_str()), false);
            }
            Event::SubAgentStart { name, agent_id, description, .. } => {
                self.note(format!("⇢ {name} {agent_id}: {description}"), true);
            }
            Event::SubAgentEnd { name, agent_id, success, .. } => {
                let how = if *success { "is done" } else { "failed" };
                self.note(format!("⇠ {name} {agent_id} {how}"), *success);
            }
            _ => {}
        }
    }

    fn message(&mut self, title: &str, message: &Message) {
        match message {
            Message::System { text } => self.item(Kind::System, title, text, true),
            Message::User { content } => {
                let texts = content.iter().map(|part| match part {
                    UserPart::Text { text } => text.clone(),
                    UserPart::Image { image } => format!("[{}]", image.media_type),
                });
                let text = texts.collect::<Vec<_>>().join("\n");
                self.item(Kind::User, title, &text, true);
            }
            Message::Assistant { .. } => self.reply(message),
            Message::Tool { results } => {
                for result in results {
                    self.item(Kind::Result, title, &result.text, !result.is_error);
                }
            }
        }
    }

    fn reply(&mut self, message: &Message) {
        let Message::Assistant { content } = message else { return };
        for part in content {
            match part {
                AssistantPart::Text { text, .. } if text.trim().is_empty() => {}
                AssistantPart::Text { text, .. } => self.item(Kind::Text, "says", text, true),
                AssistantPart::Thinking { text, .. } => {
                    self.item(Kind::Thinking, "thinks", text, true);
                }
                AssistantPart::ToolCall { call } => {
                    let arguments = match call.arguments() {
                        Ok(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
                        Err(_) => call.written_arguments().to_owned(),
                    };
                    let brief: String = call.written_arguments().chars().take(120).collect();
                    let title = format!("→ {} {brief}", call.name);
                    self.item(Kind::Call, title, &arguments, true);
                }
            }
        }
    }

    /// The difference that a call made to a file.
    fn change(&mut self, change: &FileChange) {
        let read = |version: Option<&attache_kernel::run::file_change::FileVersion>| match version {
            None => Some(String::new()),
            Some(version) => versions::read(self.artifacts?, version.text.as_deref()?).ok(),
        };
        let (before, after) = (read(change.before.as_ref()), read(change.after.as_ref()));
        let text = match (before, after) {
            (Some(before), Some(after)) => LineDiff::between(&before, &after).to_string(),
            _ => String::new(),
        };
        self.item(Kind::Diff, change.path.clone(), &text, true);
    }
}
