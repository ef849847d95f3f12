//! Runs that need more room than their model has.

use std::sync::atomic::AtomicBool;

use attache_kernel::{
    model::usage::Usage,
    run::{
        ModelFailure,
        message::{AssistantPart, Message, ToolResult, UserPart},
    },
};
use attache_testkit::scripted_model::{Turn, fails};

use super::*;

const WINDOW: u64 = 2000;
const STEPS: usize = 24;

/// A model that takes no more than its window, at four bytes a token; it says much, calls a tool in each
/// step, sums up when it is asked to, and is done after its last step.
#[derive(Debug, Default)]
struct Narrow {
    steps: AtomicUsize,
    summaries: AtomicUsize,
    refusals: AtomicUsize,
    other_beginning: AtomicBool,
    beginning: Mutex<Option<Vec<Arc<Message>>>>,
}

impl Narrow {
    fn turn(&self, messages: &[Arc<Message>]) -> Turn {
        let tokens = messages.iter().map(|message| length(message)).sum::<u64>() / 4;
        if tokens > WINDOW {
            self.refusals.fetch_add(1, Ordering::SeqCst);
            return fails(ModelFailure::ContextLength { message: "too many tokens".to_owned() });
        }
        let mut beginning = self.beginning.lock().unwrap();
        let beginning = beginning.get_or_insert_with(|| messages.to_vec());
        if !messages.starts_with(beginning) {
            self.other_beginning.store(true, Ordering::SeqCst);
        }
        let asked = matches!(messages.last().unwrap().as_ref(), Message::User { content }
            if matches!(&content[..], [UserPart::Text { text }] if text.contains("Write a summary")));
        let turn = if asked {
            let number = self.summaries.fetch_add(1, Ordering::SeqCst) + 1;
            says(&format!("summary {number}"))
        } else {
            match self.steps.fetch_add(1, Ordering::SeqCst) {
                step if step < STEPS => says(&format!("step {step}, ").repeat(100))
                    .then_calls("read_file", &json!({ "path": step.to_string() })),
                _ => completes("all steps are done"),
            }
        };
        turn.using(Usage { input_tokens: tokens, output_tokens: 240, ..Usage::default() })
    }
}

fn length(message: &Message) -> u64 {
    let length = match message {
        Message::System { text } => text.len(),
        Message::User { .. } | Message::Tool { .. } => {
            serde_json::to_string(message).unwrap().len()
        }
        Message::Assistant { content } => content
            .iter()
            .map(|part| match part {
                AssistantPart::Text { text, .. } | AssistantPart::Thinking { text, .. } => {
                    text.len()
                }
                AssistantPart::ToolCall { call } => call.written_arguments().len(),
            })
            .sum(),
    };
    u64::try_from(length).unwrap()
}

impl Model for Narrow {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        let turn = self.turn(call.request.messages.messages());
        Box::pin(async move { ScriptedModel::new([turn]).call(call, chunks).await })
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_past_its_window_again_and_again_and_nothing_is_lost_on_disk() {
    for window in [Some(WINDOW), None] {
        let mut world = World::new().with(quick("forty-two"));
        world.definition.run_config.max_turns = 30;
        world.context_window = window;
        let mut watching = world.events.read(1);
        let model = Arc::new(Narrow::default());
        let (run, outcome) = world.run(Arc::clone(&model) as Arc<dyn Model>).await.unwrap();
        assert_eq!(outcome.ending.status, Status::Goal, "{:?}", outcome.ending);
        assert_eq!(outcome.ending.result, "all steps are done");
        assert_eq!((outcome.turns_used, outcome.tool_uses), (25, 24));
        let summaries = model.summaries.load(Ordering::SeqCst);
        assert!(summaries >= 2, "{summaries} summaries");
        assert!(!model.other_beginning.load(Ordering::SeqCst), "the opening stays");
        // Where the window is known, the provider never has to say that it is too small.
        let refusals = model.refusals.load(Ordering::SeqCst);
        assert_eq!(refusals == 0, window.is_some(), "{refusals} refusals");
        assert!(run.conversation().len() < 20);

        let entries = world.entries();
        let mut said = String::new();
        let mut results: Vec<ToolResult> = Vec::new();
        for entry in &entries {
            match &entry.event {
                Event::Replied { message, .. } => {
                    said.push_str(&serde_json::to_string(message).unwrap());
                }
                Event::ToolReturned { result, .. } => results.push(result.clone()),
                _ => {}
            }
        }
        for step in 0..STEPS {
            assert!(said.contains(&format!("step {step}, ").repeat(100)), "step {step}");
        }
        assert_eq!(results.iter().filter(|result| result.text == "forty-two").count(), STEPS);
        let header = Line::Header(Box::new(world.header()));
        let lines = std::iter::once(header).chain(entries.into_iter().map(Line::Event));
        assert_eq!(fold(lines).unwrap(), run);

        let mut told = Vec::new();
        let seen = std::iter::from_fn(|| watching.try_next());
        for event in seen.filter_map(|event| event.activity()) {
            match event.event_type {
                EventType::Compacted => told.push(event.data["kind"].clone()),
                EventType::TextChunk => {
                    let text = event.data["text"].as_str().unwrap();
                    assert!(!text.contains("summary"), "{text}");
                }
                _ => {}
            }
        }
        let summed_up = told.iter().filter(|kind| **kind == json!("summarised")).count();
        assert_eq!(summed_up, summaries, "{told:?}");
    }
}
