//! Many tools: above a budget their schemas are not in the prompt, but are found with `mcp_search` and
//! called with `mcp_call`.
//!
//! Invariant: what is offered is decided when a run begins and stays as it is, so the beginning of its
//! requests stays as it is. Both tools grant nothing: the call that `mcp_call` holds is judged like any other.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use attache_kernel::{
    rights::{
        filter::{MCP_CALL, MCP_SEARCH},
        tool_name::ToolName,
    },
    run::assignment::Assignment,
};
use serde_json::{Value, json};

use crate::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};

/// How many bytes the names, descriptions and schemas of all MCP tools may take in a prompt.
const BUDGET: usize = 20 << 10;
/// How many tools a search shows, and how many names it lists when it finds nothing.
const MOST_FOUND: usize = 8;
const MOST_NAMED: usize = 300;

/// Takes the schemas of a run's MCP tools out of its prompt if they are beyond the budget, and gives the
/// tools that find and call them.
pub(crate) fn put_aside(assignment: &mut Assignment) -> Vec<Arc<dyn Tool>> {
    assignment.searchable_tools.clear();
    let is_mcp = |spec: &ToolSpec| matches!(spec.name, ToolName::Mcp { .. });
    let sizes = assignment.tools.iter().filter(|spec| is_mcp(spec)).map(size);
    if sizes.sum::<usize>() <= BUDGET {
        return Vec::new();
    }
    let (aside, kept) = std::mem::take(&mut assignment.tools).into_iter().partition(is_mcp);
    assignment.tools = kept;
    let aside: Vec<ToolSpec> = aside;
    assignment.searchable_tools = aside
        .iter()
        .map(|spec| ToolSpec {
            description: "".into(),
            parameters: json!({}).into(),
            ..spec.clone()
        })
        .collect();
    let finders: Vec<Arc<dyn Tool>> =
        vec![Arc::new(McpCall::new()), Arc::new(McpSearch::new(aside))];
    assignment.tools.extend(finders.iter().map(|tool| tool.spec().clone()));
    finders
}

/// The tools that find and call those which were taken out of a run's prompt when it began.
pub(crate) fn finders_of(
    assignment: &Assignment,
    tools: &BTreeMap<ToolName, Arc<dyn Tool>>,
) -> Vec<Arc<dyn Tool>> {
    if assignment.searchable_tools.is_empty() {
        return Vec::new();
    }
    let aside = assignment.searchable_tools.iter();
    let aside = aside.filter_map(|spec| tools.get(&spec.name)).map(|tool| tool.spec().clone());
    vec![Arc::new(McpCall::new()), Arc::new(McpSearch::new(aside.collect()))]
}

fn size(spec: &ToolSpec) -> usize {
    spec.name.to_string().len() + spec.description.len() + spec.parameters.text().len()
}

/// Finds tools by words.
#[derive(Debug)]
struct McpSearch {
    spec: ToolSpec,
    tools: Vec<ToolSpec>,
}

impl McpSearch {
    fn new(tools: Vec<ToolSpec>) -> Self {
        let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in &tools {
            if let ToolName::Mcp { server, .. } = &tool.name {
                *servers.entry(server).or_default() += 1;
            }
        }
        let servers: Vec<String> =
            servers.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        let description = format!(
            "Finds tools of MCP servers by words and shows their parameters. Servers, with the number of \
             their tools: {}. Call what you find with {MCP_CALL}.",
            servers.join(", ")
        );
        let parameters = json!({
            "type": "object",
            "properties": {"query": {"type": "string", "description": "words, or the name of a tool"}},
            "required": ["query"]
        });
        let name = ToolName::Host(MCP_SEARCH.to_owned());
        Self { spec: ToolSpec::reading(name, &description, parameters), tools }
    }

