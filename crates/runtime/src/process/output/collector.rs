//! The collector of a process's output: text for the model, bounded, and the whole of it on disk.
//!
//! Invariant: memory is bounded, nothing is left out in silence, and no key is shown or kept. A disk is
//! touched only once the text is too long to be shown.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use super::{excerpt::Excerpt, lines::Lines};
use crate::tool::{
    artifacts::{ArtifactFile, Artifacts, Bound},
    wording::size,
    workspace::{reason, shown},
};

/// Output is taken for binary if one of its first bytes is NUL.
const LOOKED_AT: usize = 8 << 10;
/// How much text is taken at once.
const PIECE: usize = 8 << 10;

/// Collects output.
#[derive(Debug)]
pub(crate) struct Collector {
    artifacts: Arc<Artifacts>,
    stem: &'static str,
    lines: Lines,
    part: Part,
}

/// What was collected since somebody last took it.
#[derive(Debug, Default)]
struct Part {
    excerpt: Excerpt,
    kept: Kept,
    /// How many bytes came, before they were cleaned.
    raw: u64,
    is_binary: bool,
}

/// The whole text on disk.
#[derive(Debug, Default)]
enum Kept {
    #[default]
    NotYet,
    In(ArtifactFile),
    Failed(String),
}

/// What a process wrote, for the model.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Collected {
    /// The text; empty if nothing came.
    pub(crate) text: String,
    /// Where the whole text is, if this is not.
    pub(crate) artifact: Option<PathBuf>,
    /// What is to be told beside it.
    pub(crate) remark: Option<String>,
}

impl Collector {
    /// A collector that keeps long texts under that name.
    pub(crate) fn new(artifacts: Arc<Artifacts>, stem: &'static str) -> Self {
        Self { artifacts, stem, lines: Lines::default(), part: Part::default() }
    }

    /// Whether taking these bytes may write to disk.
    pub(crate) fn may_write(&self, bytes: &[u8]) -> bool {
        self.part.excerpt.may_exceed_with(bytes)
    }

    /// Takes bytes as they come.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let Self { artifacts, stem, lines, part } = self;
        if part.is_binary(bytes) {
            return;
        }
        lines.push(bytes, |text| part.take(text, artifacts, stem));
    }

    /// Whether something came since it was last taken.
    pub(crate) fn has_output(&self) -> bool {
        self.part.raw > 0
    }

    /// Whether the output ends in the middle of a line, as a prompt does.
    pub(crate) fn ends_within_a_line(&self) -> bool {
        self.lines.ends_within_a_line()
    }

    /// What came since this was last asked, for somebody who watches.
    pub(crate) fn fresh(&mut self) -> String {
        let fresh = self.lines.fresh();
        if self.part.is_binary { String::new() } else { fresh }
    }

    /// Hands over what came since it was last taken, cut to `bound`. `is_over` says that no more comes.
    pub(crate) fn take(&mut self, bound: Bound, is_over: bool) -> Collected {
        let Self { artifacts, stem, lines, part } = self;
        let each = |text: &str| part.take(text, artifacts, stem);
        if is_over {
            lines.finish(each);
        } else {
            lines.flush(each);
        }
        let mut part = std::mem::take(&mut self.part);
        part.keep_if_beyond(bound, artifacts, stem);
        part.into_collected(bound, artifacts)
    }
}

impl Part {
    /// Whether the output is binary, judged by its first bytes.
    fn is_binary(&mut self, bytes: &[u8]) -> bool {
        let looked_at = LOOKED_AT.saturating_sub(usize::try_from(self.raw).unwrap_or(LOOKED_AT));
        let first = bytes.get(..looked_at).unwrap_or(bytes);
        self.is_binary |= first.contains(&0);
        self.raw += bytes.len() as u64;
        self.is_binary
    }

    /// Takes text in pieces, so that none is dropped from memory before it is kept.
    fn take(&mut self, text: &str, artifacts: &Arc<Artifacts>, stem: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
            rest = after;
            self.excerpt.push(piece);
            if let Kept::In(file) = &mut self.kept {
                if let Err(error) = file.write(piece) {
                    self.kept = Kept::Failed(reason(&error));
                }
            } else {
                self.keep_if_beyond(Bound::DEFAULT, artifacts, stem);
            }
        }
    }

    fn keep_if_beyond(&mut self, bound: Bound, artifacts: &Arc<Artifacts>, stem: &str) {
        if matches!(self.kept, Kept::NotYet) && !self.is_binary && self.excerpt.exceeds(bound) {
            self.kept = self.begin(artifacts, stem);
        }
    }

    /// Begins to keep the text: all of it is still in memory at that moment.
    fn begin(&self, artifacts: &Arc<Artifacts>, stem: &str) -> Kept {
        let Some(whole) = self.excerpt.whole() else {
            return Kept::Failed("its beginning is gone".to_owned());
        };
        let begun = artifacts.begin(stem).and_then(|mut file| file.write(&whole).map(|()| file));
        begun.map_or_else(|error| Kept::Failed(reason(&error)), Kept::In)
    }

    fn into_collected(self, bound: Bound, artifacts: &Artifacts) -> Collected {
        if self.is_binary {
            let size = size(self.raw);
            let text = format!("[binary output, {size}, not shown; redirect it to a file]");
            return Collected { text, ..Collected::default() };
        }
        let (where_kept, artifact) = match self.kept {
            Kept::NotYet => (String::new(), None),
            Kept::Failed(reason) => (format!("the full text could not be kept: {reason}"), None),
            Kept::In(file) => match file.finish() {
                Ok((path, is_whole)) => {
                    let what = if is_whole { "full text" } else { "its beginning" };
                    (format!("{what}: {}", shown(&path)), Some(path))
                }
                Err(error) => {
                    (format!("the full text could not be kept: {}", reason(&error)), None)
                }
            },
        };
        let text = self.excerpt.render(bound, &where_kept);
        let text = match artifacts.mask(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked,
        };
        Collected { text, artifact, remark: None }
    }
}
