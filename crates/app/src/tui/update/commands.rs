//! The commands that begin with a slash.

use super::{Effect, Load, keys::told, leaving};
use crate::{
    print::{
        number::{count, money},
        palette::Tone,
    },
    tui::state::{State, completion::COMMANDS},
};

/// The keys, as `/help` lists them.
const KEYS: [(&str, &str); 15] = [
    ("Enter", "send; while an answer is under way, it is read with the next turn"),
    ("Alt-Enter, Ctrl-J", "new line; so does a backslash before Enter"),
    ("Up, Down", "lines of the text, then what was sent before"),
    ("Tab", "complete a /command, an @agent or an @file"),
    (
        "Tab",
        "on an empty input: go to the blocks of agents; Enter opens a transcript, Esc goes back",
    ),
    ("Esc", "stop the answer and the agents it waits for; background agents go on"),
    ("Ctrl-C", "clear the input; stop the answer; twice quits"),
    ("Ctrl-D", "quit, on an empty input; twice while something is under way"),
    ("Ctrl-O", "unfold and fold the block of an agent: the newest, or the one with the focus"),
    ("Ctrl-T", "every run: follow, stop, resume, branch, message"),
    (
        "Ctrl-B",
        "send the agents that are waited for to the background; with the focus on one that works, only that",
    ),
    ("Ctrl-W", "cut the word before the cursor"),
    ("Ctrl-U, Ctrl-K", "cut the line before or after the cursor; Ctrl-Y puts it back"),
    ("Ctrl-L, Ctrl-Z", "draw the screen again; suspend"),
    ("y s n a", "answer a question: yes, for the session, no with words, abort the run"),
];

/// Does what a command asks for.
pub(super) fn carried_out(state: &mut State, line: &str) -> Vec<Effect> {
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match command {
        "/help" | "/?" => told(state, Tone::Faint, help()),
        "/cost" => cost(state),
        "/model" if rest.is_empty() => {
            let model = if state.session.model.is_empty() {
                &state.facts.model
            } else {
                &state.session.model
            };
            let text = format!("the model is {model}; /model NAME changes it");
            told(state, Tone::Faint, text)
        }
        "/model" => {
            rest.clone_into(&mut state.facts.model);
            state.session.model.clear();
            told(state, Tone::Faint, format!("{rest} answers from the next message on"));
            vec![Effect::Model(rest.to_owned())]
        }
        "/approve" => approve(state, rest),
        "/tasks" => vec![Effect::Load(Load::Tasks)],
        "/agents" => vec![Effect::Load(Load::Agents)],
        "/diff" => vec![Effect::Load(Load::Changes)],
        "/resume" | "/clear" if state.session.is_open() => {
            told(state, Tone::Warning, "something is still under way: stop it first")
        }
        "/resume" if rest.is_empty() => vec![Effect::Load(Load::Conversations)],
        "/resume" => vec![Effect::Resume(rest.to_owned(), None)],
        "/clear" => vec![Effect::Clear],
        "/quit" | "/exit" => leaving::quit(state, None),
        _ => told(state, Tone::Bad, format!("there is no command {command}; /help lists them")),
    }
}

fn approve(state: &mut State, how: &str) -> Vec<Effect> {
    let meaning = match how {
        "ask" => "you are asked about calls that need approval",
        "deny" => "calls that need approval are refused",
        "sandbox" => "what the sandbox confines is approved, from the next message on",
        "all" => "every call is approved",
        _ => {
            let text =
                format!("{}; /approve ask, deny, sandbox or all changes it", state.facts.approval);
            return told(state, Tone::Faint, text);
        }
    };
    state.facts.approval = format!("approve {how}");
    told(state, Tone::Warning, meaning);
    vec![Effect::Approve(how.to_owned())]
}

fn cost(state: &mut State) -> Vec<Effect> {
    let totals = &state.session.totals;
    let cost = totals.cost.usd().map_or("cost unknown".to_owned(), money);
    let mut text =
        format!("{}, {}, {cost}", count(totals.runs, "run"), count(totals.tokens, "token"));
    if let Some(window) = totals.window.filter(|window| *window > 0) {
        let used = totals.context.saturating_mul(100) / window;
        text = format!("{text}; the conversation fills {used}% of {}", count(window, "token"));
    }
    told(state, Tone::Faint, text)
}

fn help() -> String {
    let commands = COMMANDS.iter().map(|(name, about)| format!("  {name:<10} {about}"));
    let keys = KEYS.iter().map(|(key, about)| format!("  {key:<18} {about}"));
    let commands: Vec<String> = commands.collect();
    let keys: Vec<String> = keys.collect();
    format!("Commands\n{}\nKeys\n{}", commands.join("\n"), keys.join("\n"))
}
