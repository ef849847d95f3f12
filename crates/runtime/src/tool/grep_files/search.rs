//! The search itself: a parallel walk, and in each file ripgrep's searcher.
//!
//! Every file is opened beneath the root's own handle; the walk's entry is not trusted.

use std::{
    io::{self, Read},
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use tokio_util::sync::CancellationToken;

use super::{
    super::{catalogue::threads, file_guard::Readable},
    hits::HitSink,
    query::{LineMode, Mode, Query},
    ranking::{Found, Ranking},
};
use crate::tool::workspace::{Kind, NameKind, Next, Seen, Walked, reason};

/// The most memory for one line, or for one file if matches may span lines.
const MAX_HEAP: usize = 16 << 20;

/// A search under way.
#[derive(Debug)]
pub(super) struct Search<'a> {
    query: &'a Query,
    readable: &'a Readable,
    stop: &'a CancellationToken,
    ranking: Mutex<Ranking>,
    /// Set once the ranking is full, so that the lock is not needed before.
    is_full: AtomicBool,
    searched: AtomicUsize,
}

impl<'a> Search<'a> {
    /// Searches, on this thread and others, until done or told to stop.
    pub(super) fn run(
        query: &'a Query,
        readable: &'a Readable,
        stop: &'a CancellationToken,
    ) -> Found {
        let search = Self {
            query,
            readable,
            stop,
            ranking: Mutex::new(Ranking::new(query.limit)),
            is_full: AtomicBool::new(false),
            searched: AtomicUsize::new(0),
        };
        let walked = match query.base.kind() {
            Kind::File => {
                let mut searcher = search.searcher(BinaryDetection::convert(0));
                search.search(query.base.relative(), &mut searcher);
                Walked::default()
            }
            Kind::Directory => query.base.walk(threads(), || {
                let mut searcher = search.searcher(BinaryDetection::quit(0));
                let search = &search;
                move |seen: &Seen<'_>| search.visit(seen, &mut searcher)
            }),
        };
        let searched = search.searched.into_inner();
        let ranking = search.ranking.into_inner();
        ranking.unwrap_or_else(PoisonError::into_inner).finish(searched, walked)
    }

    fn visit(&self, seen: &Seen<'_>, searcher: &mut Searcher) -> Next {
        if self.stop.is_cancelled() {
            return Next::Quit;
        }
        let path = seen.relative;
        if self.is_full.load(Ordering::Relaxed) && self.ranking().is_beyond(path) {
            // All that is in a directory comes after it.
            return Next::Skip;
        }
        if seen.kind == NameKind::File && self.is_chosen(path) {
            self.search(path, searcher);
        }
        Next::GoOn
    }

    fn is_chosen(&self, path: &Path) -> bool {
        let by_type =
            self.query.types.as_ref().is_none_or(|types| !types.matched(path, false).is_ignore());
        by_type
            && self.query.filter.as_ref().is_none_or(|filter| {
                let below_base = path.strip_prefix(self.query.base.relative()).unwrap_or(path);
                filter.chooses(below_base) || filter.chooses(path)
            })
    }

    /// Searches one file, given by its path below the root.
    fn search(&self, path: &Path, searcher: &mut Searcher) {
        if !self.readable.allows(&self.query.base, path) {
            self.ranking().add_forbidden(path.to_owned());
            return;
        }
        self.searched.fetch_add(1, Ordering::Relaxed);
        let mut sink = HitSink::new(self.query);
        let outcome = self.query.base.open_below_root(path).and_then(|file| {
            let file = Stoppable { file, stop: self.stop };
            searcher.search_reader(&self.query.matcher, file, &mut sink)
        });
        if sink.hits.rows == 0 && outcome.is_ok() {
            return;
        }
        let mut ranking = self.ranking();
        if let Err(error) = outcome {
            ranking.add_unread(path.to_owned(), reason(&error));
        }
        if sink.hits.rows > 0 {
            ranking.add(path.to_owned(), sink.hits);
            self.is_full.store(ranking.is_full(), Ordering::Relaxed);
        }
    }

    fn searcher(&self, binary: BinaryDetection) -> Searcher {
        let content = self.query.mode == Mode::Content;
        SearcherBuilder::new()
            .line_number(content)
            .before_context(if content { self.query.before } else { 0 })
            .after_context(if content { self.query.after } else { 0 })
            .multi_line(self.query.lines != LineMode::Single)
            .heap_limit(Some(MAX_HEAP))
            .binary_detection(binary)
            .build()
    }

    fn ranking(&self) -> MutexGuard<'_, Ranking> {
        self.ranking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that fails to read on once it is told to stop.
struct Stoppable<'s> {
    file: std::fs::File,
    stop: &'s CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}
