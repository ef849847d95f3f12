//! Another process that holds the lock of a transcript, as one that runs an agent does.
//!
//! It appends what it is given. It ends when it is told to, or is killed; `flock` of util-linux is
//! needed.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

/// A process that holds the lock of a transcript.
#[derive(Debug)]
pub struct OtherWriter {
    process: Child,
}

impl OtherWriter {
    /// A process that holds that transcript, once this returns.
    pub fn holding(path: &Path) -> Self {
        let mut process = Command::new("sh")
            .args(["-c", "exec 9>>\"$0\"; flock 9 && echo held && exec cat >&9"])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n", "`flock` of util-linux is needed");
        Self { process }
    }

    /// Appends a line.
    pub fn append(&mut self, line: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends it, and with it its lock.
    pub fn end(mut self) {
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }

    /// Kills it.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
