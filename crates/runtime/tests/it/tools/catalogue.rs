//! The catalogue: every tool has its prose, and all of them together are short.

use std::{fs, path::Path, sync::Arc};

use attache_kernel::rights::tool_name::BuiltinTool;
use attache_runtime::internal::tool::{
    Concurrency, Repeatability, Tool, ToolContext, ToolOutput, ToolSpec,
    artifacts::Artifacts,
    workspace::{Location, PathError, Workspace},
};
use serde_json::json;

use super::Fixture;

/// Their prose is beside their own code.
fn is_delegation(tool: &Arc<dyn Tool>) -> bool {
    let builtin = tool.spec().name.builtin();
    builtin.is_some_and(|tool| BuiltinTool::DELEGATION.contains(&tool))
}

#[test]
fn every_tool_has_its_prose_beside_its_code() {
    let fixture = Fixture::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tool");
    let mut names = Vec::new();
    for tool in fixture.tools.iter().filter(|tool| !is_delegation(tool)) {
        let spec = tool.spec();
        let prose = fs::read_to_string(directory.join(format!("{}.md", spec.name))).unwrap();
        assert_eq!(&*spec.description, prose.trim());
        assert_eq!(spec.parameters["type"], "object");
        let mut acting = BuiltinTool::WRITERS.iter().copied().chain([
            BuiltinTool::Shell,
            BuiltinTool::ExecCommand,
            BuiltinTool::WriteStdin,
        ]);
        let expected = if acting.any(|acting| spec.name == acting.into()) {
            (Concurrency::Exclusive, Repeatability::Once)
        } else {
            (Concurrency::Parallel, Repeatability::Repeatable)
        };
        assert_eq!((spec.concurrency, spec.repetition), expected, "{}", spec.name);
        names.push(format!("{}.md", spec.name));
    }
    let mut prose_files: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"))
        .collect();
    names.sort();
    prose_files.sort();
    assert_eq!(names, prose_files);
}

/// The compiler checks it: whatever crosses a task is `Send` and `Sync`.
#[test]
fn public_types_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Workspace>();
    crosses::<Location>();
    crosses::<PathError>();
    crosses::<Artifacts>();
    crosses::<ToolContext>();
    crosses::<ToolOutput>();
    crosses::<ToolSpec>();
    crosses::<Arc<dyn Tool>>();
}

#[test]
fn the_specs_are_short_for_they_are_paid_for_on_every_turn() {
    let fixture = Fixture::new();
    let size = |tools: &mut dyn Iterator<Item = &Arc<dyn Tool>>| {
        let specs = tools.map(|tool| {
            let spec = tool.spec();
            json!({
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            })
        });
        serde_json::to_string(&specs.collect::<Vec<_>>()).unwrap().len()
    };
    // Only the main agent has a list of things to do.
    let is_read_only = |tool: &&Arc<dyn Tool>| {
        let spec = tool.spec();
        spec.repetition == Repeatability::Repeatable
            && spec.name != BuiltinTool::TodoWrite.into()
            && !is_delegation(tool)
    };
    let reading = size(&mut fixture.tools.iter().filter(is_read_only));
    assert!(reading <= 2000, "{reading} bytes");
    let is_own = |tool: &&Arc<dyn Tool>| !is_delegation(tool);
    let all = size(&mut fixture.tools.iter().filter(is_own));
    assert!(all <= 5000, "{all} bytes");
}
