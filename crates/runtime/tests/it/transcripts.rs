//! The transcript store on real files: whatever is cut off, locked, full or hostile.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use attache_kernel::{
    id::{RunId, SessionId, ToolCallId},
    run::{
        event::Event,
        message::{AssistantPart, Message, ToolCall},
        transcript::{Entry, Header, Line, fold},
    },
};
use attache_runtime::internal::store::{
    Durability, FileStore, Options, RunState, Secrets, Store, StoreError, files::FileWriter,
};
use attache_testkit::entry::tool_answer as answer;
use tempfile::TempDir;

const GOLDEN: &str = include_str!("../../../kernel/tests/it/golden/transcript.jsonl");
const DAY: Duration = Duration::from_hours(24);

struct Fixture {
    scratch: TempDir,
    store: FileStore,
}

impl Fixture {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let store = FileStore::new(scratch.path().join("home/sessions"), options);
        Self { scratch, store }
    }

    fn path(&self, session: &str, id: &str) -> PathBuf {
        self.store.sessions().join(session).join(format!("{id}.jsonl"))
    }

    /// A transcript file with that content, written by nobody in particular.
    fn file(&self, session: &str, id: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(session, id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The golden transcript, whole.
    fn write_golden(&self, session: &str, id: &str) -> FileWriter {
        let mut journal = self.store.create(&header(session, id)).unwrap();
        for entry in entries() {
            journal.write(&entry).unwrap();
        }
        journal
    }
}

fn header(session: &str, id: &str) -> Header {
    let Line::Header(mut header) = Line::parse(GOLDEN.lines().next().unwrap()).unwrap() else {
        unreachable!("the golden file begins with its header");
    };
    header.run.agent_id = RunId::new(id);
    header.run.session_id = SessionId::new(session);
    *header
}

fn entries() -> Vec<Entry> {
    let lines = GOLDEN.lines().map(|text| Line::parse(text).unwrap());
    lines
        .filter_map(|line| match line {
            Line::Event(entry) => Some(entry),
            Line::Header(_) => None,
        })
        .collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn backdate(path: &Path, age: Duration) {
    let then = SystemTime::now().checked_sub(age).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn what_is_written_is_read_back_and_is_the_owners_alone() {
    let fixture = Fixture::new();
    let journal = fixture.write_golden("s1", "agent-1");
    let path = fixture.path("s1", "agent-1");
    assert_eq!(journal.path(), path);
    assert_eq!(mode(&path), 0o600);
    for folder in path.ancestors().skip(1).take(3) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    drop(journal);
    let transcript = fixture.store.read("agent-1").unwrap();
    assert_eq!((&transcript.header, transcript.torn), (&header("s1", "agent-1"), false));
    assert_eq!((&transcript.entries, transcript.state), (&entries(), RunState::Completed));
    assert_eq!((transcript.last_seq(), &transcript.path), (Some(12), &path));
    assert!(fold(transcript.into_lines()).unwrap().has_ended());
}

#[tokio::test(start_paused = true)]
async fn turns_share_a_sync_and_none_is_lost_at_the_end() {
    let fixture = Fixture::new();
    let mut journal = Store::create(&fixture.store, &header("s1", "agent-1")).await.unwrap();
    let ends: Vec<Entry> = entries()
        .into_iter()
        .filter(|entry| matches!(entry.event, Event::TurnCompleted { .. }))
        .cycle()
        .take(4)
        .collect();
    assert_eq!(ends.len(), 4);
    for entry in &ends {
        journal.append(std::slice::from_ref(entry)).await.unwrap();
    }
    drop(journal);
    // A sync that is still to come holds the transcript.
    let state = || fixture.store.read("agent-1").unwrap().state;
    assert_eq!(state(), RunState::Running);
    fixture.store.settled().await;
    assert_eq!(state(), RunState::Interrupted);
}

#[test]
fn a_run_killed_at_any_byte_can_be_read_folded_and_taken_up() {
    let fixture = Fixture::new();
    drop(fixture.write_golden("s", "whole"));
    let whole = fs::read(fixture.path("s", "whole")).unwrap();
    let header_end = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in 0..=whole.len() {
        let left = whole.get(..cut).unwrap();
        let path = fixture.file("cut", "agent-cut", left);
        let loaded = fixture.store.read("agent-cut");
        if cut < header_end {
            let no_header = matches!(loaded, Err(StoreError::NoHeader { .. }));
            assert!(no_header, "cut at {cut}: {loaded:?}");
            continue;
        }
        let transcript = loaded.unwrap();
        let complete = left.split(|byte| *byte == b'\n').count() - 1;
        assert_eq!(transcript.entries.len(), complete - 1, "cut at {cut}");
        assert_eq!(transcript.torn, left.last() != Some(&b'\n'), "cut at {cut}");
        let run = fold(transcript.clone().into_lines()).unwrap();
        assert_eq!(run.has_ended(), cut == whole.len());
        // Taking it up means parsing again: at the two ends of each line and here and there.
        if whole.get(cut.saturating_sub(2)..=cut).is_some_and(|near| near.contains(&b'\n')) {
            let (again, mut journal) = fixture.store.open("agent-cut").unwrap();
            assert_eq!(again.entries, transcript.entries);
            let next = answer(99, "written after the cut");
            journal.write(&next).unwrap();
            drop(journal);
            let after = fixture.store.read("agent-cut").unwrap();
            assert_eq!((after.torn, after.entries.last()), (false, Some(&next)));
            assert_eq!(after.entries.len(), complete);
        }
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_a_power_cut_leaves_is_cut_off() {
    let fixture = Fixture::new();
    let lines: Vec<&str> = GOLDEN.lines().collect();
    let whole = lines[..4].join("\n") + "\n";
    for tail in [
        "\0\0\0\0".to_owned(),
        "\0\0\0\0\n".to_owned(),
        format!("{}\0\0\0", lines[4].get(..20).unwrap()),
        // A lost block in the middle: what follows it came later.
        format!("\0\0\0\0{}\n{}\n", lines[4].get(4..).unwrap(), lines[5]),
        format!("{}\n", lines[4].get(..30).unwrap()),
        "{\"type\":\"event\",\"seq\":4\n".to_owned(),
    ] {
        let path = fixture.file("s", "agent-1", format!("{whole}{tail}"));
        let transcript = fixture.store.read("agent-1").unwrap();
        assert_eq!((transcript.entries.len(), transcript.torn), (3, true), "{tail:?}");
        let (_, journal) = fixture.store.open("agent-1").unwrap();
        drop(journal);
        assert_eq!(fs::read_to_string(path).unwrap(), whole, "{tail:?}");
    }
}

#[test]
fn damage_in_the_middle_is_named_and_nothing_is_cut_off() {
    let fixture = Fixture::new();
    let lines: Vec<&str> = GOLDEN.lines().collect();
    let unknown = r#"{"type":"event","seq":9,"ts":"t","at_ms":0,"event":{"type":"of_tomorrow"}}"#;
    for (content, line, word) in [
        (format!("{}\n{{broken\n{}\n", lines[0], lines[1]), 2, "key must be a string"),
        (format!("{}\n{}\n{}\n", lines[0], lines[1], lines[0]), 3, "second header"),
        (format!("{}\n{}\n", lines[1], lines[2]), 1, "not a header"),
        (format!("{}\n{}\n{unknown}\n", lines[0], lines[1]), 3, "of_tomorrow"),
    ] {
        let path = fixture.file("s", "agent-1", &content);
        for error in
            [fixture.store.read("agent-1").err(), fixture.store.open("agent-1").map(drop).err()]
        {
            let error = error.unwrap();
            let StoreError::Broken { line: found, problem, .. } = &error else {
                unreachable!("{error:?}");
            };
            assert_eq!(*found, line);
            assert!(problem.contains(word), "{problem}");
            assert!(error.to_string().contains(&format!("line {line} of")));
        }
        assert_eq!(fs::read_to_string(path).unwrap(), content);
    }
    let newer = lines[0].replacen("\"format\":1", "\"format\":2", 1);
    fixture.file("s", "agent-1", format!("{newer}\n"));
    let error = fixture.store.read("agent-1").unwrap_err();
    assert!(matches!(error, StoreError::NewerFormat { format: 2, .. }), "{error:?}");
    assert!(fixture.store.list().unwrap().is_empty());
}

#[test]
fn a_run_has_one_writer() {
    let fixture = Fixture::new();
    let journal = fixture.store.create(&header("s", "agent-1")).unwrap();
    let again = fixture.store.create(&header("s", "agent-1")).unwrap_err();
    assert!(matches!(again, StoreError::Exists { .. }), "{again:?}");
    let error = fixture.store.open("agent-1").map(drop).unwrap_err();
    let StoreError::OwnedElsewhere { run, by } = error else { unreachable!("{error:?}") };
    assert_eq!(run, "agent-1");
    let process = format!("process {}", std::process::id());
    assert!(by.as_ref().is_none_or(|by| *by == process), "{by:?}");
    assert_eq!(fixture.store.read("agent-1").unwrap().state, RunState::Running);
    let syncer = journal.syncer();
    drop(journal);
    assert!(fixture.store.open("agent-1").is_err(), "what syncs still holds it");
    drop(syncer);
    let (transcript, journal) = fixture.store.open("agent-1").unwrap();
    assert_eq!(transcript.state, RunState::Interrupted);
    drop(journal);
}

/// Another process holds the lock: `flock` of util-linux, told when to let go through its input.
#[test]
fn another_process_that_writes_is_named() {
    let fixture = Fixture::new();
    drop(fixture.store.create(&header("s", "agent-1")).unwrap());
    let path = fixture.path("s", "agent-1");
    let mut holder = Command::new("sh")
        .args(["-c", "exec 9<\"$0\"; flock 9 && echo held && read -r _"])
        .arg(&path)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(holder.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "held\n", "`flock` of util-linux is needed");
    let error = fixture.store.open("agent-1").map(drop).unwrap_err();
    assert!(matches!(error, StoreError::OwnedElsewhere { .. }), "{error:?}");
    assert!(error.to_string().contains("is still going on"));
    let before = fs::read(&path).unwrap();
    let cleaned = fixture.store.clean(Duration::ZERO, SystemTime::now()).unwrap();
    assert_eq!((cleaned.removed.len(), cleaned.kept, cleaned.running), (0, 1, 1));
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert!(fixture.store.open("agent-1").is_ok());
}

#[test]
fn whoever_only_asks_is_never_taken_for_a_writer() {
    let fixture = Fixture::new();
    drop(fixture.store.create(&header("s", "agent-1")).unwrap());
    let barrier = Arc::new(Barrier::new(5));
    thread::scope(|scope| {
        for _ in 0..4 {
            let (store, barrier) = (fixture.store.clone(), barrier.clone());
            scope.spawn(move || {
                barrier.wait();
                for _ in 0..200 {
                    store.list().unwrap();
                    store.would_clean(Duration::ZERO, SystemTime::now()).unwrap();
                }
            });
        }
        barrier.wait();
        for _ in 0..200 {
            drop(fixture.store.open("agent-1").unwrap());
        }
    });
}

#[test]
fn beginning_and_cleaning_up_at_once_loses_nothing() {
    let fixture = Fixture::new();
    let barrier = Barrier::new(2);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            barrier.wait();
            while !done.load(Ordering::Acquire) {
                fixture.store.clean(Duration::ZERO, SystemTime::now()).unwrap();
            }
        });
        barrier.wait();
        let began = (0..2000).map(|number| {
            // Each in a folder of its own, which is empty for a moment.
            let id = format!("agent-{number}");
            let journal = fixture.store.create(&header(&id, &id))?;
            Ok::<_, StoreError>(journal.path().exists())
        });
        let all_there = began.collect::<Result<Vec<_>, _>>();
        done.store(true, Ordering::Release);
        assert!(all_there.unwrap().into_iter().all(|is_there| is_there));
    });
}

/// This test is the child of the next one: it does something only where files cannot grow.
#[test]
fn a_full_disk_child() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_none() {
        return;
    }
    let fixture = Fixture::new();
    let mut journal = fixture.store.create(&header("s", "agent-1")).unwrap();
    let before = fs::read(journal.path()).unwrap();
    let error = journal.write(&answer(1, &"x".repeat(1 << 20))).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("no room") && error.hint().contains("ulimit -f"));
    assert_eq!(fs::read(journal.path()).unwrap(), before, "the part is taken back");
    journal.write(&answer(1, "short")).unwrap();
    drop(journal);
    let transcript = fixture.store.read("agent-1").unwrap();
    assert_eq!((transcript.entries.len(), transcript.torn), (1, false));
    let mut long = header("s", "agent-2");
    long.run.task = "x".repeat(1 << 20);
    assert!(matches!(fixture.store.create(&long), Err(StoreError::Full { .. })));
    assert!(!fixture.path("s", "agent-2").exists());
    println!("the disk was full");
}

