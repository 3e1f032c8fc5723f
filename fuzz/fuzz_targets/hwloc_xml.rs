//! Any text is imported as a machine that the topology package accepts, or refused with one
//! sentence that begins with the source.
#![no_main]

#[path = "../support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use simsched_import::{Request, Source, import};
use simsched_topology::Topology;

fuzz_target!(|text: &str| {
    let request = Request { file: "source", name: "m", llc: None, prices: None };
    match import(Source::Text(text), &request) {
        Ok(imported) => assert!(Topology::parse(&imported.toml, "m", None).is_ok()),
        Err(error) => {
            let said = error.to_string();
            support::one_line(&said);
            assert!(said.starts_with("source:"), "{said}");
        }
    }
});
