//! `Stats`: migrations by distance and reason, wakeup latency, switches, CPU time, marks.

use simsched_topology::{CpuId, Distance, Topology};

use super::histogram::Histogram;
use crate::ids::{MarkId, TaskId};
use crate::observer::{Cause, Cost, Observer, Tracepoint};
use crate::policy::Reason;
use crate::time::{Nanos, SimTime};
use crate::world::World;

/// The numbers of a run, as people quote them.
///
/// * A **context switch** is a change of the current task of a CPU, to and from the idle task
///   included (`nr_switches`). It is a **preemption** if the previous task was still runnable.
/// * A **wakeup** is a call that found its task asleep or about to sleep (`ttwu_count`). The first
///   wakeup of a new task is counted aside, as in the kernel (`sched_wakeup_new`).
/// * **Wakeup latency** is the time from that call to the first instruction of the wakee. A wakee
///   that was still current has been running all along: its wakeup is counted, and has no latency
///   (nor do `perf sched` and the wakeup tracers see one).
/// * **Runqueue wait** is the time from the enqueue or the preemption to the first instruction, of
///   each time that a task waited.
/// * A **migration** is a change of a task's CPU.
///
/// All memory is taken at birth.
#[derive(Clone, Debug)]
pub struct Stats {
    stamps: Vec<Stamps>,
    cpu_time: Vec<[u64; Cost::NAMES.len()]>,
    context_switches: u64,
    preemptions: u64,
    forks: u64,
    exits: u64,
    scanned: u64,
    by_cause: [u64; Cause::NAMES.len()],
    by_distance: [u64; Distance::ALL.len()],
    migrations_by_reason: Box<[u64; REASONS]>,
    wakeups_by_reason: Box<[u64; REASONS]>,
    new_by_reason: Box<[u64; REASONS]>,
    wakeup_latency: Histogram,
    runqueue_wait: Histogram,
    marks: Vec<MarkStats>,
}

/// All values of a [`Reason`].
const REASONS: usize = 256;

/// Since when a task waits; `NEVER` if it does not.
#[derive(Clone, Copy, Debug)]
struct Stamps {
    /// The call that wakes it.
    waking: SimTime,
    /// Its enqueue or preemption.
    queued: SimTime,
}

/// A point of the workload that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkStats {
    /// How often it was reached.
    pub count: u64,
    /// When first; [`SimTime::NEVER`] if it was not.
    pub first: SimTime,
    /// When last; zero if it was not.
    pub last: SimTime,
}

impl Stats {
    /// Nothing yet, of a run of `nr_tasks` tasks with `nr_marks` marks on `topology`.
    #[must_use]
    pub fn new(topology: &Topology, nr_tasks: usize, nr_marks: usize) -> Stats {
        let never = Stamps { waking: SimTime::NEVER, queued: SimTime::NEVER };
        let unmarked = MarkStats { count: 0, first: SimTime::NEVER, last: SimTime::ZERO };
        Stats {
            stamps: vec![never; nr_tasks],
            cpu_time: vec![[0; Cost::NAMES.len()]; topology.nr_cpus()],
            context_switches: 0,
            preemptions: 0,
            forks: 0,
            exits: 0,
            scanned: 0,
            by_cause: [0; Cause::NAMES.len()],
            by_distance: [0; Distance::ALL.len()],
            migrations_by_reason: Box::new([0; REASONS]),
            wakeups_by_reason: Box::new([0; REASONS]),
            new_by_reason: Box::new([0; REASONS]),
            wakeup_latency: Histogram::new(),
            runqueue_wait: Histogram::new(),
            marks: vec![unmarked; nr_marks],
        }
    }

    /// Changes of the current task of a CPU.
    #[must_use]
    pub fn context_switches(&self) -> u64 {
        self.context_switches
    }

    /// Context switches away from a task that was still runnable.
    #[must_use]
    pub fn preemptions(&self) -> u64 {
        self.preemptions
    }

    /// Tasks that another task started.
    #[must_use]
    pub fn forks(&self) -> u64 {
        self.forks
    }

    /// Tasks that ended.
    #[must_use]
    pub fn exits(&self) -> u64 {
        self.exits
    }

    /// Changes of a task's CPU.
    #[must_use]
    pub fn migrations(&self) -> u64 {
        self.by_cause.iter().sum()
    }

