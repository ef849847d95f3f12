//! Watching real folders.

use std::{fs, time::Duration};

use attache_kernel::agent::definition::reading::Rules;
use attache_runtime::internal::agents::{
    discovery::{Discovery, watch::Watch},
    trust::TrustStore,
};

use crate::discovery::{World, take_stock};

/// Long enough for any machine; a change ends the wait at once.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn changes_are_told_even_in_folders_that_did_not_exist() {
    let world = World::new();
    fs::create_dir_all(world.path("project/.claude/agents")).unwrap();
    let places = world.places();
    let mut discovery = Discovery::new(places.clone(), Rules::default());
    let trust = TrustStore::default();
    let mut watch = Watch::new(&places).unwrap();

    world.agent("project/.claude/agents/one.md", "one");
    assert!(watch.wait(PATIENCE, &places));
    assert!(take_stock(discovery.look(&trust)).find("one").is_ok());

    fs::create_dir_all(world.path("project/.gemini/agents")).unwrap();
    assert!(watch.wait(PATIENCE, &places));
    world.agent("project/.gemini/agents/two.md", "two");
    assert!(watch.wait(PATIENCE, &places));
    assert!(take_stock(discovery.look(&trust)).find("two").is_ok());

    fs::remove_file(world.path("project/.claude/agents/one.md")).unwrap();
    assert!(watch.wait(PATIENCE, &places));
    assert!(take_stock(discovery.look(&trust)).find("one").is_err());
    assert!(!watch.wait(Duration::ZERO, &places), "silence is no change");
}
