//! One end of a pair of UDP sockets over loopback; it answers whom to wake.
//!
//! Source: `udp_sendmsg()`, `__udp_enqueue_schedule_skb()` and `__skb_recv_udp()` in
//! `net/ipv4/udp.c`, `__skb_wait_for_more_packets()` in `net/core/datagram.c` and
//! `sock_def_readable()` in `net/core/sock.c`, Linux 6.1. The softirq that receives runs on the
//! sender's CPU, before its system call returns. Freed room counts at once here; the kernel returns
//! it a quarter of the buffer at a time while more datagrams wait.

use std::collections::VecDeque;

use super::Verdict;
use super::socket::Call;
use super::waitq::{Poller, Queue, WaitFor};
use crate::workload::Outcome;

/// Equal datagrams in a row.
#[derive(Clone, Copy, Debug)]
struct Run {
    bytes: u32,
    count: u32,
}

/// The state of one end.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// Pollers, newest first, then receivers in the order in which they came: they sleep
    /// exclusively.
    queue: Queue,
    inbox: VecDeque<Run>,
    /// What the datagrams in the inbox are accounted at, in bytes (`sk_rmem_alloc`).
    held: u64,
    /// The limit of `held`, in bytes (`sk_rcvbuf`).
    rcvbuf: u32,
    /// What a datagram is accounted at on top of its data, in bytes.
    overhead: u32,
}

impl End {
    pub(super) fn new(rcvbuf: u32, overhead: u32) -> End {
        End {
            queue: Queue::default(),
            inbox: VecDeque::with_capacity(1),
            held: 0,
            rcvbuf,
            overhead,
        }
    }

    /// Sends one datagram to `peer` and wakes one who sleeps there. It is lost when what lies there
    /// is accounted at more than the limit; so the last may go beyond it. A sender never waits.
    pub(super) fn send(&mut self, peer: &mut End, bytes: u32, call: Call<'_>) -> Verdict {
        let Call { sleepers, wakes, .. } = call;
        if peer.held <= u64::from(peer.rcvbuf) {
            peer.held += u64::from(bytes) + u64::from(peer.overhead);
            match peer.inbox.back_mut() {
                Some(run) if run.bytes == bytes => run.count += 1,
                _ => peer.inbox.push_back(Run { bytes, count: 1 }),
            }
            sleepers.wake_one_exclusive(&mut peer.queue, wakes);
        }
        Verdict::Done(Outcome::Done)
    }

    /// Receives one datagram, at most `bytes` of it: the others are lost.
    pub(super) fn recv(&mut self, bytes: u32, call: Call<'_>) -> Verdict {
        let Call { id, task, sleepers, .. } = call;
        let Some(run) = self.inbox.front_mut() else {
            sleepers.push_back(&mut self.queue, task, WaitFor::SocketData, id.0);
            return Verdict::Block;
        };
        let datagram = run.bytes;
        run.count -= 1;
        if run.count == 0 {
            self.inbox.pop_front();
        }
        self.held -= u64::from(datagram) + u64::from(self.overhead);
        Verdict::Done(Outcome::Bytes(datagram.min(bytes)))
    }

    /// Waits for data and takes none.
    pub(super) fn poll(&mut self, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers, .. } = call;
        let poller = Poller { task, retry, wait_for: WaitFor::SocketPoll, object: id.0 };
        sleepers.poll(&mut self.queue, !self.inbox.is_empty(), poller)
    }

    /// How many bytes were sent to this end and not received.
    pub(super) fn bytes(&self) -> u64 {
        self.inbox.iter().map(|run| u64::from(run.bytes) * u64::from(run.count)).sum()
    }

    /// How many bytes the first datagram has; 0 if there is none.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.inbox.front().map_or(0, |run| run.bytes)
    }
}
