//! Ops on pipes, which are nearly all that a run consists of: the way of most of them is short.

use simsched_topology::{CpuId, Topology};

use super::cpu::{Cpu, Desk, Progress, Stage, TaskRun};
use super::state::{Simulator, Step};
use crate::hardware::{Hardware, Prices, both_at_speed};
use crate::ids::{PipeId, TaskId};
use crate::ipc::Ipc;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::{Nanos, SimTime};
use crate::workload::{Op, Workload};

/// What the price of an op on a pipe depends on and changes, beside the row of its CPU.
struct PipeDesk<'a> {
    prices: &'a Prices,
    ipc: &'a mut Ipc,
    topology: &'a Topology,
    hardware: &'a mut Hardware,
    /// Where the stalls are noted that are not charged yet.
    desks: &'a mut [Desk],
    /// By pipe: until when its mutex is promised.
    free: &'a mut [SimTime],
}

impl PipeDesk<'_> {
    /// What the op on `cpu`, a write or a read of `bytes`, takes from here to its end.
    ///
    /// Getting to the pipe takes `entry`; a pipe that is ready is copied to or from under its mutex,
    /// and who finds that taken spins, in order of arrival.
    #[inline(always)]
    fn time<const READ: bool>(
        &mut self,
        row: &mut Cpu,
        cpu: CpuId,
        (pipe, bytes): (PipeId, u32),
        (entry, retry): (u32, bool),
        now: SimTime,
    ) -> Nanos {
        let copy = self.prices.pipe_copy(bytes);
        let (entry, copy) = self.prices.jittered_pair(&mut row.rng, entry, copy);
        let (entry, copy) = both_at_speed(entry, copy, row.speed);
        let slots = self.ipc.ready::<READ>(pipe, bytes, retry);
        row.run.look = slots.is_none();
        let Some(slots) = slots else { return entry };
        let start = now.0 + u64::from(row.debt);
        let (user, op) = ((cpu, row.run.is_thread), (READ.then_some(bytes), slots));
        let (file, moved) = self.hardware.pipe(self.topology, user, pipe.idx(), op, now);
        if file + moved > 0 {
            row.stalled |= 1 << const { Cost::Message.stall_row() };
            self.desks[cpu.idx()].stalls[const { Cost::Message.stall_row() }] += file + moved;
        }
        let free = &mut self.free[pipe.idx()];
        let end = (start + entry.0 + file).max(free.0) + copy.0 + moved;
        *free = SimTime(end);
        Nanos(end - start)
    }
}

/// What comes behind plain ops, on the CPU of the last one.
enum Then {
    /// Nothing.
    Enough,
    /// The stage has ended, and it is no plain op, or comes too often at one instant.
    Stage,
    /// The op was plain and has had its effect: the rest of its system call.
    Tail(u32),
    /// The same, and the task goes on with an op that is not on a pipe.
    Op(TaskId, Op),
    /// The same, and the task goes on with an op on a pipe that takes so long, behind what the CPU owes.
    Begin(Nanos),
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Takes events, of which `first` is at hand, while they are the ends of ops on pipes that neither block
    /// nor wake, of tasks that go on with another op on a pipe, `most` at most, and does what comes then,
    /// which the last of them is a part of: how many it took. It is the same as the long way through
    /// `end_op`, without the questions that have one answer.
    ///
    /// A paranoid run takes the long way, so that the two can be held against each other; so does one
    /// on a machine whose CPUs take turns.
    pub(super) fn run_plain_ops(
        &mut self,
        first: (SimTime, CpuId),
        horizon: SimTime,
        most: u64,
    ) -> Step<u64> {
        let (taken, then) = self.plain_ops(first, horizon, most);
        self.after_plain_ops(then)?;
        Ok(taken)
    }

    #[inline(never)]
    fn plain_ops(
        &mut self,
        (mut now, mut cpu): (SimTime, CpuId),
        horizon: SimTime,
        most: u64,
    ) -> (u64, Then) {
        let mut last = self.world.now();
        let mut at_once = self.counters.at_once;
        let (at_once_limit, until) = (self.at_once_limit, self.agenda.stages_until(horizon));
        let list = self.prices.list();
        let has_tails = list.pipe_read_tail > 0 || list.pipe_write_tail > 0;
        let [read_entry, write_entry] =
            [list.pipe_read_entry, list.pipe_write_entry].map(|ns| list.syscall + ns);
        let mut desk = PipeDesk {
            prices: &self.prices,
            ipc: &mut self.ipc,
            topology: self.world.topology(),
            hardware: &mut self.hardware,
            desks: &mut self.desks,
            free: &mut self.pipes_free,
        };
        let (cpus, mut taken) = (&mut self.cpus[..], 0);
        let then = loop {
            taken += 1;
            at_once = if now == last { at_once + 1 } else { 0 };
            last = now;
            let row = &mut cpus[cpu.idx()];
            if !row.ends_op_undisturbed() || at_once >= at_once_limit {
                break Then::Stage;
            }
            // What is no op on a pipe does not pass.
            let Some(outcome) = desk.ipc.pass(row.run.op) else { break Then::Stage };
            row.run.outcome = outcome;
            if has_tails {
                let tail = desk.prices.pipe_tail(row.run.op);
                if tail > 0 {
                    break Then::Tail(tail);
                }
            }
            let task = row.task.expect("an op has a task");
            let op = self.workload.next_op(task, now, outcome);
            let ns = match op {
                Op::Read { pipe, bytes } if pipe.idx() < desk.free.len() => {
                    row.run.op = Op::Read { pipe, bytes };
                    desk.time::<true>(row, cpu, (pipe, bytes), (read_entry, false), now)
                }
                Op::Write { pipe, bytes } if pipe.idx() < desk.free.len() => {
                    row.run.op = Op::Write { pipe, bytes };
                    desk.time::<false>(row, cpu, (pipe, bytes), (write_entry, false), now)
                }
                _ => break Then::Op(task, op),
            };
            if row.cost != Cost::Syscall || row.debt != 0 || row.debt_end > row.charged {
                break Then::Begin(ns);
            }
            // Nearly always the CPU owes nothing, and there is nothing to be charged between the two
            // ops; errands that wait have left a debt.
            debug_assert!(
                desk.desks[cpu.idx()].errands.is_empty(),
                "CPU {cpu} forgets its errands"
            );
            row.until = now + ns;
            self.agenda.arm_next_stage(cpu, row.until);
            if taken == most {
                break Then::Enough;
            }
            let Some(next) = self.agenda.next_stage(until) else { break Then::Enough };
            (now, cpu) = next;
        };
        self.world.set_now(now);
        self.world.set_this_cpu(cpu);
        self.counters.events += taken;
        self.counters.at_once = at_once;
        (taken, then)
    }

