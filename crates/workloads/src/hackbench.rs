//! hackbench: groups of senders and receivers, every sender to every receiver of its group.
//!
//! Source: the program of rt-tests 2.4: its options, its defaults, its text, and the order in
//! which it creates, starts and joins its workers.

mod outside;
mod text;
mod unix;

use simsched_core::{MarkId, Nanos, PipeId, Seed, SemId, SocketId};

pub(crate) use outside::{Outside, Space};
pub(crate) use text::Run;
pub use text::{NAME, OPTIONS, parse};

use crate::builder::{Body, Builder, ProgramId};
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, Reg};

/// What the workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Threads of one process (`-T`).
    Threads,
    /// Processes of one thread each (`-P`).
    Processes,
}

/// What the messages go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Pipes (`-p`).
    Pipe,
    /// AF_UNIX stream socket pairs.
    Socket,
}

/// The options of hackbench; none may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hackbench {
    /// How many groups (`-g`).
    pub groups: u32,
    /// How many senders, and how many receivers, a group has (`-f`).
    pub fds: u32,
    /// How many messages a sender sends to each receiver (`-l`).
    pub loops: u32,
    /// The size of a message (`-s`).
    pub bytes: u32,
    /// Threads or processes.
    pub mode: Mode,
    /// Pipes or sockets.
    pub channel: Channel,
}

impl Default for Hackbench {
    /// The defaults of the program itself: processes over sockets.
    fn default() -> Hackbench {
        Hackbench { mode: Mode::Processes, channel: Channel::Socket, ..THREADS_OVER_PIPES }
    }
}

/// The program's defaults but for `-T -p`, which is what most published results use.
pub const THREADS_OVER_PIPES: Hackbench = Hackbench {
    groups: 10,
    fds: 20,
    loops: 100,
    bytes: 100,
    mode: Mode::Threads,
    channel: Channel::Pipe,
};

/// When the first message may be sent: all workers are ready.
pub const START: MarkId = MarkId(0);
/// When the last worker is reaped.
pub const STOP: MarkId = MarkId(1);

/// When a task ends (`do_exit()`), if the run is timed from outside.
pub(crate) const ENDED: MarkId = MarkId(2);

/// A byte to say that a worker is ready, or that all may start.
const SIGNAL: u32 = 1;

impl Hackbench {
    /// Senders and receivers, without the main task.
    #[must_use]
    pub const fn workers(&self) -> u64 {
        // Two 32-bit factors and a doubling may not fit; then it is far beyond the limit anyway.
        (self.groups as u64 * self.fds as u64).saturating_mul(2)
    }

    /// All messages of a run.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        (self.groups as u64 * self.fds as u64)
            .saturating_mul(self.fds as u64)
            .saturating_mul(self.loops as u64)
    }

    /// Whether a run can hold it.
    fn check(&self) -> Result<(), WorkloadError> {
        if self.workers() > MAX_WORKERS {
            let (what, count, limit) = ("workers", self.workers(), MAX_WORKERS);
            return Err(WorkloadError::TooMany { what, count, limit });
        }
        Ok(())
    }

    /// The programs of all tasks: task 0 is main; then, group by group, the receivers by channel
    /// and the senders.
    ///
    /// # Errors
    /// When there are more tasks than a run can hold, or an option is 0.
    pub fn build(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.written(None, seed)
    }

    /// The same, timed from the start of its process to its end.
    pub(crate) fn build_within(
        &self,
        outside: Outside,
        seed: Seed,
    ) -> Result<Programs, WorkloadError> {
        self.written(Some(outside), seed)
    }

    fn written(&self, outside: Option<Outside>, seed: Seed) -> Result<Programs, WorkloadError> {
        self.check()?;
        let mut b = Builder::new();
        let plan = Plan::new(self, outside, &mut b);
        let main_proc = b.process(NAME);
        let main = plan.main(&mut b);
        b.start(NAME, main_proc, main, [0, 0]);
        let receiver = plan.receiver(&mut b);
        let sender = plan.sender(&mut b);
        let mut worker = |program: ProgramId, channel: u32| {
            let proc = match self.mode {
                Mode::Threads => main_proc,
                Mode::Processes => b.process(NAME),
            };
            b.thread(NAME, proc, program, [channel, 0]);
        };
        for group in 0..self.groups {
            let first = group * self.fds;
            (0..self.fds).for_each(|nth| worker(receiver, plan.read_end(first + nth)));
            (0..self.fds).for_each(|_| worker(sender, plan.write_end(first)));
        }
        b.build(seed)
    }
}

