//! Grace periods of RCU: who waits for one before a scenario, and what births and ends in a scenario queue for one.

use simsched_core::{Op, RousedBy, SimTime, TaskId, Workload};
use simsched_topology::CpuId;

use super::super::between::{CLOSES, GRACE, SYNCHRONIZES, SYNCHRONIZES_LAST};
use super::super::draws::Draws;
use super::super::grace::Grace;
use super::super::kthread::{Plan, rouse, start_of, tick_of};
use super::super::kthread_set::{LOOKS, grace_of};
use super::super::stacks::{FREED, TICKS, freed_when_busy};
use super::WithKthreads;

impl<W: Workload> WithKthreads<W> {
    /// Grace periods begin when callbacks are queued.
    pub(super) fn waiting(mut self, nth: u64) -> WithKthreads<W> {
        self.wait(nth);
        self
    }

    /// What is drawn for the wait before scenario `nth` depends on that.
    pub(super) fn wait(&mut self, nth: u64) {
        self.grace = Some(Grace::drawn(self.seed.stream("grace", nth)));
    }

    /// Scenario `nth` begins: each has its own grace periods, which are these.
    pub(super) fn begin(&mut self, nth: usize, now: SimTime) -> Plan {
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
    pub(super) fn before_scenario(
        &mut self,
        task: TaskId,
        now: SimTime,
        op: Op,
        cpu: Option<CpuId>,
    ) -> Op {
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

    /// In a scenario a birth, an execve or an end queues callbacks of RCU on its CPU: if no grace period is under way,
    /// `rcu_preempt` is woken up at the next tick. Behind a birth and an execve the tick of the CPU goes on until the grace
    /// periods are over.
    pub(super) fn begin_grace(&mut self, task: TaskId, now: SimTime) {
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
    pub(super) fn end(&mut self, task: TaskId, tick: u64, frees: Option<CpuId>) -> Op {
        if frees.is_some() {
            let begin = self.threads[0].epoch();
            // Three quarters of the CPUs have something to do: a parent may be preempted for some births.
            let is_busy = 4 * self.computing.nr() >= 3 * self.vmstat.nr_cpus();
            let freed = if is_busy && tick <= self.threads[0].last_look() {
                begin + freed_when_busy(tick - begin)
            } else {
                // One grace period for all that end in this tick.
                tick + Draws(self.seed.stream("freed", tick)).weighted(&FREED)
            };
            return self.free_stack(task, frees, freed, Op::Exit);
        }
        let mut draws = Draws(self.seed.stream("exit", tick << 16 | task.idx() as u64));
        self.first_does.push((task, Op::Exit));
        Op::CallRcu { until: start_of(tick + draws.weighted(&TICKS)) }
    }

    /// What a task does before `op`, by which it ends, if its stack is to be freed on `cpu` in this tick: the
    /// callback keeps the tick of that CPU, up to the one behind.
    pub(super) fn free_stack(&mut self, task: TaskId, cpu: Option<CpuId>, tick: u64, op: Op) -> Op {
        let Some(nth) = cpu.map(|cpu| self.kworkers + cpu.idx()) else { return op };
        let (kworker, at) = (TaskId::new(self.first + nth), start_of(tick));
        self.threads[nth].queue_work(tick);
        self.first_does.extend([(task, op), (task, rouse(kworker, at))]);
        Op::CallRcu { until: start_of(tick + 1) }
    }

    /// `rcu_preempt` is woken up at a tick.
    pub(super) fn wakes_rcu(&self, tick: u64, by: RousedBy) -> Op {
        Op::Rouse { task: TaskId::new(self.first), at: start_of(tick), by }
    }
}
