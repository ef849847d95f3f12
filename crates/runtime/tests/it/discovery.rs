//! Real folders with everything that can be wrong with them.

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
};

use attache_kernel::agent::{
    definition::{Code, Dialect, Scope, Severity, Trust, reading::Rules},
    registry::{Appraisal, DiscoveryKind, Inventory, Status},
};
use attache_runtime::internal::agents::{
    discovery::{Discovery, DiscoveryMode, Found, Places, content_hash},
    trust::{TrustStore, TrustedFile},
};
use tempfile::TempDir;

pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { folder: TempDir::new().unwrap() };
        fs::create_dir_all(world.path("project/.git")).unwrap();
        world
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn agent(&self, below: &str, name: &str) -> PathBuf {
        self.write(below, &format!("---\nname: {name}\ndescription: d\n---\nbody\n"))
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            working_directory: self.path("project"),
            home: Some(self.path("home")),
            attache_home: self.path("home/.attache"),
            agents_dir: None,
            extra_dirs: Vec::new(),
            mode: DiscoveryMode::Auto,
        }
    }

    fn look(&self) -> Found {
        Discovery::new(self.places(), Rules::default()).look(&TrustStore::default())
    }

    fn inventory(&self) -> Inventory {
        take_stock(self.look())
    }
}

pub(crate) fn take_stock(found: Found) -> Inventory {
    Inventory::new(found.candidates, found.events, |_, _| Appraisal::default())
}

fn names(inventory: &Inventory) -> Vec<&str> {
    inventory.records.iter().map(|record| record.name.as_str()).collect()
}

#[test]
fn every_place_of_every_dialect_is_found() {
    let world = World::new();
    let toml = "name = \"tom\"\ndescription = \"d\"\ndeveloper_instructions = \"x\"\n";
    for (path, name) in [
        ("project/.attache/agents/deep/er/a1.md", "a1"),
        ("home/.attache/agents/deep/a2.yaml", "a2"),
        ("project/.claude/agents/team/c1.md", "c1"),
        ("home/.claude/agents/c2.md", "c2"),
        ("project/.codex/agents/x1.md", "x1a"),
        ("home/.codex/agents/x2.md", "x2a"),
        ("project/.wave/agents/w1.md", "w1"),
        ("home/.wave/agents/w2.md", "w2"),
        ("project/.gemini/agents/g1.md", "g1"),
        ("home/.gemini/agents/g2.md", "g2"),
        ("project/.qwen/agents/q1.md", "q1"),
        ("home/.qwen/agents/q2.md", "q2"),
        ("project/.opencode/agent/o1.md", "o1"),
        ("project/.opencode/agents/o2.md", "o2"),
        ("home/.config/opencode/agent/o3.md", "o3"),
        ("home/.config/opencode/agents/o4.md", "o4"),
        ("project/.github/agents/p1.agent.md", "p1"),
        ("project/.cursor/agents/u1.md", "u1"),
        ("home/.cursor/agents/u2.md", "u2"),
    ] {
        if name == "a2" {
            world.write(
                path,
                &format!("agentType: {name}\nwhenToUse: d\npromptConfig: {{systemPrompt: x}}\n"),
            );
        } else {
            world.agent(path, name);
        }
    }
    world.write("project/.codex/agents/role.toml", toml);
    // These do not count.
    world.agent("project/.codex/agents/deep/no.md", "no1");
    world.agent("project/.wave/agents/deep/no.md", "no2");
    world.agent("project/.github/agents/plain.md", "no3");
    world.write("project/.claude/agents/role.toml", toml);
    world.write("project/.claude/agents/notes.txt", "no agent");
    let inventory = world.inventory();
    assert_eq!(
        names(&inventory),
        [
            "a1", "a2", "c1", "c2", "Explore", "g1", "g2", "o1", "o2", "o3", "o4", "p1", "Plan",
            "q1", "q2", "tom", "u1", "u2", "w1", "w2", "x1a", "x2a"
        ]
    );
    assert!(inventory.records.iter().all(|record| record.status == Status::Active));
    let find = |name: &str| inventory.find(name).unwrap();
    assert_eq!((find("a2").scope, find("a2").dialect), (Scope::User, Dialect::Attache));
    assert_eq!((find("p1").scope, find("p1").dialect), (Scope::Project, Dialect::Copilot));
}

