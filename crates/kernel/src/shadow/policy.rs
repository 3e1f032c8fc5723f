//! `Shadow` as a [`Policy`]: each call goes to the policy inside, and then to the library.

use simsched_core::{
    Attached, CallId, Cx, Dequeue, Dequeued, Enqueue, Look, Placement, Policy, Preempt, TaskId,
    TimerId, Wakeup, World,
};
use simsched_topology::CpuId;

use super::Shadow;
use super::inside::Inside;

impl<P: Inside> Policy for Shadow<P> {
    fn attach(&mut self, world: &World) -> Attached {
        let attached = self.inner.attach(world);
        self.begin(world);
        attached
    }

    fn select_task_rq(&mut self, cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        let world = cx.world;
        let placement = self.inner.select_task_rq(cx, wakeup);
        self.ask(world, |ask| ask.select(wakeup, &placement));
        placement
    }

    fn migrate_task_rq(&mut self, cx: Cx<'_>, task: TaskId, to: CpuId) {
        let world = cx.world;
        self.inner.migrate_task_rq(cx, task, to);
        self.ask(world, |ask| ask.library.migrate(world, task, to));
    }

    fn task_fork(&mut self, cx: Cx<'_>, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        let world = cx.world;
        self.inner.task_fork(cx, cpu, parent, child);
        self.ask(world, |ask| ask.begin(cpu, parent, child));
    }

    fn task_asleep(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        let world = cx.world;
        self.inner.task_asleep(cx, cpu, task);
        self.ask(world, |ask| ask.asleep(cpu, task));
    }

    fn enqueue(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        let world = cx.world;
        self.inner.enqueue(cx, cpu, task, why);
        self.ask(world, |ask| ask.enqueue(cpu, task, why));
    }

    fn dequeue(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued {
        let world = cx.world;
        let has = self.inner.dequeue(cx, cpu, task, why);
        self.ask(world, |ask| ask.dequeue(cpu, task, why, has));
        has
    }

    fn pick_next(&mut self, cx: Cx<'_>, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        let world = cx.world;
        let next = self.inner.pick_next(cx, cpu, prev);
        self.ask(world, |ask| ask.pick(cpu, prev, next));
        next
    }

    fn wakeup_preempt(&mut self, cx: Cx<'_>, cpu: CpuId, wakee: TaskId, why: Enqueue) -> Preempt {
        let world = cx.world;
        let answer = self.inner.wakeup_preempt(cx, cpu, wakee, why);
        self.ask(world, |ask| ask.preempt(cpu, wakee, why, answer));
        answer
    }

    fn task_woken(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let world = cx.world;
        self.inner.task_woken(cx, cpu);
        self.ask(world, |ask| ask.woken(cpu));
    }

    fn task_tick(&mut self, cx: Cx<'_>, cpu: CpuId, curr: TaskId) -> Preempt {
        let world = cx.world;
        let answer = self.inner.task_tick(cx, cpu, curr);
        self.ask(world, |ask| ask.tick(cpu, curr, answer));
        answer
    }

    fn task_work(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) -> Look {
        self.inner.task_work(cx, cpu, task)
    }

    fn timer(&mut self, cx: Cx<'_>, cpu: CpuId, timer: TimerId) {
        let world = cx.world;
        self.inner.timer(cx, cpu, timer);
        self.ask(world, |ask| ask.library.slice(world, cpu));
    }

    fn called(&mut self, cx: Cx<'_>, cpu: CpuId, what: CallId) {
        let world = cx.world;
        self.inner.called(cx, cpu, what);
        self.ask(world, |ask| {
            ask.library.clock(world, cpu)?;
            ask.library.calls(world, cpu)
        });
    }

    fn yield_task(&mut self, cx: Cx<'_>, cpu: CpuId, curr: TaskId) {
        let world = cx.world;
        self.inner.yield_task(cx, cpu, curr);
        self.ask(world, |ask| ask.library.yields(world, cpu));
    }

    fn reweight_task(&mut self, cx: Cx<'_>, task: TaskId) -> Preempt {
        let world = cx.world;
        let answer = self.inner.reweight_task(cx, task);
        self.ask(world, |ask| ask.nice(task, answer));
        answer
    }

    fn exit_mm(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        self.ask(cx.world, |ask| ask.library.task_state(ask.world, task));
        self.inner.exit_mm(cx, cpu, task);
    }

    fn exec_mmap(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        self.inner.exec_mmap(cx, cpu, task);
    }

    fn task_dead(&mut self, cx: Cx<'_>, task: TaskId) {
        let world = cx.world;
        self.inner.task_dead(cx, task);
        self.ask(world, |ask| ask.library.dead(world, task));
    }

    fn put_prev_task(&mut self, cx: Cx<'_>, cpu: CpuId, prev: TaskId) {
        let world = cx.world;
        self.inner.put_prev_task(cx, cpu, prev);
        // To the idle task: the kernel puts `prev` where `idle_entered` makes that task current.
        if world.rq(cpu).stopper {
            self.ask(world, |ask| ask.library.stopper(world, cpu));
        }
    }

    fn idle_entered(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let world = cx.world;
        self.inner.idle_entered(cx, cpu);
        self.ask(world, |ask| ask.library.idle(world, cpu));
    }

    fn idle_left(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let world = cx.world;
        self.inner.idle_left(cx, cpu);
        self.ask(world, |ask| ask.library.idle_left(world, cpu));
    }
}