/// The most workers of a run: a million fit into 100 MB.
const MAX_WORKERS: u64 = 1 << 20;

/// Where the channels are. A pipe has one number for both ends, a socket pair has two: the first
/// is read, the second is written.
#[derive(Clone, Copy, Debug)]
struct Plan {
    hackbench: Hackbench,
    outside: Option<Outside>,
    /// The first object of all: the ready channel, then the wake channel, then those of the
    /// messages.
    ready: u32,
    wake: u32,
    messages: u32,
    /// The lock of the address space, and what happens under it.
    space: Option<(SemId, Space)>,
}

impl Plan {
    fn new(hackbench: &Hackbench, outside: Option<Outside>, b: &mut Builder) -> Plan {
        let channels = hackbench.groups * hackbench.fds;
        let mut make = |count, bytes| match hackbench.channel {
            Channel::Pipe => b.pipes(count).0,
            Channel::Socket => b.sockets(count, unix::socket(bytes)).0,
        };
        let (ready, wake) = (make(1, SIGNAL), make(1, SIGNAL));
        let messages = make(channels, hackbench.bytes);
        let space = outside.and_then(|outside| outside.space).map(|space| (b.sems(1), space));
        Plan { hackbench: *hackbench, outside, ready, wake, messages, space }
    }

    /// How far the next channel is.
    fn stride(&self) -> u8 {
        match self.hackbench.channel {
            Channel::Pipe => 1,
            Channel::Socket => 2,
        }
    }

    fn read_end(&self, channel: u32) -> u32 {
        self.messages + channel * u32::from(self.stride())
    }

    fn write_end(&self, channel: u32) -> u32 {
        self.read_end(channel) + u32::from(self.stride()) - 1
    }

    /// Starts all workers, waits until all are ready, lets them go, and waits for their ends.
    fn main(&self, b: &mut Builder) -> ProgramId {
        let (start, stop) = (b.mark("start"), b.mark("stop"));
        if self.outside.is_some() {
            let ended = b.mark("ended");
            debug_assert!(ended == ENDED, "marks have their ids in order");
        }
        debug_assert!((start, stop) == (START, STOP), "the marks have the ids that they promise");
        let workers = u32::try_from(self.hackbench.workers()).expect("build has counted them");
        b.program("main", |p| {
            let first = Operand::fixed(1);
            if self.outside.is_some() {
                p.mark(start);
            }
            self.surround(p, |outside| outside.before);
            self.spawn(p, workers);
            p.repeat(workers, |p, _| self.read(p, Operand::fixed(self.ready), SIGNAL));
            if self.outside.is_none() {
                p.mark(start);
            }
            self.surround(p, |outside| outside.before_start);
            self.write(p, Operand::fixed(self.wake + u32::from(self.stride()) - 1), SIGNAL);
            p.repeat(workers, |p, nth| match self.hackbench.mode {
                Mode::Threads => p.join(first.plus(nth)),
                Mode::Processes => {
                    p.wait_any();
                    self.surround(p, |outside| outside.reap);
                }
            });
            self.surround(p, |outside| outside.after[0]);
            self.ends(p);
            self.surround(p, |outside| outside.after[1]);
            p.mark(stop);
        })
    }

