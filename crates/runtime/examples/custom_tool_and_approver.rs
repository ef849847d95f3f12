//! A tool of one's own that must be approved, and somebody who is asked.
//!
//! `cargo run -p attache-runtime --example custom_tool_and_approver`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use attache_runtime::prelude::*;
use attache_testkit::house_model::HouseModel;
use serde_json::{Value, json};

/// Sends a file to the printer: not to be done twice, and not without asking.
#[derive(Debug)]
struct PrintFile {
    spec: ToolSpec,
    printed: Arc<AtomicU32>,
}

impl PrintFile {
    fn new(printed: Arc<AtomicU32>) -> Self {
        let spec = ToolSpec {
            name: ToolName::Host("print_file".to_owned()),
            description: "Prints a file of the workspace on paper.".into(),
            parameters: json!({
                "type": "object",
                "properties": { "path": { "type": "string" } },
                "required": ["path"],
            })
            .into(),
            concurrency: Concurrency::Exclusive,
            repetition: Repeatability::Once,
        };
        Self { spec, printed }
    }
}

impl Tool for PrintFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn asks(&self, arguments: &Value) -> Option<String> {
        Some(format!("printing {} uses paper", arguments.get("path").unwrap_or(&Value::Null)))
    }

    fn call<'a>(&'a self, _: Value, _: &'a ToolContext) -> ToolFuture<'a> {
        self.printed.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { ToolOutput::text("printed 1 page") })
    }
}

/// Approves up to a number of calls, then refuses with words.
#[derive(Debug)]
struct PaperBudget {
    left: AtomicU32,
}

impl Approver for PaperBudget {
    fn ask(&self, question: Question, _: CancellationToken) -> ApprovalFuture<'_> {
        println!("{} asks: {} ({})", question.agent_type, question.tool, question.reason);
        let take = |left: u32| left.checked_sub(1);
        let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        let answer = match taken {
            Ok(_) => ApprovalAnswer::Once,
            Err(_) => ApprovalAnswer::No { words: "there is no paper left".to_owned() },
        };
        Box::pin(async { answer })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let printed = Arc::new(AtomicU32::new(0));
    let runtime = Runtime::builder(folder.path())
        .agents_json(
            r#"{"printer": {"description": "Prints.", "prompt": "You print.", "tools": ["print_file"]}}"#,
        )
        .tool(PrintFile::new(Arc::clone(&printed)))
        .model("house-model", HouseModel)
        .build()?;
    let budget: Arc<dyn Approver> = Arc::new(PaperBudget { left: AtomicU32::new(1) });
    let mut answers = Vec::new();
    for _ in 0..2 {
        let order = Order {
            model: Some("house-model".into()),
            approver: Some(Arc::clone(&budget)),
            ..Order::new("printer", "Print notes.txt")
        };
        let handle = runtime.start(runtime.prepare(order).await?).await?;
        let result = handle.result().await?;
        println!("{}: {}", result.status.as_str(), result.result);
        answers.push(result.result.clone());
    }
    assert_eq!(printed.load(Ordering::SeqCst), 1, "the second call was refused");
    assert!(answers.iter().any(|answer| answer.contains("printed 1 page")));
    assert!(answers.iter().any(|answer| answer.contains("there is no paper left")));
    Ok(())
}