    /// Migrations by [`Cause`].
    #[must_use]
    pub fn migrations_by_cause(&self) -> &[u64; Cause::NAMES.len()] {
        &self.by_cause
    }

    /// Migrations by [`Distance`].
    #[must_use]
    pub fn migrations_by_distance(&self) -> &[u64; Distance::ALL.len()] {
        &self.by_distance
    }

    /// Migrations by [`Reason`].
    #[must_use]
    pub fn migrations_by_reason(&self) -> &[u64; REASONS] {
        &self.migrations_by_reason
    }

    /// Wakeups of tasks that had run before.
    #[must_use]
    pub fn wakeups(&self) -> u64 {
        self.wakeups_by_reason.iter().sum()
    }

    /// Wakeups by [`Reason`], those of the core included.
    #[must_use]
    pub fn wakeups_by_reason(&self) -> &[u64; REASONS] {
        &self.wakeups_by_reason
    }

    /// First wakeups of new tasks, by [`Reason`].
    #[must_use]
    pub fn new_by_reason(&self) -> &[u64; REASONS] {
        &self.new_by_reason
    }

    /// How many CPUs' idle state all placements read together.
    #[must_use]
    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// From the waking call to the first instruction of the wakee.
    #[must_use]
    pub fn wakeup_latency(&self) -> &Histogram {
        &self.wakeup_latency
    }

    /// From the enqueue or preemption to the first instruction.
    #[must_use]
    pub fn runqueue_wait(&self) -> &Histogram {
        &self.runqueue_wait
    }

    /// The time that `cpu` has spent, by [`Cost`], in ns.
    ///
    /// # Panics
    /// When there is no such CPU.
    #[must_use]
    pub fn cpu_time(&self, cpu: CpuId) -> &[u64; Cost::NAMES.len()] {
        &self.cpu_time[cpu.idx()]
    }

    /// The time that all CPUs have spent, by [`Cost`], in ns.
    #[must_use]
    pub fn total_cpu_time(&self) -> [u64; Cost::NAMES.len()] {
        let mut total = [0; Cost::NAMES.len()];
        for row in &self.cpu_time {
            for (sum, spent) in total.iter_mut().zip(row) {
                *sum += spent;
            }
        }
        total
    }

    /// The time that `cpu` has spent on anything but idling.
    ///
    /// # Panics
    /// When there is no such CPU.
    #[must_use]
    pub fn busy(&self, cpu: CpuId) -> Nanos {
        let row = self.cpu_time(cpu);
        Nanos(row.iter().sum::<u64>() - row[Cost::Idle as usize])
    }

    /// The marks of the workload, by [`MarkId`].
    #[must_use]
    pub fn marks(&self) -> &[MarkStats] {
        &self.marks
    }

    #[inline]
    fn wakeup(&mut self, world: &World, wakee: TaskId, cpu: CpuId, reason: Reason) {
        let stamps = &mut self.stamps[wakee.idx()];
        if stamps.waking == SimTime::NEVER {
            self.new_by_reason[usize::from(reason.0)] += 1;
        } else {
            self.wakeups_by_reason[usize::from(reason.0)] += 1;
        }
        if reason == Reason::STILL_QUEUED && world.curr(cpu) == Some(wakee) {
            stamps.waking = SimTime::NEVER;
        } else if stamps.queued == SimTime::NEVER {
            stamps.queued = world.now();
        }
    }

    #[inline]
    fn running(&mut self, now: SimTime, task: TaskId) {
        let stamps = &mut self.stamps[task.idx()];
        if stamps.waking != SimTime::NEVER {
            self.wakeup_latency.record(now.since(stamps.waking));
            stamps.waking = SimTime::NEVER;
        }
        if stamps.queued != SimTime::NEVER {
            self.runqueue_wait.record(now.since(stamps.queued));
            stamps.queued = SimTime::NEVER;
        }
    }

    #[inline]
    fn switch(&mut self, now: SimTime, prev: Option<TaskId>, preempted: bool) {
        self.context_switches += 1;
        if let Some(prev) = prev
            && preempted
        {
            self.preemptions += 1;
            self.stamps[prev.idx()].queued = now;
        }
    }

    #[inline]
    fn mark(&mut self, now: SimTime, mark: MarkId) {
        let stats = &mut self.marks[mark.idx()];
        stats.count += 1;
        stats.first = stats.first.min(now);
        stats.last = now;
    }
}

