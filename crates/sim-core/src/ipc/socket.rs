//! One end of an AF_UNIX stream socket pair; it answers whom to wake.
//!
//! Source: `unix_stream_sendmsg()`, `unix_stream_read_generic()` and `unix_write_space()` in
//! `net/unix/af_unix.c`, `sock_alloc_send_pskb()` and `sock_def_readable()` in `net/core/sock.c`,
//! Linux 6.1; unchanged for stream sockets from 5.16 to 7.x.

use std::collections::VecDeque;

use super::waitq::{Poller, Queue, Sleepers, Sync, WaitFor};
use super::{Verdict, Wakes};
use crate::ids::{SocketId, TaskId};
use crate::workload::Outcome;

/// The largest buffer that one send makes, in bytes: a page less the shared info of a buffer (320
/// bytes), and 32 KiB of pages (`SKB_MAX_HEAD(0) + UNIX_SKB_FRAGS_SZ`, x86-64, 6.1).
const MAX_BUFFER: u32 = 3_776 + 32_768;

/// Equal buffers in a row: streams of equal messages are one run.
#[derive(Clone, Copy, Debug)]
struct Run {
    bytes: u32,
    count: u32,
}

/// The state of one end.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// All who sleep on this end, to receive, to send or to poll, newest first: they share one
    /// queue (`sk_sleep`).
    queue: Queue,
    /// What was sent to this end and not received.
    inbox: VecDeque<Run>,
    /// How much of the first buffer of the inbox is received, in bytes.
    offset: u32,
    /// What the buffers sent from this end and not freed are accounted at, in bytes
    /// (`sk_wmem_alloc`).
    outstanding: u64,
    /// The limit of `outstanding`, in bytes (`sk_sndbuf`).
    sndbuf: u32,
    /// What a buffer is accounted at on top of its data, in bytes.
    overhead: u32,
}

/// The call of one task on one end.
pub(super) struct Call<'a> {
    pub(super) id: SocketId,
    pub(super) task: TaskId,
    pub(super) retry: bool,
    pub(super) sleepers: &'a mut Sleepers,
    pub(super) wakes: &'a mut Wakes,
}

impl End {
    /// An end with this send buffer, whose buffers are accounted at so much more than their data.
    pub(super) fn new(sndbuf: u32, overhead: u32) -> End {
        End {
            queue: Queue::default(),
            inbox: VecDeque::with_capacity(1),
            offset: 0,
            outstanding: 0,
            sndbuf,
            overhead,
        }
    }

    /// Sends `bytes` from this end to `peer`, buffer by buffer; each wakes who sleeps there.
    ///
    /// A buffer is admitted while the outstanding ones are below the limit, so the last may go
    /// beyond it. The sleepers for room are not exclusive.
    pub(super) fn send(&mut self, peer: &mut End, bytes: u32, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers, wakes } = call;
        let mut left = if retry { sleepers.left(task) } else { bytes };
        while left > 0 {
            if self.outstanding >= u64::from(self.sndbuf) {
                sleepers.set_left(task, left);
                sleepers.push_front(&mut self.queue, task, WaitFor::SocketRoom, id.0);
                return Verdict::Block;
            }
            let buffer = left.min(self.max_buffer());
            left -= buffer;
            self.outstanding += u64::from(buffer) + u64::from(self.overhead);
            peer.push(buffer);
            sleepers.wake_for_data(&mut peer.queue, Sync::Yes, wakes);
        }
        Verdict::Done(Outcome::Done)
    }

    /// Receives at most `bytes` that were sent from `peer`, at least one.
    ///
    /// A stream knows no borders of messages: a receive goes on into the next buffer while it
    /// wants more and there is one. Each buffer that is consumed is freed, and if what is then
    /// outstanding is a quarter of the limit or less, all who sleep at the sending end wake.
    pub(super) fn recv(&mut self, peer: &mut End, bytes: u32, call: Call<'_>) -> Verdict {
        let Call { id, task, sleepers, wakes, .. } = call;
        if bytes == 0 {
            return Verdict::Done(Outcome::Bytes(0));
        }
        if self.inbox.is_empty() {
            sleepers.push_front(&mut self.queue, task, WaitFor::SocketData, id.0);
            return Verdict::Block;
        }
        let mut left = bytes;
        while left > 0
            && let Some(run) = self.inbox.front()
        {
            let buffer = run.bytes;
            let chunk = left.min(buffer - self.offset);
            left -= chunk;
            self.offset += chunk;
            if self.offset == buffer {
                self.pop();
                peer.outstanding -= u64::from(buffer) + u64::from(peer.overhead);
                if peer.outstanding * 4 <= u64::from(peer.sndbuf) {
                    sleepers.wake_for_room(&mut peer.queue, Sync::Yes, wakes);
                }
            }
        }
        Verdict::Done(Outcome::Bytes(bytes - left))
    }

    /// Waits for data and takes none.
    pub(super) fn poll(&mut self, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers, .. } = call;
        let poller = Poller { task, retry, wait_for: WaitFor::SocketPoll, object: id.0 };
        sleepers.poll(&mut self.queue, !self.inbox.is_empty(), poller)
    }

    /// How many bytes were sent to this end and not received.
    pub(super) fn bytes(&self) -> u64 {
        let all = |run: &Run| u64::from(run.bytes) * u64::from(run.count);
        self.inbox.iter().map(all).sum::<u64>() - u64::from(self.offset)
    }

    /// No buffer may take more than half of the limit.
    fn max_buffer(&self) -> u32 {
        (self.sndbuf / 2).saturating_sub(64).clamp(1, MAX_BUFFER)
    }

    fn push(&mut self, bytes: u32) {
        match self.inbox.back_mut() {
            Some(run) if run.bytes == bytes => run.count += 1,
            _ => self.inbox.push_back(Run { bytes, count: 1 }),
        }
    }

    fn pop(&mut self) {
        self.offset = 0;
        let Some(run) = self.inbox.front_mut() else { return };
        run.count -= 1;
        if run.count == 0 {
            self.inbox.pop_front();
        }
    }
}
