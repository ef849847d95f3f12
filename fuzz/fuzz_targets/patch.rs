//! Whatever a patch and a text hold, reading and applying end; a file that only stays does not change.
#![no_main]

use attache_kernel::patch::{HunkLine, Operation, apply, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (patch, text) = input;
    let Ok(patch) = parse(patch) else { return };
    for operation in &patch.operations {
        let Operation::Update { hunks, .. } = operation else { continue };
        let Ok(after) = apply(text, hunks) else { continue };
        let mut lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        if lines.all(|line| matches!(line, HunkLine::Keep(_))) {
            assert_eq!(after, text);
        }
    }
});
