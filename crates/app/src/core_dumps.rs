//! No core dumps: the memory of the program has keys.

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// Makes a crash leave no memory behind, and keeps other processes of the user out of it.
pub(crate) fn forbid() {
    let maximum = getrlimit(Resource::Core).maximum;
    // Neither can fail for a process that only gives something up; if it did, there is nothing to do.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum }).unwrap_or_default();
    // A core file that goes to a program, as on most desktops, obeys no limit.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap_or_default();
}
