//! A model turn: calls the model, shows what arrives, and knows when to stop waiting.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use attache_kernel::{
    model::usage::Usage,
    run::{ModelFailure, ModelRequest, Reply, Stage},
};

use tracing::{Instrument as _, Span};

use super::{Driver, Interruption, recorder::Piece, spans, tool_turn::can_foresee};
use crate::{
    model::{Chunk, ModelCall},
    store::{Secrets, StoreError},
    tasks::LastLook,
};

/// What waiting for a model came to.
enum Waited {
    Answered(Result<Reply, ModelFailure>),
    Stalled,
    Interrupted(Interruption),
}

/// What arrived of an answer.
#[derive(Default)]
struct Heard {
    /// The text.
    partial: String,
    /// What the provider has counted of it, and what that cost.
    counted: Option<(Usage, Option<f64>)>,
}

impl Waited {
    /// Tells the span of a turn how it ended.
    fn tell(&self, span: &Span, secrets: &Secrets) {
        match self {
            Self::Answered(Ok(reply)) => spans::replied(span, reply, secrets),
            Self::Answered(Err(failure)) => spans::failed(span, failure),
            Self::Stalled => drop(span.record("error", "stalled")),
            Self::Interrupted(_) => {}
        }
    }
}

impl Driver {
    pub(super) async fn model_turn(&mut self, request: ModelRequest) -> Result<(), StoreError> {
        // A timer rounds up to its next tick: what is due is not slept for.
        if request.not_before > self.now() {
            let due = self.moment(request.not_before);
            tokio::select! {
                biased;
                interruption = self.interruption() => return self.interrupted(interruption).await,
                () = tokio::time::sleep_until(due) => {}
            }
        }
        if !self.is_paid_for().await? {
            return Ok(());
        }
        let span = spans::turn(request.attempt);
        let (waited, heard) = self.call_model(&request).instrument(span.clone()).await;
        waited.tell(&span, self.recorder.secrets());
        // The conversation grows in place once nobody else holds it.
        drop(request);
        let taken_in = self.take_in(waited, heard).await;
        self.share.settle(self.run.expected().request);
        taken_in
    }

    /// Takes in what waiting for a model came to.
    async fn take_in(&mut self, waited: Waited, heard: Heard) -> Result<(), StoreError> {
        let Heard { partial, counted } = heard;
        let answered = matches!(waited, Waited::Answered(Ok(_)));
        if let Some((usage, cost_usd)) = counted.filter(|_| !answered) {
            self.feed(|run, now| run.lost_answer_counted(usage, cost_usd, now)).await?;
        }
        match waited {
            Waited::Answered(Ok(reply)) => self.replied(reply).await,
            Waited::Answered(Err(failure)) => self.failed(&partial, failure).await,
            Waited::Stalled => {
                let seconds = self.patience.stall.as_secs_f64();
                let message = format!("the model sent nothing for {seconds} s");
                let stage = Stage::Stream;
                let failure = ModelFailure::Transient { message, stage, retry_after: None };
                self.failed(&partial, failure).await
            }
            Waited::Interrupted(interruption) => {
                if !partial.trim().is_empty() {
                    self.feed(|run, now| run.reply_cut_off(&partial, now)).await?;
                }
                self.interrupted(interruption).await
            }
        }
    }

    /// Takes in a reply. What it asks for begins in the same breath, and is written down with it; a call
    /// about which something can be found out first has to wait for that.
    async fn replied(&mut self, reply: Reply) -> Result<(), StoreError> {
        let (tools, context) = (Arc::clone(&self.tools), self.context.clone());
        let would_end = self.run.would_end_with(&reply);
        let last_look = if would_end { self.last_look().await } else { LastLook::Nothing(None) };
        let (letters, hold) = match last_look {
            LastLook::Letters(letters) => (letters, None),
            LastLook::Nothing(hold) => (Vec::new(), hold),
        };
        self.feed_unwritten(|run, now| {
            let mut events = run.model_replied_amid(reply, &letters, now);
            if !can_foresee(run, &tools, &context) {
                events.extend(run.begin_calls(now));
            }
            events
        });
        let put_off = letters.is_empty() && hold.is_none() && self.can_put_off_writing();
        if !put_off {
            self.recorder.write(&self.run).await?;
        }
        drop(hold);
        if !self.run.has_ended()
            && let Some(letters) = &self.links.letters
        {
            letters.reopen();
        }
        self.delivered(&letters).await;
        Ok(())
    }

    async fn failed(&mut self, heard: &str, failure: ModelFailure) -> Result<(), StoreError> {
        self.feed(|run, now| run.model_broke_off(heard, failure, random(), now)).await
    }

    /// Calls the model; with what arrived, should the reply never be whole.
    async fn call_model(&mut self, request: &ModelRequest) -> (Waited, Heard) {
        let interruption = self.interruption();
        let began = self.began;
        let stall = self.patience.stall;
        let heard = AtomicU64::new(milliseconds(began.elapsed()));
        let mut so_far = Heard::default();
        let Self { run, recorder, model, .. } = self;
        let run = &*run;
        let mut chunks = |chunk: Chunk| {
            heard.store(milliseconds(began.elapsed()), Ordering::Relaxed);
            match chunk {
                Chunk::Alive => {}
                Chunk::Counted { usage, cost_usd } => so_far.counted = Some((usage, cost_usd)),
                Chunk::Text(text) => {
                    so_far.partial.push_str(&text);
                    recorder.show(run, Piece::Text, text);
                }
                Chunk::Thought(text) => recorder.show(run, Piece::Thought, text),
            }
        };
        let call = ModelCall::of_run(request, run.assignment());
        let silence = async {
            loop {
                let last = Duration::from_millis(heard.load(Ordering::Relaxed));
                let limit = began + last + stall;
                if tokio::time::Instant::now() >= limit {
                    return;
                }
                tokio::time::sleep_until(limit).await;
            }
        };
        let waited = tokio::select! {
            biased;
            interruption = interruption => Waited::Interrupted(interruption),
            answer = model.call(call, &mut chunks) => Waited::Answered(answer),
            () = silence => Waited::Stalled,
        };
        (waited, so_far)
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A number from 0 to 1 that no two processes share, to spread their retries.
fn random() -> f64 {
    let bits = RandomState::new().hash_one(()) >> 32;
    f64::from(u32::try_from(bits).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}
