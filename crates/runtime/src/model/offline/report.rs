//! The report: what the search found, in Markdown.
//!
//! The first line answers as far as a search can; whatever it says is a line that was seen. It always
//! says that no language model was used.

use super::{
    absent,
    briefing::Briefing,
    concept::{Concept, Kind},
    definitions::definition_in,
    evidence::{Evidence, Lines},
    inquiry::Inquiry,
    overview,
    paths::{Sort, file_stem, sort_of},
    plan::is_overview,
    ranking::{Ranked, homes, ranked},
    snippets, uses,
    words::subwords,
};

/// So many definitions of a file are named, and so many of a file that was asked for.
pub(super) const MOST_NAMED: usize = 4;
const MOST_OUTLINED: usize = 30;

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Report {
    /// The answer in one sentence.
    pub(super) headline: String,
    /// The whole report.
    pub(super) markdown: String,
    /// The places, the likeliest first.
    pub(super) findings: Vec<Finding>,
}

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) text: String,
}

impl Report {
    pub(super) fn write(
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
        } else if is_overview(inquiry) {
            (report.headline, report.markdown) = overview::write(evidence);
        } else {
            report.found(inquiry, evidence);
        }
        report.markdown = format!("{}\n\n{}", report.headline, report.markdown);
        report.searched(inquiry, evidence);
        report.disclaim(briefing);
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
        let files: Vec<Ranked<'_>> = files
            .into_iter()
            .filter(|file| !asked_for || !inquiry.paths.iter().any(|path| path == file.path))
            .collect();
        let homes = &homes(&files);
        if !asked_for {
            self.headline = headline(inquiry, homes);
        }
        if !homes.is_empty() && !inquiry.concepts.is_empty() {
            self.places(homes, inquiry, evidence);
            self.uses(&files, homes, inquiry, evidence);
        }
        if !missing.labels.is_empty() && !inquiry.concepts.is_empty() {
            let labels = missing.labels.join(", ");
            self.paragraph(&format!("Not found anywhere: {labels}."));
        }
    }

    /// The files that the task names: what they define, and how they begin.
    fn named_files(&mut self, inquiry: &Inquiry, evidence: &Evidence<'_>) -> bool {
        let mut any = false;
        for path in evidence.read.iter().filter(|path| is_asked_for(path, inquiry)) {
            let Some(lines) = evidence.lines.get(path).filter(|lines| !lines.is_empty()) else {
                continue;
            };
            let outline: Vec<(usize, &str)> = lines
                .iter()
                .filter(|(_, text)| definition_in(text).is_some())
                .map(|(line, text)| (*line, *text))
                .collect();
            if !any {
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
            any = true;
            let heading = format!("## `{path}`\n\n{}", snippets::head(path, lines));
            self.paragraph(&heading);
            for (line, text) in outline.iter().take(MOST_OUTLINED) {
                self.item(path, *line, text);
            }
            self.markdown.push('\n');
        }
        let unread = inquiry.paths.iter().find(|path| evidence.names().any(|name| name == **path));
        if let Some(path) = unread.filter(|_| !any) {
            self.headline = format!("`{path}` is there; it was not read.");
            any = true;
        }
        any
    }

    fn absent(
        &mut self,
        missing: &absent::Missing,
        inquiry: &Inquiry,
        evidence: &Evidence<'_>,
        files: &[Ranked<'_>],
    ) {
        let labels = missing.labels.join(", ");
        self.headline =
            format!("Nothing was found for {labels}: no file has it in its name or text.");
        let near = absent::nearest(missing, evidence);
        if near.is_empty() {
            self.paragraph("No name is like it.");
        } else {
            let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
            self.paragraph(&format!("The nearest names are {}.", near.join(", ")));
        }
        let partly: Vec<_> =
            files.iter().filter(|file| file.sort < Sort::Document).take(5).collect();
        if !partly.is_empty() && !missing.found.is_empty() {
            let found = missing.found.join(", ");
            self.paragraph(&format!(
                "Of the question's words only {found} was found, likeliest in:"
            ));
            for file in partly {
                let known = mention(evidence.lines.get(file.path), inquiry);
                let place = file.definitions.first().map(|best| (best.line, best.text));
                match place.or(known) {
                    Some((line, text)) => self.item(file.path, line, text),
                    None => self.markdown.push_str(&format_path(file.path)),
                }
            }
            self.markdown.push('\n');
        }
    }

    fn places(&mut self, homes: &[&Ranked<'_>], inquiry: &Inquiry, evidence: &Evidence<'_>) {
        self.markdown.push_str("## Where\n\n");
        for file in homes {
            let empty = Lines::new();
            let lines = evidence.lines.get(file.path).unwrap_or(&empty);
            let best = file.definitions.first().map(|best| (best.line, best.text));
            let first = || lines.iter().next().map(|(line, text)| (*line, *text));
            let Some((line, text)) = best.or_else(|| mention(Some(lines), inquiry)).or_else(first)
            else {
                self.markdown.push_str(&format_path(file.path));
                continue;
            };
            let names: Vec<_> = file
                .definitions
                .iter()
                .take(MOST_NAMED)
                .map(|found| format!("`{} {}` (line {})", found.keyword, found.name, found.line))
                .collect();
            let why =
                if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
            let place = format!("- `{}:{line}`{why}\n", file.path);
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

    /// Lines outside the likeliest files that use what they define, or mention it.
    fn uses(
        &mut self,
        files: &[Ranked<'_>],
        homes: &[&Ranked<'_>],
        inquiry: &Inquiry,
        evidence: &Evidence<'_>,
    ) {
        let uses = uses::of(files, homes, inquiry, evidence);
        if uses.is_empty() {
            if inquiry.wants.callers {
                self.paragraph("## Used by\n\nNo line outside these files uses it, as far as the search tells.");
            }
            return;
        }
        let calls = uses.iter().any(|used| used.worth >= 3);
        self.markdown.push_str(if calls { "## Used by\n\n" } else { "## Also mentioned\n\n" });
        for used in uses {
            self.item(used.path, used.line, used.text);
        }
        self.markdown.push('\n');
    }

    fn searched(&mut self, inquiry: &Inquiry, evidence: &Evidence<'_>) {
        let searched: Vec<String> = inquiry
            .concepts
            .iter()
            .zip(&evidence.counts)
            .filter_map(|(concept, count)| {
                let count = count.as_ref()?;
                let more = if count.is_cut { "over " } else { "" };
                let files = count.files.len();
                let noun = if files == 1 { "file" } else { "files" };
                Some(format!("`{}` ({more}{files} {noun})", concept.label.replace('`', "'")))
            })
            .chain(inquiry.paths.iter().map(|path| format!("`{path}`")))
            .collect();
        if !searched.is_empty() {
            self.paragraph(&format!("Searched for {}.", searched.join(", ")));
        }
        let mut problems: Vec<&str> =
            evidence.problems.iter().filter_map(|problem| problem.lines().next()).collect();
        problems.dedup();
        problems.truncate(3);
        if !problems.is_empty() {
            self.paragraph(&format!("Some of it failed: {}.", problems.join("; ")));
        }
    }

    fn disclaim(&mut self, briefing: &Briefing<'_>) {
        let sentence = format!(
            "This is a search report: no language model was used. The instructions of `{}` were not \
             followed, and nothing here was understood, only found.",
            briefing.agent
        );
        self.markdown.push_str(&sentence);
    }

    fn paragraph(&mut self, text: &str) {
        self.markdown.push_str(text);
        self.markdown.push_str("\n\n");
    }

    fn item(&mut self, path: &str, line: usize, text: &str) {
        let shown = snippets::inline(text);
        let item = format!("- `{path}:{line}` `{shown}`\n");
        self.markdown.push_str(&item);
        let text = text.trim().to_owned();
        self.findings.push(Finding { path: path.to_owned(), line, text });
    }
}

/// The first line that has something of what is looked for, what tells most before what tells less.
fn mention<'a>(lines: Option<&Lines<'a>>, inquiry: &Inquiry) -> Option<(usize, &'a str)> {
    inquiry.concepts.iter().find_map(|concept| {
        let mut lines = lines?.iter().map(|(line, text)| (*line, *text));
        lines.find(|(_, text)| concept.is_in(text))
    })
}

fn format_path(path: &str) -> String {
    format!("- `{path}`\n")
}

/// Other files in the folder of the likeliest file's own name, tests left out.
fn parts(homes: &[&Ranked<'_>], evidence: &Evidence<'_>) -> Vec<String> {
    let Some(top) = homes.first() else { return Vec::new() };
    let folder = match top.path.rsplit_once('.') {
        Some((stem, _)) => format!("{stem}/"),
        None => return Vec::new(),
    };
    let is_new = |path: &&str| {
        path.starts_with(&folder)
            && sort_of(path) == Sort::Source
            && !homes.iter().any(|home| home.path == *path)
    };
    evidence.names().filter(is_new).take(8).map(|path| format!("`{path}`")).collect()
}

fn is_asked_for(path: &str, inquiry: &Inquiry) -> bool {
    let name = path.rsplit('/').next();
    inquiry.paths.iter().any(|asked| asked == path || asked.rsplit('/').next() == name)
}

/// The answer in one sentence.
fn headline(inquiry: &Inquiry, homes: &[&Ranked<'_>]) -> String {
    let Some(top) = homes.first() else {
        return "Nothing was found.".to_owned();
    };
    let subject = subject(inquiry, top);
    let best = top.definitions.first();
    match best {
        Some(best) if best.fit > 0.99 || top.is_named => format!(
            "`{subject}` is most likely defined in `{}` (line {}: `{}`).",
            top.path,
            best.line,
            snippets::inline(best.text)
        ),
        None if top.is_named => format!("`{subject}` is most likely the file `{}`.", top.path),
        Some(best) => format!(
            "The search points to `{}`, which defines `{}` on line {}.",
            top.path, best.name, best.line
        ),
        None => format!("What the question names is found most in `{}`.", top.path),
    }
}

/// What the question is about, as the likeliest file spells it.
fn subject(inquiry: &Inquiry, top: &Ranked<'_>) -> String {
    let spelled = |concept: &&Concept| {
        let stem = file_stem(top.path);
        let by_file = (concept.fit(&subwords(stem)) > 0.99).then(|| stem.to_owned());
        by_file.or_else(|| {
            let fits = |name: &str| concept.fit(&subwords(name)) > 0.99;
            let found = top.definitions.iter().find(|found| fits(found.name));
            found.map(|found| found.name.to_owned())
        })
    };
    let telling = || inquiry.concepts.iter().filter(|concept| concept.kind < Kind::Weak);
    telling()
        .find_map(|concept| spelled(&concept))
        .or_else(|| telling().next().map(|concept| concept.label.replace('`', "'")))
        .unwrap_or_default()
}
