//! `attache transcript --tree` and `--html`: a run with all that it started.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use attache_testkit::project::TestProject;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::project;

const GOLDEN: &str = include_str!("../../../kernel/tests/it/golden/transcript.jsonl");

/// A run that is put into the store: the golden one, moved in time.
#[derive(Clone, Copy)]
struct Planted<'p> {
    id: &'p str,
    parent: Option<&'p str>,
    resumed_from: Option<&'p str>,
    name: &'p str,
    task: &'p str,
    /// When it begins, in milliseconds.
    begin: i64,
    /// How many times longer than the golden run it takes.
    stretch: i64,
    status: &'p str,
    /// How many of its lines there are.
    lines: usize,
}

const ROOT: Planted<'_> = Planted {
    id: "agent-root",
    parent: None,
    resumed_from: None,
    name: "boss",
    task: "Do it all",
    begin: 0,
    stretch: 10,
    status: "goal",
    lines: 13,
};

impl<'p> Planted<'p> {
    fn child(id: &'p str, begin: i64) -> Self {
        Self { id, parent: Some("agent-root"), name: "worker", begin, stretch: 2, ..ROOT }
    }

    fn plant(self, project: &TestProject) -> PathBuf {
        let lines = GOLDEN.lines().take(self.lines).map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let start: Timestamp = "2026-11-05T10:00:00Z".parse().unwrap();
            let at = line["at_ms"].as_i64().unwrap_or_default() * self.stretch + self.begin;
            line["ts"] = json!(format!("{:.3}", start + SignedDuration::from_millis(at)));
            if line["type"] == "header" {
                let run = &mut line["run"];
                run["agent_id"] = json!(self.id);
                run["session_id"] = json!("session");
                run["parent_id"] = json!(self.parent);
                run["resumed_from"] = json!(self.resumed_from);
                run["definition"]["agentType"] = json!(self.name);
                run["task"] = json!(self.task);
                run["description"] = Value::Null;
            }
            if line["event"]["type"] == "ended" {
                line["event"]["ending"]["status"] = json!(self.status);
            }
            format!("{line}\n")
        });
        let path = format!("~/.attache/sessions/session/{}.jsonl", self.id);
        project.file(&path, lines.collect::<String>())
    }
}

/// A boss with children of every kind, and a run that is none of them.
fn family() -> TestProject {
    let project = project();
    ROOT.plant(&project);
    Planted { task: "First\nsecond line", ..Planted::child("agent-a", 1000) }.plant(&project);
    Planted { status: "timeout", ..Planted::child("agent-b", 2000) }.plant(&project);
    // It was killed during its first call.
    Planted { lines: 6, ..Planted::child("agent-c", 3000) }.plant(&project);
    Planted { resumed_from: Some("agent-c"), ..Planted::child("agent-d", 9000) }.plant(&project);
    Planted { parent: Some("agent-a"), ..Planted::child("agent-e", 1500) }.plant(&project);
    Planted { resumed_from: Some("agent-root"), begin: 30_000, id: "agent-later", ..ROOT }
        .plant(&project);
    Planted { id: "agent-stranger", ..ROOT }.plant(&project);
    project
}

