//! `Thread`: what its instructions do in user space, and the system call that each of the others is.

use simsched_core::{
    BarrierId, FutexId, LockId, MarkId, Op, Outcome, PipeId, RegionId, SemId, SimTime, SocketId,
    TaskId,
};

use super::memory::Memory;
use super::operand::{LEFT, PC};
use super::{Inst, Nanos, Operand, Parts, Reg, Thread, When};

impl Thread {
    /// The next instruction.
    #[inline(always)]
    pub(super) fn pc(&self) -> usize {
        self.regs[PC] as usize
    }

    /// The instant of this row of the table of instants.
    #[inline]
    pub(super) fn when(&self, parts: &Parts, memory: &Memory, row: u32) -> SimTime {
        let When { clock, after, arg, each_arg, counter, each_turn } = parts.whens[row as usize];
        let times = |reg: Reg, each: Nanos| Nanos(u64::from(self.regs[reg.idx()]) * each.get());
        memory.noted(clock) + after + times(arg, each_arg) + times(counter, each_turn)
    }

    /// An instruction that is no system call and takes no time.
    pub(super) fn user_space(&mut self, inst: Inst, memory: &mut Memory, now: SimTime) {
        self.regs[PC] += 1;
        match inst {
            Inst::Clock(clock) => memory.note(clock, now),
            Inst::Push(item, stack) => memory.push(self.value(stack), self.regs[item.idx()]),
            Inst::Take(stack) => memory.take(self.value(stack)),
            Inst::Next { item, stack, end } => match memory.next(self.value(stack)) {
                Some(number) => self.regs[item.idx()] = number,
                None => (self.regs[item.idx()], self.regs[PC]) = (0, end),
            },
            Inst::Unless(value, futex, to) => {
                if !memory.holds(self.value(futex), u32::from(value)) {
                    self.regs[PC] = to;
                }
            }
            _ => unreachable!("next_op knows which these are"),
        }
    }

    #[inline]
    pub(super) fn value(&self, operand: Operand) -> u32 {
        let Operand { base, arg, counter, stride } = operand;
        base + self.regs[arg.idx()] + self.regs[counter.idx()] * u32::from(stride)
    }

    #[inline]
    pub(super) fn repeat(&mut self, counter: Reg, to: u32, times: u32) {
        let turns = &mut self.regs[counter.idx()];
        *turns += 1;
        if *turns < times {
            self.regs[PC] = to;
        } else {
            *turns = 0;
            self.regs[PC] += 1;
        }
    }

    /// How much is left of a transfer that wants all of its bytes, of which `last` may have been a
    /// part; 0 when it is complete.
    #[inline]
    pub(super) fn left(&mut self, all: u32, last: Outcome) -> u32 {
        let left = match (self.regs[LEFT], last) {
            (0, _) => all,
            // The end of the stream.
            (_, Outcome::Bytes(0)) => 0,
            (left, Outcome::Bytes(bytes)) => left.saturating_sub(bytes),
            (left, _) => left,
        };
        self.regs[LEFT] = left;
        left
    }

    /// The system call of an instruction that is exactly one.
    #[inline]
    pub(super) fn op(&self, inst: Inst) -> Op {
        match inst {
            Inst::Write(id, bytes) => Op::Write { pipe: PipeId(self.value(id)), bytes },
            Inst::Read(id, bytes) => Op::Read { pipe: PipeId(self.value(id)), bytes },
            Inst::PollPipe(id) => Op::PollPipe(PipeId(self.value(id))),
            Inst::Send(id, bytes) => Op::Send { socket: SocketId(self.value(id)), bytes },
            Inst::Recv(id, bytes) => Op::Recv { socket: SocketId(self.value(id)), bytes },
            Inst::PollSocket(id) => Op::PollSocket(SocketId(self.value(id))),
            Inst::Shutdown(id) => Op::Shutdown(SocketId(self.value(id))),
            Inst::Lock(id) => Op::Lock(LockId(self.value(id))),
            Inst::Unlock(id) => Op::Unlock(LockId(self.value(id))),
            Inst::DownRead(id) => Op::DownRead(SemId(self.value(id))),
            Inst::DownReadTrylock(id) => Op::DownReadTrylock(SemId(self.value(id))),
            Inst::UpRead(id, held) => Op::UpRead { sem: SemId(self.value(id)), held },
            Inst::DownWrite(id) => Op::DownWrite(SemId(self.value(id))),
            Inst::UpWrite(id, held) => Op::UpWrite { sem: SemId(self.value(id)), held },
            Inst::Barrier(id) => Op::Barrier(BarrierId(self.value(id))),
            Inst::FutexWait(id, value) => Op::FutexWait { futex: FutexId(self.value(id)), value },
            Inst::FutexWake(id, count) => {
                Op::FutexWake { futex: FutexId(self.value(id)), count, sync: false }
            }
            Inst::Spawn(id) => Op::Spawn(TaskId(self.value(id))),
            Inst::Join(id) => Op::Join(TaskId(self.value(id))),
            Inst::Touch(id, kib) => Op::Touch { region: RegionId(self.value(id)), kib },
            Inst::WaitAny => Op::WaitAny,
            Inst::Yield => Op::Yield,
            Inst::SetNice(nice) => Op::SetNice(nice),
            Inst::SetAffinity(id, mask) => Op::SetAffinity { task: TaskId(self.value(id)), mask },
            Inst::Exec => Op::Exec,
            Inst::ExecMmap(proc) => Op::ExecMmap(proc),
            Inst::Mark(mark) => Op::Mark(MarkId(self.value(mark))),
            Inst::Run(_)
            | Inst::Pause(_)
            | Inst::Stream(..)
            | Inst::Sleep(_)
            | Inst::RunUntil { .. }
            | Inst::SleepUntil(_)
            | Inst::FutexSet(..)
            | Inst::Clock(_)
            | Inst::Push(..)
            | Inst::Take(_)
            | Inst::Next { .. }
            | Inst::Unless(..)
            | Inst::ReadFull(..)
            | Inst::RecvFull(..)
            | Inst::AtEnd(_)
            | Inst::IfBusy(_)
            | Inst::Goto(_)
            | Inst::Past { .. }
            | Inst::Repeat { .. }
            | Inst::Forever(_)
            | Inst::Exit => unreachable!("next_op does these itself"),
        }
    }
}