#[test]
fn a_full_disk_is_an_error_and_leaves_whole_lines() {
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "transcripts::a_full_disk_child", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("the disk was full"), "{output:?}");
}

#[test]
fn no_secret_is_written_in_any_spelling() {
    let plain = "sk-live-0123456789abcdef";
    let odd = "p\"ss/w\\rd-é\n-0123";
    let secrets = Secrets::new([plain, odd, "tiny"]);
    let fixture = Fixture::with(Options { secrets, ..Options::default() });
    let mut header = header("s", "agent-1");
    header.run.task = format!("use {plain} and {odd}");
    header.run.inputs.insert(plain.to_owned(), serde_json::json!({"deep": [odd]}));
    let mut journal = fixture.store.create(&header).unwrap();
    let arguments = serde_json::json!({"key": odd, plain: odd}).to_string();
    let nested = serde_json::json!({"json": arguments}).to_string();
    for (seq, written) in (1..).zip([arguments, nested]) {
        let call = ToolCall::new(ToolCallId::new("call_1"), "read_file", written);
        let content = vec![AssistantPart::text(odd), AssistantPart::ToolCall { call }];
        let message = Arc::new(Message::Assistant { content });
        let event =
            Event::Announced { message, letter: None, before_task: false, delivers: Vec::new() };
        journal.write(&Entry::new(seq, "t", Duration::ZERO, event)).unwrap();
    }
    journal.write(&answer(7, &format!("tiny {plain}{plain} end"))).unwrap();
    drop(journal);
    let text = fs::read_to_string(fixture.path("s", "agent-1")).unwrap();
    assert!(!text.contains("0123"), "{text}");
    assert!(text.contains("tiny ****** end"));
    let transcript = fixture.store.read("agent-1").unwrap();
    assert_eq!((transcript.header.run.task.as_str(), transcript.torn), ("use *** and ***", false));
    let Event::Announced { message, .. } = &transcript.entries[0].event else { unreachable!() };
    let call = message.calls().next().unwrap();
    assert_eq!(call.arguments().unwrap(), &serde_json::json!({"key": "***", "***": "***"}));
    assert_eq!(transcript.entries[2].seq, 7);
}

