//! Fans out over 100 files, ten at a time, and collects typed outputs.
//!
//! `cargo run -p attache-runtime --example fan_out`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache_runtime::prelude::*;
use attache_testkit::house_model::HouseModel;
use serde::Deserialize;

/// What each agent hands back, by its output schema.
#[derive(Debug, Deserialize)]
struct Summary {
    lines: u32,
    summary: String,
}

const AGENT: &str = r#"{"summarizer": {
    "description": "Summarizes a file.",
    "prompt": "You summarize files.",
    "tools": ["Read"],
    "outputConfig": {
        "outputName": "summary",
        "description": "What is in the file.",
        "schema": {
            "type": "object",
            "properties": {"lines": {"type": "integer"}, "summary": {"type": "string"}},
            "required": ["lines", "summary"]
        }
    }
}}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for number in 0..100 {
        std::fs::write(
            folder.path().join(format!("file{number}.txt")),
            format!("number {number}\n"),
        )?;
    }
    let runtime = Runtime::builder(folder.path())
        .agents_json(AGENT)
        .model("house-model", HouseModel)
        .max_concurrent(10)
        .build()?;

    // All are started at once; more than ten wait for a slot.
    let mut handles = Vec::new();
    for number in 0..100 {
        let order = Order {
            model: Some("house-model".into()),
            ..Order::new("summarizer", format!("Summarize file{number}.txt"))
        };
        handles.push(runtime.start(runtime.prepare(order).await?).await?);
    }
    let mut summaries = Vec::new();
    for handle in handles {
        let result = handle.result().await?;
        let output = result.output.clone().ok_or_else(|| format!("{result:?}"))?;
        summaries.push(serde_json::from_value::<Summary>(output)?);
    }
    let lines: u32 = summaries.iter().map(|summary| summary.lines).sum();
    println!("{} files, {lines} lines", summaries.len());
    assert_eq!(summaries.len(), 100);
    assert!(
        summaries.iter().enumerate().all(|(number, one)| one.summary.contains(&number.to_string()))
    );
    Ok(())
}