#[test]
fn the_project_is_everything_up_to_the_repository_and_no_further() {
    let world = World::new();
    world.agent(".claude/agents/outside.md", "outside");
    world.agent("project/.claude/agents/top.md", "shared");
    world.agent("project/a/b/.codex/agents/near.md", "shared");
    let mut places = world.places();
    places.working_directory = world.path("project/a/b");
    let inventory =
        take_stock(Discovery::new(places, Rules::default()).look(&TrustStore::default()));
    assert_eq!(names(&inventory), ["Explore", "Plan", "shared"]);
    let shared = inventory.find("shared").unwrap();
    assert!(shared.source_path.as_ref().unwrap().ends_with("near.md"), "nearest wins");
    assert!(shared.overrides[0].source_path.as_ref().unwrap().ends_with("top.md"));
}

#[test]
fn without_a_repository_only_the_folder_itself_is_looked_at() {
    let world = World::new();
    world.agent("plain/.claude/agents/up.md", "up");
    world.agent("plain/sub/.claude/agents/here.md", "here");
    let mut places = world.places();
    places.working_directory = world.path("plain/sub");
    let inventory =
        take_stock(Discovery::new(places, Rules::default()).look(&TrustStore::default()));
    assert_eq!(names(&inventory), ["Explore", "here", "Plan"]);
}

