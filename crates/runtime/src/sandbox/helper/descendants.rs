//! Descendants: killing all that a command started, where no namespace does it.
//!
//! This process is their subreaper: an orphan becomes its child. So a round that finds no child is the last:
//! a process that is not below a child of this one does not exist.

use std::fs;

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, getpid, kill_process, wait},
};

/// Kills and collects every descendant of this process.
pub(super) fn kill_all() {
    // The usual case: nothing is left, and the table of processes need not be read.
    while !matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD)) {
        for child in below(getpid()) {
            let _may_be_gone = kill_process(child, Signal::KILL);
        }
        // Blocks until one of the killed ends; none left is an error.
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

/// All descendants of a process, parents first.
fn below(top: Pid) -> Vec<Pid> {
    let mut parents: Vec<(Pid, Pid)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((Pid::from_raw(pid)?, parent_of(pid)?)))
        .collect();
    let mut found = vec![top];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        parents.retain(|(pid, of)| {
            if *of == parent {
                found.push(*pid);
            }
            *of != parent
        });
    }
    found.split_off(1)
}

fn parent_of(pid: i32) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    Pid::from_raw(fields.split_whitespace().nth(1)?.parse().ok()?)
}
