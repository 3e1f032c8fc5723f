//! The threads of the kernel that run on a machine of the lab beside whatever scenario is run.
//!
//! Which they are is in [`kthread_set`](super::kthread_set). From 7.2 on `kdamond.0` is one more of them.
//!
//! `kworker/0:1` also wakes up those that have something to do and do not come back by themselves
//! (`vmstat_shepherd()`). For that the machine asks its programs on which CPU they are born, fork, execute and end.

use simsched_core::{
    MarkId, Nanos, Notes, Op, Outcome, ProcId, RousedBy, Seed, Setup, SimTime, TaskId, Workload,
};
use simsched_topology::{CpuId, NodeId, Topology};

use super::between::{CLOSES, GRACE, SYNCHRONIZES, SYNCHRONIZES_LAST};
use super::damon::{self, Damon};
use super::draws::Draws;
use super::grace::Grace;
use super::kernel::Kernel;
use super::kthread::{Kthread, NEVER, Plan, TICK, TURN, rouse, start_of, tick_of};
use super::kthread_set::{
    FIRST, LOOKS, LOOKS_OF_7_3, LOOKS_OF_CACHE_SET, first_llc, grace_of, sleep_where_seen, threads,
};
use super::psi::Psi;
use super::replay::Replay;
use super::rouses::Rouses;
use super::stacks::{FREED, Stacks, TICKS};
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
    /// A program on this machine; the seed says where in their periods its threads are.
    #[must_use]
    pub fn new(program: W, topology: &Topology, seed: Seed) -> WithKthreads<W> {
        let first = program.setup().tasks.len();
        let vmstat = Vmstat::new(topology.nr_cpus(), seed);
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
        WithKthreads { starts, ..WithKthreads::new(program, topology, seed).waiting(0) }
    }

    /// A series of scenarios on this machine: each begins as one behind others does, and at its mark [`STOP`] its
    /// threads do again what they do before one.
    #[must_use]
    pub fn series(program: Replay, topology: &Topology, seed: Seed) -> WithKthreads<Replay> {
        let parts = program.parts();
        let marks =
            |own: MarkId| parts.iter().map(move |part| MarkId(part.marks.start + own.0)).collect();
        let (starts, stops) = (marks(START), marks(STOP));
        let mut all = WithKthreads::new(program, topology, seed).waiting(0);
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
    /// Counted runs of hackbench on this machine, alone or behind scenarios: no mark tells its threads of a begin.
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

    /// The same under this kernel, for a run that begins with the boot: some have another thread.
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
    /// Grace periods begin when callbacks are queued.
    fn waiting(mut self, nth: u64) -> WithKthreads<W> {
        self.wait(nth);
        self
    }

    /// What is drawn for the wait before scenario `nth` depends on that.
    fn wait(&mut self, nth: u64) {
        self.grace = Some(Grace::drawn(self.seed.stream("grace", nth)));
    }

    /// Scenario `nth` begins: each has its own grace periods, which are these.
    fn begin(&mut self, nth: usize, now: SimTime) -> Plan {
        let tick = tick_of(now);
        // Under 7.3 one is under way, as a rule, whose next look is the first one.
        let mut under_way = self.grace.take().filter(Grace::goes_on);
        let next = under_way.as_mut().and_then(|grace| grace.next(tick));
        let mut draws = Draws(self.seed.stream("kthreads", nth as u64));
        let drawn = grace_of(&mut draws, self.looks, self.first_look);
        let drawn = drawn.beginning(next.map(|next| next - tick));
        self.threads.iter_mut().for_each(|thread| thread.begin(now, drawn));
        drawn
    }

    /// What a task on `cpu`, where that is asked for, does in place of `op` before the scenario: a callback takes a grace
    /// period, and the tick of its CPU wakes up `rcu_preempt` for that. Who queues one waits until it has run.
    fn before_scenario(&mut self, task: TaskId, now: SimTime, op: Op, cpu: Option<CpuId>) -> Op {
        let tick = tick_of(now);
        if let Op::Mark(mark) = op {
            if let Some(nth) = self.starts.iter().position(|start| *start == mark) {
                if let Plan::Grace { first, .. } = self.begin(nth, now) {
                    self.first_does.push((task, self.wakes_rcu(tick + first, RousedBy::OwnTimer)));
                }
                let more = self.rouses.as_mut().map(|rouses| (task, rouses.begin(now)));
                self.first_does.extend(more);
            } else if let Some(nth) = self.stops.iter().position(|stop| *stop == mark) {
                self.wait(nth as u64 + 1);
            }
            return op;
        }
        let frees = cpu.filter(|&cpu| op == Op::Exit && self.stacks.exit(cpu));
        let Some(grace) = &mut self.grace else {
            return if op == Op::Exit { self.end(task, tick, frees) } else { op };
        };
        if let SYNCHRONIZES | SYNCHRONIZES_LAST = op {
            let (end, is_first) = grace.synchronize(tick, op == SYNCHRONIZES_LAST);
            let sleep = Op::SleepUntil(start_of(end));
            if !is_first {
                return sleep;
            }
            self.first_does.push((task, sleep));
            return rouse(TaskId::new(self.first), now);
        }
        let runs = match op {
            GRACE | CLOSES | Op::Exec => grace.call(tick),
            Op::Exit => grace.exit(tick),
            _ => return op,
        };
        let next = grace.next(tick);
        if op == GRACE {
            self.first_does.push((task, Op::SleepUntil(start_of(runs))));
        } else if op != CLOSES {
            let op = self.free_stack(task, frees, runs, op);
            self.first_does.push((task, op));
        }
        let call_rcu = Op::CallRcu { until: start_of(runs) };
        let Some(next) = next else { return call_rcu };
        self.first_does.push((task, call_rcu));
        self.wakes_rcu(next, RousedBy::ThisCpu)
    }

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

    /// In a scenario a birth, an execve or an end queues callbacks of RCU on its CPU: if no grace period is under way,
    /// `rcu_preempt` is woken up at the next tick. Behind a birth and an execve the tick of the CPU goes on until the grace
    /// periods are over.
    fn begin_grace(&mut self, task: TaskId, now: SimTime) {
        let tick = tick_of(now);
        if self.threads[0].last_look() <= tick {
            let stream = self.seed.stream("call_rcu", tick);
            let drawn = grace_of(&mut Draws(stream), LOOKS, [1, 0]);
            self.threads[0].begin(now, drawn);
            self.first_does.push((task, self.wakes_rcu(tick + 1, RousedBy::ThisCpu)));
        }
    }

    /// What `task` does before it ends in a scenario behind this tick: its callbacks of RCU keep the tick of its CPU, and
    /// the last one may free its stack on the CPU that is given.
    fn end(&mut self, task: TaskId, tick: u64, frees: Option<CpuId>) -> Op {
        let mut draws = Draws(self.seed.stream("exit", tick << 16 | task.idx() as u64));
        if frees.is_some() {
            return self.free_stack(task, frees, tick + draws.weighted(&FREED), Op::Exit);
        }
        self.first_does.push((task, Op::Exit));
        Op::CallRcu { until: start_of(tick + draws.weighted(&TICKS)) }
    }

    /// What a task does before `op`, by which it ends, if its stack is to be freed on `cpu` in this tick: the
    /// callback keeps the tick of that CPU, up to the one behind.
    fn free_stack(&mut self, task: TaskId, cpu: Option<CpuId>, tick: u64, op: Op) -> Op {
        let Some(nth) = cpu.map(|cpu| self.kworkers + cpu.idx()) else { return op };
        let (kworker, at) = (TaskId::new(self.first + nth), start_of(tick));
        self.threads[nth].queue_work(tick);
        self.first_does.extend([(task, op), (task, rouse(kworker, at))]);
        Op::CallRcu { until: start_of(tick + 1) }
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

    /// `rcu_preempt` is woken up at a tick.
    fn wakes_rcu(&self, tick: u64, by: RousedBy) -> Op {
        Op::Rouse { task: TaskId::new(self.first), at: start_of(tick), by }
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
