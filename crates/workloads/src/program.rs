//! `Inst` (an instruction) and `Programs`, which interprets them: it implements `Workload`.
//!
//! A program is a list of instructions and a thread is a program counter with eight registers
//! less one: 32 bytes. Threads share their programs, so that a million of them fit. As it is
//! data, a workload can be printed, compared and hashed.

mod listing;
mod memory;
mod operand;

use simsched_core::{
    BarrierId, FutexId, LockId, MarkId, MaskId, Nanos, Op, Outcome, PipeId, ProcId, SchedPolicy,
    SemId, Setup, SimTime, SocketId, Start, Stream, TaskId, TaskSpec, Workload,
};

use crate::dist::Dist;
use memory::Memory;
pub use operand::{ARGS, ClockId, LOOPS, Operand, Reg, StackId, When};
use operand::{LEFT, REGS};

/// An instruction. Most are a system call whose object is looked up when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inst {
    /// Compute for a length drawn from this row of the table of distributions.
    Run(u32),
    /// Sleep for a length drawn from this row of the table of distributions.
    Sleep(u32),
    /// Write so many bytes to a pipe.
    Write(Operand, u32),
    /// Read at most so many bytes from a pipe, once.
    Read(Operand, u32),
    /// Read exactly so many bytes from a pipe, again and again until they are there.
    ReadFull(Operand, u32),
    /// Wait until a pipe has data.
    PollPipe(Operand),
    /// Send so many bytes from an end of a socket pair.
    Send(Operand, u32),
    /// Receive at most so many bytes at an end of a socket pair, once.
    Recv(Operand, u32),
    /// Receive exactly so many bytes at an end of a socket pair.
    RecvFull(Operand, u32),
    /// Wait until an end of a socket pair has data.
    PollSocket(Operand),
    /// Send nothing more from an end of a TCP connection.
    Shutdown(Operand),
    /// Take a mutex.
    Lock(Operand),
    /// Release a mutex.
    Unlock(Operand),
    /// Take a semaphore of the kernel to read.
    DownRead(Operand),
    /// Hold a semaphore to read for so many ns, and release it.
    UpRead(Operand, u32),
    /// Take a semaphore of the kernel to write.
    DownWrite(Operand),
    /// Hold a semaphore to write for so many ns, and release it.
    UpWrite(Operand, u32),
    /// Meet the others at a barrier.
    Barrier(Operand),
    /// Sleep while a futex word has this value.
    FutexWait(Operand, u32),
    /// Store a value in a futex word.
    FutexSet(Operand, u32),
    /// Wake at most so many sleepers of a futex word.
    FutexWake(Operand, u32),
    /// Start a task.
    Spawn(Operand),
    /// Wait for the end of a task.
    Join(Operand),
    /// Wait for the end of any child.
    WaitAny,
    /// Let others run.
    Yield,
    /// Change the own nice value.
    SetNice(i8),
    /// Confine a task to the CPUs of a mask.
    SetAffinity(Operand, MaskId),
    /// Note the time for whoever watches.
    Mark(Operand),
    /// Sleep until the instant of this row of the table of instants.
    SleepUntil(u32),
    /// Compute in pieces until an instant: look at the clock, and unless it has come compute for
    /// one more piece.
    RunUntil {
        /// A row of the table of instants.
        when: u32,
        /// The length of a piece: a row of the table of distributions.
        piece: u32,
    },
    /// Note the instant for the programs themselves.
    Clock(u32),
    /// Put an argument on a stack.
    Push(Reg, Operand),
    /// Take all that is on a stack.
    Take(Operand),
    /// The start of a loop over what was taken: the next number goes into `item`; when there is
    /// none, go on at `end`.
    Next {
        /// Where the number goes.
        item: Reg,
        /// From which stack.
        stack: Operand,
        /// The first instruction behind the loop.
        end: u32,
    },
    /// Go on at `to` unless a futex word has this value.
    Unless(u8, Operand, u32),
    /// Go on at `to` if the last system call has received nothing: the stream has ended.
    AtEnd(u32),
    /// Go on at `to` if the instant of this row of the table of instants has come.
    Past {
        /// A row of the table of instants.
        when: u32,
        /// Where to go on.
        to: u32,
    },
    /// The end of a loop's body: count a turn, and go back to `to` unless all `times` are done.
    Repeat {
        /// The loop's counter.
        counter: Reg,
        /// The first instruction of the body.
        to: u32,
        /// How many turns.
        times: u32,
    },
    /// The end of an endless loop's body.
    Forever(u32),
    /// End.
    Exit,
}

/// A thread at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thread {
    /// The next instruction.
    pc: u32,
    regs: [u32; REGS],
}

const _: () = assert!(size_of::<Thread>() == 32, "two threads are a cache line");
const _: () = assert!(size_of::<Inst>() == 16, "four instructions are a cache line");