    /// Reads the messages of all senders of its group from the channel that is its argument.
    fn receiver(&self, b: &mut Builder) -> ProgramId {
        let Hackbench { loops, fds, bytes, .. } = self.hackbench;
        b.program("receiver", |p| {
            self.be_ready(p);
            p.repeat(loops, |p, _| p.repeat(fds, |p, _| self.read(p, Operand::arg(0), bytes)));
            self.surround(p, |outside| outside.receiver_end);
            self.own_heap(p);
            self.ends(p);
            self.surround(p, |outside| outside.receiver_leaves);
            self.leave(p);
        })
    }

    /// Writes a message to each channel of its group in turn; its argument is the first.
    fn sender(&self, b: &mut Builder) -> ProgramId {
        let Hackbench { loops, fds, bytes, .. } = self.hackbench;
        let channel = |nth: Reg| Operand::arg(0).plus_each(nth, self.stride());
        b.program("sender", |p| {
            self.be_ready(p);
            self.surround(p, |outside| outside.sender_start);
            p.repeat(loops, |p, _| {
                p.repeat(fds, |p, nth| self.write(p, channel(nth), bytes));
                self.surround(p, |outside| outside.sender_round);
            });
            self.surround(p, |outside| outside.sender_end);
            self.ends(p);
            self.surround(p, |outside| outside.sender_leaves);
            self.leave(p);
        })
    }

    /// Says that the worker is there, and waits for the start; nobody reads the byte that starts
    /// them, so all see it.
    fn be_ready(&self, p: &mut Body<'_>) {
        self.first_fault(p);
        if let Some(outside) = self.outside {
            p.run(outside::one_of(&outside.birth));
        }
        self.write(p, Operand::fixed(self.ready + u32::from(self.stride()) - 1), SIGNAL);
        match self.hackbench.channel {
            Channel::Pipe => p.poll_pipe(PipeId(self.wake)),
            Channel::Socket => p.poll_socket(SocketId(self.wake)),
        }
    }

    /// A part that counts only if the run is timed from outside.
    fn surround(&self, p: &mut Body<'_>, part: impl FnOnce(Outside) -> Nanos) {
        if let Some(outside) = self.outside {
            p.run(Dist::Constant(part(outside)));
        }
    }

    /// The task ends from here on: nothing counts its time any more.
    fn ends(&self, p: &mut Body<'_>) {
        if self.outside.is_some() {
            p.mark(ENDED);
        }
    }

    fn write(&self, p: &mut Body<'_>, end: Operand, bytes: u32) {
        match self.hackbench.channel {
            Channel::Pipe => p.write(end, bytes),
            Channel::Socket => p.send(end, bytes),
        }
    }

    fn read(&self, p: &mut Body<'_>, end: Operand, bytes: u32) {
        match self.hackbench.channel {
            Channel::Pipe => p.read_full(end, bytes),
            Channel::Socket => p.recv_full(end, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which groups of `-T -p -g groups -f fds` find the table of open files full.
    fn growing(groups: u32, fds: u32) -> Vec<u32> {
        let args =
            ["-T", "-p", "-g", &groups.to_string(), "-f", &fds.to_string()].map(str::to_owned);
        let hackbench = parse(&args).expect("good options");
        let plan = Plan::new(&hackbench, None, &mut Builder::new());
        (1..groups).filter(|&group| plan.grows(group)).collect()
    }

    #[test]
    fn the_table_of_open_files_grows_past_64_and_each_power_of_two() {
        // 7 files and 16 for each group: 55 before the last, 71 with it.
        assert_eq!(growing(4, 8), [3]);
        assert_eq!(growing(8, 4), [7]);
        // 47 and 39 files fit; the first group finds no thread that shares the table.
        assert_eq!(growing(1, 20), []);
        assert_eq!(growing(2, 8), []);
        // 87, 127, 167, 247 and 287 files with groups 1, 2, 3, 5 and 6.
        assert_eq!(growing(7, 20), [1, 3, 6]);
    }
}
