//! The sched domains of a library on all built-in machines of x86: those of the built-in classes, which are held against the
//! kernel's own (`crates/topology/tests/vectors.rs`).

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod common;

use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Policy, Report};
use simsched_kernel::{KernelPolicy, KernelSettings};
use simsched_policies::fair::{Fair, Features, Overrides, Version};
use simsched_topology::{Arch, CpuId, CpuSet, Topology, builtin_names, builtin_text, modes};

/// By CPU: the names and CPUs of its domains, from the bottom up.
fn domains<P: Policy + Report>(kit: &WorldKit, policy: P) -> Vec<Vec<(&'static str, CpuSet)>> {
    let host = PolicyHost::new(kit.clone(), policy);
    let of = |cpu: CpuId| {
        let mut all = Vec::new();
        host.policy.domains(cpu, &mut |name, span, _| all.push((name, *span)));
        all
    };
    kit.world().topology().cpus().iter().map(of).collect()
}

#[test]
fn domains_are_those_of_the_built_in_classes_on_all_machines_of_x86() {
    let mut compared = 0;
    for (release, version) in [("6.1", Version::V6_1), ("6.12", Version::V6_12)] {
        let Some(library) = common::library(release) else { return };
        for name in builtin_names() {
            for mode in modes(builtin_text(name).unwrap(), name).unwrap() {
                let topology = Topology::builtin(name, Some(mode.name.as_str())).unwrap();
                if topology.arch() == Arch::Power {
                    // Libraries are built for x86, and know no level of coregroups.
                    continue;
                }
                let kit = WorldKit::new(topology, 250);
                let ours = domains(&kit, Fair::new(Features::of(version), Overrides::default()));
                let kernel = KernelPolicy::new(&library, KernelSettings::default());
                let theirs = domains(&kit, kernel);
                assert!(theirs.iter().all(|domains| !domains.is_empty()));
                for (cpu, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                    assert_eq!(ours, theirs, "CPU {cpu} of {name}@{} under {release}", mode.name);
                }
                compared += ours.len();
            }
        }
    }
    assert!(compared > 2 * 16 * 20, "{compared} CPUs");
}
