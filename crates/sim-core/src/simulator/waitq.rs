//! The lock of a wait queue: who polls spins at it until all pollers are woken.
//!
//! Source: `__wake_up_common_lock()` in `kernel/sched/wait.c` holds it through a whole list of up to 64;
//! `remove_wait_queue()`, to which `poll_freewait()` in `fs/select.c` leads, takes it, Linux 6.1. Who waits
//! for a message alone is taken off by its waker (`autoremove_wake_function()`).

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::Simulator;
use crate::ids::{PipeId, SocketId};
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::{Op, Workload};

/// The wait queue of the readers of a pipe, or one of a pair of sockets: both ends count as one, for a
/// poller has no other to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitQueue {
    Pipe(PipeId),
    Sockets(u32),
}

impl WaitQueue {
    /// The one that an op wakes, or polls.
    pub(super) fn of(op: Op) -> Option<WaitQueue> {
        let pair = |SocketId(end)| WaitQueue::Sockets(end / 2);
        match op {
            Op::Write { pipe, .. } | Op::PollPipe(pipe) => Some(WaitQueue::Pipe(pipe)),
            Op::Send { socket, .. } | Op::PollSocket(socket) => Some(pair(socket)),
            _ => None,
        }
    }
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// A poller is back from its sleep: whether somebody still wakes others of its queue. Where CPUs take
    /// turns it looks again in its next one, for the pause between two looks ends a turn.
    pub(super) fn spins_at_queue(&mut self, cpu: CpuId, op: Op) -> bool {
        let turn = u64::from(self.prices.list().turn);
        if turn == 0 || !self.cpus[cpu.idx()].run.retry {
            return false;
        }
        let queue = WaitQueue::of(op);
        let held = self.desks.iter().any(|desk| queue.is_some() && desk.waitq == queue);
        if held {
            let ns = Nanos(turn - self.world.now().0 % turn);
            self.begin(cpu, Stage::Op, Cost::Syscall, ns);
        }
        held
    }
}
