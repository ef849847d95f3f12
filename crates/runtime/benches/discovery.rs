//! How long it takes to discover and judge the open corpus: cold, and again with nothing changed.
//!
//! `cargo bench --bench discovery`. Times are medians of one run on this machine; compare the ratios.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may fail")]

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use attache_kernel::agent::definition::{
    Dialect, Format, Scope,
    reading::{Rules, Source, read},
};
use attache_runtime::internal::agents::{
    discovery::{Discovery, DiscoveryMode, Places, list_path},
    trust::TrustStore,
};
use attache_testkit::corpus::Corpus;

const ROUNDS: usize = 15;

fn median(mut measure: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| measure()).collect();
    times.sort();
    times[ROUNDS / 2]
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = match Corpus::find(&root) {
        Ok(corpus) => corpus,
        Err(place) => {
            println!("there is no corpus at {}; set ATTACHE_CORPUS", place.display());
            return;
        }
    };
    let folder = corpus.folder().join("files");
    let places = Places {
        working_directory: corpus.folder().to_path_buf(),
        home: None,
        attache_home: corpus.folder().join("none"),
        agents_dir: None,
        extra_dirs: vec![folder.clone()],
        mode: DiscoveryMode::Manual,
    };
    let files: Vec<PathBuf> = list_path(&folder, &places, &mut Vec::new());
    let texts: Vec<(PathBuf, String)> = files
        .iter()
        .map(|path| (path.clone(), String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()))
        .collect();
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    println!("{} files, {:.1} MB", files.len(), f64::from(u32::try_from(bytes).unwrap()) / 1e6);

    let baseline = median(|| {
        timed(|| {
            for path in &files {
                black_box(fs::read(path).unwrap());
            }
        })
    });
    let rules = Rules::default();
    let judging = median(|| {
        timed(|| {
            for (path, text) in &texts {
                let format = Format::of_path(path).unwrap();
                let dialect = Dialect::of_path(path);
                let source =
                    Source { text, path: Some(path), scope: Scope::Project, dialect, format };
                black_box(read(&source, &rules));
            }
        })
    });
    let trust = TrustStore::default();
    let cold = median(|| {
        let mut discovery = Discovery::new(places.clone(), rules.clone());
        timed(|| {
            black_box(discovery.look(&trust));
        })
    });
    let mut discovery = Discovery::new(places, rules);
    discovery.look(&trust);
    let mut read_again = 0;
    let again = median(|| timed(|| read_again += discovery.look(&trust).files_read));

    let count = u32::try_from(files.len()).unwrap();
    let ratio = |time: Duration| time.as_secs_f64() / baseline.as_secs_f64();
    println!("read every file, one core       {baseline:>10.2?}   1.00");
    println!(
        "judge every text, one core      {judging:>10.2?}   {:.2}   {:.2?} a file",
        ratio(judging),
        judging / count
    );
    println!(
        "discover and judge, cold        {cold:>10.2?}   {:.2}   {:.2?} a file",
        ratio(cold),
        cold / count
    );
    println!(
        "again, nothing changed          {again:>10.2?}   {:.2}   {read_again} files read",
        ratio(again)
    );
}
