//! Completion: what can follow a `/` at the beginning, or an `@` anywhere.

/// What can be completed at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    /// What fits, best first.
    pub(crate) found: Vec<Candidate>,
    /// The one that Tab takes.
    pub(crate) chosen: usize,
    /// How many bytes before the cursor it replaces.
    pub(crate) typed: usize,
}

/// Something that can be written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The text, with its `/` or `@`.
    pub(crate) text: String,
    /// What it is.
    pub(crate) about: String,
}

/// The commands.
pub(crate) const COMMANDS: [(&str, &str); 10] = [
    ("/help", "the keys and commands"),
    ("/agents", "the agents there are, with their problems"),
    ("/tasks", "every run: follow, stop, resume, branch, message"),
    ("/model", "the model that answers from the next message on: /model NAME"),
    ("/approve", "what to do about calls that need approval: /approve ask|deny|sandbox|all"),
    ("/resume", "an earlier conversation: /resume [ID]"),
    ("/diff", "what this conversation changed"),
    ("/cost", "tokens and cost of this conversation"),
    ("/clear", "begin a new conversation"),
    ("/quit", "leave; the conversation can be resumed"),
];

/// How many candidates are kept.
const MOST: usize = 50;

/// What the text before the cursor asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted<'a> {
    /// A command that begins so.
    Command(&'a str),
    /// An agent or a file with these letters.
    Mention(&'a str),
}

/// What the text before the cursor asks for, if anything.
pub(crate) fn wanted(before: &str) -> Option<Wanted<'_>> {
    if before.starts_with('/') && !before.contains(char::is_whitespace) {
        return Some(Wanted::Command(before));
    }
    let word = before.rsplit(char::is_whitespace).next()?;
    word.strip_prefix('@').map(Wanted::Mention)
}

impl Completion {
    /// What fits; none if nothing does.
    pub(crate) fn find(before: &str, agents: &[Candidate], files: &[String]) -> Option<Self> {
        let (found, typed) = match wanted(before)? {
            Wanted::Command(typed) => {
                let fitting = COMMANDS.iter().filter(|(name, _)| name.starts_with(typed));
                let found: Vec<Candidate> = fitting
                    .map(|(name, about)| Candidate {
                        text: (*name).to_owned(),
                        about: (*about).to_owned(),
                    })
                    .collect();
                (found, typed.len())
            }
            Wanted::Mention(typed) => (mentions(typed, agents, files), typed.len() + 1),
        };
        (!found.is_empty()).then_some(Self { found, chosen: 0, typed })
    }

    /// The next or the one before, around the end.
    pub(crate) fn step(&mut self, forward: bool) {
        let all = self.found.len();
        self.chosen = if forward { (self.chosen + 1) % all } else { (self.chosen + all - 1) % all };
    }
}

fn mentions(typed: &str, agents: &[Candidate], files: &[String]) -> Vec<Candidate> {
    let typed = typed.to_lowercase();
    let agents = agents.iter().filter_map(|agent| {
        let rank = rank(&agent.text.to_lowercase(), &typed)?;
        Some((rank, 0, agent.clone()))
    });
    let files = files.iter().filter_map(|file| {
        let rank = rank(&file.to_lowercase(), &typed)?;
        let text = if file.contains(' ') { format!("@\"{file}\"") } else { format!("@{file}") };
        Some((rank, file.len(), Candidate { text, about: String::new() }))
    });
    let mut found: Vec<_> = agents.chain(files).collect();
    found.sort_by(|one, other| (one.0, one.1, &one.2.text).cmp(&(other.0, other.1, &other.2.text)));
    found.into_iter().take(MOST).map(|(_, _, candidate)| candidate).collect()
}

/// How well a name fits: its last part begins so, holds it, the name holds it, or its letters in order.
fn rank(name: &str, typed: &str) -> Option<u8> {
    let last = name.trim_start_matches('@').rsplit('/').next().unwrap_or(name);
    if last.starts_with(typed) {
        return Some(0);
    }
    if last.contains(typed) {
        return Some(1);
    }
    if name.contains(typed) {
        return Some(2);
    }
    let mut letters = name.chars();
    typed.chars().all(|letter| letters.any(|found| found == letter)).then_some(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(before: &str) -> Vec<String> {
        let agents = [Candidate { text: "@Explore".to_owned(), about: "looks around".to_owned() }];
        let files = ["src/explain.rs", "docs/my notes.md", "src/main.rs"].map(str::to_owned);
        let found = Completion::find(before, &agents, &files);
        found.map(|found| found.found.into_iter().map(|one| one.text).collect()).unwrap_or_default()
    }

    #[test]
    fn commands_complete_only_at_the_beginning() {
        assert_eq!(texts("/a"), ["/agents", "/approve"]);
        assert_eq!(texts("see /a"), Vec::<String>::new());
        assert_eq!(texts("/model x"), Vec::<String>::new());
        assert_eq!(texts("mail me@"), Vec::<String>::new());
    }

    #[test]
    fn agents_and_files_complete_after_an_at() {
        assert_eq!(texts("ask @exp"), ["@Explore", "@src/explain.rs"]);
        assert_eq!(texts("@srmn"), ["@src/main.rs"]);
        assert_eq!(texts("@notes"), ["@\"docs/my notes.md\""]);
        assert_eq!(texts("@zzz"), Vec::<String>::new());
    }
}
