//! Any text is arguments of `simsched run` or the plan of a sweep, each cell of which can be asked for; or it is
//! refused with one sentence that begins with the file.
#![no_main]

#[path = "../support/mod.rs"]
mod support;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use simsched_cli::fuzzing::{Refusal, plan, scenario};

/// Holds that a refusal begins with the file.
fn refused(file: &Path, said: &str) {
    support::one_line(said);
    assert!(said.starts_with(&format!("{}:", file.display())), "{said}");
}

fuzz_target!(|text: &str| {
    let file = std::env::temp_dir().join(format!("simsched-fuzz-{}", std::process::id()));
    std::fs::write(&file, text).expect("a place for files");
    let is_plan = ["grid", "axis", "seeds", "exclude"].iter().any(|key| text.contains(key));
    let found = if is_plan { plan(&file).map_err(Refusal::File) } else { scenario(&file) };
    match found {
        Ok(()) => {}
        Err(Refusal::Options(said)) => support::one_line(&said),
        Err(Refusal::File(said)) => refused(&file, &said),
    }
});
