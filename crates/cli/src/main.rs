//! The command `simsched`.

use std::process::ExitCode;

fn main() -> ExitCode {
    simsched_cli::main()
}
