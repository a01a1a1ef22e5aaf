//! The program `agrajag`.

use std::process::ExitCode;

fn main() -> ExitCode {
    agrajag::run(std::env::args_os())
}
