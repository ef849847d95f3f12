//! The store as runs use it, on real files: pages, claims, waiting for the disk, a transcript that is
//! taken away, and followers.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    sync::{Arc, mpsc},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, SystemTime},
};

use attache_kernel::{
    id::{RunId, SessionId},
    run::{
        event::{Event, Progress},
        transcript::{Entry, Header, Line},
    },
};
use attache_runtime::internal::store::{
    Durability, FileStore, JournalWriter as _, Options, Secrets, Store, StoreError,
};
use attache_testkit::{
    entry::{entry, tool_answer as answer},
    other_writer::OtherWriter,
};
use tempfile::TempDir;

const GOLDEN: &str = include_str!("../../../kernel/tests/it/golden/transcript.jsonl");

fn header(id: &str) -> Header {
    let Line::Header(mut header) = Line::parse(GOLDEN.lines().next().unwrap()).unwrap() else {
        unreachable!("the golden file begins with its header");
    };
    header.run.agent_id = RunId::new(id);
    header.run.session_id = SessionId::new("s");
    *header
}

fn turn_end(seq: u64) -> Entry {
    let progress =
        Progress { turns_completed: 1, max_turns: 30, elapsed_seconds: 1, max_seconds: 120 };
    entry(seq, Event::TurnCompleted { turn: 1, progress, total_tokens: 1000 })
}

fn store_in(folder: &TempDir, options: Options) -> FileStore {
    FileStore::new(folder.path().join("sessions"), options)
}

/// Every entry from a number on, page by page.
fn all_from(store: &FileStore, run: &RunId, first_seq: u64) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut next = first_seq;
    loop {
        let page = store.read_from(run, next).unwrap();
        let Some(last) = page.last() else { return all };
        next = last.seq + 1;
        all.extend(page);
    }
}

#[test]
fn entries_are_read_from_any_number_on() {
    let folder = TempDir::new().unwrap();
    let secrets = Secrets::new(["sk-very-secret"]);
    let store = store_in(&folder, Options { secrets, ..Options::default() });
    let run = RunId::new("agent-1");
    let mut journal = store.create(&header("agent-1")).unwrap();
    assert_eq!(store.read_from(&run, 1).unwrap(), []);
    // Numbers have gaps where chunks were shown; some lines are long, and some were masked.
    let text = |seq: u64| match seq % 7 {
        0 => "x".repeat(70_000),
        1 => "sk-very-secret".to_owned(),
        _ => "short".repeat(100),
    };
    let written: Vec<Entry> = (1..200).map(|step| answer(step * 3, &text(step))).collect();
    journal.write_all(&written).unwrap();
    let masked = |entry: &Entry| match entry.seq / 3 % 7 {
        1 => answer(entry.seq, "***"),
        _ => entry.clone(),
    };
    let expected: Vec<Entry> = written.iter().map(masked).collect();
    let check = |store: &FileStore| {
        for first in [0, 1, 4, 299, 300, 596, 597, 598, u64::MAX] {
            let from = expected.iter().position(|entry| entry.seq >= first);
            let expected = from.map(|from| &expected[from..]).unwrap_or_default();
            assert_eq!(all_from(store, &run, first), expected, "from {first}");
        }
    };
    check(&store);
    // Another process has no writer at hand; a line that is being written does not count.
    let path = journal.path().to_path_buf();
    drop(journal);
    let mut torn = OpenOptions::new().append(true).open(path).unwrap();
    torn.write_all(b"{\"type\":\"event\",\"seq\":18").unwrap();
    check(&store_in(&folder, Options::default()));
    let unknown = store.read_from(&RunId::new("agent"), 1).unwrap_err();
    assert!(matches!(unknown, StoreError::Unknown { .. }), "the beginning of an id: {unknown:?}");
}

#[test]
fn a_page_is_bounded_and_damage_is_named() {
    let folder = TempDir::new().unwrap();
    let store = store_in(&folder, Options::default());
    let run = RunId::new("agent-1");
    let mut journal = store.create(&header("agent-1")).unwrap();
    let written: Vec<Entry> = (1..101).map(|seq| answer(seq, &"x".repeat(100_000))).collect();
    journal.write_all(&written).unwrap();
    assert_eq!(store.read_from(&run, 1).unwrap().len(), 11, "about a megabyte");
    assert_eq!(store.read_from(&run, 95).unwrap().len(), 6);
    let path = journal.path().to_path_buf();
    drop(journal);
    let text = fs::read_to_string(&path).unwrap().replace("\"seq\":97,", "\"seq\":no,");
    fs::write(&path, text).unwrap();
    let error = store.read_from(&run, 95).unwrap_err();
    assert!(matches!(error, StoreError::Broken { line: 98, .. }), "{error:?}");
}

