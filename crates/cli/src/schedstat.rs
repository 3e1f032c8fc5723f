//! `SchedInfo`: what `/proc/schedstat` of the simulated kernel would show.

use simsched_core::{Observer, Policy, Reason, TaskId, TaskState, Tracepoint, World};
use simsched_topology::CpuId;
use simsched_trace::schedstat::{Balance, Cpu, Domain, SchedStat, Version};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{self, Whole};

/// Seconds before `jiffies` wraps 32 bits for the first time (`INITIAL_JIFFIES`, `include/linux/jiffies.h`).
const BOOT_BEFORE_WRAP: u64 = 300;

/// Counts for each CPU what `ttwu_stat()` and the functions `sched_info_*()` of `kernel/sched/stats.h`
/// count (6.1), by the clock of the runqueue.
///
/// What a runqueue counts itself, and what its sched domains do, comes from there at the end
/// ([`SchedInfo::table`]). The wakeup of a stopper is not told, so that is in none of the counters, and
/// neither is the time that a stopper waits.
#[derive(Clone, Debug)]
pub(crate) struct SchedInfo {
    cpus: Vec<Row>,
    tasks: Vec<Stamps>,
}

/// Of one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    ttwu_count: u64,
    ttwu_local: u64,
    rq_cpu_time: u64,
    run_delay: u64,
    pcount: u64,
    /// Since when its stopper runs, if it does.
    stopper: Option<u64>,
}

/// Of one task.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    /// Who wakes it.
    waker: Option<CpuId>,
    /// Since when it waits (`last_queued`).
    queued: Option<u64>,
    /// Since when it runs (`last_arrival`).
    arrival: u64,
}

impl SchedInfo {
    /// Nothing yet, of a run of so many tasks.
    pub(crate) fn new(nr_cpus: usize, nr_tasks: usize) -> SchedInfo {
        SchedInfo { cpus: vec![Row::default(); nr_cpus], tasks: vec![Stamps::default(); nr_tasks] }
    }

    /// The file at the end of the run.
    pub(crate) fn table(&self, world: &World, policy: &(impl Policy + ?Sized)) -> SchedStat {
        let first = (1 << 32) - BOOT_BEFORE_WRAP * world.hz();
        let cpu = |(at, row): (usize, &Row)| {
            let rq = world.rq(CpuId::new(at));
            Cpu {
                yld_count: rq.yld_count,
                sched_count: rq.sched_count,
                sched_goidle: rq.sched_goidle,
                ttwu_count: row.ttwu_count,
                ttwu_local: row.ttwu_local,
                rq_cpu_time: row.rq_cpu_time,
                run_delay: row.run_delay,
                pcount: row.pcount,
                domains: domains(policy, CpuId::new(at)),
            }
        };
        let cpus = self.cpus.iter().enumerate().map(cpu).collect();
        SchedStat { timestamp: first + world.jiffies(), cpus }
    }

    /// `ttwu_stat()`. The first wakeup of a task is none (`wake_up_new_task()`).
    fn wakeup(&mut self, world: &World, wakee: TaskId, cpu: CpuId, reason: Reason) {
        let stamps = &mut self.tasks[wakee.idx()];
        if let Some(waker) = stamps.waker.take() {
            let row = &mut self.cpus[waker.idx()];
            row.ttwu_count += 1;
            row.ttwu_local += u64::from(waker == cpu);
        }
        // Who runs is queued already.
        if reason != Reason::STILL_QUEUED || world.curr(cpu) != Some(wakee) {
            stamps.queued.get_or_insert(world.sched_clock());
        }
    }

    /// `sched_info_switch()`.
    fn switch(
        &mut self,
        clock: u64,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
        preempted: bool,
    ) {
        let row = &mut self.cpus[cpu.idx()];
        if let Some(prev) = prev {
            let stamps = &mut self.tasks[prev.idx()];
            row.rq_cpu_time += clock - stamps.arrival;
            if preempted {
                stamps.queued = Some(clock);
            }
        }
        if let Some(next) = next {
            let stamps = &mut self.tasks[next.idx()];
            row.run_delay += stamps.queued.take().map_or(0, |queued| clock.saturating_sub(queued));
            row.pcount += 1;
            stamps.arrival = clock;
        }
    }