/// What a thread is before the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadSpec {
    /// Row of the names.
    pub(crate) name: u32,
    pub(crate) proc: ProcId,
    pub(crate) nice: i8,
    pub(crate) policy: SchedPolicy,
    pub(crate) start: Start,
    /// Where it may run from its start on; `None` is everywhere.
    pub(crate) allowed: Option<MaskId>,
    /// The first instruction of its program.
    pub(crate) entry: u32,
    pub(crate) args: [u32; ARGS],
}

/// What the builder has put together.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) code: Vec<Inst>,
    pub(crate) dists: Vec<Dist>,
    pub(crate) whens: Vec<When>,
    /// How many clocks, how many stacks, and how many numbers on these.
    pub(crate) shared: Shared,
    pub(crate) threads: Vec<ThreadSpec>,
    pub(crate) names: Vec<String>,
    /// All but the tasks.
    pub(crate) setup: Setup,
    /// By thread; none at all if no length is random.
    pub(crate) streams: Vec<Stream>,
}

/// How much of user space a workload shares.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shared {
    pub(crate) clocks: u32,
    pub(crate) stacks: u32,
    /// Numbers that may be on stacks are below this.
    pub(crate) items: u32,
}

/// Programs and the threads that run them.
#[derive(Clone, Debug)]
pub struct Programs {
    parts: Parts,
    threads: Vec<Thread>,
    memory: Memory,
}

impl Programs {
    pub(crate) fn new(parts: Parts) -> Programs {
        let thread = |spec: &ThreadSpec| {
            let mut regs = [0; REGS];
            regs[1..=ARGS].copy_from_slice(&spec.args);
            Thread { pc: spec.entry, regs }
        };
        let threads = parts.threads.iter().map(thread).collect();
        let Shared { clocks, stacks, items } = parts.shared;
        let memory = Memory::new(clocks, parts.setup.futexes, stacks, items);
        Programs { parts, threads, memory }
    }

    /// The instructions of all programs, one after another.
    #[must_use]
    pub fn code(&self) -> &[Inst] {
        &self.parts.code
    }

    /// How many threads there are.
    #[must_use]
    pub fn nr_threads(&self) -> usize {
        self.threads.len()
    }
}

impl Workload for Programs {
    fn setup(&self) -> Setup {
        let parts = &self.parts;
        let task = |spec: &ThreadSpec| TaskSpec {
            name: parts.names[spec.name as usize].clone(),
            proc: spec.proc,
            nice: spec.nice,
            policy: spec.policy,
            allowed: spec.allowed.map(|mask| parts.setup.masks[mask.idx()]),
            start: spec.start,
        };
        Setup { tasks: parts.threads.iter().map(task).collect(), ..parts.setup.clone() }
    }

    #[inline]
    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        let thread = &mut self.threads[task.idx()];
        loop {
            let inst = self.parts.code[thread.pc as usize];
            match inst {
                Inst::Repeat { counter, to, times } => thread.repeat(counter, to, times),
                Inst::Forever(to) => thread.pc = to,
                Inst::ReadFull(..) | Inst::RecvFull(..) => {
                    if let Some(op) = thread.transfer(inst, last) {
                        return op;
                    }
                }
                Inst::Run(row) => {
                    thread.pc += 1;
                    return Op::Run(self.parts.length(row, task));
                }
                Inst::Sleep(row) => {
                    thread.pc += 1;
                    return Op::Sleep(self.parts.length(row, task));
                }
                Inst::RunUntil { when, piece } => {
                    if now < thread.when(&self.parts, &self.memory, when) {
                        return Op::Run(self.parts.length(piece, task));
                    }
                    thread.pc += 1;
                }
                Inst::SleepUntil(when) => {
                    thread.pc += 1;
                    return Op::SleepUntil(thread.when(&self.parts, &self.memory, when));
                }
                Inst::AtEnd(to) if last == Outcome::Bytes(0) => thread.pc = to,
                Inst::Past { when, to } if now >= thread.when(&self.parts, &self.memory, when) => {
                    thread.pc = to;
                }
                Inst::AtEnd(_) | Inst::Past { .. } => thread.pc += 1,
                Inst::Clock(..)
                | Inst::Push(..)
                | Inst::Take(..)
                | Inst::Next { .. }
                | Inst::Unless(..) => thread.user_space(inst, &mut self.memory, now),
                Inst::FutexSet(id, value) => {
                    thread.pc += 1;
                    let futex = thread.value(id);
                    self.memory.store(futex, value);
                    return Op::FutexSet { futex: FutexId(futex), value };
                }
                Inst::Exit => return Op::Exit,
                // The inner loop of nearly all runs, one jump earlier.
                Inst::Write(id, bytes) => {
                    thread.pc += 1;
                    return Op::Write { pipe: PipeId(thread.value(id)), bytes };
                }
                _ => {
                    thread.pc += 1;
                    return thread.op(inst);
                }
            }
        }
    }
}

