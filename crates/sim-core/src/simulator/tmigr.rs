//! `Tmigr`: which CPU expires the timers of idle ones (`kernel/time/timer_migration.c`, Linux 6.9 and later).
//!
//! A timer of the wheel that is not pinned stays with the CPU that started it. While that is idle with its tick stopped,
//! a CPU whose tick runs expires it: CPUs are in groups of eight, those in groups of up to eight of these, first inside
//! a node; of each group with an active child one child is the migrator, and whoever is it in all groups up to the top
//! looks after all idle CPUs. The first child that becomes active is the migrator until it is idle itself; then the
//! first of those that are active is. Where all are idle, the last one that became idle wakes up for the next timer.

use simsched_topology::{CpuId, NodeId, Topology};

/// Children of a group at most (`TMIGR_CHILDREN_PER_GROUP`).
const CHILDREN: usize = 8;

/// The CPUs of a machine in groups.
#[derive(Clone, Debug)]
pub(super) struct Tmigr {
    /// By CPU: its place.
    cpus: Vec<Place>,
    /// Up to the top, which is the last one.
    groups: Vec<Group>,
    /// The CPU that became idle last.
    last: CpuId,
}

/// A group, and which child of it.
#[derive(Clone, Copy, Debug)]
struct Place {
    group: usize,
    child: u8,
}

/// A group of CPUs, or of groups.
#[derive(Clone, Debug)]
struct Group {
    parent: Option<Place>,
    /// Ids of CPUs, or of groups.
    children: Vec<usize>,
    is_of_cpus: bool,
    /// A bit for each child that is active.
    active: u8,
    migrator: Option<u8>,
}

impl Tmigr {
    /// All CPUs of this machine, idle.
    pub(super) fn new(topology: &Topology) -> Tmigr {
        let place = Place { group: 0, child: 0 };
        let cpus = vec![place; topology.nr_cpus()];
        let mut all = Tmigr { cpus, groups: Vec::new(), last: CpuId(0) };
        let mut tops = Vec::new();
        for node in (0..topology.nr_nodes()).map(NodeId::new) {
            let cpus: Vec<usize> = topology.node_span(node).iter().map(CpuId::idx).collect();
            let groups = all.gather(&cpus, true);
            tops.extend(all.up(groups));
        }
        all.up(tops);
        all
    }

    /// Puts groups into groups until there is one.
    fn up(&mut self, mut groups: Vec<usize>) -> Vec<usize> {
        while groups.len() > 1 {
            groups = self.gather(&groups, false);
        }
        groups
    }

    /// Puts these into groups, in their order.
    fn gather(&mut self, children: &[usize], is_of_cpus: bool) -> Vec<usize> {
        let mut made = Vec::new();
        for children in children.chunks(CHILDREN) {
            let group = self.groups.len();
            for (child, &id) in (0..).zip(children) {
                let place = Place { group, child };
                if is_of_cpus {
                    self.cpus[id] = place;
                } else {
                    self.groups[id].parent = Some(place);
                }
            }
            let children = children.to_vec();
            let (parent, active, migrator) = (None, 0, None);
            self.groups.push(Group { parent, children, is_of_cpus, active, migrator });
            made.push(group);
        }
        made
    }

    /// The tick of `cpu` runs again (`tmigr_cpu_activate()`).
    pub(super) fn activate(&mut self, cpu: CpuId) {
        let mut at = Some(self.cpus[cpu.idx()]);
        while let Some(Place { group, child }) = at {
            let group = &mut self.groups[group];
            group.active |= 1 << child;
            if group.migrator.is_some() {
                return;
            }
            group.migrator = Some(child);
            at = group.parent;
        }
    }

    /// The tick of `cpu` is stopped (`tmigr_cpu_deactivate()`).
    pub(super) fn deactivate(&mut self, cpu: CpuId) {
        self.last = cpu;
        let mut at = Some(self.cpus[cpu.idx()]);
        while let Some(Place { group, child }) = at {
            let group = &mut self.groups[group];
            group.active &= !(1 << child);
            if group.migrator != Some(child) {
                return;
            }
            if group.active != 0 {
                group.migrator = u8::try_from(group.active.trailing_zeros()).ok();
                return;
            }
            group.migrator = None;
            at = group.parent;
        }
    }

    /// The CPU that expires the timers of idle ones.
    pub(super) fn migrator(&self) -> CpuId {
        let mut at = self.groups.len() - 1;
        loop {
            let group = &self.groups[at];
            let Some(child) = group.migrator else { return self.last };
            let child = group.children[usize::from(child)];
            if group.is_of_cpus {
                return CpuId::new(child);
            }
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of 60 CPUs.
    fn tmigr() -> Tmigr {
        Tmigr::new(&Topology::builtin("spr-2x60", None).unwrap())
    }

    #[test]
    fn the_first_active_cpu_is_the_migrator_until_it_is_idle() {
        let mut tmigr = tmigr();
        assert_eq!(tmigr.migrator(), CpuId(0));
        for cpu in [70, 3, 71, 9] {
            tmigr.activate(CpuId(cpu));
        }
        assert_eq!(tmigr.migrator(), CpuId(70));
        // The next one of its group of eight, and when there is none, the other node.
        tmigr.deactivate(CpuId(70));
        assert_eq!(tmigr.migrator(), CpuId(71));
        tmigr.deactivate(CpuId(71));
        assert_eq!(tmigr.migrator(), CpuId(3));
        // One that is active already does not become it.
        tmigr.activate(CpuId(70));
        assert_eq!(tmigr.migrator(), CpuId(3));
        for cpu in [3, 70, 9] {
            tmigr.deactivate(CpuId(cpu));
        }
        assert_eq!(tmigr.migrator(), CpuId(9), "the last one");
    }

    #[test]
    fn all_cpus_of_a_machine_of_one_cpu_are_in_a_group() {
        let mut tmigr = Tmigr::new(&Topology::builtin("t8", Some("lab")).unwrap());
        tmigr.activate(CpuId(7));
        assert_eq!((tmigr.groups.len(), tmigr.migrator()), (1, CpuId(7)));
    }
}
