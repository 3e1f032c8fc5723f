//! `Stacks`: which tasks that end have their stack freed by the `kworker/N:1` of their CPU (`kernel/fork.c`).
//!
//! A CPU keeps up to two stacks of tasks that ended there, and a task that forks there takes one of them
//! (`NR_CACHED_STACKS`). What is beyond that waits until a grace period of RCU is over, and is then freed by a work of
//! that CPU (`delayed_vfree_work()`, under 6.1 `free_work()`), which its kworker executes.
//!
//! Held against five boots of 7.3.4 whose works were recorded (`s2d2`, three seeds; `n2x8` and `t8`) and one of 6.1.176
//! (`t8`): of the 1,326 ends that this rule says have their stack freed, if no CPU keeps one before the first birth that
//! was recorded, 1,286 were followed by that work on their CPU, most of them four to seven ticks later; of the 1,326
//! works 1,187 had such an end before them, most of the others came before the first scenario.

use simsched_topology::CpuId;

/// How many stacks a CPU keeps.
const NR_CACHED_STACKS: u8 = 2;

/// In which tick behind the end the stack is freed, and of how many ends: those that had no other before them on their CPU
/// that was still waited for, but for 15 of 881 that lie elsewhere.
pub(super) const FREED: [(u64, u32); 6] = [(4, 293), (5, 230), (6, 223), (7, 62), (8, 30), (9, 28)];

/// How long a grace period takes while nearly all CPUs are busy, in ticks: `rcu_preempt` looks twice. With two and three
/// children for each CPU (`forkstorm-2N`, `forkstorm-3N-gap200`; two boots of 7.3.4, `t16` and `t8`, and one of 6.1.176,
/// `t16`, with works traced) no stack is freed earlier than 27 ms behind the first birth, though the first tasks end at
/// 5.4 ms; with one child for each CPU, which leaves the CPUs idle, at 19 to 23 ms.
const BUSY: u64 = 4;

/// In which tick behind the begin of a scenario the stack of a task is freed that ends so many ticks behind that while all
/// CPUs are busy and grace periods follow each other, the first one from the begin on: the next one that begins must end.
pub(super) fn freed_when_busy(end: u64) -> u64 {
    (end / BUSY + 2) * BUSY + 1
}

/// How many ticks the CPU of a task that ends has behind that, if it becomes idle and keeps the stack, and of how many
/// ends: the last ones of scenarios in six boots of 7.3.4 (`t16`), but for seven that lie elsewhere (16 of those with five
/// had four). If the stack is freed, the tick goes on up to the one behind that (165 of 180).
pub(super) const TICKS: [(u64, u32); 7] =
    [(5, 47), (6, 8), (7, 11), (8, 6), (9, 1), (10, 1), (11, 1)];

/// The stacks that each CPU keeps.
#[derive(Clone, Debug)]
pub(super) struct Stacks {
    cached: Vec<u8>,
}

impl Stacks {
    /// No CPU keeps one.
    pub(super) fn new(nr_cpus: usize) -> Stacks {
        Stacks { cached: vec![0; nr_cpus] }
    }

    /// A task on `cpu` forks (`alloc_thread_stack_node()`).
    pub(super) fn fork(&mut self, cpu: CpuId) {
        let cached = &mut self.cached[cpu.idx()];
        *cached = cached.saturating_sub(1);
    }

    /// A task ends on `cpu`: whether its stack has to be freed (`free_thread_stack()`).
    pub(super) fn exit(&mut self, cpu: CpuId) -> bool {
        let cached = &mut self.cached[cpu.idx()];
        let is_full = *cached == NR_CACHED_STACKS;
        *cached += u8::from(!is_full);
        is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded for `forkstorm-3N-gap200` on `t16` under 7.3.4: stacks are freed 35 and 39, 47 and 51, 63 and 67 ms behind the
    /// first birth, which is up to a tick behind the begin of the tick that counts here; tasks end at 5 to 24 ms.
    #[test]
    fn stacks_are_freed_where_they_were_recorded() {
        let recorded = [35..=39, 47..=51, 63..=67];
        for (nth, recorded) in (0..).zip(recorded) {
            let freed = 4 * freed_when_busy(nth * BUSY);
            assert_eq!(freed, 4 * freed_when_busy(nth * BUSY + 3), "one grace period, one tick");
            let behind = freed - 4..=freed;
            assert!(behind.end() + 4 >= *recorded.start() && behind.start() <= recorded.end());
        }
    }

    #[test]
    fn a_cpu_keeps_two_stacks_for_those_that_fork_there() {
        let (mut stacks, [a, b]) = (Stacks::new(2), [0, 1].map(CpuId));
        assert_eq!([0; 4].map(|_| stacks.exit(a)), [false, false, true, true]);
        assert!(!stacks.exit(b));
        stacks.fork(a);
        assert_eq!([0; 2].map(|_| stacks.exit(a)), [false, true]);
        for _ in 0..3 {
            stacks.fork(a);
        }
        assert_eq!([0; 3].map(|_| stacks.exit(a)), [false, false, true]);
    }
}
