//! The `attache` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    attache::main()
}