/// What this thread has read so far, as the system counts it.
fn bytes_read() -> u64 {
    let counted = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = counted.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn the_end_of_a_long_journal_is_read_without_the_rest() {
    let folder = TempDir::new().unwrap();
    let store = store_in(&folder, Options::default());
    let mut journal = store.create(&header("agent-1")).unwrap();
    let written: Vec<Entry> = (1..10_000).map(|seq| answer(seq, &"x".repeat(1000))).collect();
    journal.write_all(&written).unwrap();
    let before = bytes_read();
    let page = store.read_from(&RunId::new("agent-1"), 9_990).unwrap();
    let read = bytes_read() - before;
    assert_eq!(page.len(), 10);
    assert!(read < 2_000_000, "{read} of 10 MB");
}

#[test]
fn a_machine_that_may_fail_is_waited_for_on_another_thread() {
    let folder = TempDir::new().unwrap();
    let options = Options { durability: Durability::Machine, ..Options::default() };
    let store = store_in(&folder, options);
    let mut journal = store.create(&header("agent-1")).unwrap();
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        // The one thread that may block is busy, so the disk has to wait.
        let (release, released) = mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || released.recv().is_ok());
        let entries = [turn_end(1)];
        let mut appending = journal.append(&entries);
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(appending.as_mut().poll(&mut context), Poll::Pending));
        assert_eq!(store.read("agent-1").unwrap().entries, entries, "it is written already");
        release.send(()).unwrap();
        appending.await.unwrap();
        assert!(busy.await.unwrap());
        // Between the ends of turns nobody waits.
        let entries = [answer(2, "x")];
        let mut appending = journal.append(&entries);
        assert!(matches!(appending.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
    });
}

#[tokio::test]
async fn a_transcript_that_was_taken_away_is_noticed_at_the_end_of_the_turn() {
    for take_away in [
        (|sessions| fs::remove_dir_all(sessions).unwrap()) as fn(&std::path::Path),
        |sessions| fs::rename(sessions, sessions.with_extension("moved")).unwrap(),
        |sessions| {
            let path = sessions.join("s/agent-1.jsonl");
            fs::remove_file(&path).unwrap();
            fs::write(&path, GOLDEN).unwrap();
        },
    ] {
        let folder = TempDir::new().unwrap();
        let store = store_in(&folder, Options::default());
        let mut journal = Store::create(&store, &header("agent-1")).await.unwrap();
        journal.append(&[answer(1, "x"), turn_end(2)]).await.unwrap();
        take_away(store.sessions());
        journal.append(&[answer(3, "x")]).await.unwrap();
        let error = journal.append(&[turn_end(4)]).await.unwrap_err();
        assert!(matches!(error, StoreError::Removed { .. }), "{error:?}");
        assert!(error.report().contains("was removed while the run was going on"));
    }
}

#[test]
fn one_run_at_a_time_resumes_another() {
    let folder = TempDir::new().unwrap();
    // Two stores are like two processes: they share nothing but the files.
    let (one, other) =
        (store_in(&folder, Options::default()), store_in(&folder, Options::default()));
    drop(one.create(&header("agent-1")).unwrap());
    let earlier = header("agent-1").run;
    let claim = one.claim_resume(&earlier, &RunId::new("agent-2")).unwrap();
    let error = other.claim_resume(&earlier, &RunId::new("agent-3")).unwrap_err();
    assert_eq!(error.to_string(), "the run agent-1 is being resumed by agent-2");
    assert!(matches!(error, StoreError::BeingResumed { .. }), "{error:?}");
    let cleaned = other.clean(Duration::ZERO, SystemTime::now()).unwrap();
    assert_eq!((cleaned.removed.len(), cleaned.running), (0, 1), "its artifacts are in use");
    assert!(other.claim_resume(&header("agent-9").run, &RunId::new("agent-4")).is_ok());
    drop(claim);
    drop(other.claim_resume(&earlier, &RunId::new("agent-3")).unwrap());
    let files: Vec<_> = fs::read_dir(one.sessions().join("s")).unwrap().collect();
    assert_eq!(files.len(), 1, "no claim is left behind");
}

#[test]
fn what_a_killed_process_claimed_is_free_again() {
    let folder = TempDir::new().unwrap();
    let store = store_in(&folder, Options::default());
    drop(store.create(&header("agent-1")).unwrap());
    for left in ["agent-1.resuming", "agent-gone.resuming"] {
        fs::write(store.sessions().join("s").join(left), "agent-killed").unwrap();
    }
    drop(store.claim_resume(&header("agent-1").run, &RunId::new("agent-2")).unwrap());
    fs::write(store.sessions().join("s/agent-1.resuming"), "agent-killed").unwrap();
    assert_eq!(store.clean(Duration::ZERO, SystemTime::now()).unwrap().removed.len(), 1);
    assert!(!store.sessions().join("s").exists(), "nothing is left of it");
}

#[tokio::test]
async fn many_claims_at_once_and_one_gets_it() {
    let folder = TempDir::new().unwrap();
    let store: Arc<dyn Store> = Arc::new(store_in(&folder, Options::default()));
    let earlier = header("agent-1").run;
    let mut claims = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (store, earlier) = (Arc::clone(&store), earlier.clone());
        claims.spawn(async move {
            store.claim_resume(&earlier, &RunId::new(format!("agent-{number}"))).await
        });
    }
    let claims = claims.join_all().await;
    assert_eq!(claims.iter().filter(|claim| claim.is_ok()).count(), 1, "{claims:?}");
}

