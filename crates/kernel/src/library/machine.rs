//! The machine of a simulation, as the library numbers it.

use simsched_core::World;
use simsched_topology::{Arch, CpuId, NodeId, Topology};

use super::{Answer, done, number};
use crate::sys::{ClassLevel, RawMachine};

/// Makes the machine of `world`.
pub(super) fn create(class: &mut ClassLevel, world: &World) -> Answer {
    let topology: &Topology = world.topology();
    let of = |place: &dyn Fn(CpuId) -> u16| -> Vec<i32> {
        topology.cpus().iter().map(|cpu| i32::from(place(cpu))).collect()
    };
    let nodes = topology.nr_nodes();
    let node = |at: usize| NodeId(u16::try_from(at).expect("few nodes"));
    let distance: Vec<i32> = (0..nodes * nodes)
        .map(|at| topology.node_distance(node(at / nodes), node(at % nodes)))
        .map(|distance| i32::try_from(distance).expect("a small number"))
        .collect();
    let machine = RawMachine {
        nodes,
        smt: topology.cpus().iter().map(|cpu| topology.smt_mask(cpu).len()).max().unwrap_or(1),
        reclaim: topology.reclaim_distance(),
        parts: topology.arch() == Arch::X86 && has_numa_in_package(topology),
        core: &of(&|cpu| topology.core_of(cpu).0),
        llc: &of(&|cpu| topology.llc_of(cpu).0),
        node: &of(&|cpu| topology.node_of(cpu).0),
        distance: &distance,
    };
    done("create", class.create(&machine, world.seed().0))
}

/// Whether some package holds CPUs of several nodes.
fn has_numa_in_package(topology: &Topology) -> bool {
    let mut of_package = vec![None; topology.nr_packages()];
    topology.cpus().iter().any(|cpu| {
        let node = topology.node_of(cpu);
        *of_package[topology.package_of(cpu).idx()].get_or_insert(node) != node
    })
}

/// How many CPUs each domain above `cpu` has, from the lowest.
pub(crate) fn domain_sizes(class: &mut ClassLevel, cpu: CpuId) -> Vec<usize> {
    let size = |level| usize::try_from(class.domain(number(cpu), level)).ok();
    (0..).map_while(size).take_while(|&cpus| cpus > 0).collect()
}