    fn stopper(&mut self, clock: u64, cpu: CpuId, begins: bool) {
        let row = &mut self.cpus[cpu.idx()];
        if !begins {
            row.rq_cpu_time += row.stopper.take().map_or(0, |arrival| clock - arrival);
        } else if row.stopper.is_none() {
            row.pcount += 1;
            row.stopper = Some(clock);
        }
    }

    /// A task that waits leaves its runqueue for another (`sched_info_dequeue()`, then
    /// `sched_info_enqueue()` with a clock that is up to date).
    fn migrate(&mut self, world: &World, task: TaskId, from: CpuId) {
        if let Some(queued) = &mut self.tasks[task.idx()].queued {
            self.cpus[from.idx()].run_delay += world.rq(from).clock.saturating_sub(*queued);
            *queued = world.sched_clock();
        }
    }
}

impl Observer for SchedInfo {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        match tracepoint {
            Tracepoint::Waking { wakee, waker, .. }
                if world.task(wakee).state == TaskState::Sleeping =>
            {
                self.tasks[wakee.idx()].waker = Some(waker);
            }
            Tracepoint::Wakeup { wakee, cpu, reason, .. } => {
                self.wakeup(world, wakee, cpu, reason);
            }
            Tracepoint::Switch { cpu, prev, next, preempted } => {
                self.switch(world.rq(cpu).clock, cpu, prev, next, preempted);
            }
            Tracepoint::Stopper { cpu, begins } => {
                self.stopper(world.rq(cpu).clock, cpu, begins);
            }
            Tracepoint::Migrate { task, from, .. } => self.migrate(world, task, from),
            _ => {}
        }
    }
}

/// Where the file goes.
pub(crate) struct Target {
    version: Version,
    /// None is stdout, in place of the text.
    file: Option<Whole>,
}

impl Target {
    /// That of these arguments, if they ask for one.
    ///
    /// # Errors
    /// One sentence about a file that cannot be written, or options that ask for more than one run.
    pub(crate) fn of(args: &RunArgs) -> Result<Option<Target>, Failure> {
        let Some(asked) = &args.results.schedstat else { return Ok(None) };
        let several =
            [("--seeds", args.seeds.is_some()), ("--precision", args.precision.is_some())];
        if let Some((option, _)) = several.iter().find(|(_, given)| *given) {
            let text = "tells what one whole run has counted, expected no";
            return Err(Failure::Input(format!("--schedstat: {text} {option}")));
        }
        let others =
            args.schedule.given().into_iter().map(|(form, path)| (form.option(), Some(path)));
        let own = [("--schedstat", Some(asked.path())), ("--json", args.json.as_deref())];
        output::are_apart(&own.into_iter().chain(others).collect::<Vec<_>>())?;
        let file = asked.file.as_deref().map(Whole::begin).transpose()?;
        Ok(Some(Target { version: asked.version, file }))
    }

    /// Writes the file; or gives what is to be printed in place of the text.
    ///
    /// # Errors
    /// When the disk is full or the like.
    pub(crate) fn tell(self, counted: &SchedStat) -> Result<Option<String>, Failure> {
        let text = counted.to_text(self.version);
        match self.file {
            None => Ok(Some(text)),
            Some(file) => file.write(&text).map(|()| None),
        }
    }
}

/// The sched domains of `cpu`, with what they have counted.
fn domains(policy: &(impl Policy + ?Sized), cpu: CpuId) -> Vec<Domain> {
    let mut found = Vec::new();
    policy.domains(cpu, &mut |name, span, counts| {
        let balance = |kind: usize| Balance {
            count: counts.lb_count[kind],
            balanced: counts.lb_balanced[kind],
            failed: counts.lb_failed[kind],
            imbalance: counts.lb_imbalance.iter().map(|of| of[kind]).sum(),
            imbalance_of: [0, 1, 2, 3].map(|of| counts.lb_imbalance[of][kind]),
            gained: counts.lb_gained[kind],
            hot_gained: counts.lb_hot_gained[kind],
            nobusyq: counts.lb_nobusyq[kind],
            nobusyg: counts.lb_nobusyg[kind],
        };
        found.push(Domain {
            name: name.to_owned(),
            span: span.iter().map(|cpu| cpu.0.into()).collect(),
            balances: [0, 1, 2].map(balance),
            alb: [counts.alb_count, counts.alb_failed, counts.alb_pushed],
            ttwu_wake_remote: counts.ttwu_wake_remote,
            ttwu_move_affine: counts.ttwu_move_affine,
            ttwu_move_balance: counts.ttwu_move_balance,
        });
    });
    found
}
