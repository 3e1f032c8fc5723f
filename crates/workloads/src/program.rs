//! `Inst` (an instruction) and `Programs`, which interprets them: it implements `Workload`.
//!
//! A program is a list of instructions and a thread is a program counter with eight registers
//! less one: 32 bytes. Threads share their programs, so that a million of them fit. As it is
//! data, a workload can be printed, compared and hashed.

mod listing;

use simsched_core::{
    BarrierId, FutexId, LockId, MarkId, Op, Outcome, PipeId, ProcId, SchedPolicy, Setup, SimTime,
    SocketId, Start, Stream, TaskId, TaskSpec, Workload,
};

use crate::dist::Dist;

/// How deep loops may be nested.
pub const LOOPS: usize = 3;

/// How many arguments a thread has.
pub const ARGS: usize = 2;

/// Registers of a thread: always 0, its arguments, the counters of its loops, and what is left of
/// a transfer.
const REGS: usize = 1 + ARGS + LOOPS + 1;
const LEFT: usize = REGS - 1;

/// A register of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg(u8);

impl Reg {
    const ZERO: Reg = Reg(0);

    /// The counter of the loop at this depth, 0 for the outermost.
    pub(crate) fn counter(depth: usize) -> Reg {
        assert!(depth < LOOPS, "loops are nested at most {LOOPS} deep");
        Reg(u8::try_from(1 + ARGS + depth).expect("a few registers"))
    }

    #[inline]
    fn idx(self) -> usize {
        usize::from(self.0)
    }
}

/// Which object an instruction means: a number, an argument of the thread, a counter, or a sum of
/// these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    base: u32,
    arg: Reg,
    counter: Reg,
    /// How far a turn of the counter goes.
    stride: u8,
}

impl Operand {
    /// The object of this number.
    #[must_use]
    pub const fn fixed(base: u32) -> Operand {
        Operand { base, arg: Reg::ZERO, counter: Reg::ZERO, stride: 1 }
    }

    /// The object that argument `nth` of the thread names.
    ///
    /// # Panics
    /// When a thread has fewer arguments.
    #[must_use]
    pub fn arg(nth: usize) -> Operand {
        assert!(nth < ARGS, "a thread has {ARGS} arguments");
        let arg = Reg(u8::try_from(1 + nth).expect("a few registers"));
        Operand { arg, ..Operand::fixed(0) }
    }

    /// The object so many places behind this one, as the counter of a loop has turns done.
    #[must_use]
    pub const fn plus(self, counter: Reg) -> Operand {
        self.plus_each(counter, 1)
    }

    /// The object behind this one, `stride` places for each turn that a loop has done.
    #[must_use]
    pub const fn plus_each(self, counter: Reg, stride: u8) -> Operand {
        Operand { counter, stride, ..self }
    }

    /// The largest value, for threads whose arguments are at most `args` and where the counter
    /// stays below `turns`.
    pub(crate) fn max(self, args: [u32; ARGS], turns: [u32; LOOPS]) -> u64 {
        let arg = self.arg.idx().checked_sub(1).map_or(0, |nth| args[nth]);
        let counter = self.counter.idx().checked_sub(1 + ARGS);
        let counter = counter.map_or(0, |depth| turns[depth].saturating_sub(1));
        u64::from(self.base) + u64::from(arg) + u64::from(counter) * u64::from(self.stride)
    }
}

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
    /// Take a mutex.
    Lock(Operand),
    /// Release a mutex.
    Unlock(Operand),
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
    /// Note the time.
    Mark(MarkId),
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
    /// The first instruction of its program.
    pub(crate) entry: u32,
    pub(crate) args: [u32; ARGS],
}

/// What the builder has put together.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) code: Vec<Inst>,
    pub(crate) dists: Vec<Dist>,
    pub(crate) threads: Vec<ThreadSpec>,
    pub(crate) names: Vec<String>,
    /// All but the tasks.
    pub(crate) setup: Setup,
    /// By thread; none at all if no length is random.
    pub(crate) streams: Vec<Stream>,
}

/// Programs and the threads that run them.
#[derive(Clone, Debug)]
pub struct Programs {
    parts: Parts,
    threads: Vec<Thread>,
}

impl Programs {
    pub(crate) fn new(parts: Parts) -> Programs {
        let thread = |spec: &ThreadSpec| {
            let mut regs = [0; REGS];
            regs[1..=ARGS].copy_from_slice(&spec.args);
            Thread { pc: spec.entry, regs }
        };
        let threads = parts.threads.iter().map(thread).collect();
        Programs { parts, threads }
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
            allowed: None,
            start: spec.start,
        };
        Setup { tasks: parts.threads.iter().map(task).collect(), ..parts.setup.clone() }
    }

    #[inline]
    fn next_op(&mut self, task: TaskId, _: SimTime, last: Outcome) -> Op {
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
                Inst::Run(row) | Inst::Sleep(row) => {
                    thread.pc += 1;
                    let dist = &self.parts.dists[row as usize];
                    let ns = match dist {
                        Dist::Constant(ns) => *ns,
                        dist => dist.sample(&mut self.parts.streams[task.idx()]),
                    };
                    return if matches!(inst, Inst::Run(_)) { Op::Run(ns) } else { Op::Sleep(ns) };
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

impl Thread {
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
            Inst::Lock(id) => Op::Lock(LockId(self.value(id))),
            Inst::Unlock(id) => Op::Unlock(LockId(self.value(id))),
            Inst::Barrier(id) => Op::Barrier(BarrierId(self.value(id))),
            Inst::FutexWait(id, value) => Op::FutexWait { futex: FutexId(self.value(id)), value },
            Inst::FutexSet(id, value) => Op::FutexSet { futex: FutexId(self.value(id)), value },
            Inst::FutexWake(id, count) => Op::FutexWake { futex: FutexId(self.value(id)), count },
            Inst::Spawn(id) => Op::Spawn(TaskId(self.value(id))),
            Inst::Join(id) => Op::Join(TaskId(self.value(id))),
            Inst::WaitAny => Op::WaitAny,
            Inst::Yield => Op::Yield,
            Inst::SetNice(nice) => Op::SetNice(nice),
            Inst::Mark(mark) => Op::Mark(mark),
            Inst::Run(_)
            | Inst::Sleep(_)
            | Inst::ReadFull(..)
            | Inst::RecvFull(..)
            | Inst::Repeat { .. }
            | Inst::Forever(_)
            | Inst::Exit => unreachable!("next_op does these itself"),
        }
    }
}
