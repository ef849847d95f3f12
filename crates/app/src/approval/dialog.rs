//! The dialog of a question: what is shown, and what each key means.

use attache_kernel::rights::{permission::Foresight, rule::SessionGrant};
use attache_runtime::internal::approvals::{ApprovalAnswer, Question};

use crate::print::{
    diff,
    palette::{Colours, Tone, paint, rendered},
    table::clip,
};

/// The lines of a preview that are shown unasked, and the characters of each.
const MOST_LINES: usize = 40;
const LONGEST_LINE: usize = 2000;
/// The characters of a long line that are shown of its end.
const END: usize = 600;

/// What somebody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Yes,
    Session,
    No,
    Abort,
    ViewAll,
}

/// A question as it is shown.
pub(super) struct Dialog<'a> {
    question: &'a Question,
    /// Every line as it is.
    preview: Vec<String>,
    /// The lines that are shown unasked.
    excerpt: Vec<String>,
    columns: usize,
    colours: Colours,
}

impl<'a> Dialog<'a> {
    pub(super) fn new(question: &'a Question, columns: usize, colours: Colours) -> Self {
        let (preview, excerpt) = if let Some(preview) = &question.preview {
            (diff::painted(preview), diff::painted(&excerpt(preview)))
        } else {
            let arguments = question.arguments.to_string();
            let excerpt = excerpt(&arguments);
            (vec![arguments], vec![excerpt])
        };
        Self { question, preview, excerpt, columns: columns.max(20), colours }
    }

    /// The whole dialog, up to the place where the answer is typed.
    pub(super) fn question(&self) -> String {
        let agent = paint(Tone::Name, self.question.agent_type.as_str());
        let tool = paint(Tone::Strong, &self.question.tool.to_string());
        let mut lines = vec![format!("[{agent}] asks to call {tool}")];
        lines.extend(self.excerpt.iter().map(|line| format!("  {line}")));
        let left = self.preview.len().saturating_sub(self.excerpt.len());
        if left > 0 {
            let more = format!("  … {left} more lines; v shows them");
            lines.push(paint(Tone::Faint, &more));
        }
        let arguments = &self.question.arguments;
        let justification = arguments.get("justification").and_then(|text| text.as_str());
        if let Some(words) = justification.filter(|words| !words.trim().is_empty()) {
            lines.push(format!("  the agent says: {}", clip(words.trim(), 400)));
        }
        lines.push(format!("  {} {}", paint(Tone::Warning, "why:"), self.question.reason));
        self.laid_out(&lines) + &self.prompt()
    }

    /// All lines of the preview, and the prompt again.
    pub(super) fn whole(&self) -> String {
        let lines: Vec<String> = self.preview.iter().map(|line| format!("  {line}")).collect();
        format!("\n{}{}", self.laid_out(&lines), self.prompt())
    }

    /// Asks for words for the agent.
    pub(super) fn words(&self) -> String {
        self.shown("no\n  words for the agent (Enter for none): ")
    }

    /// What was answered.
    pub(super) fn answered(&self, answer: &ApprovalAnswer) -> String {
        match answer {
            ApprovalAnswer::Once => self.shown("yes\n"),
            ApprovalAnswer::Session => self.shown("yes, for this session\n"),
            ApprovalAnswer::No { .. } => String::new(),
            ApprovalAnswer::Abort => self.shown("abort\n"),
        }
    }

    pub(super) fn key(&self, letter: char) -> Option<Key> {
        match letter {
            'y' => Some(Key::Yes),
            's' => Some(Key::Session),
            'n' => Some(Key::No),
            'a' => Some(Key::Abort),
            'v' if self.is_cut() => Some(Key::ViewAll),
            _ => None,
        }
    }

    fn prompt(&self) -> String {
        let grants = SessionGrant::of_call(
            &self.question.tool,
            &self.question.arguments,
            &Foresight::default(),
        );
        let covered: Vec<String> = grants.iter().map(ToString::to_string).collect();
        let view = if self.is_cut() { "  [v]iew all" } else { "" };
        let in_line = covered.join(", ");
        // Whoever says yes has seen all of it.
        let fits = in_line.chars().count() <= self.columns.saturating_sub(40).max(20);
        let (above, covered) = if fits || covered.len() < 2 {
            (String::new(), in_line)
        } else {
            let lines: Vec<String> = covered.iter().map(|grant| format!("    {grant}")).collect();
            let lines = [vec!["  for this session:".to_owned()], lines].concat();
            (self.laid_out(&lines), format!("these {}", covered.len()))
        };
        above + &self.shown(&format!("  [y]es  [s]ession ({covered})  [n]o  [a]bort{view}: "))
    }

    /// Whether there is more than what is shown unasked.
    fn is_cut(&self) -> bool {
        self.preview != self.excerpt
    }

