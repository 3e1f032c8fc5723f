//! Any text is a workload of rt-app that can be set up and run, or refused with one sentence that begins with
//! file, line and column; read as rt-app does, as its release 1.0 and as workgen.
#![no_main]

#[path = "../support/run.rs"]
mod run;
#[path = "../support/mod.rs"]
mod support;

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use simsched_core::HardwareModel;
use simsched_topology::Topology;
use simsched_workloads::catalog;

static MACHINE: LazyLock<Arc<Topology>> = LazyLock::new(|| Arc::new(run::machine()));

/// As many tasks are set up in a moment, and a run of them is not slow.
const FEW: usize = 200;

fn is_placed(said: &str) -> bool {
    let numbers = said.strip_prefix("rt-app: f.json:").unwrap_or_default();
    let mut numbers = numbers.splitn(3, ':').map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(1..)), Some(Ok(1..))))
}

/// Reads a file with these options; whether it is run, too.
fn read(options: &str, text: &str, is_run: bool) {
    let line = format!("rt-app {options} f.json");
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match catalog::parse_file(&argv, text, &MACHINE) {
        Err(error) => {
            let said = error.to_string();
            support::one_line(&said);
            assert!(is_placed(&said), "{said}");
        }
        Ok(benchmark) => {
            benchmark.without_effect().iter().for_each(|note| support::one_line(note));
            let workload = benchmark.workload_on(&MACHINE);
            let tasks = workload.setup().tasks;
            tasks.iter().for_each(|task| assert!((-20..=19).contains(&task.nice)));
            if is_run && tasks.len() <= FEW {
                run::a_little(workload, &MACHINE, HardwareModel::Priced);
            }
        }
    }
}

fuzz_target!(|text: &str| {
    read("", text, true);
    read("--workgen", text, false);
    read("--release 1.0", text, false);
});
