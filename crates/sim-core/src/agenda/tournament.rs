//! `Tournament`: the ends of long stages, each CPU against its neighbour, up to the earliest.

use simsched_topology::CpuId;

/// Bits of a key that hold the CPU: 1,024 of them.
const CPU_BITS: u32 = 10;
/// The key of a CPU without a plan.
const NEVER: u64 = u64::MAX;

/// Nodes of the largest tree. A tree for fewer CPUs uses a part of them; an index that is masked
/// with the size needs no check.
const NODES: usize = 2048;

/// A complete binary tree of keys (time, CPU): each inner node is the lesser of its two children.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// Node 1 is the root; the children of node `n` are `2n` and `2n + 1`; the leaves are the CPUs.
    keys: Box<[u64; NODES]>,
    leaves: usize,
}

impl Tournament {
    /// No plan for any of `nr_cpus` CPUs.
    pub(super) fn new(nr_cpus: usize) -> Tournament {
        let leaves = nr_cpus.next_power_of_two();
        Tournament { keys: Box::new([NEVER; NODES]), leaves }
    }

    /// Plans `cpu` for `time`, in place of what was planned for it.
    #[inline]
    pub(super) fn arm(&mut self, cpu: CpuId, time: u64) {
        debug_assert!(time < 1 << (63 - CPU_BITS), "CPU {cpu} at {time}");
        self.climb(cpu, time << CPU_BITS | u64::from(cpu.0));
    }

    /// Drops the plan of `cpu`.
    pub(super) fn disarm(&mut self, cpu: CpuId) {
        self.climb(cpu, NEVER);
    }

    #[inline]
    fn climb(&mut self, cpu: CpuId, mut key: u64) {
        let mut node = (self.leaves + cpu.idx()) % NODES;
        self.keys[node] = key;
        while node > 1 {
            key = key.min(self.keys[(node ^ 1) % NODES]);
            node /= 2;
            self.keys[node] = key;
        }
    }

    /// When `cpu` will fire.
    pub(super) fn planned(&self, cpu: CpuId) -> Option<u64> {
        let key = self.keys[(self.leaves + cpu.idx()) % NODES];
        (key != NEVER).then_some(key >> CPU_BITS)
    }

    /// The earliest plan, `u64::MAX` if there is none; at one instant the CPU with the lowest
    /// number comes first.
    #[inline]
    pub(super) fn earliest(&self) -> u64 {
        match self.keys[1] {
            NEVER => NEVER,
            key => key >> CPU_BITS,
        }
    }

    /// Whose plan is the earliest one, if there is any.
    #[inline]
    pub(super) fn first(&self) -> CpuId {
        CpuId((self.keys[1] & ((1 << CPU_BITS) - 1)) as u16)
    }
}