    fn laid_out(&self, lines: &[String]) -> String {
        lines.iter().map(|line| self.shown(line) + "\n").collect()
    }

    fn shown(&self, text: &str) -> String {
        rendered(text, self.colours)
    }
}

/// The first lines of a text, and of each long one both ends: its end may be what matters.
fn excerpt(text: &str) -> String {
    let lines = text.lines().take(MOST_LINES).map(|line| {
        let length = line.chars().count();
        if length <= LONGEST_LINE {
            return line.to_owned();
        }
        let beginning: String = line.chars().take(LONGEST_LINE - END).collect();
        let end: String = line.chars().skip(length - END).collect();
        format!("{beginning} … {} more characters … {end}", length - LONGEST_LINE)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use attache_kernel::{
        id::{AgentName, QuestionId, RunId, ToolCallId},
        rights::tool_name::BuiltinTool,
    };
    use serde_json::json;

    use super::*;

    fn question(preview: &str) -> Question {
        Question {
            request_id: QuestionId::new("agent-1/1"),
            agent_id: RunId::new("agent-1"),
            agent_type: AgentName::new("fixer"),
            call_id: ToolCallId::new("call_1"),
            tool: BuiltinTool::Shell.into(),
            arguments: json!({"command": "cargo test", "justification": "to see\u{1b}[2J"}),
            reason: "it runs a command".to_owned(),
            preview: Some(preview.to_owned()),
        }
    }

    #[test]
    fn it_names_the_agent_the_command_the_reason_and_what_a_session_covers() {
        let question = question("cargo test");
        let dialog = Dialog::new(&question, 80, Colours::Off);
        assert_eq!(
            dialog.question(),
            "[fixer] asks to call shell\n  cargo test\n  the agent says: to see\\u001b[2J\n  \
             why: it runs a command\n  [y]es  [s]ession (`cargo test …`)  [n]o  [a]bort: "
        );
        assert_eq!(dialog.key('y'), Some(Key::Yes));
        assert_eq!(dialog.key('x'), None);
        assert_eq!(dialog.key('v'), None);
    }

    #[test]
    fn all_that_a_session_covers_is_shown_once_each() {
        let mut question = question("x");
        let command = "mkdir q; mkdir r; mkdir s; mkdir t; touch evil";
        question.arguments = json!({ "command": command });
        let shown = Dialog::new(&question, 80, Colours::Off).question();
        assert!(shown.contains("[s]ession (`mkdir …`, `touch …`)"), "{shown}");
        let many: Vec<String> = (0..12).map(|index| format!("tool-{index} x")).collect();
        question.arguments = json!({ "command": many.join("; ") });
        let shown = Dialog::new(&question, 80, Colours::Off).question();
        for index in 0..12 {
            assert!(shown.contains(&format!("\n    `tool-{index} …`\n")), "{shown}");
        }
        assert!(shown.ends_with("[s]ession (these 12)  [n]o  [a]bort: "), "{shown}");
    }

    #[test]
    fn a_long_preview_is_cut_and_can_be_seen_whole() {
        let lines: Vec<String> = (0..100).map(|line| format!("+line {line}")).collect();
        let question = question(&lines.join("\n"));
        let dialog = Dialog::new(&question, 80, Colours::Off);
        let shown = dialog.question();
        assert!(shown.contains("… 60 more lines; v shows them"), "{shown}");
        assert!(!shown.contains("line 99"), "{shown}");
        assert_eq!(dialog.key('v'), Some(Key::ViewAll));
        assert!(shown.ends_with("[a]bort  [v]iew all: "), "{shown}");
        assert!(dialog.whole().contains("line 99"));
    }

    #[test]
    fn a_very_long_line_is_cut_and_can_be_seen_whole() {
        let question = question(&format!("echo {}end", "x".repeat(5000)));
        let dialog = Dialog::new(&question, 80, Colours::Off);
        let shown = dialog.question();
        assert!(shown.contains("x … 3008 more characters … x"), "{shown}");
        assert!(shown.contains("xend\n"), "{shown}");
        assert_eq!(dialog.key('v'), Some(Key::ViewAll));
        assert!(dialog.whole().contains(&"x".repeat(5000)));
    }

    #[test]
    fn nothing_in_a_question_steers_the_terminal() {
        let mut question = question("rm -rf x\u{1b}]52;c;aGk=\u{7}\u{202e}");
        question.reason = "\u{1b}[31mtrust me".to_owned();
        let shown = Dialog::new(&question, 80, Colours::On).question();
        assert!(!shown.contains("\u{1b}]52") && !shown.contains('\u{202e}'), "{shown:?}");
        assert!(!shown.contains("\u{1b}[31mtrust"), "{shown:?}");
    }
}
