//! `Inst` (an instruction) and `Programs`, which interprets them: it implements `Workload`.
//!
//! A program is a list of instructions and a thread is eight registers, one of which is the program
//! counter: 32 bytes. Threads share their programs, so that a million of them fit. As it is
//! data, a workload can be printed, compared and hashed.

mod listing;
mod memory;
mod operand;
mod thread;
mod turns;

use simsched_core::{
    FutexId, MaskId, Nanos, Op, Outcome, PipeId, ProcId, RegionId, SchedPolicy, Setup, SimTime,
    SocketId, Start, Stream, TaskId, TaskSpec, Workload,
};

use crate::dist::Dist;
use memory::Memory;
pub use operand::{ARGS, ClockId, LOOPS, Operand, Reg, StackId, When};
use operand::{PC, REGS};

/// An instruction. Most are a system call whose object is looked up when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inst {
    /// Compute for a length drawn from this row of the table of distributions.
    Run(u32),
    /// Compute by pauses ([`Op::Pause`]) for a length drawn from this row of the table of distributions.
    Pause(u32),
    /// Load and store in a region what this row of the table of traffics says.
    Stream(Operand, u32),
    /// Store to so many KiB of a region for the first time.
    Touch(Operand, u32),
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
    /// Take a semaphore of the kernel to read, if nobody writes and nobody waits for it.
    DownReadTrylock(Operand),
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
    /// Have a chance to change the CPU before a new program is loaded.
    Exec,
    /// Take a new image, which is of this process.
    ExecMmap(ProcId),
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
    /// Go on at `to` if the last system call has not got what it tried to take.
    IfBusy(u32),
    /// Go on at `to`.
    Goto(u32),
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
    /// What is loaded and stored, in KiB.
    pub(crate) traffics: Vec<[u32; 2]>,
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
            regs[PC] = spec.entry;
            Thread { regs }
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
        match self.frequent(task, last) {
            Some(op) => op,
            None => self.other_op(task, now, last),
        }
    }

    fn turns_left(&self, task: TaskId) -> Option<u64> {
        self.threads[task.idx()].turns_left(&self.parts.code)
    }

    fn skip_turns(&mut self, task: TaskId, turns: u64) {
        self.threads[task.idx()].skip_turns(&self.parts.code, turns);
    }
}

impl Programs {
    /// The inner loops of most runs are made of three instructions: executes these, up to a system call.
    /// `None` is another instruction.
    #[inline(always)]
    fn frequent(&mut self, task: TaskId, last: Outcome) -> Option<Op> {
        let thread = &mut self.threads[task.idx()];
        loop {
            match self.parts.code[thread.pc()] {
                Inst::Repeat { counter, to, times } => thread.repeat(counter, to, times),
                Inst::Write(id, bytes) => {
                    thread.regs[PC] += 1;
                    return Some(Op::Write { pipe: PipeId(thread.value(id)), bytes });
                }
                Inst::ReadFull(id, all) => match thread.left(all, last) {
                    0 => thread.regs[PC] += 1,
                    bytes => return Some(Op::Read { pipe: PipeId(thread.value(id)), bytes }),
                },
                _ => return None,
            }
        }
    }

    /// The next system call of a thread whose next instruction is none of those.
    #[inline(never)]
    fn other_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        loop {
            let thread = &mut self.threads[task.idx()];
            let inst = self.parts.code[thread.pc()];
            let called = (task, now, last);
            let op = thread.rare(inst, &mut self.parts, &mut self.memory, called);
            if let Some(op) = op.or_else(|| self.frequent(task, last)) {
                return op;
            }
        }
    }
}

impl Thread {
    /// Executes `inst`: its system call if it is one.
    fn rare(
        &mut self,
        inst: Inst,
        parts: &mut Parts,
        memory: &mut Memory,
        (task, now, last): (TaskId, SimTime, Outcome),
    ) -> Option<Op> {
        match inst {
            Inst::RecvFull(id, all) => match self.left(all, last) {
                0 => self.regs[PC] += 1,
                bytes => return Some(Op::Recv { socket: SocketId(self.value(id)), bytes }),
            },
            Inst::Run(row) => {
                self.regs[PC] += 1;
                return Some(Op::Run(parts.length(row, task)));
            }
            Inst::Pause(row) => {
                self.regs[PC] += 1;
                return Some(Op::Pause(parts.length(row, task)));
            }
            Inst::Sleep(row) => {
                self.regs[PC] += 1;
                return Some(Op::Sleep(parts.length(row, task)));
            }
            Inst::Stream(id, row) => {
                self.regs[PC] += 1;
                let [loaded_kib, stored_kib] = parts.traffics[row as usize];
                let region = RegionId(self.value(id));
                return Some(Op::Stream { region, loaded_kib, stored_kib });
            }
            Inst::RunUntil { when, piece } => {
                if now < self.when(parts, memory, when) {
                    return Some(Op::Run(parts.length(piece, task)));
                }
                self.regs[PC] += 1;
            }
            Inst::SleepUntil(when) => {
                self.regs[PC] += 1;
                return Some(Op::SleepUntil(self.when(parts, memory, when)));
            }
            Inst::Forever(to) | Inst::Goto(to) => self.regs[PC] = to,
            Inst::IfBusy(to) if last == Outcome::Busy => self.regs[PC] = to,
            Inst::AtEnd(to) if last == Outcome::Bytes(0) => self.regs[PC] = to,
            Inst::Past { when, to } if now >= self.when(parts, memory, when) => self.regs[PC] = to,
            Inst::AtEnd(_) | Inst::IfBusy(_) | Inst::Past { .. } => self.regs[PC] += 1,
            Inst::Clock(..)
            | Inst::Push(..)
            | Inst::Take(..)
            | Inst::Next { .. }
            | Inst::Unless(..) => self.user_space(inst, memory, now),
            Inst::FutexSet(id, value) => {
                self.regs[PC] += 1;
                let futex = self.value(id);
                memory.store(futex, value);
                return Some(Op::FutexSet { futex: FutexId(futex), value });
            }
            Inst::Exit => return Some(Op::Exit),
            _ => {
                self.regs[PC] += 1;
                return Some(self.op(inst));
            }
        }
        None
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
