//! Mail between processes, on real files: it lies there until it is read, and is read once.

use attache_kernel::{
    id::{RunId, SessionId},
    run::{
        event::Event,
        message::Message,
        transcript::{Header, Line},
    },
};
use attache_runtime::internal::store::{
    FileStore, Mail, MailKind, Options, Posted, Secrets, Store as _, StoreError,
};
use attache_testkit::entry::entry;
use tempfile::TempDir;

const GOLDEN: &str = include_str!("../../../kernel/tests/it/golden/transcript.jsonl");

fn header(id: &str, resumed_from: Option<&str>) -> Header {
    let Line::Header(mut header) = Line::parse(GOLDEN.lines().next().unwrap()).unwrap() else {
        unreachable!("the golden file begins with its header");
    };
    header.run.agent_id = RunId::new(id);
    header.run.session_id = SessionId::new("s");
    header.run.resumed_from = resumed_from.map(RunId::new);
    *header
}

fn store_in(folder: &TempDir) -> FileStore {
    let secrets = Secrets::new(["sk-very-secret"]);
    FileStore::new(folder.path().join("sessions"), Options { secrets, ..Options::default() })
}

fn message(text: &str) -> MailKind {
    MailKind::Message { text: text.to_owned() }
}

fn texts(mail: &[Mail]) -> Vec<String> {
    let text = |mail: &Mail| match &mail.kind {
        MailKind::Message { text } => text.clone(),
        MailKind::Stop => "(stop)".to_owned(),
    };
    mail.iter().map(text).collect()
}

fn left(posted: Posted) -> attache_kernel::id::LetterId {
    match posted {
        Posted::Left(id) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_left_for_a_run_that_nobody_drives() {
    let folder = TempDir::new().unwrap();
    let store = store_in(&folder);
    assert!(matches!(store.post("agent-1", &MailKind::Stop), Err(StoreError::Unknown { .. })));
    let journal = store.create(&header("agent-1", None)).unwrap();
    left(store.post("agent-1", &message("one")).unwrap());
    drop(journal);
    assert_eq!(store.post("agent-1", &message("two")).unwrap(), Posted::Abandoned);
    let (_, mut journal) = store.open("agent-1").unwrap();
    let ended = GOLDEN.lines().last().unwrap();
    let Line::Event(ended) = Line::parse(ended).unwrap() else { unreachable!("it ends") };
    journal.write(&ended).unwrap();
    assert!(matches!(store.post("agent-1", &MailKind::Stop).unwrap(), Posted::Ended(_)));
}

#[tokio::test]
async fn letters_are_handed_out_once_in_order_and_stay_until_they_are_removed() {
    let folder = TempDir::new().unwrap();
    let (store, other_process) = (store_in(&folder), store_in(&folder));
    let header = header("agent-1", None);
    let _journal = store.create(&header).unwrap();
    let mailbox = store.mailbox(&header.run).unwrap();
    other_process.post("agent-1", &message("before")).unwrap();
    let first = mailbox.next().await;
    assert_eq!(texts(&first), ["before"]);
    // Told of while it waits.
    let (next, ()) = tokio::join!(mailbox.next(), async {
        tokio::task::yield_now().await;
        other_process.post("agent-1", &message("with sk-very-secret")).unwrap();
    });
    assert_eq!(texts(&next), ["with ***"]);
    let held = mailbox.hold().await.unwrap();
    assert_eq!(texts(&held.found), ["before", "with ***"]);
    drop(held);
    mailbox.remove(&[first[0].id.clone()]).await.unwrap();
    assert_eq!(texts(&mailbox.hold().await.unwrap().found), ["with ***"]);
    assert_eq!(store.advance(&store.list().unwrap()[0]).unread_messages, 1);
}

#[test]
fn the_run_that_resumes_gets_what_was_not_read_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let store = store_in(&folder);
    let first = header("agent-1", None);
    let mut journal = store.create(&first).unwrap();
    let read = left(store.post("agent-1", &message("read")).unwrap());
    left(store.post("agent-1", &message("unread")).unwrap());
    left(store.post("agent-1", &MailKind::Stop).unwrap());
    // Killed between the journal and the mailbox.
    let message = std::sync::Arc::new(Message::user("read"));
    let (letter, delivers) = (Some(read), Vec::new());
    let announced = Event::Announced { message, letter, before_task: false, delivers };
    journal.write(&entry(2, announced)).unwrap();
    drop(journal);
    // A run that was killed before it took anything over, and one that resumes that one.
    let second = header("agent-2", Some("agent-1"));
    drop(store.create(&second).unwrap());
    let third = header("agent-3", Some("agent-2"));
    drop(store.create(&third).unwrap());
    assert_eq!(texts(&store.inherit_mail(&second.run, &third.run).unwrap()), ["unread"]);
    assert_eq!(store.inherit_mail(&first.run, &second.run).unwrap(), []);
    let fourth = header("agent-4", Some("agent-3"));
    drop(store.create(&fourth).unwrap());
    assert_eq!(texts(&store.inherit_mail(&third.run, &fourth.run).unwrap()), ["unread"]);
}
