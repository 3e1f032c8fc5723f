//! `Stats`: migrations by distance and reason, wakeup latency, switches, CPU time, marks.

use simsched_topology::{CpuId, Distance, Topology};

use super::histogram::Histogram;
use super::spans::SpanStats;
use super::wasted::Wasted;
use crate::ids::{MarkId, TaskId};
use crate::names::{Cause, Reason, ReschedCause};
use crate::observer::{Cost, Observer, Tracepoint};
use crate::time::{Nanos, SimTime};
use crate::world::{TaskState, World};

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
    cpu_time: Vec<[u64; Cost::ROWS]>,
    context_switches: u64,
    preemptions: u64,
    need_resched: [[u64; 2]; ReschedCause::NAMES.len()],
    forks: u64,
    exits: u64,
    scanned: u64,
    by_cause: [u64; Cause::NAMES.len()],
    by_distance: [u64; Distance::ALL.len()],
    migrations: Box<[[u64; REASONS]; Cause::NAMES.len()]>,
    by_domain: [u64; DOMAINS],
    /// By the LLC that was left, then by the one that was entered.
    by_llc: Vec<u64>,
    nr_llcs: usize,
    wakeups_by_reason: Box<[u64; REASONS]>,
    new_by_reason: Box<[u64; REASONS]>,
    wakeup_latency: Histogram,
    runqueue_wait: Histogram,
    marks: Vec<MarkStats>,
    spans: Vec<SpanStats>,
    wasted: Wasted,
}

/// All values of a [`Reason`].
const REASONS: usize = 256;