#[test]
fn long_lines_and_every_script_survive() {
    let fixture = Fixture::new();
    let mut journal = fixture.store.create(&header("s", "agent-1")).unwrap();
    let long = "é\u{2028}\u{0}\n🦀".repeat(500_000);
    let written = [answer(1, &long), answer(2, "日本語 \u{7f} \\u0000 \r\n")];
    for entry in &written {
        journal.write(entry).unwrap();
    }
    drop(journal);
    assert!(fs::metadata(fixture.path("s", "agent-1")).unwrap().len() > 5_000_000);
    let transcript = fixture.store.read("agent-1").unwrap();
    assert_eq!((transcript.entries.as_slice(), transcript.torn), (&written[..], false));
    assert_eq!(fixture.store.list().unwrap()[0].state, RunState::Interrupted);
}

#[test]
fn pieces_of_messages_are_not_written() {
    let fixture = Fixture::new();
    let mut journal = fixture.store.create(&header("s", "agent-1")).unwrap();
    let piece = Event::TextChunk { text: "piece".to_owned() };
    journal.write(&Entry::new(1, "t", Duration::ZERO, piece)).unwrap();
    drop(journal);
    assert_eq!(fixture.store.read("agent-1").unwrap().entries, []);
}

#[test]
fn an_id_may_be_short_where_it_is_clear() {
    let fixture = Fixture::new();
    for (session, id) in
        [("s1", "agent-aa1"), ("s1", "agent-aa2"), ("s2", "agent-b"), ("s2", "agent-bb")]
    {
        drop(fixture.store.create(&header(session, id)).unwrap());
    }
    let loaded = |id: &str| {
        fixture.store.read(id).map(|transcript| transcript.header.run.agent_id.to_string())
    };
    assert_eq!(loaded("agent-aa1").unwrap(), "agent-aa1");
    assert_eq!(loaded("agent-b").unwrap(), "agent-b", "the whole id wins over its continuations");
    assert_eq!(loaded("agent-bb").unwrap(), "agent-bb");
    let error = loaded("agent-a").unwrap_err();
    assert!(error.hint().contains("agent-aa1, agent-aa2"), "{}", error.hint());
    let error = loaded("agent-aa3").unwrap_err();
    let StoreError::Unknown { nearest: Some(nearest), newest, .. } = &error else {
        unreachable!("{error:?}");
    };
    assert!(nearest.starts_with("agent-aa") && newest.len() == 3, "{error:?}");
    for none in ["", "gent", "zzz", "agent-b.jsonl"] {
        assert!(matches!(loaded(none), Err(StoreError::Unknown { .. })), "{none:?}");
    }
}