/// A process that writes a transcript until it is killed.
#[test]
fn a_follower_of_a_killed_writer_ends() {
    let folder = TempDir::new().unwrap();
    let store = store_in(&folder, Options::default());
    drop(store.create(&header("agent-1")).unwrap());
    let path = store.sessions().join("s/agent-1.jsonl");
    let mut writer = OtherWriter::holding(&path);
    let mut follower = store.follow("agent-1").unwrap();
    assert_eq!(follower.next_lines().unwrap().unwrap().len(), 1);
    let (told, lines) = mpsc::channel();
    let following = thread::spawn(move || {
        while let Some(lines) = follower.next_lines().unwrap() {
            told.send(lines).unwrap();
        }
    });
    let line = Line::Event(answer(1, "on")).to_json().unwrap();
    writer.append(&line);
    assert_eq!(lines.recv().unwrap(), std::slice::from_ref(&line));
    // A transcript that is removed is followed as long as its writer lives.
    fs::remove_dir_all(store.sessions()).unwrap();
    writer.append(&line);
    assert_eq!(lines.recv().unwrap(), [line]);
    writer.kill();
    following.join().unwrap();
    assert!(lines.recv().is_err(), "nothing more was told");
}

/// A transcript of two answers that cost something.
fn golden(store: &FileStore, id: &str) -> std::path::PathBuf {
    let path = store.sessions().join("s").join(format!("{id}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, GOLDEN).unwrap();
    path
}

/// How many turns are counted, and what they cost.
fn spent(store: &FileStore) -> (usize, f64) {
    let runs: Vec<_> = store.spending().unwrap().map(Result::unwrap).collect();
    let turns = runs.iter().flat_map(|run| &run.turns);
    (turns.clone().count(), turns.filter_map(|turn| turn.spent.cost_usd).sum())
}

#[test]
fn what_removed_runs_spent_still_counts_and_counts_once() {
    let folder = TempDir::new().unwrap();
    let ledger = folder.path().join("usage.jsonl");
    let store = store_in(&folder, Options { ledger: Some(ledger.clone()), ..Options::default() });
    let clean = || store.clean(Duration::ZERO, SystemTime::now()).unwrap();
    let one = golden(&store, "agent-1");
    golden(&store, "agent-2");
    let before: Vec<_> = store.spending().unwrap().map(Result::unwrap).collect();
    assert_eq!(spent(&store), (4, 1.0));
    let would = store.would_clean(Duration::ZERO, SystemTime::now()).unwrap();
    assert!(would.removed.len() == 2 && !ledger.exists(), "a trial writes nothing");
    assert_eq!((clean().removed.len(), spent(&store)), (2, (4, 1.0)));
    let after: Vec<_> = store.spending().unwrap().map(Result::unwrap).collect();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&before.turns, &before.model), (&after.turns, &after.model));
        assert_eq!(before.agent_type, after.agent_type);
    }
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&ledger).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // Cut off between the two: the line is written, and the transcript is still there.
    fs::write(golden(&store, "agent-1"), GOLDEN).unwrap();
    assert_eq!(spent(&store), (4, 1.0));
    let in_session = store.spending_in(&SessionId::new("s")).unwrap().map(Result::unwrap).count();
    assert_eq!(in_session, 2);
    let elsewhere = store.spending_in(&SessionId::new("t")).unwrap().count();
    assert_eq!(elsewhere, 0);
    assert_eq!((clean().removed.len(), one.exists(), spent(&store)), (1, false, (4, 1.0)));
    // A line that was cut off is not read, and damages no other.
    OpenOptions::new().append(true).open(&ledger).unwrap().write_all(b"{\"version\":1,").unwrap();
    assert_eq!(spent(&store), (4, 1.0));
    golden(&store, "agent-3");
    assert_eq!(clean().removed.len(), 1);
    let runs: Vec<_> = store.spending().unwrap().collect();
    assert_eq!(runs.iter().filter(|run| run.is_ok()).count(), 3);
    let broken: Vec<_> = runs.iter().filter_map(|run| run.as_ref().err()).collect();
    assert!(matches!(broken[..], [StoreError::Broken { line: 4, .. }]), "{broken:?}");
}

#[test]
fn a_ledger_that_cannot_be_written_is_told_and_stops_no_cleaning() {
    let folder = TempDir::new().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let ledger = folder.path().join("usage.jsonl");
    std::os::unix::fs::symlink(&victim, &ledger).unwrap();
    let store = store_in(&folder, Options { ledger: Some(ledger), ..Options::default() });
    golden(&store, "agent-1");
    let cleaned = store.clean(Duration::ZERO, SystemTime::now()).unwrap();
    assert_eq!(cleaned.removed.len(), 1);
    let error = cleaned.not_kept.unwrap();
    assert!(error.hint().contains("symbolic link"), "{}", error.report());
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
}
