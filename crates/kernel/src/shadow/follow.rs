//! How the kernel's functions follow the passes of the load balancer, which are the policy's alone.

use simsched_core::{BalanceStep, Moves};
use simsched_topology::{CpuId, Topology};

use super::ask::Ask;
use super::inside::{Inside, QueueNumbers};
use crate::library::{Answer, done, number};

/// What of the policy's passes the kernel's functions have followed.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    /// By CPU.
    pub(super) passes: Vec<Pass>,
    /// By LLC: the limit of a search there that was set last.
    pub(super) scans: Vec<Option<u32>>,
    /// By CPU and level: whether its group counts as imbalanced.
    imbalanced: Vec<Vec<bool>>,
}

/// Where a pass of the load balancer is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pass {
    /// It is that of a CPU that is about to become idle.
    newidle: bool,
    /// It has brought a task.
    pulled: bool,
    /// The runqueue that it has locked last.
    pub(super) locked: Option<CpuId>,
    /// That is still the lock of `schedule()`: the clock of that runqueue stays as it is (7.2 and later).
    held: bool,
}

impl Followed {
    /// Nothing, of a machine.
    pub(super) fn new(topology: &Topology) -> Followed {
        Followed {
            passes: vec![Pass::default(); topology.nr_cpus()],
            scans: vec![None; topology.nr_llcs()],
            imbalanced: vec![Vec::new(); topology.nr_cpus()],
        }
    }
}

impl<P: Inside> Ask<'_, P> {
    /// Which groups a new task avoids, because affinity has kept them from balancing.
    pub(super) fn imbalanced(&mut self) -> Answer {
        for (cpu, known) in (0..).map(CpuId).zip(&mut self.followed.imbalanced) {
            for level in 0.. {
                let Some(is) = self.inner.is_imbalanced(cpu, level) else { break };
                if known.len() == level {
                    known.push(false);
                }
                if std::mem::replace(&mut known[level], is) != is {
                    let level = i32::try_from(level).expect("few domains");
                    let set = self.library.class.imbalance(number(cpu), level, i32::from(is));
                    done("imbalance", set)?;
                }
            }
        }
        Ok(())
    }

    /// `cpu` has nothing to run, and a pass has begun there or not. The stamp is what a fork looks for, and what
    /// the expected idle time comes from.
    pub(super) fn newidle(&mut self, cpu: CpuId, begins: bool) -> Answer {
        let rq = self.world.rq(cpu);
        if !rq.pending {
            done("idle_since", self.library.class.idle_since(number(cpu), rq.clock))?;
        }
        // schedule() has locked the CPU's own runqueue: newer passes begin with its averages.
        self.followed.passes[cpu.idx()] =
            Pass { newidle: begins, pulled: false, locked: Some(cpu), held: begins };
        Ok(())
    }

    /// A pass has begun on `cpu` that is none of a newly idle CPU.
    pub(super) fn pass(&mut self, cpu: CpuId) -> Answer {
        self.followed.passes[cpu.idx()] = Pass::default();
        Ok(())
    }

    /// A step of a pass on `cpu` has been taken. `before` is what the policy kept of the queue that was locked last: if the
    /// step has weighed or aged that, the kernel's is weighed or aged, too.
    pub(super) fn step(
        &mut self,
        cpu: CpuId,
        before: Option<QueueNumbers>,
        moves: &Moves,
        step: BalanceStep,
    ) -> Answer {
        let locked = self.followed.passes[cpu.idx()].locked;
        if let (Some(locked), Some(before)) = (locked, before)
            && self.inner.queue_numbers(locked).weighed != before.weighed
        {
            self.library.clock(self.world, locked)?;
            done("weigh", self.library.class.weigh(number(locked)))?;
        }
        if let (Some(locked), Some(before)) = (locked, before)
            && step != BalanceStep::Move
            && self.inner.queue_numbers(locked).age != before.age
        {
            self.library.clock(self.world, locked)?;
            if self.followed.passes[cpu.idx()].held {
                let clock = self.world.rq(locked).clock;
                done("time", self.library.class.time(clock, self.world.jiffies()))?;
            }
            done("age", self.library.class.age(number(locked)))?;
            self.library.present(self.world)?;
        }
        match step {
            BalanceStep::Lock(locked) => {
                let pass = &mut self.followed.passes[cpu.idx()];
                (pass.locked, pass.held) = (Some(locked), false);
            }
            BalanceStep::Move => {
                self.followed.passes[cpu.idx()].pulled |= moves.to == cpu;
                self.moved(moves)?;
            }
            BalanceStep::Done => {
                let pass = std::mem::take(&mut self.followed.passes[cpu.idx()]);
                let is_idle = !pass.pulled && self.world.rq(cpu).nr_running == 0;
                if pass.newidle && !is_idle {
                    done("idle_since", self.library.class.idle_since(number(cpu), 0))?;
                }
            }
            BalanceStep::Look(_) | BalanceStep::Skip | BalanceStep::Stop { .. } => {}
        }
        Ok(())
    }

    /// Tasks have left one queue, and are on their way to another, where they are enqueued one by one.
    pub(super) fn moved(&mut self, moves: &Moves) -> Answer {
        self.library.detach(self.world, &moves.tasks, moves.from, moves.to)
    }
}