#[test]
fn manual_discovery_looks_only_where_told() {
    let world = World::new();
    world.agent("project/.claude/agents/usual.md", "usual");
    world.agent("told/one.md", "one");
    world.agent("project/own/two.md", "two");
    let mut places = world.places();
    places.mode = DiscoveryMode::Manual;
    places.agents_dir = Some(world.path("told"));
    places.extra_dirs = vec![PathBuf::from("own"), PathBuf::from("missing")];
    let mut discovery = Discovery::new(places, Rules::default());
    discovery
        .add_session_agents(r#"{"three": {"description": "d", "prompt": "x", "tools": ["Read"]}}"#)
        .unwrap();
    let inventory = take_stock(discovery.look(&TrustStore::default()));
    assert_eq!(names(&inventory), ["Explore", "one", "Plan", "three", "two"]);
    assert_eq!(inventory.find("three").unwrap().trusted, Trust::Trusted);
    let event = &inventory.discovery_events[0];
    assert_eq!(
        event.kind,
        DiscoveryKind::Unreadable,
        "a folder that was named and is missing is told"
    );
    assert!(event.message.contains("missing"));
}

#[test]
fn session_agents_win_and_bad_json_is_refused() {
    let world = World::new();
    world.agent("project/.attache/agents/one.md", "one");
    let mut discovery = Discovery::new(world.places(), Rules::default());
    for bad in ["", "{", "[]", "{\"a\": 1}", "null"] {
        let error = discovery.add_session_agents(bad).unwrap_err();
        assert_eq!(error.code, Code::JsonSyntax, "{bad}");
    }
    discovery.add_session_agents(r#"{"one": {"description": "mine", "prompt": "x"}}"#).unwrap();
    let inventory = take_stock(discovery.look(&TrustStore::default()));
    let one = inventory.find("one").unwrap();
    assert_eq!(one.definition.as_ref().unwrap().when_to_use.as_deref(), Some("mine"));
    assert_eq!(one.overrides.len(), 1);
}

/// Every way a folder can be broken, all at once, beside one sound agent.
#[test]
fn nothing_broken_stops_hangs_or_hides_the_rest() {
    let world = World::new();
    world.agent("project/.claude/agents/sound.md", "sound");
    let agents = world.path("project/.claude/agents");
    symlink("nowhere.md", agents.join("dangling.md")).unwrap();
    symlink("loop-b.md", agents.join("loop-a.md")).unwrap();
    symlink("loop-a.md", agents.join("loop-b.md")).unwrap();
    symlink(&agents, agents.join("round")).unwrap();
    let huge = fs::File::create(agents.join("huge.md")).unwrap();
    huge.set_len(200 * 1024 * 1024).unwrap();
    assert!(Command::new("mkfifo").arg(agents.join("pipe.md")).status().unwrap().success());
    fs::write(agents.join("bytes.md"), b"---\nname: bytes\ndescription: caf\xe9\n---\nbody \xff\n")
        .unwrap();
    fs::write(agents.join("binary.md"), [0_u8, 159, 146, 150]).unwrap();
    fs::write(agents.join("empty.md"), "").unwrap();
    let odd = agents.join(std::ffi::OsStr::from_bytes(b"odd-\xff.md"));
    fs::write(&odd, "---\ndescription: d\n---\nbody\n").unwrap();
    world.write("project/.codex/agents", "a file where a folder should be");

    let inventory = world.inventory();
    assert_eq!(inventory.find("sound").unwrap().status, Status::Active);
    let code = |name: &str| {
        let record = inventory.record(name).unwrap();
        (record.status, record.diagnostics.iter().map(|diagnostic| diagnostic.code).next())
    };
    assert_eq!(code("dangling"), (Status::Invalid, Some(Code::Unreadable)));
    assert_eq!(code("loop-a"), (Status::Invalid, Some(Code::Unreadable)));
    assert_eq!(code("huge"), (Status::Invalid, Some(Code::TooLarge)));
    assert_eq!(code("pipe"), (Status::Invalid, Some(Code::NotAFile)));
    assert_eq!(code("bytes"), (Status::Active, Some(Code::NotUtf8)));
    let bytes = &inventory.find("bytes").unwrap().diagnostics[0];
    assert_eq!((bytes.severity, bytes.line, bytes.column), (Severity::Warning, 3, 17));
    let told = |part: &str| {
        inventory.discovery_events.iter().any(|event| {
            event.path.as_ref().is_some_and(|path| path.to_string_lossy().contains(part))
        })
    };
    assert!(told("round"), "a loop of folders is told");
    assert!(told(".codex/agents"), "a folder that is a file is told");
    assert!(told("binary.md") && told("empty.md"), "files that are no definitions are told");
}

#[test]
fn what_editors_keep_beside_a_file_is_not_looked_at() {
    let world = World::new();
    world.agent("project/.claude/agents/a.md", "a");
    for name in [".a.md", "#a.md#", "#a.md", "a.md~", "deep/.hidden.md"] {
        world.agent(&format!("project/.claude/agents/{name}"), "other");
    }
    let folder = world.path("project/.claude/agents");
    symlink("user@host.1234:5678", folder.join(".#a.md")).unwrap();
    let inventory = world.inventory();
    let own: Vec<_> = inventory.records.iter().filter(|it| it.scope == Scope::Project).collect();
    assert_eq!(own.len(), 1, "{:?}", names(&inventory));
    assert_eq!((own[0].name.as_str(), own[0].status), ("a", Status::Active));
    assert!(own[0].overrides.is_empty(), "{:?}", own[0].overrides);
}

#[test]
fn a_file_in_conflict_is_not_replaced_by_another_of_its_name() {
    let header = "---\nname: a\ndescription: d\n---\nbody\n";
    for conflict in [
        format!("<<<<<<< HEAD\n{header}=======\n{header}>>>>>>> branch\n"),
        header.replace("description: d", "<<<<<<< HEAD\ndescription: d\n=======\n>>>>>>> x"),
    ] {
        let world = World::new();
        world.agent("home/.claude/agents/a.md", "a");
        world.write("project/.claude/agents/a.md", &conflict);
        let inventory = world.inventory();
        let record = inventory.records.iter().find(|record| record.name.as_str() == "a").unwrap();
        assert_eq!((record.scope, record.status), (Scope::Project, Status::Invalid));
        assert_eq!(record.diagnostics[0].code, Code::MergeConflict);
        assert_eq!(record.overrides.len(), 1);
    }
}

#[test]
fn a_folder_that_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    world.agent("project/.claude/agents/sound.md", "sound");
    world.agent("project/.claude/agents/locked/in.md", "in");
    let locked = world.path("project/.claude/agents/locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let readable = fs::read_dir(&locked).is_ok();
    let inventory = world.inventory();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(inventory.find("sound").is_ok());
    // The superuser reads everything; for all others the folder is named.
    let told =
        inventory.discovery_events.iter().any(|event| event.kind == DiscoveryKind::Unreadable);
    assert!(readable || told);
}

#[test]
fn a_second_look_reads_only_what_has_changed() {
    let world = World::new();
    for index in 0..40 {
        world.agent(&format!("project/.claude/agents/agent-{index}.md"), &format!("agent-{index}"));
    }
    let mut discovery = Discovery::new(world.places(), Rules::default());
    let trust = TrustStore::default();
    assert_eq!(discovery.look(&trust).files_read, 40);
    assert_eq!(discovery.look(&trust).files_read, 0);
    world.write(
        "project/.claude/agents/agent-7.md",
        "---\nname: agent-7\ndescription: new words\n---\nx\n",
    );
    world.agent("project/.claude/agents/fresh.md", "fresh");
    fs::remove_file(world.path("project/.claude/agents/agent-8.md")).unwrap();
    let found = discovery.look(&trust);
    assert_eq!(found.files_read, 2);
    let inventory = take_stock(found);
    let seven = inventory.find("agent-7").unwrap().definition.as_ref().unwrap();
    assert_eq!(seven.when_to_use.as_deref(), Some("new words"));
    assert!(inventory.find("fresh").is_ok() && inventory.find("agent-8").is_err());
}

#[test]
fn trust_holds_for_the_very_content_and_is_seen_at_the_next_look() {
    let world = World::new();
    let path = world.agent("project/.claude/agents/one.md", "one");
    let mut discovery = Discovery::new(world.places(), Rules::default());
    let mut trust = TrustStore::load(&world.path("home/.attache")).unwrap();
    let trusted = |discovery: &mut Discovery, trust: &TrustStore| {
        take_stock(discovery.look(trust)).find("one").unwrap().trusted
    };
    assert_eq!(trusted(&mut discovery, &trust), Trust::Untrusted);
    let hash = content_hash(&path).unwrap();
    trust.record([(path.clone(), Some(TrustedFile::new(hash)))]).unwrap();
    assert_eq!(trusted(&mut discovery, &trust), Trust::Trusted);
    assert_eq!(discovery.look(&trust).files_read, 0, "trust does not cost a read each time");
    world.write("project/.claude/agents/one.md", "---\nname: one\ndescription: d\n---\nother\n");
    assert_eq!(trusted(&mut discovery, &trust), Trust::Untrusted);
    world.agent("project/.claude/agents/one.md", "one");
    assert_eq!(trusted(&mut discovery, &trust), Trust::Trusted, "the old content is trusted again");
    trust.record([(path, None)]).unwrap();
    assert_eq!(trusted(&mut discovery, &trust), Trust::Untrusted);
}

#[test]
fn a_file_that_vanishes_is_an_event() {
    // Listing and reading race; a link into a folder that is swept away is the nearest thing that can
    // be made to happen every time.
    let world = World::new();
    let target = world.agent("elsewhere/gone.md", "gone");
    fs::create_dir_all(world.path("project/.claude/agents")).unwrap();
    symlink(&target, world.path("project/.claude/agents/gone.md")).unwrap();
    fs::remove_file(&target).unwrap();
    let inventory = world.inventory();
    assert_eq!(inventory.record("gone").unwrap().status, Status::Invalid);
    assert!(!Path::new(&target).exists());
}

#[test]
fn a_link_is_trusted_by_what_it_leads_to() {
    let world = World::new();
    let target = world.agent("elsewhere/one.md", "one");
    fs::create_dir_all(world.path("project/.claude/agents")).unwrap();
    let link = world.path("project/.claude/agents/one.md");
    symlink(&target, &link).unwrap();
    let other = world.agent("project/shared/two.md", "two");
    symlink(world.path("project/shared"), world.path("project/.claude/agents/shared")).unwrap();
    let mut trust = TrustStore::load(&world.path("home/.attache")).unwrap();
    let trusted = [&link, &other]
        .map(|path| (path.clone(), Some(TrustedFile::new(content_hash(path).unwrap()))));
    trust.record(trusted).unwrap();
    let inventory = take_stock(Discovery::new(world.places(), Rules::default()).look(&trust));
    for name in ["one", "two"] {
        assert_eq!(inventory.find(name).unwrap().trusted, Trust::Trusted, "{name}");
    }
    fs::remove_file(&link).unwrap();
    world.agent("elsewhere/copy.md", "one");
    symlink(world.path("elsewhere/copy.md"), &link).unwrap();
    let inventory = take_stock(Discovery::new(world.places(), Rules::default()).look(&trust));
    assert_eq!(inventory.find("one").unwrap().trusted, Trust::Untrusted, "it leads elsewhere now");
}

#[test]
fn a_home_that_is_reached_through_a_link_is_no_project() {
    let world = World::new();
    world.agent("home/.claude/agents/mine.md", "mine");
    symlink(world.path("home"), world.path("door")).unwrap();
    let places = Places {
        working_directory: world.path("home").canonicalize().unwrap(),
        home: Some(world.path("door")),
        ..world.places()
    };
    let inventory =
        take_stock(Discovery::new(places, Rules::default()).look(&TrustStore::default()));
    let mine = inventory.record("mine").unwrap();
    assert_eq!((mine.scope, mine.overrides.len()), (Scope::User, 0));
}

#[test]
fn a_folder_inside_another_place_is_not_read_again_either() {
    let world = World::new();
    world.agent("project/.claude/agents/team/one.md", "one");
    let mut places = world.places();
    places.extra_dirs = vec![world.path("project/.claude/agents/team")];
    let mut discovery = Discovery::new(places, Rules::default());
    let trust = TrustStore::default();
    discovery.look(&trust);
    let again = discovery.look(&trust);
    assert_eq!(again.files_read, 0);
    assert_eq!(take_stock(again).find("one").unwrap().overrides.len(), 1);
}

/// The events about links that were not followed.
fn unfollowed(inventory: &Inventory) -> Vec<&str> {
    let events = inventory.discovery_events.iter();
    let links = events.filter(|event| event.kind == DiscoveryKind::LinkNotFollowed);
    links.map(|event| event.message.as_str()).collect()
}

#[test]
fn a_projects_link_to_a_folder_is_followed_only_within_the_project() {
    let world = World::new();
    world.agent("project/.claude/agents/own.md", "own");
    world.agent("project/more/inner.md", "inner");
    world.agent("elsewhere/stranger.md", "stranger");
    let agents = world.path("project/.claude/agents");
    symlink(world.path("project/more"), agents.join("more")).unwrap();
    symlink(world.path("elsewhere"), agents.join("elsewhere")).unwrap();
    symlink("/", agents.join("x")).unwrap();
    let inventory = world.inventory();
    assert!(inventory.find("own").is_ok() && inventory.find("inner").is_ok());
    assert!(inventory.find("stranger").is_err());
    let links = unfollowed(&inventory);
    assert_eq!(links.len(), 2, "{links:?}");
    assert!(links[0].contains("the link leads out of the project"), "{links:?}");
}

#[test]
fn an_agents_folder_that_is_a_link_out_of_the_project_is_not_looked_into() {
    let world = World::new();
    world.agent("elsewhere/stranger.md", "stranger");
    fs::create_dir_all(world.path("project/.claude")).unwrap();
    symlink(world.path("elsewhere"), world.path("project/.claude/agents")).unwrap();
    let inventory = world.inventory();
    assert!(inventory.find("stranger").is_err());
    assert_eq!(unfollowed(&inventory).len(), 1);
}

/// What dotfile managers do: the user's folder links to wherever the files are kept.
#[test]
fn the_users_own_links_are_followed_unless_they_lead_above_the_home() {
    let world = World::new();
    world.agent("home/dotfiles/agents/mine.md", "mine");
    world.agent("store/other.md", "other");
    fs::create_dir_all(world.path("home/.claude")).unwrap();
    symlink(world.path("home/dotfiles/agents"), world.path("home/.claude/agents")).unwrap();
    fs::create_dir_all(world.path("home/.gemini/agents")).unwrap();
    symlink(world.path("store"), world.path("home/.gemini/agents/store")).unwrap();
    symlink("/", world.path("home/.gemini/agents/root")).unwrap();
    let inventory = world.inventory();
    assert!(inventory.find("mine").is_ok() && inventory.find("other").is_ok());
    let links = unfollowed(&inventory);
    assert_eq!(links.len(), 1, "{links:?}");
    assert!(links[0].contains("above the home"), "{links:?}");
}
