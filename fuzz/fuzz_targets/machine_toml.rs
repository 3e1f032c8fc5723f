//! Any text is a machine in each of its modes, or refused with one sentence that begins with the file.
#![no_main]

#[path = "../support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use simsched_topology::{Topology, modes};

fuzz_target!(|text: &str| {
    let found = modes(text, "m.toml").and_then(|modes| {
        modes
            .iter()
            .try_for_each(|mode| Topology::parse(text, "m.toml", Some(&mode.name)).map(drop))
    });
    if let Err(error) = found {
        let said = error.to_string();
        support::one_line(&said);
        assert!(said.starts_with("m.toml"), "{said}");
    }
});
