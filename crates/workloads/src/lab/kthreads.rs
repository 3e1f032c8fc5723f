//! The threads of the kernel that run on a machine of the lab beside whatever scenario is run.
//!
//! Which they are is in [`kthread_set`](super::kthread_set). From 7.2 on `kdamond.0` is one more of them.
//!
//! `kworker/0:1` also wakes up those that have something to do and do not come back by themselves
//! (`vmstat_shepherd()`). For that the machine asks its programs on which CPU they are born, fork, execute and end.

mod computing;
mod waits;

use simsched_core::{
    MarkId, Nanos, Notes, Op, Outcome, ProcId, Seed, Setup, SimTime, TaskId, Workload,
};
use simsched_topology::{NodeId, Topology};

use self::computing::Computing;
use super::damon::{self, Damon};
use super::draws::Draws;
use super::grace::Grace;
use super::kernel::Kernel;
use super::kthread::{Kthread, NEVER, Plan, TICK, TURN, rouse, start_of, tick_of};
use super::kthread_set::{
    FIRST, LOOKS, LOOKS_OF_7_3, LOOKS_OF_CACHE_SET, first_llc, sleep_where_seen, threads,
};
use super::psi::Psi;
use super::replay::Replay;
use super::rouses::Rouses;
use super::since_boot;
use super::stacks::Stacks;
use super::vmstat::Vmstat;
use super::{START, STOP};

/// A program on a machine of the lab, whose kernel has threads of its own.
#[derive(Clone, Debug)]
pub struct WithKthreads<W> {
    program: W,
    /// The first of them is the task behind the last one of the program.
    first: usize,
    threads: Vec<Kthread>,
    /// Which of them is `kworker/0:1`; those of the other CPUs follow.
    kworkers: usize,
    vmstat: Vmstat,
    /// When `kworker/0:1` has the averages of PSI to compute, where that is known.
    psi: Option<Psi>,
    stacks: Stacks,
    /// Which tasks of the program compute.
    computing: Computing,
    /// Tasks that have been asked for their CPU, and what they do when that is known.
    asked: Vec<(TaskId, Asked)>,
    /// The grace periods while the scenario has not begun, and in runs that are counted; else none.
    grace: Option<Grace>,
    /// What a task does before it goes on in its program.
    first_does: Vec<(TaskId, Op)>,
    /// Which of them wake up others, where that is known.
    rouses: Option<Rouses>,
    /// The chances of the first two ticks of a scenario to wake up `rcu_preempt` first ([`FIRST`]).
    first_look: [u32; 2],
    /// How often it looks because of the births of a scenario.
    looks: &'static [(u64, u32)],
    /// The marks with which scenarios begin, where they do not begin at once or never.
    starts: Vec<MarkId>,
    /// The marks with which those end behind which another one begins.
    stops: Vec<MarkId>,
    /// A tick of the run, at which timers expire.
    tick: Nanos,
    seed: Seed,
}

/// What a task does when its CPU is known.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// It begins.
    Starts,
    /// This is next.
    Does(Op),
}

impl<W: Workload> WithKthreads<W> {
    /// A program on this machine, which has been up for long; the seed says where in their periods its threads are.
    #[must_use]
    pub fn new(program: W, topology: &Topology, seed: Seed) -> WithKthreads<W> {
        let jiffies = since_boot::any(&mut Draws(seed.stream("boot", 0)));
        WithKthreads::at(program, topology, jiffies, seed)
    }

    /// A program that begins on this machine at these jiffies.
    fn at(program: W, topology: &Topology, jiffies: u64, seed: Seed) -> WithKthreads<W> {
        let first = program.setup().tasks.len();
        let vmstat = Vmstat::new(topology.nr_cpus(), jiffies, seed);
        let threads = threads(topology, &vmstat, seed);
        // Behind rcu_preempt, the kcompactd of each node and the kworker of no CPU.
        let kworkers = topology.nr_nodes() + 2;
        let (starts, stops) = (Vec::new(), Vec::new());
        let first_does = Vec::new();
        let (grace, rouses, tick) = (None, None, TICK);
        let first_look = FIRST[Kernel::V6_1 as usize];
        WithKthreads {
            first_look,
            looks: LOOKS,
            program,
            first,
            threads,
            kworkers,
            vmstat,
            psi: None,
            stacks: Stacks::new(topology.nr_cpus()),
            computing: Computing::default(),
            asked: Vec::new(),
            grace,
            first_does,
            rouses,
            starts,
            stops,
            tick,
            seed,
        }
    }
}

