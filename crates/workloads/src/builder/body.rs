//! `Body`: writes the instructions of one program.

use simsched_core::{
    BarrierId, FutexId, LockId, MarkId, MaskId, Nanos, PipeId, ProcId, RegionId, SemId, SocketId,
    TaskId,
};

use super::Builder;
use super::check::{Kind, Use};
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{ClockId, Inst, LOOPS, Operand, Reg, StackId, When};

/// The program that is being written: one method for each instruction.
#[derive(Debug)]
pub struct Body<'a> {
    builder: &'a mut Builder,
    /// The turns of the loops around, from the outermost on; 1 beyond them.
    turns: [u32; LOOPS],
    depth: usize,
}

macro_rules! operand_from {
    ($($id:ident)*) => {$(
        impl From<$id> for Operand {
            fn from(id: $id) -> Operand {
                Operand::fixed(id.0)
            }
        }
    )*};
}

operand_from! { BarrierId FutexId LockId MarkId PipeId RegionId SemId SocketId StackId TaskId }

macro_rules! instructions {
    ($($(#[$doc:meta])* $method:ident($inst:ident, $kind:ident $(, $number:ident)?);)*) => {$(
        $(#[$doc])*
        pub fn $method(&mut self, object: impl Into<Operand> $(, $number: u32)?) {
            let object = object.into();
            self.declare(Kind::$kind, object);
            self.push(Inst::$inst(object $(, $number)?));
        }
    )*};
}

impl<'a> Body<'a> {
    pub(super) fn new(builder: &'a mut Builder) -> Body<'a> {
        Body { builder, turns: [1; LOOPS], depth: 0 }
    }

    instructions! {
        /// Writes so many bytes to a pipe.
        write(Write, Pipe, bytes);
        /// Reads at most so many bytes from a pipe, once.
        read(Read, Pipe, bytes);
        /// Reads exactly so many bytes from a pipe, again and again until they are there.
        read_full(ReadFull, Pipe, bytes);
        /// Waits until a pipe has data.
        poll_pipe(PollPipe, Pipe);
        /// Sends so many bytes from an end of a socket pair.
        send(Send, Socket, bytes);
        /// Receives at most so many bytes at an end of a socket pair, once.
        recv(Recv, Socket, bytes);
        /// Receives exactly so many bytes at an end of a socket pair.
        recv_full(RecvFull, Socket, bytes);
        /// Waits until an end of a socket pair has data.
        poll_socket(PollSocket, Socket);
        /// Sends nothing more from an end of a TCP connection.
        shutdown(Shutdown, Socket);
        /// Takes a mutex.
        lock(Lock, Lock);
        /// Releases a mutex.
        unlock(Unlock, Lock);
        /// Takes a semaphore of the kernel to read.
        down_read(DownRead, Sem);
        /// Holds a semaphore to read for so many ns, and releases it.
        up_read(UpRead, Sem, held);
        /// Takes a semaphore of the kernel to write.
        down_write(DownWrite, Sem);
        /// Holds a semaphore to write for so many ns, and releases it.
        up_write(UpWrite, Sem, held);
        /// Meets the others at a barrier.
        barrier(Barrier, Barrier);
        /// Sleeps while a futex word has this value.
        futex_wait(FutexWait, Futex, value);
        /// Stores a value in a futex word.
        futex_set(FutexSet, Futex, value);
        /// Wakes at most so many sleepers of a futex word.
        futex_wake(FutexWake, Futex, count);
        /// Starts a task.
        spawn(Spawn, Task);
        /// Waits for the end of a task.
        join(Join, Task);
        /// Stores to so many KiB of a region for the first time.
        touch(Touch, Region, kib);
        /// Notes the time for whoever watches.
        mark(Mark, Mark);
    }

    /// Computes.
    pub fn run(&mut self, length: Dist) {
        let row = self.dist(length);
        self.push(Inst::Run(row));
    }

    /// Computes by pauses ([`Op::Pause`](simsched_core::Op::Pause)).
    pub fn pause(&mut self, length: Dist) {
        let row = self.dist(length);
        self.push(Inst::Pause(row));
    }

    /// Loads and stores so many KiB in a region, bound by memory.
    pub fn stream(&mut self, region: impl Into<Operand>, loaded_kib: u32, stored_kib: u32) {
        let region = region.into();
        self.declare(Kind::Region, region);
        if loaded_kib == 0 && stored_kib == 0 {
            self.fail("it moves no byte");
        }
        let row = row_of(&mut self.builder.traffics, [loaded_kib, stored_kib]);
        self.push(Inst::Stream(region, row));
    }

    /// Sleeps.
    pub fn sleep(&mut self, length: Dist) {
        let row = self.dist(length);
        self.push(Inst::Sleep(row));
    }

    /// Waits for the end of any child.
    pub fn wait_any(&mut self) {
        self.push(Inst::WaitAny);
    }

    /// Lets others run.
    pub fn sched_yield(&mut self) {
        self.push(Inst::Yield);
    }

    /// Changes the own nice value, -20..=19.
    pub fn nice(&mut self, nice: i8) {
        self.push(Inst::SetNice(nice));
    }

    /// Confines a task, the own one or another, to the CPUs of a mask.
    pub fn set_affinity(&mut self, task: impl Into<Operand>, mask: MaskId) {
        let task = task.into();
        self.declare(Kind::Task, task);
        let masks = self.builder.setup.masks.len();
        if mask.idx() >= masks {
            self.fail(&format!("there is no mask {mask}: {masks} are declared"));
        }
        self.push(Inst::SetAffinity(task, mask));
    }

    /// Asks for another CPU before a new program is loaded (`sched_exec`).
    pub fn exec(&mut self) {
        self.push(Inst::Exec);
    }

    /// Takes a new image, which is of this process, behind the ends of all other threads of the old one. Some
    /// thread has to be declared of that process.
    pub fn exec_mmap(&mut self, proc: ProcId) {
        self.push(Inst::ExecMmap(proc));
    }

    /// Sleeps until an instant.
    pub fn sleep_until(&mut self, when: When) {
        let row = self.when(when);
        self.push(Inst::SleepUntil(row));
    }

    /// Computes in pieces until an instant: looks at the clock, and unless it has come computes
    /// for one more piece. So it ends at an instant, and not after so much CPU time.
    pub fn run_until(&mut self, when: When, piece: Dist) {
        if piece == Dist::Constant(Nanos::ZERO) {
            self.fail("a piece takes no time");
        }
        let (when, piece) = (self.when(when), self.dist(piece));
        self.push(Inst::RunUntil { when, piece });
    }

    /// Notes the instant for [`When`].
    pub fn clock(&mut self, clock: ClockId) {
        self.check_clock(clock.0);
        self.push(Inst::Clock(clock.0));
    }

    /// Puts argument `nth` of the thread on a stack, unless it is on one already.
    pub fn push_arg(&mut self, nth: usize, stack: impl Into<Operand>) {
        let (stack, item) = (stack.into(), Operand::arg(nth));
        self.declare(Kind::Stack, stack);
        self.declare(Kind::Item, item);
        self.push(Inst::Push(Reg::arg(nth), stack));
    }

    /// Takes all that is on a stack and does `body` for each number, the last that came first.
    pub fn each(&mut self, stack: impl Into<Operand>, body: impl FnOnce(&mut Body<'_>, Reg)) {
        if self.depth == LOOPS {
            self.fail("loops are nested too deep");
            return;
        }
        let stack = stack.into();
        self.declare(Kind::Stack, stack);
        self.push(Inst::Take(stack));
        let next = self.builder.here();
        let item = Reg::counter(self.depth);
        self.push(Inst::Next { item, stack, end: next });
        let items = self.builder.shared.items;
        let mut inner = Body { builder: self.builder, turns: self.turns, depth: self.depth + 1 };
        inner.turns[self.depth] = items;
        body(&mut inner, item);
        self.push(Inst::Forever(next));
        let end = self.builder.here();
        self.builder.code[next as usize] = Inst::Next { item, stack, end };
    }

    /// Does `body` if a futex word has this value; looking at it is no system call.
    pub fn when_futex(
        &mut self,
        futex: impl Into<Operand>,
        value: u8,
        body: impl FnOnce(&mut Body<'_>),
    ) {
        let futex = futex.into();
        self.declare(Kind::Futex, futex);
        let at = self.builder.here();
        self.push(Inst::Unless(value, futex, at));
        body(self);
        let to = self.builder.here();
        self.builder.code[at as usize] = Inst::Unless(value, futex, to);
    }

    /// Takes a semaphore of the kernel to read if nobody writes and nobody waits for it, and does `taken`; else does
    /// `busy`.
    pub fn down_read_trylock(
        &mut self,
        sem: impl Into<Operand>,
        taken: impl FnOnce(&mut Body<'_>),
        busy: impl FnOnce(&mut Body<'_>),
    ) {
        let sem = sem.into();
        self.declare(Kind::Sem, sem);
        self.push(Inst::DownReadTrylock(sem));
        let branch = self.builder.here();
        self.push(Inst::IfBusy(branch));
        taken(self);
        let over = self.builder.here();
        self.push(Inst::Goto(over));
        self.builder.code[branch as usize] = Inst::IfBusy(self.builder.here());
        busy(self);
        self.builder.code[over as usize] = Inst::Goto(self.builder.here());
    }

    /// Ends.
    pub fn exit(&mut self) {
        self.push(Inst::Exit);
    }

    /// Does `body` so many times; it is handed the counter of the turns done, 0 in the first.
    pub fn repeat(&mut self, times: u32, body: impl FnOnce(&mut Body<'_>, Reg)) {
        if times == 0 {
            self.fail("a loop has no turn");
        }
        if self.depth == LOOPS {
            self.fail("loops are nested too deep");
            return;
        }
        let to = self.builder.here();
        let counter = Reg::counter(self.depth);
        let mut inner = Body { builder: self.builder, turns: self.turns, depth: self.depth + 1 };
        inner.turns[self.depth] = times;
        let exits = inner.builder.exits.len();
        body(&mut inner, counter);
        if self.builder.exits.len() > exits {
            self.fail("a loop is left that counts its turns");
        }
        self.check_loop(to);
        self.push(Inst::Repeat { counter, to, times });
    }

    /// Does `body` until it leaves the loop, or until the run is over.
    pub fn forever(&mut self, body: impl FnOnce(&mut Body<'_>)) {
        let outer = std::mem::take(&mut self.builder.exits);
        let to = self.builder.here();
        body(self);
        self.check_loop(to);
        self.push(Inst::Forever(to));
        let end = self.builder.here();
        for at in std::mem::replace(&mut self.builder.exits, outer) {
            match &mut self.builder.code[at as usize] {
                Inst::AtEnd(to) | Inst::Past { to, .. } | Inst::Unless(_, _, to) => *to = end,
                inst => unreachable!("{inst} leaves no loop"),
            }
        }
    }

    /// Leaves the innermost endless loop if the last receive has found the end of the stream.
    pub fn leave_at_end(&mut self) {
        self.leave(Inst::AtEnd(0));
    }

    /// Leaves the innermost endless loop if an instant has come.
    pub fn leave_when(&mut self, when: When) {
        let when = self.when(when);
        self.leave(Inst::Past { when, to: 0 });
    }

    /// Leaves the innermost endless loop unless a futex word has this value; looking at it is no
    /// system call.
    pub fn leave_unless(&mut self, futex: impl Into<Operand>, value: u8) {
        let futex = futex.into();
        self.declare(Kind::Futex, futex);
        self.leave(Inst::Unless(value, futex, 0));
    }

    /// An instruction that goes to the end of the loop around.
    fn leave(&mut self, inst: Inst) {
        let here = self.builder.here();
        self.builder.exits.push(here);
        self.push(inst);
    }

    fn push(&mut self, inst: Inst) {
        self.builder.code.push(inst);
    }

    fn declare(&mut self, kind: Kind, object: Operand) {
        let program = self.builder.programs.len() - 1;
        self.builder.uses.push(Use { program, kind, object, turns: self.turns });
    }

    fn dist(&mut self, dist: Dist) -> u32 {
        row_of(&mut self.builder.dists, dist)
    }

    fn when(&mut self, when: When) -> u32 {
        self.check_clock(when.clock());
        row_of(&mut self.builder.whens, when)
    }

    fn check_clock(&mut self, clock: u32) {
        let clocks = self.builder.shared.clocks;
        if clock >= clocks {
            self.fail(&format!("there is no clock {clock}: {clocks} are declared"));
        }
    }

    /// A loop from `to` to here makes a system call that takes time in each turn.
    fn check_loop(&mut self, to: u32) {
        let body = &self.builder.code[to as usize..];
        let is_free = |inst: &Inst| {
            matches!(
                inst,
                Inst::Mark(_)
                    | Inst::FutexSet(..)
                    | Inst::Repeat { .. }
                    | Inst::Forever(_)
                    | Inst::Clock(_)
                    | Inst::Push(..)
                    | Inst::Take(_)
                    | Inst::Next { .. }
                    | Inst::Unless(..)
                    | Inst::AtEnd(_)
                    | Inst::IfBusy(_)
                    | Inst::Goto(_)
                    | Inst::Past { .. }
            )
        };
        if body.iter().all(is_free) {
            self.fail("a loop has no instruction that takes time");
        }
    }

    fn fail(&mut self, what: &str) {
        let program = self.builder.programs.last().map_or(String::new(), |p| p.name.clone());
        self.builder.fail(WorkloadError::Program { program, what: what.to_owned() });
    }
}

/// The row of a table where `value` stands, at its end if it is new.
fn row_of<T: PartialEq>(table: &mut Vec<T>, value: T) -> u32 {
    let row = table.iter().position(|known| *known == value).unwrap_or_else(|| {
        table.push(value);
        table.len() - 1
    });
    u32::try_from(row).expect("fewer rows than instructions")
}
