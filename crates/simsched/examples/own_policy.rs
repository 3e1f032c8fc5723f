//! A policy of one's own beside `cfs`, and the page of the comparison.

use simsched::core::{
    Attached, Balancer, Cx, Dequeue, Dequeued, Enqueue, Far, FifoQueues, Placement, Policy, Reason,
    Report, TaskId, Wakeup, World,
};
use simsched::prelude::*;
use simsched::topology::CpuId;

/// A wakee stays where it was if that CPU is idle, or else goes to the first idle CPU of the LLC.
#[derive(Default)]
struct FirstIdle(FifoQueues);
impl Balancer for FirstIdle {}
impl Report for FirstIdle {}
impl Policy for FirstIdle {
    fn attach(&mut self, world: &World) -> Attached {
        self.0 = FifoQueues::new(world);
        Attached { reasons: &["prev_idle", "llc_idle", "prev_busy"], ..Attached::default() }
    }

    fn select_task_rq(&mut self, cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        let usable = |&cpu: &CpuId| cx.world.is_idle(cpu) && cx.world.is_allowed(wakeup.wakee, cpu);
        if usable(&wakeup.prev) {
            return Placement::at(wakeup.prev, Reason(0));
        }
        let topology = cx.world.topology();
        let llc = topology.llc_span(topology.llc_of(wakeup.prev));
        let mut scanned = 0;
        let found = llc.iter_wrap(wakeup.prev).inspect(|_| scanned += 1).find(usable);
        let (cpu, reason) = found.map_or((wakeup.prev, Reason(2)), |cpu| (cpu, Reason(1)));
        let far = Far::at(topology.distance_class(wakeup.waker, wakeup.prev), scanned);
        Placement { scanned, far, ..Placement::at(cpu, reason) }
    }

    fn enqueue(&mut self, _: Cx<'_>, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.0.push(cpu, task);
    }
    fn dequeue(&mut self, _: Cx<'_>, cpu: CpuId, task: TaskId, _: Dequeue) -> Dequeued {
        self.0.remove(cpu, task)
    }
    fn pick_next(&mut self, _: Cx<'_>, cpu: CpuId, _: Option<TaskId>) -> Option<TaskId> {
        self.0.next(cpu)
    }
    fn put_prev_task(&mut self, _: Cx<'_>, cpu: CpuId, prev: TaskId) {
        self.0.put(cpu, prev);
    }
}

fn page(machine: &str) -> Result<String, Error> {
    let base = Simulation::on(machine)?.workload("hackbench -g 1 -T -p -l 100")?.seeds(1..=5);
    let own = base.clone().policy(policy::own("first_idle", FirstIdle::default))?;
    Ok(pages::page(&[Document::of(&Comparison::of([base.policy("cfs")?, own])?.run()?)]))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    Ok(std::fs::write("first_idle.html", page("genoa")?)?)
}

#[test]
fn the_page_shows_the_policy() {
    assert!(page("t16").unwrap().contains("first_idle"));
}