    fn found(&self, query: &str) -> String {
        let words: Vec<String> = words(query).collect();
        let mut ranked: Vec<(usize, &ToolSpec)> = self
            .tools
            .iter()
            .map(|tool| (score(tool, &words), tool))
            .filter(|(score, _)| *score > 0)
            .collect();
        ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        if ranked.is_empty() {
            let names: Vec<String> =
                self.tools.iter().take(MOST_NAMED).map(|tool| tool.name.to_string()).collect();
            return format!("No tool fits these words. The tools are: {}", names.join(", "));
        }
        let mut text = String::new();
        for (_, tool) in ranked.iter().take(MOST_FOUND) {
            let ToolSpec { name, description, parameters, .. } = tool;
            // Writing to a string cannot fail.
            writeln!(text, "{name}: {description}\nparameters: {parameters}\n").unwrap_or_default();
        }
        let more = ranked.len().saturating_sub(MOST_FOUND);
        if more > 0 {
            writeln!(text, "[{more} more fit; use other words]").unwrap_or_default();
        }
        text.trim_end().to_owned()
    }
}

/// How well a tool fits: a word in its name counts more than one in its description.
fn score(tool: &ToolSpec, wanted: &[String]) -> usize {
    let name = tool.name.to_string().to_lowercase();
    let in_name: Vec<String> = words(&name).collect();
    let description = tool.description.to_lowercase();
    let of_word = |word: &String| {
        if *word == name || in_name.contains(word) {
            8
        } else if name.contains(word.as_str()) {
            4
        } else {
            usize::from(description.contains(word.as_str()))
        }
    };
    wanted.iter().map(of_word).sum()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let separate = |letter: char| !letter.is_alphanumeric();
    text.split(separate).filter(|word| word.chars().count() > 1).map(str::to_lowercase)
}

impl Tool for McpSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, _: &'a ToolContext) -> ToolFuture<'a> {
        let query = arguments.get("query").and_then(Value::as_str).map(str::to_owned);
        Box::pin(async move {
            match query {
                Some(query) => ToolOutput::text(self.found(&query)),
                None => ToolOutput::error("`query` is missing: give the words to look for"),
            }
        })
    }
}

/// Stands for the tools that were found. A call that reaches it names none of them.
#[derive(Debug)]
struct McpCall {
    spec: ToolSpec,
}

impl McpCall {
    fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "tool": {"type": "string", "description": "its whole name, mcp__server__tool"},
                "arguments": {"type": "object", "description": "as its parameters say"}
            },
            "required": ["tool", "arguments"]
        });
        let description = format!("Calls a tool that {MCP_SEARCH} found.");
        let name = ToolName::Host(MCP_CALL.to_owned());
        Self { spec: ToolSpec::reading(name, &description, parameters) }
    }
}

impl Tool for McpCall {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Value, _: &'a ToolContext) -> ToolFuture<'a> {
        let told = format!("`tool` must be the whole name of a tool that {MCP_SEARCH} shows");
        Box::pin(async move { ToolOutput::error(told) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(count: usize) -> McpSearch {
        let spec = |name: String, about: &str| {
            let Ok(name) = name.parse::<ToolName>();
            ToolSpec::reading(name, about, json!({"type": "object"}))
        };
        let mut tools: Vec<_> =
            (0..count).map(|n| spec(format!("mcp__lab__tool_{n}"), "Does much.")).collect();
        tools.push(spec("mcp__lab__find_planet".to_owned(), "Looks at the sky."));
        McpSearch::new(tools)
    }

    #[test]
    fn tools_are_found_by_name_and_description() {
        let search = search(30);
        for query in ["planet", "Find a PLANET", "the sky", "mcp__lab__find_planet"] {
            assert!(search.found(query).starts_with("mcp__lab__find_planet: "), "{query}");
        }
        assert!(search.found("much").ends_with("[22 more fit; use other words]"));
        let nothing = search.found("zebra");
        assert!(nothing.starts_with("No tool fits") && nothing.contains("mcp__lab__tool_29"));
    }
}