#[test]
fn hostile_ids_reach_nothing() {
    let fixture = Fixture::new();
    let outside = fixture.scratch.path().join("outside.jsonl");
    fs::write(&outside, GOLDEN).unwrap();
    fixture.file("s", "agent-1", GOLDEN);
    let long = "a".repeat(300);
    let hostile =
        ["", ".", "..", "../../outside", "a/b", "/etc/passwd", "a\\b", "a\0b", "a\nb", ".a", &long];
    for id in hostile {
        for header in [header("s", id), header(id, "agent-9")] {
            let error = fixture.store.create(&header).map(drop).unwrap_err();
            assert!(matches!(error, StoreError::InvalidId { .. }), "{id:?}: {error:?}");
            assert!(!error.to_string().contains(['\0', '\n']));
            assert!(fixture.store.artifacts_dir(&header.run).is_err());
        }
        assert!(fixture.store.read(id).is_err(), "{id:?}");
        assert!(fixture.store.open(id).is_err(), "{id:?}");
    }
    // What lies there under a good name but is no file of ours.
    let folder = fixture.store.sessions().join("s");
    symlink(&outside, folder.join("agent-link.jsonl")).unwrap();
    symlink("/dev/zero", folder.join("agent-zero.jsonl")).unwrap();
    fs::create_dir(folder.join("agent-folder.jsonl")).unwrap();
    symlink(fixture.scratch.path(), fixture.store.sessions().join("elsewhere")).unwrap();
    for id in ["agent-link", "agent-zero", "agent-folder", "outside"] {
        assert!(matches!(fixture.store.read(id), Err(StoreError::Unknown { .. })), "{id}");
    }
    fixture.store.clean(Duration::ZERO, SystemTime::now()).unwrap();
    assert_eq!(fs::read_to_string(outside).unwrap(), GOLDEN);
}