impl Observer for Stats {
    #[inline]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        match tracepoint {
            Tracepoint::Waking { wakee, .. } => self.stamps[wakee.idx()].waking = world.now(),
            Tracepoint::Wakeup { wakee, cpu, reason, scanned } => {
                self.scanned += u64::from(scanned);
                self.wakeup(world, wakee, cpu, reason);
            }
            Tracepoint::Switch { prev, preempted, .. } => self.switch(world.now(), prev, preempted),
            Tracepoint::Running { task, .. } => self.running(world.now(), task),
            Tracepoint::Migrate { from, to, cause, reason, .. } => {
                self.by_cause[cause as usize] += 1;
                self.by_distance[world.topology().distance_class(from, to).idx()] += 1;
                self.migrations_by_reason[usize::from(reason.0)] += 1;
            }
            Tracepoint::Fork { parent, .. } => self.forks += u64::from(parent.is_some()),
            Tracepoint::Exit { .. } => self.exits += 1,
            Tracepoint::Charge { cpu, what, amount } => {
                self.cpu_time[cpu.idx()][what as usize] += amount.get();
            }
            Tracepoint::Mark { mark, .. } => self.mark(world.now(), mark),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::WorldKit;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);

    /// Two sockets of 8 CPUs; a core is 2, an LLC 4 CPUs.
    fn kit() -> (WorldKit, Stats) {
        let topology = Topology::builtin("t16", None).unwrap();
        let stats = Stats::new(&topology, 2, 1);
        let mut kit = WorldKit::new(topology, 250);
        kit.add_task(0);
        kit.add_task(0);
        (kit, stats)
    }

    fn tell(kit: &mut WorldKit, stats: &mut Stats, at: u64, tracepoint: Tracepoint) {
        kit.set_clock(crate::world::BOOT_CLOCK + at);
        stats.on(kit.world(), tracepoint);
    }

    fn wakeup(wakee: TaskId, cpu: u16, reason: Reason) -> Tracepoint {
        Tracepoint::Wakeup { wakee, cpu: CpuId(cpu), reason, scanned: 3 }
    }

    fn running(cpu: u16, task: TaskId) -> Tracepoint {
        Tracepoint::Running { cpu: CpuId(cpu), task }
    }

    fn switch(prev: Option<TaskId>, next: Option<TaskId>, preempted: bool) -> Tracepoint {
        Tracepoint::Switch { cpu: CpuId(0), prev, next, preempted }
    }

    /// Called at 100, queued at 130, executes at 190: a latency of 90 and a wait of 60.
    #[test]
    fn latency_starts_at_the_call_and_wait_at_the_enqueue() {
        let (mut kit, mut stats) = kit();
        tell(&mut kit, &mut stats, 100, Tracepoint::Waking { wakee: A, waker: CpuId(1) });
        tell(&mut kit, &mut stats, 130, wakeup(A, 0, Reason(4)));
        tell(&mut kit, &mut stats, 170, switch(None, Some(A), false));
        tell(&mut kit, &mut stats, 190, running(0, A));
        let (latency, wait) = (stats.wakeup_latency(), stats.runqueue_wait());
        assert_eq!((latency.count(), latency.max()), (1, Nanos(90)));
        assert_eq!((wait.count(), wait.max()), (1, Nanos(60)));
        assert_eq!((stats.wakeups(), stats.wakeups_by_reason()[4]), (1, 1));
        assert_eq!((stats.scanned(), stats.context_switches()), (3, 1));
    }

    /// Preempted at 200, back at 700: a wait of 500 without a wakeup.
    #[test]
    fn a_preempted_task_waits_from_its_preemption() {
        let (mut kit, mut stats) = kit();
        tell(&mut kit, &mut stats, 200, switch(Some(A), Some(B), true));
        tell(&mut kit, &mut stats, 600, switch(Some(B), Some(A), false));
        tell(&mut kit, &mut stats, 700, running(0, A));
        assert_eq!((stats.context_switches(), stats.preemptions()), (2, 1));
        assert_eq!((stats.runqueue_wait().count(), stats.runqueue_wait().max()), (1, Nanos(500)));
        assert_eq!(stats.wakeup_latency().count(), 0);
    }

    #[test]
    fn a_wakee_that_is_still_current_has_no_latency() {
        let (mut kit, mut stats) = kit();
        kit.run_on(CpuId(0), Some(A));
        tell(&mut kit, &mut stats, 10, Tracepoint::Waking { wakee: A, waker: CpuId(1) });
        tell(&mut kit, &mut stats, 20, wakeup(A, 0, Reason::STILL_QUEUED));
        tell(&mut kit, &mut stats, 30, switch(Some(A), Some(B), true));
        tell(&mut kit, &mut stats, 90, running(0, A));
        assert_eq!((stats.wakeups(), stats.wakeup_latency().count()), (1, 0));
        assert_eq!(stats.runqueue_wait().max(), Nanos(60), "from the preemption at 30");
    }

    /// Preempted at 30 when it was about to sleep, called at 40, executes at 90.
    #[test]
    fn a_wakee_that_still_waits_has_waited_since_its_preemption() {
        let (mut kit, mut stats) = kit();
        tell(&mut kit, &mut stats, 30, switch(Some(A), Some(B), true));
        tell(&mut kit, &mut stats, 40, Tracepoint::Waking { wakee: A, waker: CpuId(1) });
        tell(&mut kit, &mut stats, 45, wakeup(A, 0, Reason::STILL_QUEUED));
        tell(&mut kit, &mut stats, 90, running(0, A));
        assert_eq!(stats.wakeup_latency().max(), Nanos(50));
        assert_eq!(stats.runqueue_wait().max(), Nanos(60));
    }

    #[test]
    fn the_first_wakeup_of_a_new_task_is_counted_aside() {
        let (mut kit, mut stats) = kit();
        tell(&mut kit, &mut stats, 5, Tracepoint::Fork { parent: None, child: A });
        tell(&mut kit, &mut stats, 6, Tracepoint::Fork { parent: Some(A), child: B });
        tell(&mut kit, &mut stats, 9, wakeup(B, 2, Reason(1)));
        tell(&mut kit, &mut stats, 19, running(2, B));
        assert_eq!((stats.forks(), stats.wakeups(), stats.new_by_reason()[1]), (1, 0, 1));
        assert_eq!((stats.wakeup_latency().count(), stats.runqueue_wait().max()), (0, Nanos(10)));
    }

    #[test]
    fn migrations_are_counted_by_cause_distance_and_reason() {
        let (mut kit, mut stats) = kit();
        let moves = [(1, Cause::Wakeup), (2, Cause::Wakeup), (4, Cause::Fork), (8, Cause::NewIdle)];
        for (to, cause) in moves {
            let (from, to, reason) = (CpuId(0), CpuId(to), Reason(7));
            tell(&mut kit, &mut stats, 1, Tracepoint::Migrate { task: A, from, to, cause, reason });
        }
        assert_eq!(stats.migrations(), 4);
        assert_eq!(*stats.migrations_by_cause(), [2, 1, 0, 0, 1, 0, 0]);
        let far = |distance: Distance| stats.migrations_by_distance()[distance.idx()];
        assert_eq!((far(Distance::SameCore), far(Distance::SameLlc)), (1, 1));
        assert_eq!((far(Distance::SameNode), far(Distance::CrossSocket)), (1, 1));
        assert_eq!(stats.migrations_by_reason()[7], 4);
    }

    #[test]
    fn charges_add_up_by_cpu_and_cost() {
        let (mut kit, mut stats) = kit();
        for (cpu, what, amount) in
            [(3, Cost::User, 70), (3, Cost::Idle, 20), (3, Cost::Tick, 10), (5, Cost::User, 5)]
        {
            let (cpu, amount) = (CpuId(cpu), Nanos(amount));
            tell(&mut kit, &mut stats, 100, Tracepoint::Charge { cpu, what, amount });
        }
        assert_eq!(stats.busy(CpuId(3)), Nanos(80));
        assert_eq!(stats.total_cpu_time()[Cost::User as usize], 75);
        assert_eq!(stats.total_cpu_time().iter().sum::<u64>(), 105);
    }

    #[test]
    fn a_mark_has_a_first_and_a_last_time() {
        let (mut kit, mut stats) = kit();
        assert_eq!(stats.marks()[0].first, SimTime::NEVER);
        for at in [40, 50, 90] {
            tell(&mut kit, &mut stats, at, Tracepoint::Mark { task: A, mark: MarkId(0) });
        }
        let (first, last) = (SimTime(40), SimTime(90));
        assert_eq!(stats.marks()[0], MarkStats { count: 3, first, last });
    }
}
