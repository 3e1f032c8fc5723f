//! `Body`: writes the instructions of one program.

use simsched_core::{BarrierId, FutexId, LockId, MarkId, PipeId, SocketId, TaskId};

use super::Builder;
use super::check::{Kind, Use};
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{Inst, LOOPS, Operand, Reg};

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

operand_from! { BarrierId FutexId LockId PipeId SocketId TaskId }

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
        /// Takes a mutex.
        lock(Lock, Lock);
        /// Releases a mutex.
        unlock(Unlock, Lock);
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
    }

    /// Computes.
    pub fn run(&mut self, length: Dist) {
        let row = self.dist(length);
        self.push(Inst::Run(row));
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

    /// Notes the time.
    pub fn mark(&mut self, mark: MarkId) {
        self.push(Inst::Mark(mark));
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
        body(&mut inner, counter);
        self.check_loop(to);
        self.push(Inst::Repeat { counter, to, times });
    }

    /// Does `body` until the run is over.
    pub fn forever(&mut self, body: impl FnOnce(&mut Body<'_>)) {
        let to = self.builder.here();
        body(self);
        self.check_loop(to);
        self.push(Inst::Forever(to));
    }

    fn push(&mut self, inst: Inst) {
        self.builder.code.push(inst);
    }

    fn declare(&mut self, kind: Kind, object: Operand) {
        let program = self.builder.programs.len() - 1;
        self.builder.uses.push(Use { program, kind, object, turns: self.turns });
    }

    fn dist(&mut self, dist: Dist) -> u32 {
        let dists = &mut self.builder.dists;
        let row = dists.iter().position(|known| *known == dist).unwrap_or_else(|| {
            dists.push(dist);
            dists.len() - 1
        });
        u32::try_from(row).expect("fewer lengths than instructions")
    }

    /// A loop from `to` to here makes a system call that takes time in each turn.
    fn check_loop(&mut self, to: u32) {
        let body = &self.builder.code[to as usize..];
        let is_free = |inst: &Inst| {
            matches!(
                inst,
                Inst::Mark(_) | Inst::FutexSet(..) | Inst::Repeat { .. } | Inst::Forever(_)
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
