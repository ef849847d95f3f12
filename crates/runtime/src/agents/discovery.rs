//! Discovery: every agent file on the machine, read once and again only when it has changed.
//!
//! One bad file or folder never stops, hangs or hides the rest: each yields a diagnostic of its own.

mod file;
pub(crate) mod places;
mod walk;
pub(crate) mod watch;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use attache_kernel::agent::{
    definition::{
        Code, Diagnostic, Dialect, Format, Position, Scope, Trust,
        reading::{Reading, Rules, Source, read, read_session_agents},
    },
    registry::{Candidate, DiscoveryEvent, DiscoveryKind},
};

pub(crate) use self::file::Stamp;
pub(crate) use self::places::Place;
pub use self::places::{DiscoveryMode, Places};
use self::{
    file::{Content, Hashing},
    walk::Entry,
};
use crate::agents::{
    builtin,
    trust::{BaseDirCheck, ContentHash, TrustStore},
};

/// Finds agents, and remembers what it has read.
#[derive(Debug)]
pub struct Discovery {
    places: Places,
    rules: Rules,
    session_agents: Vec<Reading>,
    /// Read once: they are part of the program.
    builtin: Vec<Candidate>,
    cache: HashMap<PathBuf, Cached>,
}

#[derive(Debug, Clone)]
struct Cached {
    stamp: Stamp,
    reading: Arc<Reading>,
    /// Computed only if the trust store has an entry for the file.
    hash: Option<ContentHash>,
}

/// What a look found.
#[derive(Debug, Default)]
pub struct Found {
    /// Every file that may be an agent, and the built-in agents.
    pub candidates: Vec<Candidate>,
    /// What happened during the look.
    pub events: Vec<DiscoveryEvent>,
    /// How many files were opened.
    pub files_read: usize,
}

/// A file whose content is new.
struct Job {
    entry: Entry,
    place: Place,
    hashing: Hashing,
}

enum Done {
    Read(Cached),
    Refused(Arc<Reading>),
    Vanished,
}

/// What a file of a project holds, which may be huge, a pipe, not text, or gone.
pub(crate) enum ProjectFile {
    /// Its text.
    Text(String),
    /// It has none, and why.
    Unreadable(String),
    /// It is not there.
    Gone,
}

/// Reads a file of a project. It never blocks.
pub(crate) fn project_file(path: &Path) -> ProjectFile {
    match file::read(path, Hashing::Unneeded) {
        Content::Text { text, .. } => ProjectFile::Text(text),
        Content::Refused(diagnostic) => ProjectFile::Unreadable(diagnostic.message),
        Content::Vanished => ProjectFile::Gone,
    }
}

impl Discovery {
    /// A discovery over those places.
    pub fn new(places: Places, rules: Rules) -> Self {
        let (session_agents, builtin) = (Vec::new(), builtin::candidates(&rules));
        Self { places, rules, session_agents, builtin, cache: HashMap::new() }
    }

    /// Adds the agents of a JSON object, for this session alone.
    pub fn add_session_agents(&mut self, json: &str) -> Result<(), Diagnostic> {
        self.session_agents.extend(read_session_agents(json, &self.rules)?);
        Ok(())
    }

    /// The agents of this session alone.
    pub fn session_agents(&self) -> &[Reading] {
        &self.session_agents
    }

