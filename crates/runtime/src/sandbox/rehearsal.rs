//! A rehearsal: the parts of the sandbox are tried in a fork of this program, while the program goes on.
//!
//! Starting the helper takes as long as starting the program, and the first run with commands waits for
//! it. A fork takes a tenth of that, and can begin first of all. If it does not get through, the helper
//! is started as usual and tells why.

use std::{
    fmt,
    fs::File,
    io::Read as _,
    sync::{Mutex, OnceLock, PoisonError},
};

use rustix::{
    pipe::{PipeFlags, pipe_with},
    process::{Pid, WaitOptions, waitpid},
};
use safe_fork::fork;

use super::{
    Level,
    helper::{Message, rehearse},
    level,
};

/// A rehearsal under way.
pub struct Rehearsal {
    helper: Option<Pid>,
    told: Mutex<File>,
    level: OnceLock<Option<Level>>,
}

impl Rehearsal {
    /// Begins one; none where that cannot be done. Only a program without threads can: call it early in
    /// `main`.
    pub fn begin() -> Option<Self> {
        let message = Message::rehearsal(level::policy(), Level::all());
        let (told, tells) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let Some(helper) = fork().ok()? else {
            drop(told);
            rehearse(&message, &tells);
        };
        let helper = i32::try_from(helper.pid()).ok().and_then(Pid::from_raw);
        Some(Self { helper, told: Mutex::new(File::from(told)), level: OnceLock::new() })
    }

    /// The level that was set up; none if that failed. The first call blocks until it is known.
    pub(super) fn level(&self) -> Option<Level> {
        *self.level.get_or_init(|| {
            // It is told in one piece. The end of the process, which comes later, is not waited for.
            let mut text = [0; 256];
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let length = told.read(&mut text).ok()?;
            serde_json::from_slice(text.get(..length)?).ok()
        })
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        // One that is still under way ends with the program.
        let _collected = self.helper.map(|helper| waitpid(Some(helper), WaitOptions::NOHANG));
    }
}

impl fmt::Debug for Rehearsal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rehearsal").field("level", &self.level).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_threads_is_not_forked() {
        // The harness has its own thread besides this one.
        let joined = std::thread::spawn(|| Rehearsal::begin().is_none()).join();
        assert!(joined.unwrap());
    }
}