#[test]
fn a_tree_has_children_and_continuations_in_their_order() {
    let project = family();
    let tree = project.json(&["transcript", "agent-root", "--tree", "--json"]);
    let runs = tree["runs"].as_array().unwrap();
    let order: Vec<_> = runs
        .iter()
        .map(|run| (run["agent_id"].as_str().unwrap(), run["level"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("agent-root", 0),
        ("agent-a", 1),
        ("agent-e", 2),
        ("agent-b", 1),
        ("agent-c", 1),
        ("agent-d", 1),
        ("agent-later", 0),
    ];
    assert_eq!(order, expected);
    let statuses: Vec<_> = runs.iter().map(|run| run["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["goal", "goal", "goal", "timeout", "interrupted", "goal", "goal"]);
    assert_eq!((&tree["agents"], &tree["duration_ms"]), (&json!(7), &json!(30_000 + 19_020)));
    // Six runs have two turns of 2,655 tokens, the one that was killed has one.
    assert_eq!(tree["total_tokens"], json!(13 * 2655));
    let first = &runs[1];
    assert_eq!((&first["begin_ms"], &first["end_ms"]), (&json!(1000), &json!(1000 + 3804)));
    assert_eq!((&first["turns"], &first["tool_uses"]), (&json!(2), &json!(1)));
    assert_eq!(first["description"], "First");
    let span = &first["spans"][1];
    assert_eq!((&span["kind"], &span["name"]), (&json!("call"), &json!("grep_files")));
    assert_eq!((&span["begin_ms"], &span["end_ms"]), (&json!(2802), &json!(2886)));
    let below = project.json(&["transcript", "agent-a", "--tree", "--json"]);
    assert_eq!((&below["agents"], &below["duration_ms"]), (&json!(2), &json!(500 + 3804)));
}

#[test]
fn a_tree_is_readable_at_a_glance() {
    let project = family();
    let ran = project.run(&["transcript", "agent-root", "--tree"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("7 agents · 49.0 s · 34,515 tokens · "), "{}", ran.stdout);
    let row = |word: &str| lines.iter().find(|line| line.contains(word)).unwrap_or(&"");
    assert!(row("boss").starts_with("✓ boss: Do it all "), "{}", ran.stdout);
    assert!(row("timeout").starts_with("✗ ├ worker [timeout]"), "{}", ran.stdout);
    assert!(row("interrupted").starts_with("! ├ worker [interrupted]"), "{}", ran.stdout);
    assert!(row("↻ worker").starts_with("✓ └ ↻ worker"), "{}", ran.stdout);
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[test]
fn a_thousand_children_are_folded() {
    let project = project();
    ROOT.plant(&project);
    let ids: Vec<_> = (0..1000).map(|number| format!("agent-{number:04}")).collect();
    for (number, id) in ids.iter().enumerate() {
        let status = if number % 250 == 0 { "error" } else { "goal" };
        Planted { status, ..Planted::child(id, i64::try_from(number).unwrap()) }.plant(&project);
    }
    let ran = project.run(&["transcript", "agent-root", "--tree"]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3 + 1 + 30 + 1, "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("[error]").count(), 4, "{}", ran.stdout);
    assert!(lines[34].contains("… and 970 more: all goal"), "{}", lines[34]);
    let all = project.run(&["transcript", "agent-root", "--tree", "--full"]).stdout;
    assert_eq!(all.lines().count(), 3 + 1001);
}

/// The data of a page, as its script reads it.
fn data(page: &str) -> Value {
    let start = page.split_once(r#"<script id="data" type="application/json">"#).unwrap().1;
    serde_json::from_str(start.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_has_everything_in_it_and_hostile_text_stays_text() {
    let project = family();
    let evil = "</script><script>document.title='owned'</script><!--<img src=x onerror=alert(1)>\u{202e}{{script}}{{data}}";
    Planted { name: "</title>&<b>", task: evil, ..Planted::child("agent-f", 4000) }.plant(&project);
    let file = project.root().join("page.html");
    let path = file.to_str().unwrap();
    let ran = project.run(&["transcript", "agent-root", "--html", path]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let page = fs::read_to_string(&file).unwrap();
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("http://") && !page.contains("https://"));
    let data = data(&page);
    let runs = data["tree"]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
    let hostile = runs.iter().find(|run| run["agent_id"] == "agent-f").unwrap();
    assert_eq!(hostile["description"], evil);
    let items = data["items"]["agent-a"].as_array().unwrap();
    let kinds: Vec<_> = items.iter().map(|item| item["kind"].as_str().unwrap()).collect();
    for kind in ["system", "user", "note", "thinking", "text", "call", "result", "end"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    assert!(data["items"].get("agent-stranger").is_none());
    // The policy names the script that is in the page.
    let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    let digest = <sha2::Sha256 as sha2::Digest>::digest(script.as_bytes());
    let hash = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, digest);
    assert!(page.contains(&format!("script-src 'sha256-{hash}'")), "{hash}");
    // A page that is there is replaced, and `-` is standard output.
    fs::write(&file, "old ".repeat(1 << 20)).unwrap();
    assert_eq!(project.run(&["transcript", "agent-a", "--html", path]).code, Some(0));
    let smaller = fs::read_to_string(&file).unwrap();
    assert!(smaller.ends_with("</html>\n") && smaller.len() < 1 << 20);
    let out = project.run(&["transcript", "agent-a", "--html", "-"]).stdout;
    assert_eq!(out, smaller);
    let title = project.run(&["transcript", "agent-f", "--html", "-"]).stdout;
    assert!(title.contains("<title>&lt;/title&gt;&amp;&lt;b&gt; agent-f</title>"));
    let ran = project.run(&["transcript", "agent-root", "--html", "no/such/folder.html"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("cannot write no/such/folder.html"), "{ran:?}");
}

/// Pages for `scripts/browser`, which opens them in a real browser, where it asks for them.
#[test]
#[expect(clippy::disallowed_methods, reason = "the script says where it wants them")]
fn pages_for_the_browser_are_written() {
    let Some(folder) = std::env::var_os("ATTACHE_PAGES") else { return };
    let folder = Path::new(&folder);
    let project = family();
    let evil =
        "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\u{202e}abc";
    Planted { name: "</b><i>evil", task: evil, ..Planted::child("agent-f", 4000) }.plant(&project);
    let page = folder.join("family.html");
    project.run(&["transcript", "agent-root", "--html", page.to_str().unwrap()]);
    let project = crate::project();
    ROOT.plant(&project);
    let ids: Vec<_> = (0..1000).map(|number| format!("agent-{number:04}")).collect();
    for (number, id) in ids.iter().enumerate() {
        let status = if number % 250 == 0 { "error" } else { "goal" };
        Planted { status, ..Planted::child(id, i64::try_from(number * 10).unwrap()) }
            .plant(&project);
    }
    let page = folder.join("thousand.html");
    project.run(&["transcript", "agent-root", "--html", page.to_str().unwrap()]);
}
