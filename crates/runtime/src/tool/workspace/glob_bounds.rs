//! Bounds of globs: how long a glob may be and how deep its braces may nest.
//!
//! The glob library translates nested braces by recursion. Invariant: it never sees a glob that was
//! not checked here, so that no glob, from a model or from an ignore file, exhausts the stack.

/// The longest glob, in bytes.
const MAX_BYTES: usize = 4096;
/// How deep braces may nest.
const MAX_DEPTH: usize = 16;

/// Why a glob is refused before it is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GlobBoundError {
    #[error("it has {bytes} bytes; the maximum is {MAX_BYTES}")]
    TooLong { bytes: usize },
    #[error("its braces nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Whether a glob is small enough to be parsed. An escaped or bracketed `{` counts as a brace, too.
pub(crate) fn check_glob(glob: &str) -> Result<(), GlobBoundError> {
    if glob.len() > MAX_BYTES {
        return Err(GlobBoundError::TooLong { bytes: glob.len() });
    }
    let mut depth = 0_usize;
    for letter in glob.bytes() {
        match letter {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(GlobBoundError::TooDeep);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_deep_globs_are_refused() {
        assert_eq!(check_glob(&"a".repeat(5000)), Err(GlobBoundError::TooLong { bytes: 5000 }));
        let nested = |depth| "{a,".repeat(depth) + &"}".repeat(depth);
        assert_eq!(check_glob(&nested(1000)), Err(GlobBoundError::TooDeep));
        assert_eq!(check_glob(&"{".repeat(17)), Err(GlobBoundError::TooDeep));
        assert_eq!(check_glob(&nested(16)), Ok(()));
        assert_eq!(check_glob(&"{a,b}".repeat(100)), Ok(()));
    }
}
