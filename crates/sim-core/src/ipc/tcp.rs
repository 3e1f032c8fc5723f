//! One end of a TCP connection over loopback; it answers whom to wake.
//!
//! Source: `tcp_sendmsg_locked()`, `tcp_recvmsg_locked()` and `__tcp_cleanup_rbuf()` in
//! `net/ipv4/tcp.c`, `tcp_rcv_space_adjust()` and `tcp_fin()` in `net/ipv4/tcp_input.c`,
//! `__tcp_select_window()` in `net/ipv4/tcp_output.c`, `sk_stream_wait_memory()` and
//! `sk_stream_write_space()` in `net/core/stream.c`, Linux 6.1.
//!
//! Nothing is lost and nothing is reordered. The softirq that receives runs on the CPU of whoever
//! sends, a segment or a window, before its system call returns. A segment that the window admits is
//! acknowledged at once, and its room in the send buffer is free: there are no delayed
//! acknowledgements, and no congestion window beside the receiver's.

use super::socket::Call;
use super::waitq::{Poller, Queue, Sleepers, Sync, WaitFor};
use super::{Verdict, Wakes};
use crate::workload::Outcome;

/// The state of one end.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// All who sleep on this end, to receive, to send or to poll, newest first.
    queue: Queue,
    /// Bytes that have arrived here and were not received.
    inbox: u32,
    /// Bytes that were taken from a sender here and wait for the window of the other end.
    unsent: u32,
    /// How many bytes more the other end takes, as far as this one was told.
    window: u32,
    /// The limit of `unsent`, in bytes (`sk_sndbuf`).
    sndbuf: u32,
    /// The receive buffer in bytes; half of it is the window (`tcp_adv_win_scale` of 1).
    rcvbuf: u32,
    max_rcvbuf: u32,
    mss: u32,
    /// Bytes that were received since the buffer's size was last looked at.
    copied: u32,
    /// This end sends nothing more.
    shut: bool,
    /// The other end sends nothing more, and all that it has sent is here.
    ended: bool,
}

impl End {
    /// An end whose receive buffer grows from the first size to the second.
    pub(super) fn new(sndbuf: u32, [rcvbuf, max_rcvbuf]: [u32; 2], mss: u32) -> End {
        End {
            queue: Queue::default(),
            inbox: 0,
            unsent: 0,
            window: rcvbuf / 2,
            sndbuf,
            rcvbuf,
            max_rcvbuf,
            mss: mss.max(1),
            copied: 0,
            shut: false,
            ended: false,
        }
    }

    /// Takes `bytes` from the sender, buffer by buffer, and sends what the window admits. A buffer
    /// is admitted while those that wait are below the limit, so the last may go beyond it.
    pub(super) fn send(&mut self, peer: &mut End, bytes: u32, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers, wakes } = call;
        let mut left = if retry { sleepers.left(task) } else { bytes };
        while left > 0 {
            if self.unsent >= self.sndbuf {
                sleepers.set_left(task, left);
                sleepers.push_front(&mut self.queue, task, WaitFor::SocketRoom, id.0);
                return Verdict::Block;
            }
            let buffer = left.min(self.mss);
            left -= buffer;
            self.unsent += buffer;
            self.transmit(peer, sleepers, wakes);
        }
        Verdict::Done(Outcome::Done)
    }

    /// Receives at most `bytes` that have arrived, at least one, or none at the end of the stream.
    ///
    /// Then the buffer may grow, and the other end may be told of a wider window. Who sleeps there
    /// for room wakes, not synchronously, when a third of the send buffer is free.
    pub(super) fn recv(&mut self, peer: &mut End, bytes: u32, call: Call<'_>) -> Verdict {
        let Call { id, task, sleepers, wakes, .. } = call;
        if bytes == 0 || (self.inbox == 0 && self.ended) {
            return Verdict::Done(Outcome::Bytes(0));
        }
        if self.inbox == 0 {
            sleepers.push_front(&mut self.queue, task, WaitFor::SocketData, id.0);
            return Verdict::Block;
        }
        let chunk = bytes.min(self.inbox);
        self.inbox -= chunk;
        self.adjust_space(chunk);
        if self.widens(peer.window) {
            peer.window = self.room();
            peer.transmit(self, sleepers, wakes);
            if 2 * (u64::from(peer.sndbuf).saturating_sub(u64::from(peer.unsent)))
                >= u64::from(peer.unsent)
            {
                sleepers.wake_for_room(&mut peer.queue, Sync::No, wakes);
            }
        }
        Verdict::Done(Outcome::Bytes(chunk))
    }

    /// Sends the end of the stream behind all that waits.
    pub(super) fn shutdown(&mut self, peer: &mut End, call: Call<'_>) -> Verdict {
        self.shut = true;
        self.end_stream(peer, call.sleepers, call.wakes);
        Verdict::Done(Outcome::Done)
    }

    /// Waits for data or the end of the stream, and takes nothing.
    pub(super) fn poll(&mut self, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers, .. } = call;
        let poller = Poller { task, retry, wait_for: WaitFor::SocketPoll, object: id.0 };
        sleepers.poll(&mut self.queue, self.inbox > 0 || self.ended, poller)
    }

    /// How many bytes have arrived at this end and were not received.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.inbox)
    }

    /// What the window admits goes to `peer`, and wakes who sleeps there to receive.
    fn transmit(&mut self, peer: &mut End, sleepers: &mut Sleepers, wakes: &mut Wakes) {
        let sent = self.unsent.min(self.window);
        if sent > 0 {
            self.unsent -= sent;
            self.window -= sent;
            peer.inbox += sent;
            sleepers.wake_for_data(&mut peer.queue, Sync::Yes, wakes);
        }
        self.end_stream(peer, sleepers, wakes);
    }

    /// The end of the stream has arrived when nothing waits before it; it wakes all, not
    /// synchronously (`sk_state_change`).
    fn end_stream(&self, peer: &mut End, sleepers: &mut Sleepers, wakes: &mut Wakes) {
        if self.shut && self.unsent == 0 && !peer.ended {
            peer.ended = true;
            sleepers.wake_for_data(&mut peer.queue, Sync::No, wakes);
        }
    }

    /// The buffer grows with what is received in a round trip: here, in a window.
    fn adjust_space(&mut self, chunk: u32) {
        self.copied += chunk;
        if self.copied < self.rcvbuf / 2 {
            return;
        }
        let copied = u64::from(std::mem::take(&mut self.copied));
        let window = 2 * copied + 16 * u64::from(self.mss);
        let rcvbuf = u32::try_from(2 * window).unwrap_or(u32::MAX).min(self.max_rcvbuf);
        self.rcvbuf = self.rcvbuf.max(rcvbuf);
    }

    /// How many bytes more may arrive.
    fn room(&self) -> u32 {
        (self.rcvbuf / 2).saturating_sub(self.inbox)
    }

    /// Whether the other end, which knows of `known` bytes, is told: when at most half the window is
    /// left and the new one is twice as wide, and not for less than a segment or half a window.
    fn widens(&self, known: u32) -> bool {
        let full = self.rcvbuf / 2;
        let room = self.room();
        known <= full / 2 && room / 2 >= known && room >= self.mss.min(full / 2)
    }
}