impl Parts {
    /// A length of this row of the table of distributions.
    #[inline]
    fn length(&mut self, row: u32, task: TaskId) -> Nanos {
        match &self.dists[row as usize] {
            Dist::Constant(ns) => *ns,
            dist => dist.sample(&mut self.streams[task.idx()]),
        }
    }
}

impl Thread {
    /// The instant of this row of the table of instants.
    #[inline]
    fn when(&self, parts: &Parts, memory: &Memory, row: u32) -> SimTime {
        let When { clock, after, arg, each_arg, counter, each_turn } = parts.whens[row as usize];
        let times = |reg: Reg, each: Nanos| Nanos(u64::from(self.regs[reg.idx()]) * each.get());
        memory.noted(clock) + after + times(arg, each_arg) + times(counter, each_turn)
    }

    /// An instruction that is no system call and takes no time.
    fn user_space(&mut self, inst: Inst, memory: &mut Memory, now: SimTime) {
        self.pc += 1;
        match inst {
            Inst::Clock(clock) => memory.note(clock, now),
            Inst::Push(item, stack) => memory.push(self.value(stack), self.regs[item.idx()]),
            Inst::Take(stack) => memory.take(self.value(stack)),
            Inst::Next { item, stack, end } => match memory.next(self.value(stack)) {
                Some(number) => self.regs[item.idx()] = number,
                None => (self.regs[item.idx()], self.pc) = (0, end),
            },
            Inst::Unless(value, futex, to) => {
                if !memory.holds(self.value(futex), u32::from(value)) {
                    self.pc = to;
                }
            }
            _ => unreachable!("next_op knows which these are"),
        }
    }

    #[inline]
    fn value(&self, operand: Operand) -> u32 {
        let Operand { base, arg, counter, stride } = operand;
        base + self.regs[arg.idx()] + self.regs[counter.idx()] * u32::from(stride)
    }

    #[inline]
    fn repeat(&mut self, counter: Reg, to: u32, times: u32) {
        let turns = &mut self.regs[counter.idx()];
        *turns += 1;
        if *turns < times {
            self.pc = to;
        } else {
            *turns = 0;
            self.pc += 1;
        }
    }

    /// The next part of a transfer that wants all of its bytes; `None` when it is complete.
    #[inline]
    fn transfer(&mut self, inst: Inst, last: Outcome) -> Option<Op> {
        let (Inst::ReadFull(object, all) | Inst::RecvFull(object, all)) = inst else {
            unreachable!("only transfers come here")
        };
        let left = match (self.regs[LEFT], last) {
            (0, _) => all,
            // The end of the stream.
            (_, Outcome::Bytes(0)) => 0,
            (left, Outcome::Bytes(bytes)) => left.saturating_sub(bytes),
            (left, _) => left,
        };
        self.regs[LEFT] = left;
        if left == 0 {
            self.pc += 1;
            return None;
        }
        let id = self.value(object);
        Some(match inst {
            Inst::ReadFull(..) => Op::Read { pipe: PipeId(id), bytes: left },
            _ => Op::Recv { socket: SocketId(id), bytes: left },
        })
    }

    /// The system call of an instruction that is exactly one.
    #[inline]
    fn op(&self, inst: Inst) -> Op {
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
            Inst::UpRead(id, held) => Op::UpRead { sem: SemId(self.value(id)), held },
            Inst::DownWrite(id) => Op::DownWrite(SemId(self.value(id))),
            Inst::UpWrite(id, held) => Op::UpWrite { sem: SemId(self.value(id)), held },
            Inst::Barrier(id) => Op::Barrier(BarrierId(self.value(id))),
            Inst::FutexWait(id, value) => Op::FutexWait { futex: FutexId(self.value(id)), value },
            Inst::FutexWake(id, count) => Op::FutexWake { futex: FutexId(self.value(id)), count },
            Inst::Spawn(id) => Op::Spawn(TaskId(self.value(id))),
            Inst::Join(id) => Op::Join(TaskId(self.value(id))),
            Inst::WaitAny => Op::WaitAny,
            Inst::Yield => Op::Yield,
            Inst::SetNice(nice) => Op::SetNice(nice),
            Inst::SetAffinity(id, mask) => Op::SetAffinity { task: TaskId(self.value(id)), mask },
            Inst::Mark(mark) => Op::Mark(MarkId(self.value(mark))),
            Inst::Run(_)
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
            | Inst::Past { .. }
            | Inst::Repeat { .. }
            | Inst::Forever(_)
            | Inst::Exit => unreachable!("next_op does these itself"),
        }
    }
}