impl WithKthreads<Replay> {
    /// A scenario behind others on this machine; what its threads do at the begin of a scenario they
    /// do from the mark [`START`] on.
    #[must_use]
    pub fn behind(program: Replay, topology: &Topology, seed: Seed) -> WithKthreads<Replay> {
        let starts = vec![START];
        WithKthreads { starts, ..WithKthreads::behind_boot(program, topology, seed) }
    }

    /// Counted runs of hackbench behind scenarios on this machine: no mark tells its threads of a begin.
    #[must_use]
    pub fn counted(program: Replay, topology: &Topology, seed: Seed) -> WithKthreads<Replay> {
        WithKthreads::behind_boot(program, topology, seed)
    }

    /// The first set, from where its script begins behind the boot.
    fn behind_boot(program: Replay, topology: &Topology, seed: Seed) -> WithKthreads<Replay> {
        let mut draws = Draws(seed.stream("boot", 0));
        let jiffies = since_boot::first_set(program.kernel(), topology.nr_cpus(), &mut draws);
        WithKthreads::at(program, topology, jiffies, seed).waiting(0)
    }

    /// A series of scenarios on this machine: each begins as one behind others does, and at its mark [`STOP`] its
    /// threads do again what they do before one.
    #[must_use]
    pub fn series(program: Replay, topology: &Topology, seed: Seed) -> WithKthreads<Replay> {
        let parts = program.parts();
        let marks =
            |own: MarkId| parts.iter().map(move |part| MarkId(part.marks.start + own.0)).collect();
        let (starts, stops) = (marks(START), marks(STOP));
        let jiffies = since_boot::probes(topology.nr_cpus(), &mut Draws(seed.stream("boot", 0)));
        let mut all = WithKthreads::at(program, topology, jiffies, seed).waiting(0);
        sleep_where_seen(&mut all.threads, topology, seed);
        let mut draws = Draws(seed.stream("pm_runtime_work", 0));
        let unbound = [2, 3].map(|nth| {
            let name = format!("kworker/u{}:{nth}", 2 * topology.nr_cpus());
            let cpu = draws.cpu(topology.cpus());
            all.threads.push(Kthread::new(name, cpu, None, Plan::Never, TURN));
            TaskId::new(all.first + all.threads.len() - 1)
        });
        let rouses = Some(Rouses::new(unbound, seed));
        WithKthreads { starts, stops, rouses, looks: LOOKS_OF_CACHE_SET, ..all }
    }
}

impl<W: Workload> WithKthreads<W> {
    /// Counted runs of hackbench on this machine alone: no mark tells its threads of a begin.
    #[must_use]
    pub fn beside(program: W, topology: &Topology, seed: Seed) -> WithKthreads<W> {
        WithKthreads::new(program, topology, seed).waiting(0)
    }

    /// A run with `CONFIG_HZ=hz`: the threads wake up as often in a second, at its ticks.
    ///
    /// # Panics
    /// When `hz` is 0.
    #[must_use]
    pub fn ticking(self, hz: u32) -> WithKthreads<W> {
        WithKthreads { tick: Nanos(1_000_000_000 / u64::from(hz)), ..self }
    }

    /// These threads as this kernel has them, for a run that begins with the boot: 7.3 has `kdamond.0` beside them, and
    /// in its first set grace periods of other lengths and the averages of pressure stall information.
    #[must_use]
    pub fn under(mut self, kernel: Kernel, topology: &Topology) -> WithKthreads<W> {
        self.first_look = FIRST[kernel as usize];
        if kernel == Kernel::V7_3 {
            if self.stops.is_empty() {
                self.looks = LOOKS_OF_7_3;
                let psi = Psi::new(self.vmstat.jiffies(), self.seed);
                self.threads[self.kworkers].queue_work(psi.tick());
                self.psi = Some(psi);
            }
            let mut draws = Draws(self.seed.stream("kdamond", 0));
            let ends = if self.stops.is_empty() { damon::ENDS } else { damon::ENDS_BEHIND_PROBES };
            let first_ends = ends.start + draws.below(ends.end - ends.start);
            let plan = Plan::Damon(Damon::new(first_ends, self.vmstat.jiffies()));
            // In the set with probes it was beside the kcompactd of the last node, in all ten boots.
            let last = NodeId::new(topology.nr_nodes() - 1);
            let beside = first_llc(topology, last);
            let is_set = !self.stops.is_empty();
            let cpu = draws.cpu(if is_set { &beside } else { topology.cpus() });
            self.threads.push(Kthread::new("kdamond.0".to_owned(), cpu, None, plan, damon::TURN));
        }
        self
    }
}

