//! `replay:FILE`: a model that answers as a recorded one did.
//!
//! Invariant: it answers only the agents that were recorded, and only a conversation that is, message by
//! message, the recorded one of that moment. Only the instructions may differ, which hold the date and the
//! directory, and in what a run is told the times and the ids of runs. Where a run departs from its
//! recording the call fails for good, and says where.

mod departure;
mod family;

use std::{fs, future, path::Path, sync::Arc};

use attache_kernel::{
    id::{AgentName, RunId},
    run::{
        ModelFailure, Reply,
        conversation::Conversation,
        event::Event,
        message::{AssistantPart, Message},
        transcript::{FoldError, Header, Line, LineError, Replay},
    },
};

use self::departure::departure;
use super::{Chunk, Chunks, Model, ModelCall, ModelFuture};

/// A model that answers from a transcript.
#[derive(Debug, Clone)]
pub struct ReplayModel {
    name: String,
    /// The run that was recorded, then the runs that it started.
    runs: Vec<RecordedRun>,
}

/// A run that was recorded.
#[derive(Debug, Clone)]
struct RecordedRun {
    id: RunId,
    agent: AgentName,
    recording: Recorded,
}

/// The model calls of a recording.
#[derive(Debug, Clone, Default)]
struct Recorded {
    /// The conversation, once for each time that it was cut down.
    conversations: Vec<Conversation>,
    moments: Vec<Moment>,
}

/// A model call of the recording.
#[derive(Debug, Clone)]
struct Moment {
    /// Which conversation the model was given, and how many messages of it.
    conversation: usize,
    messages: usize,
    /// How often the model had been heard in it.
    heard: usize,
    /// What it answered; none if the recording has no answer.
    reply: Option<Reply>,
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error("cannot read the recording {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A line is not a line of a transcript.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        reason: LineError,
    },
    /// An event does not follow on those before it.
    #[error("{path}, line {line}: {reason}")]
    Fold {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        reason: FoldError,
    },
    /// No model was called in it.
    #[error("{path} holds no answer of a model")]
    NoReply {
        /// The file.
        path: String,
    },
}

impl ReplayError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => {
                "give the path of a transcript; `attache transcript last --json` names the last one"
            }
            Self::Line { .. } | Self::Fold { .. } => {
                "the file is not a whole transcript: record the run again"
            }
            Self::NoReply { .. } => "give the transcript of a run that called a model",
        }
    }
}

impl ReplayModel {
    /// Reads a recording, and those of the agents that its run started, which lie beside it. This reads
    /// from disk: call it where blocking is allowed.
    pub fn load(path: &Path) -> Result<Self, ReplayError> {
        let run = RecordedRun::load(path)?;
        let started = family::started_by(&run.id, path);
        // A run that was started and got no answer has nothing to replay.
        let started = started.iter().filter_map(|path| RecordedRun::load(path).ok());
        let runs = std::iter::once(run).chain(started).collect();
        Ok(Self { name: path.display().to_string(), runs })
    }

    /// The recorded answer to a call.
    fn answer(&self, call: &ModelCall<'_>) -> Result<Reply, String> {
        let asks = call.run.map(|run| &run.definition.agent_type);
        let is_asked = |run: &&RecordedRun| asks.is_none_or(|asks| asks.key() == run.agent.key());
        let mut departs = None;
        for run in self.runs.iter().filter(is_asked) {
            match run.answer(call.request.messages.messages()) {
                Ok(reply) => return Ok(reply),
                Err((agreed, problem)) => {
                    if departs.as_ref().is_none_or(|(best, _)| agreed > *best) {
                        departs = Some((agreed, problem));
                    }
                }
            }
        }
        Err(match (departs, asks, self.runs.first()) {
            (Some((_, problem)), ..) => problem,
            (None, Some(asks), Some(run)) => {
                format!("it is a recording of `{}`, not of `{asks}`", run.agent)
            }
            (None, ..) => "it holds no run".to_owned(),
        })
    }
}

impl RecordedRun {
    fn load(path: &Path) -> Result<Self, ReplayError> {
        let name = path.display().to_string();
        match fs::read(path) {
            Ok(bytes) => Self::parse(&name, &String::from_utf8_lossy(&bytes)),
            Err(error) => Err(ReplayError::Unreadable {
                reason: crate::tool::workspace::reason(&error),
                path: name,
            }),
        }
    }

    fn parse(name: &str, text: &str) -> Result<Self, ReplayError> {
        let path = || name.to_owned();
        let mut recording: Option<Recording> = None;
        // The incomplete last line of a killed process is not part of the recording.
        let whole = text.rfind('\n').and_then(|end| text.get(..end)).unwrap_or(text);
        for (number, text) in (1..).zip(whole.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let misfit = |reason| ReplayError::Fold { path: path(), line: number, reason };
            let line = Line::parse(text);
            let line =
                line.map_err(|reason| ReplayError::Line { path: path(), line: number, reason })?;
            match (line, &mut recording) {
                (Line::Header(header), None) => {
                    recording = Some(Recording::new(*header).map_err(misfit)?);
                }
                (Line::Header(_), Some(known)) => {
                    let after = known.replay.last_seq().unwrap_or_default();
                    return Err(misfit(FoldError::SecondHeader(after)));
                }
                (Line::Event(_), None) => return Err(misfit(FoldError::NoHeader)),
                (Line::Event(entry), Some(known)) => {
                    known.before(&entry.event);
                    known.replay.take_in(&entry).map_err(misfit)?;
                    known.after(entry.event);
                }
            }
        }
        let Some(recording) = recording else {
            return Err(ReplayError::NoReply { path: path() });
        };
        let assignment = recording.replay.run().assignment();
        let (id, agent) = (assignment.agent_id.clone(), assignment.definition.agent_type.clone());
        let recording = recording.finish();
        if recording.replies() == 0 {
            return Err(ReplayError::NoReply { path: path() });
        }
        Ok(Self { id, agent, recording })
    }

