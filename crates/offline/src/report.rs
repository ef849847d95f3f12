//! The report: what the search found, in Markdown.
//!
//! The first line answers as far as a search can; everything it says is a line that was seen. Invariant: it
//! claims no absence beyond what was looked at, names what was left out, and always says that no language
//! model was used.

use crate::{
    absent,
    briefing::Briefing,
    definitions::definition_in,
    evidence::{Evidence, Lines},
    inquiry::Inquiry,
    overview,
    paths::{Sort, file_name, sort_of},
    ranking::{Ranked, homes, ranked},
    snippets,
    uses::{Worth, uses},
};

/// How many definitions of a file are named, and how many of a file that was asked for.
pub(crate) const MAX_NAMED: usize = 4;
const MAX_OUTLINED: usize = 30;

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Report {
    /// The answer in one sentence.
    pub(crate) headline: String,
    /// The whole report.
    pub(crate) markdown: String,
    /// The places, the likeliest first.
    pub(crate) findings: Vec<Finding>,
}

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Report {
    pub(crate) fn write(
        briefing: &Briefing<'_>,
        inquiry: &Inquiry,
        evidence: &Evidence<'_>,
    ) -> Self {
        let mut report = Self::default();
        if briefing.answers.is_empty() {
            report.headline = if briefing.tools.can_search() {
                "Nothing was searched: the run has no turn left for it.".to_owned()
            } else {
                "Nothing was searched: this run has none of the tools `read_file`, `list_dir`, \
                 `glob_files`, `grep_files`."
                    .to_owned()
            };
        } else if inquiry.is_overview() {
            (report.headline, report.markdown) = overview::write(evidence);
        } else {
            report.found(inquiry, evidence);
        }
        report.markdown = format!("{}\n\n{}", report.headline, report.markdown);
        report.searched(inquiry, evidence);
        report.scope(evidence);
        let disclaimer = format!(
            "This is a search report: no language model was used. The instructions of `{}` were not \
             followed, and nothing here was understood, only found.",
            briefing.agent
        );
        report.markdown.push_str(&disclaimer);
        report
    }

    fn found(&mut self, inquiry: &Inquiry, evidence: &Evidence<'_>) {
        let files = ranked(inquiry, evidence);
        let asked_for = self.named_files(inquiry, evidence);
        let missing = absent::missing(inquiry, evidence, &files);
        if missing.is_total && !asked_for {
            self.absent(&missing, inquiry, evidence, &files);
            return;
        }
        let is_shown =
            |file: &Ranked<'_>| asked_for && inquiry.paths.iter().any(|p| p == file.path);
        let files: Vec<Ranked<'_>> = files.into_iter().filter(|file| !is_shown(file)).collect();
        let homes = &homes(&files);
        if !asked_for {
            self.headline = headline(homes);
        }
        if inquiry.concepts.is_empty() {
            return;
        }
        if !homes.is_empty() {
            self.places(homes, inquiry, evidence);
            self.uses(homes, inquiry, evidence);
        }
        if !missing.labels.is_empty() {
            let labels = missing.labels.join(", ");
            self.paragraph(&format!("Not found in what was searched: {labels}."));
        }
    }

    /// The files that the task names: what they define, and how they begin.
    fn named_files(&mut self, inquiry: &Inquiry, evidence: &Evidence<'_>) -> bool {
        let is_asked_for = |path: &&&str| {
            let same = |asked: &String| asked == **path || file_name(asked) == file_name(path);
            inquiry.paths.iter().any(same)
        };
        for path in evidence.read.iter().filter(is_asked_for) {
            let Some(lines) = evidence.lines.get(path).filter(|lines| !lines.is_empty()) else {
                continue;
            };
            let defines = |(_, text): &(&usize, &&str)| definition_in(text).is_some();
            let outline: Vec<(&usize, &&str)> = lines.iter().filter(defines).collect();
            if self.headline.is_empty() {
                let count = outline.len();
                self.headline = match outline.first() {
                    Some((line, text)) => format!(
                        "`{path}` defines {count} thing{}, the first on line {line}: `{}`.",
                        if count == 1 { "" } else { "s" },
                        snippets::inline(text)
                    ),
                    None => format!("`{path}` was read; this is how it begins."),
                };
            }
            self.paragraph(&format!("## `{path}`\n\n{}", snippets::head(path, lines)));
            for (line, text) in outline.into_iter().take(MAX_OUTLINED) {
                self.item(path, *line, text);
            }
            self.markdown.push('\n');
        }
        let is_there = |path: &&String| evidence.names.contains(path.as_str());
        if self.headline.is_empty()
            && let Some(path) = inquiry.paths.iter().find(is_there)
        {
            self.headline = format!("`{path}` is there; it was not read.");
        }
        !self.headline.is_empty()
    }

    fn absent(
        &mut self,
        missing: &absent::Missing,
        inquiry: &Inquiry,
        evidence: &Evidence<'_>,
        files: &[Ranked<'_>],
    ) {
        let labels = missing.labels.join(", ");
        let looked_at = absent::looked_at(evidence);
        self.headline = format!("Nothing was found for {labels}: {looked_at}.");
        let near = absent::nearest(missing, evidence);
        if !near.is_empty() {
            let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
            self.paragraph(&format!("The nearest names are {}.", near.join(", ")));
        }
        let partly: Vec<_> =
            files.iter().filter(|file| file.sort < Sort::Document).take(5).collect();
        if partly.is_empty() || !missing.is_partial {
            return;
        }
        self.paragraph("Part of the question was found, likeliest in:");
        for file in partly {
            match place(file, evidence.lines.get(file.path), inquiry) {
                Some((line, text)) => self.item(file.path, line, text),
                None => self.bare_item(file.path),
            }
        }
        self.markdown.push('\n');
    }

    fn places(&mut self, homes: &[&Ranked<'_>], inquiry: &Inquiry, evidence: &Evidence<'_>) {
        self.markdown.push_str("## Where\n\n");
        for file in homes {
            let empty = Lines::new();
            let lines = evidence.lines.get(file.path).unwrap_or(&empty);
            let first = || lines.iter().next().map(|(line, text)| (*line, *text));
            let Some((line, text)) = place(file, Some(lines), inquiry).or_else(first) else {
                self.bare_item(file.path);
                continue;
            };
            let named = file.definitions.iter().take(MAX_NAMED);
            let names: Vec<_> = named
                .map(|found| format!("`{} {}` (line {})", found.keyword, found.name, found.line))
                .collect();
            let colon = if names.is_empty() { "" } else { ": " };
            let place = format!("- `{}:{line}`{colon}{}\n", file.path, names.join(", "));
            self.markdown.push_str(&place);
            self.markdown.push_str(&snippets::around(file.path, lines, line));
            let text = text.trim().to_owned();
            self.findings.push(Finding { path: file.path.to_owned(), line, text });
        }
        self.markdown.push('\n');
        let parts = parts(homes, evidence);
        if !parts.is_empty() {
            self.paragraph(&format!("Parts of it: {}.", parts.join(", ")));
        }
    }

    /// Lines outside the likeliest files that use what they define, or mention what was looked for.
    fn uses(&mut self, homes: &[&Ranked<'_>], inquiry: &Inquiry, evidence: &Evidence<'_>) {
        let uses = uses(homes, inquiry, evidence);
        if uses.is_empty() {
            if inquiry.wants.callers {
                let nothing = "## Used by\n\nNo use of it was found in what was searched.";
                self.paragraph(nothing);
            }
            return;
        }
        let is_used = uses.iter().any(|(worth, _)| *worth <= Worth::Use);
        self.markdown.push_str(if is_used { "## Used by\n\n" } else { "## Also mentioned\n\n" });
        for (_, used) in uses {
            self.item(&used.path, used.line, &used.text);
        }
        self.markdown.push('\n');
    }

    fn searched(&mut self, inquiry: &Inquiry, evidence: &Evidence<'_>) {
        let counted = inquiry.concepts.iter().zip(&evidence.counts);
        let counted = counted.filter_map(|(concept, count)| {
            let count = count.as_ref()?;
            let more = if count.is_cut { "over " } else { "" };
            let files = count.files.len();
            let noun = if files == 1 { "file" } else { "files" };
            Some(format!("`{}` ({more}{files} {noun})", concept.label.replace('`', "'")))
        });
        let paths = inquiry.paths.iter().map(|path| format!("`{path}`"));
        let searched: Vec<String> = counted.chain(paths).collect();
        if !searched.is_empty() {
            self.paragraph(&format!("Searched for {}.", searched.join(", ")));
        }
        let problems = evidence.problems.iter().filter_map(|problem| problem.lines().next());
        let mut problems: Vec<&str> = problems.collect();
        problems.dedup();
        problems.truncate(3);
        if !problems.is_empty() {
            self.paragraph(&format!("Some calls failed: {}.", problems.join("; ")));
        }
    }

    /// What was looked at, and what was not.
    fn scope(&mut self, evidence: &Evidence<'_>) {
        let scope = &evidence.scope;
        if scope.tools.is_empty() {
            return;
        }
        let entries = |count: usize| match count {
            1 => "1 entry".to_owned(),
            _ => format!("{count} entries"),
        };
        let tools: Vec<_> = scope.tools.iter().map(|tool| format!("`{tool}`")).collect();
        let mut text = vec![format!("Looked at with {}", tools.join(", "))];
        if scope.searched > 0 {
            text.push(format!(" ({} files searched)", scope.searched));
        }
        text.push(". Not looked at: `.git` and files that ignore rules name".to_owned());
        if scope.ignored > 0 {
            text.push(format!(" ({} here)", entries(scope.ignored)));
        }
        if scope.forbidden > 0 {
            text.push(format!("; {} that this agent may not read", entries(scope.forbidden)));
        }
        text.push(".".to_owned());
        self.paragraph(&text.concat());
    }

    fn paragraph(&mut self, text: &str) {
        self.markdown.push_str(text);
        self.markdown.push_str("\n\n");
    }

    fn bare_item(&mut self, path: &str) {
        self.markdown.extend(["- `", path, "`\n"]);
    }

    fn item(&mut self, path: &str, line: usize, text: &str) {
        let item = format!("- `{path}:{line}` `{}`\n", snippets::inline(text));
        self.markdown.push_str(&item);
        let text = text.trim().to_owned();
        self.findings.push(Finding { path: path.to_owned(), line, text });
    }
}

/// The best definition of a file; else the first line that has something of what is looked for, what
/// tells most before what tells less.
fn place<'a>(
    file: &Ranked<'a>,
    lines: Option<&Lines<'a>>,
    inquiry: &Inquiry,
) -> Option<(usize, &'a str)> {
    let mention = || {
        inquiry.concepts.iter().find_map(|concept| {
            let mut lines = lines?.iter().map(|(line, text)| (*line, *text));
            lines.find(|(_, text)| concept.is_in(text))
        })
    };
    file.definitions.first().map(|best| (best.line, best.text)).or_else(mention)
}

/// Other files in the folder of the likeliest file's own name, tests left out.
fn parts(homes: &[&Ranked<'_>], evidence: &Evidence<'_>) -> Vec<String> {
    let top = homes.first().and_then(|top| top.path.rsplit_once('.'));
    let Some(folder) = top.map(|(stem, _)| format!("{stem}/")) else { return Vec::new() };
    let is_new = |path: &&&str| {
        path.starts_with(&folder)
            && sort_of(path) == Sort::Source
            && !homes.iter().any(|home| home.path == **path)
    };
    evidence.names.iter().filter(is_new).take(8).map(|path| format!("`{path}`")).collect()
}

/// The answer in one sentence.
fn headline(homes: &[&Ranked<'_>]) -> String {
    let Some(top) = homes.first() else {
        return "Nothing was found.".to_owned();
    };
    match top.definitions.first() {
        Some(best) => format!(
            "Most likely `{}`, defined in `{}` (line {}: `{}`).",
            best.name,
            top.path,
            best.line,
            snippets::inline(best.text)
        ),
        None => format!("What the question names is found most in `{}`.", top.path),
    }
}