#[test]
fn a_list_tells_what_became_of_each_run() {
    let fixture = Fixture::new();
    let started = |id: &str, ts: &str, last: &[&str]| {
        let mut header = header("s", id);
        header.ts = ts.to_owned();
        header.run.description = None;
        header.run.task = format!("\n  {}  \n", "word ".repeat(40));
        let mut journal = fixture.store.create(&header).unwrap();
        for text in last {
            let Line::Event(entry) = Line::parse(text).unwrap() else { unreachable!() };
            journal.write(&entry).unwrap();
        }
        journal
    };
    let golden: Vec<&str> = GOLDEN.lines().collect();
    let ended = golden[12];
    let aborted = ended.replace("\"goal\"", "\"aborted\"");
    let failed = ended.replace("\"goal\"", "\"max_turns\"");
    let queued =
        r#"{"type":"event","seq":1,"ts":"t","at_ms":0,"event":{"type":"queued","ahead":2}}"#;
    drop(started("agent-goal", "2026-01-01T00:00:00Z", &golden[1..13]));
    drop(started("agent-failed", "2026-01-02T00:00:00Z", &[&failed]));
    drop(started("agent-aborted", "2026-01-03T00:00:00Z", &[&aborted]));
    drop(started("agent-killed", "2026-01-04T00:00:00Z", &golden[1..5]));
    let running = started("agent-running", "2026-01-05T00:00:00Z", &golden[1..5]);
    let waiting = started("agent-queued", "2026-01-06T00:00:00Z", &[queued]);
    fixture.file("s", "agent-torn-header", golden[0].get(..50).unwrap());
    let summaries = fixture.store.list().unwrap();
    let states: Vec<_> =
        summaries.iter().map(|run| (run.agent_id.as_str(), run.state.as_str())).collect();
    assert_eq!(
        states,
        [
            ("agent-queued", "queued"),
            ("agent-running", "running"),
            ("agent-killed", "interrupted"),
            ("agent-aborted", "interrupted"),
            ("agent-failed", "failed"),
            ("agent-goal", "completed"),
        ]
    );
    let goal = &summaries[5];
    assert_eq!(goal.ended_at.as_deref(), Some("2026-11-05T10:00:01.902Z"));
    assert_eq!(goal.description.chars().count(), 80);
    assert_eq!((goal.agent_type.as_str(), goal.session_id.as_str()), ("Explore", "s"));
    assert_eq!(summaries[1].ended_at, None);
    drop((running, waiting));
}

