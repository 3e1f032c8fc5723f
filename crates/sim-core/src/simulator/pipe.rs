//! Ops on pipes, which are nearly all that a run consists of: the way of most of them is short.

use simsched_topology::CpuId;

use super::cpu::{Progress, Stage, TaskRun};
use super::state::{Simulator, Step};
use crate::hardware::at_speed;
use crate::ids::{PipeId, TaskId};
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::{Op, Workload};

impl<P: Policy, W: Workload, O: Observer> Simulator<P, W, O> {
    /// The end of an op on a pipe that neither blocks nor wakes, of a task that goes on: the same as
    /// the long way through `end_op`, without the questions that have one answer. True if this was
    /// one; else nothing has happened.
    ///
    /// A paranoid run takes the long way, so that the two can be held against each other; so does one
    /// on a machine whose CPUs take turns.
    #[inline(always)]
    pub(super) fn end_plain_op(&mut self, cpu: CpuId) -> Step<bool> {
        let row = &mut self.cpus[cpu.idx()];
        if row.stage != Stage::Op || row.is_disturbed() || self.paranoid || !self.mutexes.is_empty()
        {
            return Ok(false);
        }
        let (task, last) = (row.task.expect("an op has a task"), row.run.op);
        let Some(outcome) = self.ipc.pass(last) else { return Ok(false) };
        let tail = self.prices.pipe_tail(last);
        if tail > 0 {
            (row.run.outcome, row.run.progress) = (outcome, Progress::Next);
            self.end_pipe_op(cpu, tail);
            return Ok(true);
        }
        let op = self.workload.next_op(task, self.world.now(), outcome);
        (row.run.op, row.run.outcome) = (op, outcome);
        match pipe_of(op).filter(|(pipe, _)| pipe.idx() < self.pipes_free.len()) {
            Some((pipe, bytes)) => {
                let ns = self.time_pipe_op(cpu, op, pipe, self.prices.list().syscall, bytes);
                self.begin_next(cpu, ns);
            }
            None => {
                row.run.progress = Progress::Next;
                self.begin_op(cpu, task, op)?;
            }
        }
        Ok(true)
    }

    /// Another op follows the one that has just ended, and takes `ns`. Nearly always the CPU owes
    /// nothing, and there is nothing to be charged between the two.
    #[inline(always)]
    fn begin_next(&mut self, cpu: CpuId, ns: Nanos) {
        let row = &mut self.cpus[cpu.idx()];
        if row.cost != Cost::Syscall || row.debt != 0 || row.debt_end > row.charged {
            return self.begin_for(cpu, Stage::Op, Cost::Syscall, ns);
        }
        // Errands that wait have left a debt.
        debug_assert!(self.desks[cpu.idx()].errands.is_empty(), "CPU {cpu} forgets its errands");
        row.until = self.world.now() + ns;
        self.agenda.arm_stage(cpu, row.until);
    }

    /// Asks the workload what `task` does next, and begins it.
    pub(super) fn next_op(&mut self, cpu: CpuId, task: TaskId) -> Step {
        let TaskRun { outcome: last, .. } = self.cpus[cpu.idx()].run;
        if self.pipe_op_ends(cpu) {
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
        self.time_pipe_op(cpu, op, pipe, entry, bytes)
    }

    /// Getting to a pipe takes `entry`; a pipe that is ready is copied to or from under its mutex,
    /// and who finds that taken spins, in order of arrival.
    #[inline(always)]
    fn time_pipe_op(&mut self, cpu: CpuId, op: Op, pipe: PipeId, entry: u32, bytes: u32) -> Nanos {
        let copy = self.prices.list().pipe_copy.saturating_add(self.prices.copy(bytes));
        let row = &mut self.cpus[cpu.idx()];
        let (entry, copy) = self.prices.jittered_pair(&mut row.dice, entry, copy);
        let (entry, copy) = (at_speed(entry, row.speed), at_speed(copy, row.speed));
        row.run.look = self.ipc.finds_pipe_unready(op, row.run.retry);
        if row.run.look {
            return entry;
        }
        let now = self.world.now();
        let start = now + Nanos(u64::from(row.debt));
        let read = matches!(op, Op::Read { .. }).then_some(bytes);
        let (topology, hardware) = (self.world.topology(), &mut self.hardware);
        let task = row.task.expect("an op has a task");
        let file = hardware.file(topology, cpu, task, pipe.idx(), read.is_some(), now);
        let moved = hardware.message(topology, cpu, pipe.idx(), read, now);
        if file + moved > 0 {
            row.stalled |= 1 << Cost::Message.stall_row();
            self.desks[cpu.idx()].stalls[Cost::Message.stall_row()] += u64::from(file + moved);
        }
        let entry = entry + Nanos(u64::from(file));
        let copy = copy + Nanos(u64::from(moved));
        let free = &mut self.pipes_free[pipe.idx()];
        let end = (start + entry).max(*free) + copy;
        *free = end;
        end.since(start)
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

/// The pipe that `op` is on, and how many bytes it moves.
#[inline(always)]
fn pipe_of(op: Op) -> Option<(PipeId, u32)> {
    match op {
        Op::Write { pipe, bytes } | Op::Read { pipe, bytes } => Some((pipe, bytes)),
        _ => None,
    }
}
