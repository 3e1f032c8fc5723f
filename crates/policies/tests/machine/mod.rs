//! Small machines of all regular shapes.

use std::sync::Arc;

use proptest::prelude::*;
use simsched_topology::{OsCosts, Topology};

/// What any machine file has beside its structure.
const REST: &str = r#"
[c2c_ns]
smt = 8
same_llc = 57
same_socket = 100
cross_socket = 150

[[idle]]
name = "C1"
exit_us = 1
residency_us = 2
polling = true

[[idle]]
name = "C6"
exit_us = 170
residency_us = 600
polling = false
"#;

/// A small machine with regular structure.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) sockets: u16,
    pub(crate) llcs: u16,
    pub(crate) cores: u16,
    pub(crate) threads: u16,
    pub(crate) numbering: &'static str,
    /// Whether everything but computing and sleeping costs nothing (spec 09, invariant 4).
    pub(crate) free: bool,
}

impl Machine {
    pub(crate) fn topology(&self) -> Arc<Topology> {
        let Machine { sockets, llcs, cores, threads, numbering, free } = self;
        let text = format!(
            "name = \"random\"\ntitle = \"random\"\ndefault_mode = \"one\"\ncosts = \"x86\"\n\
             [cores]\nsockets = {sockets}\nllcs_per_socket = {llcs}\ncores_per_llc = {cores}\n\
             threads_per_core = {threads}\nnumbering = \"{numbering}\"\n\
             [mode.one]\nnodes_per_socket = 1\ncross_socket = 21\n{REST}"
        );
        let priced = Topology::parse(&text, "random.toml", None).unwrap();
        Arc::new(if *free { priced.with_costs(OsCosts::free()) } else { priced })
    }

    pub(crate) fn nr_cpus(&self) -> u16 {
        self.sockets * self.llcs * self.cores * self.threads
    }
}

/// Any of them.
pub(crate) fn machine() -> impl Strategy<Value = Machine> {
    let numbering = prop_oneof![Just("smt_split"), Just("linear")];
    (1..3_u16, 1..4_u16, 1..4_u16, 1..3_u16, numbering, any::<bool>()).prop_map(
        |(sockets, llcs, cores, threads, numbering, free)| Machine {
            sockets,
            llcs,
            cores,
            threads,
            numbering,
            free,
        },
    )
}