/// What this thread has read so far, as the system counts it.
fn bytes_read() -> u64 {
    let counted = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = counted.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn a_list_reads_little() {
    let fixture = Fixture::new();
    let middle = format!("{}\n", serde_json::to_string(&answer(3, &"x".repeat(30_000))).unwrap());
    let content = format!("{}{middle}{}\n", &GOLDEN, GOLDEN.lines().last().unwrap());
    for number in 0..1000 {
        fixture.file(&format!("s{}", number % 50), &format!("agent-{number}"), &content);
    }
    let before = bytes_read();
    assert_eq!(fixture.store.list().unwrap().len(), 1000);
    let read = bytes_read() - before;
    let all = 1000 * content.len() as u64;
    assert!(read < all / 2 && read < 1000 * 17_000, "{read} of {all} bytes");
}

#[test]
fn cleaning_up_removes_what_is_old_and_nothing_else() {
    let fixture = Fixture::new();
    let artifacts = |id: &str, session: &str| {
        let folder = fixture.store.artifacts_dir(&header(session, id).run).unwrap();
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/full.txt"), "12345").unwrap();
        folder
    };
    let old_artifacts = artifacts("agent-old", "old");
    let young_artifacts = artifacts("agent-young", "mixed");
    drop(fixture.write_golden("old", "agent-old"));
    drop(fixture.write_golden("mixed", "agent-young"));
    drop(fixture.write_golden("mixed", "agent-future"));
    fixture.file("mixed", "agent-torn", "{\"type\":\"hea");
    let running = fixture.write_golden("mixed", "agent-running");
    assert_eq!(
        running.artifacts_dir(),
        fixture.path("mixed", "agent-running").with_extension("artifacts")
    );
    for (session, id) in [("old", "agent-old"), ("mixed", "agent-torn"), ("mixed", "agent-running")]
    {
        backdate(&fixture.path(session, id), 40 * DAY);
    }
    let future = File::options().write(true).open(fixture.path("mixed", "agent-future")).unwrap();
    future.set_modified(SystemTime::now() + 40 * DAY).unwrap();
    drop(future);

    let old_length = fs::metadata(fixture.path("old", "agent-old")).unwrap().len();
    let would = fixture.store.would_clean(30 * DAY, SystemTime::now()).unwrap();
    assert_eq!((would.removed.len(), would.kept, would.running), (2, 3, 1));
    assert!(old_artifacts.exists() && fixture.path("old", "agent-old").exists());

    let cleaned = fixture.store.clean(30 * DAY, SystemTime::now()).unwrap();
    assert_eq!((&cleaned.removed, cleaned.bytes), (&would.removed, would.bytes));
    let old = cleaned.removed.iter().find(|removed| removed.agent_id == "agent-old").unwrap();
    assert_eq!(old.session_id, "old");
    assert_eq!(old.bytes, old_length + 5, "its artifacts count too");
    assert!(cleaned.failed.is_empty());
    assert!(!fixture.store.sessions().join("old").exists(), "an empty session goes");
    assert!(!old_artifacts.exists() && young_artifacts.exists());
    for id in ["agent-young", "agent-future", "agent-running"] {
        assert!(fixture.path("mixed", id).exists(), "{id}");
    }
    drop(running);
    let last = fixture.store.clean(30 * DAY, SystemTime::now()).unwrap();
    assert_eq!(last.removed.len(), 1, "it runs no longer");
}

#[test]
fn a_store_that_is_not_there_is_empty_and_one_that_cannot_be_read_is_an_error() {
    let fixture = Fixture::new();
    assert_eq!(fixture.store.list().unwrap(), []);
    assert_eq!(fixture.store.clean(Duration::ZERO, SystemTime::now()).unwrap().kept, 0);
    let error = fixture.store.read("agent-1").unwrap_err();
    assert_eq!(error.hint(), "there are no transcripts yet");
    fs::create_dir_all(fixture.store.sessions().parent().unwrap()).unwrap();
    fs::write(fixture.store.sessions(), "a file").unwrap();
    assert!(matches!(fixture.store.list(), Err(StoreError::Read { .. })));
    let error = fixture.store.create(&header("s", "agent-1")).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error:?}");
    fs::set_permissions(fixture.store.sessions(), Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_follower_sees_whole_lines_as_they_are_written() {
    let fixture = Fixture::new();
    let mut journal = fixture.store.create(&header("s", "agent-1")).unwrap();
    let mut follower = fixture.store.follow("agent-1").unwrap();
    assert_eq!(follower.read().unwrap().len(), 1);
    assert_eq!(follower.read().unwrap(), Vec::<String>::new());
    assert!(follower.is_running());
    let mut seen = Vec::new();
    for entry in entries() {
        journal.write(&entry).unwrap();
        seen.extend(follower.read().unwrap());
    }
    drop(journal);
    assert!(!follower.is_running());
    let expected: Vec<&str> = GOLDEN.lines().skip(1).collect();
    assert_eq!(seen, expected);

    // A killed writer leaves a part of a line, the next one cuts it off.
    let path = follower.path().to_path_buf();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"ev");
    fs::write(&path, bytes).unwrap();
    assert_eq!(follower.read().unwrap(), Vec::<String>::new());
    let (_, mut journal) = fixture.store.open("agent-1").unwrap();
    assert_eq!(follower.read().unwrap(), Vec::<String>::new());
    let next = answer(99, "on");
    journal.write(&next).unwrap();
    assert_eq!(follower.read().unwrap(), [Line::Event(next).to_json().unwrap()]);
    assert!(follower.is_running());
}

#[test]
fn a_journal_on_a_machine_that_may_fail_syncs_by_itself() {
    let fixture = Fixture::with(Options { durability: Durability::Machine, ..Options::default() });
    let journal = fixture.write_golden("s", "agent-1");
    journal.sync().unwrap();
    let syncer = journal.syncer();
    thread::spawn(move || syncer.sync()).join().unwrap().unwrap();
    drop(journal);
    assert_eq!(fixture.store.read("agent-1").unwrap().entries.len(), 12);
}
