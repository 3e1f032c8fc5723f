//! `KernelPolicy` as a [`Policy`]: each question goes to the library.

use simsched_core::{
    Attached, CallId, Cx, Dequeue, Dequeued, Enqueue, Look, Placement, Policy, Preempt, TaskId,
    TimerId, Wakeup, World,
};
use simsched_policies::fair::{GROUP_LEVEL, TICK_GROUP_LEVEL};
use simsched_topology::CpuId;

use super::placement::{looked, placement};
use super::{KernelPolicy, walked};

/// How often a task that nobody has forked has changed whom it wakes, and the tick in which that was halved last: it
/// inherits both from who started the program. The machine's own tasks inherit nothing.
fn flips(world: &World, task: TaskId) -> (u32, u64) {
    let inherited = world.inherited();
    if world.tasks().is_background(task) {
        return (0, 0);
    }
    let age = inherited.since_halving.get() / world.tick().get();
    (inherited.wakee_flips, world.jiffies().wrapping_sub(age))
}

impl Policy for KernelPolicy {
    fn attach(&mut self, world: &World) -> Attached {
        self.begin(world)
    }

    fn select_task_rq(&mut self, mut cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        let stays = Placement::at(wakeup.prev, super::placement::PREV);
        self.ask(&mut cx, stays, |kernel, cx| {
            kernel.take_events(cx)?;
            let to = kernel.library.select(cx.world, wakeup)?;
            placement(&mut kernel.library, cx.world, wakeup, to)
        })
    }

    fn migrate_task_rq(&mut self, mut cx: Cx<'_>, task: TaskId, to: CpuId) {
        self.ask(&mut cx, (), |kernel, cx| kernel.library.migrate(cx.world, task, to));
    }

