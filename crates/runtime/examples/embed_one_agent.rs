//! Embeds one agent: from a definition and a task to a result.
//!
//! `cargo run -p attache-runtime --example embed_one_agent`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache_runtime::prelude::*;
use attache_testkit::house_model::HouseModel;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("notes.txt"), "The answer is 42.\n")?;
    let runtime = Runtime::builder(folder.path())
        .agents_json(
            r#"{"reader": {"description": "Reads notes.", "prompt": "You read notes.", "tools": ["Read"]}}"#,
        )
        .model("house-model", HouseModel)
        .build()?;

    let order = Order {
        model: Some("house-model".into()),
        ..Order::new("reader", "What is in notes.txt?")
    };
    let prepared = runtime.prepare(order).await?;
    for notice in &prepared.notices {
        println!("notice: {notice}");
    }
    let handle = runtime.start(prepared).await?;

    // Events are there for everyone who reads them, now or later.
    let mut events = handle.events(1);
    while let Some(event) = events.next().await {
        if let Event::ToolStarted { tool_name, .. } = &event.event {
            println!("{} calls {tool_name}", event.run.definition.agent_type);
        }
    }
    let result = handle.result().await?;
    println!("{}: {}", result.status.as_str(), result.result);
    assert_eq!(result.status, Status::Goal);
    assert!(result.result.contains("The answer is 42."));
    Ok(())
}