impl<W: Workload> WithKthreads<W> {
    /// What a task of the program does next; where it may count pages, its CPU is asked for first.
    fn program_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        let op = match self.asked.iter().rposition(|asked| asked.0 == task) {
            Some(at) => {
                let (_, asked) = self.asked.swap_remove(at);
                let cpu = if let Outcome::Cpu(cpu) = last { Some(cpu) } else { None };
                if let Some(cpu) = cpu {
                    self.vmstat.counts(cpu.idx());
                    if matches!(asked, Asked::Does(Op::Spawn(_))) {
                        self.stacks.fork(cpu);
                    }
                }
                match asked {
                    Asked::Starts => self.program.next_op(task, now, Outcome::Started),
                    Asked::Does(op) => return self.before_scenario(task, now, op, cpu),
                }
            }
            None if last == Outcome::Started => {
                self.asked.push((task, Asked::Starts));
                return Op::GetCpu;
            }
            None => self.program.next_op(task, now, last),
        };
        self.computing.does(task, op);
        if matches!(op, Op::Spawn(_) | Op::Exec | Op::Exit) {
            self.asked.push((task, Asked::Does(op)));
            self.first_does.push((task, Op::GetCpu));
            if self.grace.is_none() {
                self.begin_grace(task, now);
                if op != Op::Exit {
                    return Op::CallRcu { until: start_of(self.threads[0].last_look()) };
                }
            }
            return self.first_does.pop().map_or(op, |(_, op)| op);
        }
        self.before_scenario(task, now, op, None)
    }

    /// What thread `nth` does at the end of a turn, before its next sleep.
    fn behind_turn(&mut self, nth: usize, now: SimTime) -> Vec<Op> {
        let task = TaskId::new(self.first + nth);
        let rouses = self.rouses.as_ref().and_then(|rouses| rouses.behind_turn(task, now));
        let Some(cpu) = nth.checked_sub(self.kworkers).filter(|cpu| *cpu < self.vmstat.nr_cpus())
        else {
            return rouses.into_iter().collect();
        };
        let tick = tick_of(now);
        let is_due = self.threads[nth].finish_works(tick);
        let psi = self.psi.as_mut().filter(|_| cpu == 0).and_then(|psi| psi.behind(tick));
        let mut ops = Vec::new();
        if let Some(next) = psi {
            self.threads[nth].queue_work(next);
            ops.push(rouse(task, start_of(next)));
        }
        if !is_due {
            return ops;
        }
        let next = self.vmstat.update(cpu, tick);
        if cpu > 0 {
            self.threads[nth].comes_back(next.unwrap_or(NEVER));
            return ops;
        }
        // Here is also vmstat_shepherd(), which always comes back.
        self.threads[nth].comes_back(self.vmstat.second_behind(cpu, tick));
        let found: Vec<usize> = self.vmstat.shepherd().filter(|cpu| *cpu > 0).collect();
        let rouse = |cpu: usize| {
            self.threads[self.kworkers + cpu].comes_back(tick);
            rouse(TaskId::new(self.first + self.kworkers + cpu), now)
        };
        ops.extend(found.into_iter().map(rouse));
        ops
    }
}

impl<W: Workload> Workload for WithKthreads<W> {
    fn setup(&self) -> Setup {
        let mut setup = self.program.setup();
        let proc = ProcId::new(setup.procs.len());
        setup.procs.push("kthreadd".to_owned());
        setup.tasks.extend(self.threads.iter().map(|thread| thread.spec(proc, self.tick)));
        setup
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        if let Some(at) = self.first_does.iter().rposition(|does| does.0 == task) {
            return self.first_does.remove(at).1;
        }
        match task.idx().checked_sub(self.first) {
            None => self.program_op(task, now, last),
            Some(nth) => {
                let does =
                    if self.threads[nth].runs() { self.behind_turn(nth, now) } else { Vec::new() };
                let op = self.threads[nth].next_op(now, self.tick, self.grace.as_mut());
                if does.is_empty() {
                    return op;
                }
                self.first_does.push((task, op));
                self.first_does.extend(does.into_iter().rev().map(|op| (task, op)));
                self.first_does.pop().map_or(op, |(_, op)| op)
            }
        }
    }

    fn notes(&self) -> Notes {
        self.program.notes()
    }

    fn dispatch(&self, task: TaskId) -> Option<Nanos> {
        (task.idx() < self.first).then(|| self.program.dispatch(task))?
    }

    fn leave(&mut self, task: TaskId) -> Option<Nanos> {
        (task.idx() < self.first).then(|| self.program.leave(task))?
    }

    fn measure_from(&mut self, now: SimTime) {
        self.program.measure_from(now);
    }

    fn turns_left(&self, task: TaskId) -> Option<u64> {
        (task.idx() < self.first).then(|| self.program.turns_left(task))?
    }

    fn skip_turns(&mut self, task: TaskId, turns: u64) {
        if task.idx() < self.first {
            self.program.skip_turns(task, turns);
        }
    }
}
