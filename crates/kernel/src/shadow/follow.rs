//! How the kernel's functions follow the passes of the load balancer, which are the policy's alone.

use simsched_core::{BalanceStep, Moves};
use simsched_topology::CpuId;

use super::ask::{Ask, MOVED};
use super::inside::{Inside, QueueNumbers};
use super::library::{Answer, Pass, done, number};

impl<P: Inside> Ask<'_, P> {
    /// `cpu` has nothing to run, and a pass has begun there or not. The stamp is what a fork looks for, and what
    /// the expected idle time comes from.
    pub(super) fn newidle(&mut self, cpu: CpuId, begins: bool) -> Answer {
        let rq = self.world.rq(cpu);
        if !rq.pending {
            done("idle_since", self.library.class.idle_since(number(cpu), rq.clock))?;
        }
        self.library.passes[cpu.idx()] = Pass { newidle: begins, ..Pass::default() };
        Ok(())
    }

    /// A pass has begun on `cpu` that is none of a newly idle CPU.
    pub(super) fn pass(&mut self, cpu: CpuId) -> Answer {
        self.library.passes[cpu.idx()] = Pass::default();
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
        let locked = self.library.passes[cpu.idx()].locked;
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
            done("age", self.library.class.age(number(locked)))?;
        }
        match step {
            BalanceStep::Lock(locked) => self.library.passes[cpu.idx()].locked = Some(locked),
            BalanceStep::Move => {
                self.library.passes[cpu.idx()].pulled |= moves.to == cpu;
                self.moved(moves)?;
            }
            BalanceStep::Done => {
                let pass = std::mem::take(&mut self.library.passes[cpu.idx()]);
                let is_idle = !pass.pulled && self.world.rq(cpu).nr_running == 0;
                if pass.newidle && !is_idle {
                    done("idle_since", self.library.class.idle_since(number(cpu), 0))?;
                }
            }
            BalanceStep::Look(_) | BalanceStep::Stop { .. } => {}
        }
        Ok(())
    }

    /// Tasks have left one queue, and are on their way to another, where they are enqueued one by one.
    pub(super) fn moved(&mut self, moves: &Moves) -> Answer {
        for &task in &moves.tasks {
            self.library.clock(self.world, moves.from)?;
            self.library.flag(self.world, moves.from)?;
            let id = self.library.id(task)?;
            done("dequeue", self.library.class.dequeue(number(moves.from), id, MOVED))?;
            self.migrate(task, moves.to)?;
        }
        Ok(())
    }
}