    /// Where it looks.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Looks at every place. Files that have not changed since the last look are not read again.
    pub fn look(&mut self, trust: &TrustStore) -> Found {
        let mut found = Found { candidates: self.builtin.clone(), ..Found::default() };
        found.candidates.extend(self.session_agents.iter().map(|reading| Candidate {
            reading: Arc::new(reading.clone()),
            scope: Scope::Session,
            dialect: Dialect::Claude,
            path: None,
            distance: 0,
            // The user wrote it on the command line.
            trust: Trust::Trusted,
        }));
        let mut jobs = Vec::new();
        let mut fresh: HashMap<PathBuf, Cached> = HashMap::with_capacity(self.cache.len());
        for place in self.places.list() {
            for entry in walk::files(&place, &mut found.events) {
                let known = !trust.is_empty() && trust.knows_canonical(&entry.canonical());
                let hashing = if known { Hashing::Wanted } else { Hashing::Unneeded };
                // A folder inside another place is seen twice, and read once.
                if let Some(cached) = fresh.get(&entry.path) {
                    found.candidates.push(self.candidate(&place, &entry.path, cached, trust));
                    continue;
                }
                match self.unchanged(&entry, hashing) {
                    Some((path, cached)) => {
                        found.candidates.push(self.candidate(&place, &path, &cached, trust));
                        fresh.insert(path, cached);
                    }
                    None => jobs.push(Job { entry, place: place.clone(), hashing }),
                }
            }
        }
        found.files_read = jobs.len();
        let done = in_parallel(&jobs, |job| read_job(job, &self.rules));
        for (job, done) in jobs.iter().zip(done) {
            match done {
                Done::Read(cached) => {
                    found.candidates.push(self.candidate(
                        &job.place,
                        &job.entry.path,
                        &cached,
                        trust,
                    ));
                    fresh.insert(job.entry.path.clone(), cached);
                }
                Done::Refused(reading) => {
                    found.candidates.push(untrusted(&job.place, &job.entry.path, reading));
                }
                Done::Vanished => found.events.push(DiscoveryEvent {
                    kind: DiscoveryKind::Unreadable,
                    name: None,
                    path: Some(job.entry.path.clone()),
                    message: format!("{} vanished before it was read", job.entry.path.display()),
                }),
            }
        }
        self.cache = fresh;
        found
    }

    fn candidate(
        &self,
        place: &Place,
        path: &Path,
        cached: &Cached,
        trust: &TrustStore,
    ) -> Candidate {
        let mut candidate = untrusted(place, path, Arc::clone(&cached.reading));
        if !cached.hash.as_ref().is_some_and(|hash| trust.trusts(path, hash)) {
            return candidate;
        }
        let definition = cached.reading.definition.as_ref();
        let base_dir = definition.and_then(|definition| definition.base_dir.as_deref());
        match trust.check_base_dir(path, base_dir, &self.places.working_directory) {
            BaseDirCheck::Covered => candidate.trust = Trust::Trusted,
            BaseDirCheck::Moved { was, now } => {
                let reading = Arc::make_mut(&mut candidate.reading);
                reading.diagnostics.push(trust_lost(was.as_deref(), &now));
            }
        }
        candidate
    }

    /// The cached reading of a file, removed from the cache, if the file has not changed.
    fn unchanged(&mut self, entry: &Entry, hashing: Hashing) -> Option<(PathBuf, Cached)> {
        let stamp = entry.metadata.as_ref().map(Stamp::from_metadata)?;
        let (path, cached) = self.cache.remove_entry(&entry.path)?;
        let holds =
            cached.stamp == stamp && (hashing == Hashing::Unneeded || cached.hash.is_some());
        holds.then_some((path, cached))
    }
}

/// A file that was named, and what it yields.
#[derive(Debug)]
pub struct NamedFile {
    /// Its path as it was named.
    pub path: PathBuf,
    /// Whose format it is.
    pub dialect: Dialect,
    /// What it yields.
    pub reading: Reading,
}

/// Reads files that were named. A file in one of the places belongs to that place, any other file to a
/// project.
pub fn read_paths(paths: Vec<PathBuf>, places: &Places, rules: &Rules) -> Vec<NamedFile> {
    let places: Vec<Place> = places.list().into_iter().map(Place::canonical).collect();
    let mut folders: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
    let located: Vec<(PathBuf, Scope, Dialect)> = paths
        .iter()
        .map(|path| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).to_path_buf();
            let canonical =
                folders.entry(folder).or_insert_with_key(|folder| folder.canonicalize().ok());
            let whole = match (canonical, path.file_name()) {
                (Some(folder), Some(name)) => folder.join(name),
                _ => path.clone(),
            };
            let place = places.iter().find(|place| place.holds(&whole));
            let dialect = place.and_then(|place| place.dialect);
            let dialect = dialect.unwrap_or_else(|| Dialect::of_path(&whole));
            (whole, place.map_or(Scope::Project, |place| place.scope), dialect)
        })
        .collect();
    let readings =
        in_parallel(&located, |(path, scope, dialect)| read_path(path, *scope, *dialect, rules));
    paths
        .into_iter()
        .zip(located)
        .zip(readings)
        .map(|((path, (_, _, dialect)), reading)| NamedFile { path, dialect, reading })
        .collect()
}

