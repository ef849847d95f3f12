//! `attache-sandbox`: the sandbox's helper as a program of its own, for programs that embed the runtime and
//! cannot call [`run_if_helper`] first in their own `main`.

use std::process::ExitCode;

use attache_runtime::internal::sandbox::run_if_helper;

fn main() -> ExitCode {
    run_if_helper(&std::env::args_os().collect::<Vec<_>>());
    ExitCode::from(2)
}