    /// The recorded answer to a conversation, or the number of messages that agree and what is wrong.
    fn answer(&self, given: &[Arc<Message>]) -> Result<Reply, (usize, String)> {
        let turn = heard(given);
        // Several moments may be as far along: what was told, cut away or asked again between them tells
        // them apart. The one that agrees longest is the one a departure is named against.
        let mut nearest: Option<(usize, String)> = None;
        let mut is_unanswered = false;
        for moment in self.recording.moments.iter().filter(|moment| moment.heard == turn) {
            match (departure(self.recording.given_at(moment), given), &moment.reply) {
                (None, Some(reply)) => return Ok(reply.clone()),
                (None, None) => is_unanswered = true,
                (Some((at, message)), _) if nearest.as_ref().is_none_or(|(best, _)| at > *best) => {
                    nearest = Some((at, message));
                }
                (Some(_), _) => {}
            }
        }
        Err(match nearest {
            _ if is_unanswered => {
                (given.len(), "the recorded model gave no answer here".to_owned())
            }
            Some(nearest) => nearest,
            None => {
                let replies = self.recording.replies();
                let call = turn + 1;
                let problem = format!(
                    "the recording has no further reply: it holds {replies}, this is call {call}"
                );
                (0, problem)
            }
        })
    }
}

impl Recorded {
    /// What the model was given at a moment.
    fn given_at(&self, moment: &Moment) -> &[Arc<Message>] {
        let conversation = self.conversations.get(moment.conversation);
        let messages = conversation.map(Conversation::messages).unwrap_or_default();
        messages.get(..moment.messages).unwrap_or(messages)
    }

    fn replies(&self) -> usize {
        self.moments.iter().filter(|moment| moment.reply.is_some()).count()
    }
}

/// How often a model is heard in a conversation.
fn heard(messages: &[Arc<Message>]) -> usize {
    messages.iter().filter(|message| matches!(***message, Message::Assistant { .. })).count()
}

impl Model for ReplayModel {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        let answer = self.answer(&call);
        if let Ok(reply) = &answer {
            for chunk in pieces(reply) {
                chunks(chunk);
            }
        }
        let answer = answer.map_err(|problem| {
            let name = &self.name;
            let message = format!("the run departs from the recording {name}: {problem}");
            ModelFailure::Fatal { message }
        });
        Box::pin(future::ready(answer))
    }
}

fn pieces(reply: &Reply) -> impl Iterator<Item = Chunk> {
    reply.content.iter().filter_map(|part| match part {
        AssistantPart::Text { text, .. } if !text.is_empty() => Some(Chunk::Text(text.clone())),
        AssistantPart::Thinking { text, .. } if !text.is_empty() => {
            Some(Chunk::Thought(text.clone()))
        }
        AssistantPart::Text { .. }
        | AssistantPart::Thinking { .. }
        | AssistantPart::ToolCall { .. } => None,
    })
}

/// A recording being read.
struct Recording {
    replay: Replay,
    recorded: Recorded,
}

impl Recording {
    fn new(header: Header) -> Result<Self, FoldError> {
        Ok(Self { replay: Replay::new(header)?, recorded: Recorded::default() })
    }

    /// Notes what the model is given, and keeps a conversation that is about to be cut down.
    fn before(&mut self, event: &Event) {
        match event {
            Event::Replied { .. } => self.call(),
            Event::Compacted { .. } => {
                self.recorded.conversations.push(self.replay.run().conversation().clone());
            }
            _ => {}
        }
    }

    fn after(&mut self, event: Event) {
        match event {
            Event::TurnStarted { .. } => self.call(),
            Event::Replied { message, stop, usage, cost_usd, .. } => {
                if let Message::Assistant { content } = message.as_ref()
                    && let Some(moment) = self.recorded.moments.last_mut()
                {
                    let content = content.clone();
                    moment.reply = Some(Reply { content, stop, usage, cost_usd });
                }
            }
            _ => {}
        }
    }

    /// The model is called with the conversation as it stands, for the first time or once more.
    fn call(&mut self) {
        let conversation = self.recorded.conversations.len();
        let given = self.replay.run().conversation();
        let known = self.recorded.moments.last().is_some_and(|last| {
            last.reply.is_none()
                && (last.conversation, last.messages) == (conversation, given.len())
        });
        if !known {
            let (messages, heard) = (given.len(), heard(given.messages()));
            self.recorded.moments.push(Moment { conversation, messages, heard, reply: None });
        }
    }

    fn finish(mut self) -> Recorded {
        self.recorded.conversations.push(self.replay.run().conversation().clone());
        self.recorded
    }
}