    /// What comes behind plain ops at this instant.
    fn after_plain_ops(&mut self, then: Then) -> Step {
        let cpu = self.world.this_cpu();
        match then {
            Then::Enough => Ok(()),
            Then::Stage => {
                self.watch_instant()?;
                self.end_stage(cpu)
            }
            Then::Tail(tail) => {
                self.cpus[cpu.idx()].run.progress = Progress::Next;
                self.end_pipe_op(cpu, tail);
                Ok(())
            }
            Then::Op(task, op) => {
                let run = &mut self.cpus[cpu.idx()].run;
                (run.op, run.progress) = (op, Progress::Next);
                self.begin_op(cpu, task, op)
            }
            Then::Begin(ns) => {
                self.begin_for(cpu, Stage::Op, Cost::Syscall, ns);
                Ok(())
            }
        }
    }

    /// Asks the workload what `task` does next, and begins it.
    pub(super) fn next_op(&mut self, cpu: CpuId, task: TaskId) -> Step {
        let TaskRun { outcome: last, .. } = self.cpus[cpu.idx()].run;
        if self.pipe_op_ends(cpu)
            || self.cpus[cpu.idx()].run.border.any() && self.returns_to_user(cpu, task)
        {
            return Ok(());
        }
        let op = self.workload.next_op(task, self.world.now(), last);
        self.begin_op(cpu, task, op)
    }

    /// Begins the rest of a system call on a pipe or socket that has had its effect, once; false if there is
    /// none.
    pub(super) fn pipe_op_ends(&mut self, cpu: CpuId) -> bool {
        let tail = self.tail_of(self.cpus[cpu.idx()].run.op);
        if tail > 0 {
            self.end_pipe_op(cpu, tail);
        }
        tail > 0
    }

    /// What an op leaves to do when it has had its effect.
    fn tail_of(&self, op: Op) -> u32 {
        match op {
            Op::Send { socket, .. } | Op::Recv { socket, .. } => self.socket_tail(op, socket),
            _ => self.prices.pipe_tail(op),
        }
    }

    /// An op on a pipe or socket has had its effect: the rest of its system call, once.
    #[cold]
    fn end_pipe_op(&mut self, cpu: CpuId, tail: u32) {
        self.cpus[cpu.idx()].run.op = Op::Yield;
        let ns = self.jittered(cpu, tail);
        self.begin(cpu, Stage::Debt, Cost::Syscall, ns);
    }

    /// What an op on a pipe takes, from here to its end.
    pub(super) fn pipe_op(
        &mut self,
        cpu: CpuId,
        op: Op,
        pipe: PipeId,
        entry: u32,
        bytes: u32,
    ) -> Nanos {
        let mut desk = PipeDesk {
            prices: &self.prices,
            ipc: &mut self.ipc,
            topology: self.world.topology(),
            hardware: &mut self.hardware,
            desks: &mut self.desks,
            free: &mut self.pipes_free,
        };
        let row = &mut self.cpus[cpu.idx()];
        let (entry, now) = ((entry, row.run.retry), self.world.now());
        match op {
            Op::Read { .. } => desk.time::<true>(row, cpu, (pipe, bytes), entry, now),
            _ => desk.time::<false>(row, cpu, (pipe, bytes), entry, now),
        }
    }

    /// The look at a pipe or socket is over: if it has become ready since, the copy follows.
    pub(super) fn looked(&mut self, cpu: CpuId, op: Op) -> bool {
        let run = &self.cpus[cpu.idx()].run;
        let (Op::Write { pipe, bytes } | Op::Read { pipe, bytes }) = op else {
            return self.looked_at_socket(cpu, op);
        };
        if !run.look || self.ipc.finds_pipe_unready(op, run.retry) {
            return true;
        }
        let ns = self.pipe_op(cpu, op, pipe, 0, bytes);
        self.begin(cpu, Stage::Op, Cost::Syscall, ns);
        false
    }
}