fn read_path(path: &Path, scope: Scope, dialect: Dialect, rules: &Rules) -> Reading {
    let Some(format) = Format::of_path(path) else {
        return Reading::not_a_definition(Diagnostic::note(
            Code::NotADefinition,
            Position::START,
            "agent files end in .md, .yaml, .yml or .toml",
        ));
    };
    match file::read(path, Hashing::Unneeded) {
        Content::Text { text, warning, hash: _ } => {
            let source = Source { text: &text, path: Some(path), scope, dialect, format };
            with_warning(read(&source, rules), warning)
        }
        Content::Refused(diagnostic) => Reading::unreadable(diagnostic),
        Content::Vanished => Reading::unreadable(
            Diagnostic::error(Code::Unreadable, Position::START, "there is no such file")
                .with_hint("check the path"),
        ),
    }
}

/// The files below a folder that may be agents, sorted; a file is itself.
pub fn list_path(path: &Path, places: &Places, events: &mut Vec<DiscoveryEvent>) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_path_buf()];
    }
    let place = Place {
        folder: path.to_path_buf(),
        scope: Scope::User,
        dialect: None,
        distance: 0,
        named: true,
        links: places.links_of_named(path),
    };
    walk::files(&place, events).into_iter().map(|entry| entry.path).collect()
}

/// The content of a file as trust records it.
pub fn content_hash(path: &Path) -> std::io::Result<ContentHash> {
    // Reading a pipe would block for ever.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    std::fs::read(path).map(|bytes| ContentHash::from_content(&bytes))
}

/// Applies a function to every item on several threads; the results are in the order of the items.
fn in_parallel<Item: Sync, Made: Send>(
    items: &[Item],
    make: impl Fn(&Item) -> Made + Sync,
) -> Vec<Made> {
    const FEWEST_PER_THREAD: usize = 32;
    let worth_while = items.len() / FEWEST_PER_THREAD;
    // Counting the cores reads several files.
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if worth_while < 2 { 1 } else { cores().min(worth_while).min(8) };
    if threads == 1 {
        return items.iter().map(make).collect();
    }
    let share = items.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let make = &make;
        let workers: Vec<_> = items
            .chunks(share)
            .map(|chunk| scope.spawn(move || chunk.iter().map(make).collect::<Vec<Made>>()))
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    })
}

fn read_job(job: &Job, rules: &Rules) -> Done {
    let Entry { path, format, metadata, .. } = &job.entry;
    // A broken link, or something that is not a file, has no content to remember.
    match file::read(path, job.hashing) {
        Content::Text { text, warning, hash } => {
            let dialect = job.place.dialect.unwrap_or_else(|| Dialect::of_path(path));
            let scope = job.place.scope;
            let source = Source { text: &text, path: Some(path), scope, dialect, format: *format };
            let reading = Arc::new(with_warning(read(&source, rules), warning));
            match metadata.as_ref().map(Stamp::from_metadata) {
                Some(stamp) => Done::Read(Cached { stamp, reading, hash }),
                None => Done::Refused(reading),
            }
        }
        Content::Refused(diagnostic) => Done::Refused(Arc::new(Reading::unreadable(diagnostic))),
        Content::Vanished => Done::Vanished,
    }
}

fn with_warning(mut reading: Reading, warning: Option<Diagnostic>) -> Reading {
    reading.diagnostics.extend(warning);
    reading.diagnostics.sort_by_key(Diagnostic::position);
    reading
}

fn trust_lost(was: Option<&Path>, now: &Path) -> Diagnostic {
    let was = was.map_or_else(|| "somewhere else".to_owned(), |was| was.display().to_string());
    Diagnostic::warning(
        Code::TrustLost,
        Position::START,
        format!(
            "it is no longer trusted: its base directory led to {was}, and now leads to {}",
            now.display()
        ),
    )
    .with_hint("if that is right, trust it again: attache trust NAME")
}

fn untrusted(place: &Place, path: &Path, reading: Arc<Reading>) -> Candidate {
    Candidate {
        reading,
        scope: place.scope,
        dialect: place.dialect.unwrap_or_else(|| Dialect::of_path(path)),
        path: Some(path.to_path_buf()),
        distance: place.distance,
        trust: Trust::Untrusted,
    }
}