    fn task_fork(&mut self, mut cx: Cx<'_>, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        self.ask(&mut cx, (), |kernel, cx| {
            kernel.raises(cx, cpu, |library, world| {
                library.begin(world, cpu, parent, child, flips(world, child))
            })
        });
    }

    fn task_asleep(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        self.ask(&mut cx, (), |kernel, cx| {
            kernel.library.asleep(cx.world, cpu, task, flips(cx.world, task))
        });
    }

    fn enqueue(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.ask(&mut cx, (), |kernel, cx| {
            if why == Enqueue::Moved && kernel.attaches(cx, cpu, task)? {
                walked(&kernel.library, cx, task, GROUP_LEVEL);
                return Ok(());
            }
            kernel.raises(cx, cpu, |library, world| library.enqueue(world, cpu, task, why))?;
            kernel.slices_afar(cx)?;
            // Who sleeps on its runqueue is placed anew there, and nothing above it changes.
            if why != Enqueue::Delayed {
                walked(&kernel.library, cx, task, GROUP_LEVEL);
            }
            Ok(())
        });
    }

    fn dequeue(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued {
        self.ask(&mut cx, Dequeued::Left, |kernel, cx| {
            let dequeued =
                kernel.raises(cx, cpu, |library, world| library.dequeue(world, cpu, task, why))?;
            // Who stays is delayed at the first level.
            if dequeued == Dequeued::Left {
                walked(&kernel.library, cx, task, GROUP_LEVEL);
            }
            Ok(dequeued)
        })
    }

    fn pick_next(&mut self, mut cx: Cx<'_>, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        self.ask(&mut cx, None, |kernel, cx| {
            let next = kernel.library.pick(cx.world, cpu)?;
            if let Some(prev) = prev.filter(|_| next.is_some() && next != prev) {
                kernel.library.leaves(cx.world, prev)?;
            }
            kernel.take_events(cx)?;
            if let Some(next) = next {
                walked(&kernel.library, cx, next, GROUP_LEVEL);
            }
            Ok(next)
        })
    }

    fn wakeup_preempt(
        &mut self,
        mut cx: Cx<'_>,
        cpu: CpuId,
        wakee: TaskId,
        why: Enqueue,
    ) -> Preempt {
        self.ask(&mut cx, Preempt::No, |kernel, cx| {
            match kernel
                .passes
                .attached(cx.world.this_cpu(), wakee)
                .filter(|_| why == Enqueue::Moved)
            {
                Some(answer) => Ok(answer),
                None => {
                    let answer = kernel.library.preempt(cx.world, cpu, wakee, why)?;
                    // From 7.2 on it looks for the best entity, and a sleeper that it finds leaves.
                    kernel.take_events(cx)?;
                    Ok(answer)
                }
            }
        })
    }

    fn task_woken(&mut self, mut cx: Cx<'_>, cpu: CpuId) {
        self.ask(&mut cx, (), |kernel, cx| kernel.library.woken(cx.world, cpu));
    }

    fn task_tick(&mut self, mut cx: Cx<'_>, cpu: CpuId, curr: TaskId) -> Preempt {
        self.ask(&mut cx, Preempt::No, |kernel, cx| {
            let preempt = kernel.library.tick(cx.world, cpu)?;
            kernel.take_events(cx)?;
            kernel.homes.trace(&mut kernel.library, cx, curr);
            walked(&kernel.library, cx, curr, TICK_GROUP_LEVEL);
            Ok(preempt)
        })
    }

    fn task_work(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId) -> Look {
        self.ask(&mut cx, Look::default(), |kernel, cx| {
            kernel.take_events(cx)?;
            kernel.library.work(cx.world, cpu)?;
            kernel.homes.trace(&mut kernel.library, cx, task);
            let (cpus, far) = looked(&mut kernel.library, cx.world, cpu);
            Ok(Look { cpus, far, groups: 0 })
        })
    }

    fn timer(&mut self, mut cx: Cx<'_>, cpu: CpuId, _: TimerId) {
        self.ask(&mut cx, (), |kernel, cx| kernel.slice_ends(cx, cpu));
    }

    fn called(&mut self, mut cx: Cx<'_>, cpu: CpuId, _: CallId) {
        self.ask(&mut cx, (), |kernel, cx| kernel.slice_starts(cx, cpu));
    }

    fn yield_task(&mut self, mut cx: Cx<'_>, cpu: CpuId, _: TaskId) {
        self.ask(&mut cx, (), |kernel, cx| {
            kernel.raises(cx, cpu, |library, world| library.yields(world, cpu))
        });
    }

    fn reweight_task(&mut self, mut cx: Cx<'_>, task: TaskId) -> Preempt {
        self.ask(&mut cx, Preempt::No, |kernel, cx| kernel.library.nice(cx.world, task))
    }

    fn exit_mm(&mut self, mut cx: Cx<'_>, _: CpuId, task: TaskId) {
        self.ask(&mut cx, (), |kernel, cx| kernel.library.task_state(cx.world, task));
    }

    fn task_dead(&mut self, mut cx: Cx<'_>, task: TaskId) {
        self.ask(&mut cx, (), |kernel, cx| {
            kernel.library.have_left(cx.world)?;
            kernel.library.dead(cx.world, task)
        });
    }

    /// To the idle task: the kernel puts `prev` where [`Policy::idle_entered`] makes that task current.
    fn put_prev_task(&mut self, mut cx: Cx<'_>, cpu: CpuId, prev: TaskId) {
        if cx.world.rq(cpu).stopper {
            self.ask(&mut cx, (), |kernel, cx| {
                kernel.library.stopper(cx.world, cpu)?;
                kernel.library.leaves(cx.world, prev)
            });
        }
    }

    fn idle_entered(&mut self, mut cx: Cx<'_>, cpu: CpuId) {
        self.ask(&mut cx, (), |kernel, cx| kernel.library.idle(cx.world, cpu));
    }

    fn idle_left(&mut self, mut cx: Cx<'_>, cpu: CpuId) {
        self.ask(&mut cx, (), |kernel, cx| kernel.library.idle_left(cx.world, cpu));
    }
}
