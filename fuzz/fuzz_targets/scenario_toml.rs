//! Any text is arguments of `simsched run` or the plan of a sweep, each cell of which can be asked for; or it is
//! refused with one sentence that begins with the file.
#![no_main]

#[path = "../commands.rs"]
mod commands;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;

use commands::cli::*;
use failure::Failure;
use libfuzzer_sys::fuzz_target;
use scenario_file::Refused;

/// Holds that a refusal begins with the file.
fn refused(file: &Path, failure: &Failure) {
    let said = failure.to_string();
    support::one_line(&said);
    assert!(said.starts_with(&format!("{}:", file.display())), "{said}");
}

fn scenario(file: &Path) {
    match scenario_file::parse(&["simsched".into(), "run".into(), file.into()]) {
        Ok(_) => {}
        // Of several options together, as clap says it.
        Err(Refused::Clap(error)) => support::one_line(&failure::of_arguments(&error)),
        Err(Refused::Said(failure)) => refused(file, &failure),
    }
}

fn plan(file: &Path) {
    match grid::cells(file) {
        Err(failure) => refused(file, &failure),
        Ok(cells) => {
            let cell = cells.first().expect("a plan has a cell");
            if let Err(failure) = scenario_file::arguments(&file.display().to_string(), cell) {
                refused(file, &failure);
            }
        }
    }
}

fuzz_target!(|text: &str| {
    let file = commands::file_of(text.as_bytes()).expect("a place for files");
    let is_plan = ["grid", "axis", "seeds", "exclude"].iter().any(|key| text.contains(key));
    if is_plan { plan(&file) } else { scenario(&file) }
});