/// More domains than a CPU can have, and the last for migrations outside all of them.
const DOMAINS: usize = 32;

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
        let empty = Stats::empty(topology.nr_cpus(), topology.nr_llcs(), nr_marks);
        Stats { stamps: vec![never; nr_tasks], ..empty }
    }

    /// Nothing, of no tasks and without spans.
    fn empty(nr_cpus: usize, nr_llcs: usize, nr_marks: usize) -> Stats {
        let unmarked = MarkStats { count: 0, first: SimTime::NEVER, last: SimTime::ZERO };
        Stats {
            stamps: Vec::new(),
            cpu_time: vec![[0; Cost::ROWS]; nr_cpus],
            context_switches: 0,
            preemptions: 0,
            need_resched: [[0; 2]; ReschedCause::NAMES.len()],
            forks: 0,
            exits: 0,
            scanned: 0,
            by_cause: [0; Cause::NAMES.len()],
            by_distance: [0; Distance::ALL.len()],
            migrations: Box::new([[0; REASONS]; Cause::NAMES.len()]),
            by_domain: [0; DOMAINS],
            by_llc: vec![0; nr_llcs * nr_llcs],
            nr_llcs,
            wakeups_by_reason: Box::new([0; REASONS]),
            new_by_reason: Box::new([0; REASONS]),
            wakeup_latency: Histogram::new(),
            runqueue_wait: Histogram::new(),
            marks: vec![unmarked; nr_marks],
            spans: Vec::new(),
            wasted: Wasted::new(nr_cpus),
        }
    }

    /// The same, and how long each task takes from the first mark of each pair to the second.
    #[must_use]
    pub fn with_spans(mut self, spans: &[(MarkId, MarkId)]) -> Stats {
        let nr_tasks = self.stamps.len();
        self.spans = spans.iter().map(|span| SpanStats::new(*span, nr_tasks)).collect();
        self
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

    /// How often the current task of a CPU was to be rescheduled, by [`ReschedCause`]; of each the hard requests, and
    /// then the lazy ones. A lazy request that a tick makes a hard one counts twice: there, and as
    /// [`ReschedCause::Promoted`].
    #[must_use]
    pub fn need_resched(&self) -> &[[u64; 2]; ReschedCause::NAMES.len()] {
        &self.need_resched
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

    /// Migrations by [`Cause`], and within it by [`Reason`].
    #[must_use]
    pub fn migrations_by_reason(&self) -> &[[u64; REASONS]; Cause::NAMES.len()] {
        &self.migrations
    }

    /// Migrations by the domain in which they took place, by its place from the bottom; the last is
    /// for those outside all domains.
    #[must_use]
    pub fn migrations_by_domain(&self) -> &[u64; DOMAINS] {
        &self.by_domain
    }

    /// Migrations by the LLC that was left, in rows of those that were entered.
    #[must_use]
    pub fn migrations_by_llc(&self) -> &[u64] {
        &self.by_llc
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
    pub fn cpu_time(&self, cpu: CpuId) -> &[u64; Cost::ROWS] {
        &self.cpu_time[cpu.idx()]
    }

    /// The time that all CPUs have spent, by [`Cost`], in ns.
    #[must_use]
    pub fn total_cpu_time(&self) -> [u64; Cost::ROWS] {
        let mut total = [0; Cost::ROWS];
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

    /// The CPU time that idled away while tasks waited for a CPU: over time, the lesser of the
    /// numbers of idle CPUs and of waiting tasks.
    #[must_use]
    pub fn idle_while_waiting(&self) -> Nanos {
        self.wasted.total()
    }

    /// The marks of the workload, by [`MarkId`].
    #[must_use]
    pub fn marks(&self) -> &[MarkStats] {
        &self.marks
    }

    /// The spans of the workload, in the order of `Setup::spans`.
    #[must_use]
    pub fn spans(&self) -> &[SpanStats] {
        &self.spans
    }

    /// A call is told even if it finds the task awake, and so is the start of a new task.
    #[inline]
    fn waking(&mut self, world: &World, wakee: TaskId) {
        if world.task(wakee).state == TaskState::Sleeping {
            self.stamps[wakee.idx()].waking = world.now();
        }
    }

    #[inline(never)]
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
        if reason != Reason::STILL_QUEUED {
            self.wasted.enqueued(world.now());
        }
    }

    #[inline(never)]
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

    #[inline(never)]
    fn switch(&mut self, now: SimTime, prev: Option<TaskId>, preempted: bool) {
        self.context_switches += 1;
        if let Some(prev) = prev
            && preempted
        {
            self.preemptions += 1;
            self.stamps[prev.idx()].queued = now;
        }
    }

    #[inline(never)]
    fn mark(&mut self, now: SimTime, task: TaskId, mark: MarkId) {
        let stats = &mut self.marks[mark.idx()];
        stats.count += 1;
        stats.first = stats.first.min(now);
        stats.last = now;
        self.spans.iter_mut().for_each(|span| span.passed(now, task, mark));
    }
}

impl Observer for Stats {
    #[inline(always)]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        match tracepoint {
            Tracepoint::Waking { wakee, .. } => self.waking(world, wakee),
            Tracepoint::Wakeup { wakee, cpu, reason, scanned } => {
                self.scanned += u64::from(scanned);
                self.wakeup(world, wakee, cpu, reason);
            }
            Tracepoint::Switch { prev, next, preempted, .. } => {
                self.switch(world.now(), prev, preempted);
                self.wasted.switched(world.now(), prev.is_none(), next.is_none(), preempted);
            }
            Tracepoint::SetNeedResched { cause, lazy, .. } => {
                self.need_resched[cause as usize][usize::from(lazy)] += 1;
            }
            Tracepoint::Running { task, .. } => self.running(world.now(), task),
            Tracepoint::Migrate { from, to, cause, reason, domain, .. } => {
                self.by_cause[cause as usize] += 1;
                let topology = world.topology();
                self.by_distance[topology.distance_class(from, to).idx()] += 1;
                let [left, entered] = [from, to].map(|cpu| topology.llc_of(cpu).idx());
                self.by_llc[left * self.nr_llcs + entered] += 1;
                self.migrations[cause as usize][usize::from(reason.0)] += 1;
                self.by_domain[usize::from(domain).min(DOMAINS - 1)] += 1;
            }
            Tracepoint::Fork { parent, .. } => self.forks += u64::from(parent.is_some()),
            Tracepoint::Exit { .. } => self.exits += 1,
            Tracepoint::Charge { cpu, what, amount } => {
                self.cpu_time[cpu.idx()][what as usize] += amount.get();
            }
            Tracepoint::Mark { task, mark } => self.mark(world.now(), task, mark),
            Tracepoint::Stopper { begins, .. } => self.wasted.stopper(world.now(), begins),
            Tracepoint::Preferred { .. }
            | Tracepoint::CacheWork { .. }
            | Tracepoint::UtilAvg { .. } => {}
        }
    }
}

mod parts;
#[cfg(test)]
mod tests;
