//! A pipe: sixteen page slots, readers and writers; it answers whom to wake.
//!
//! Source: `pipe_write()`, `pipe_read()` and `pipe_poll()` in `fs/pipe.c`, Linux 6.1, 6.14 and 7.3.

use super::waitq::{Poller, Queue, Sleepers, WaitFor};
use super::{Verdict, Wakes};
use crate::ids::{PipeId, TaskId};
use crate::workload::Outcome;

/// Slots of a pipe (`PIPE_DEF_BUFFERS`).
const SLOTS: u8 = 16;

/// Bytes of a slot: one page of x86.
const PAGE: u32 = 4096;

/// The state of one pipe, in one cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct Pipe {
    /// `rd_wait`: pollers, newest first, then readers in the order in which they came.
    readers: Queue,
    /// `wr_wait`: writers in the order in which they came.
    writers: Queue,
    /// How far the page of each slot is written, in bytes; those in use are `used` slots from
    /// `first` on, cyclically.
    filled: [u16; SLOTS as usize],
    /// How far the page of the first slot is read, in bytes.
    offset: u16,
    first: u8,
    used: u8,
    /// Pages that reads have left for the next writes (`tmp_page`).
    spare: u8,
    /// The most of them while the mutex is held; a page more is freed (`anon_pipe_buf_release()`).
    most_spare: u8,
    /// Whether anybody has ever polled (`poll_usage`): from then on each write wakes.
    polled: bool,
}

const _: () = assert!(size_of::<Pipe>() == 64, "one cache line");

/// The call of one task on one pipe.
pub(super) struct Call<'a> {
    pub(super) id: PipeId,
    pub(super) task: TaskId,
    pub(super) retry: bool,
    pub(super) sleepers: &'a mut Sleepers,
    pub(super) wakes: &'a mut Wakes,
}

impl Pipe {
    /// An empty one, which may have so many pages for the next writes.
    pub(super) fn new(most_spare: u8) -> Pipe {
        Pipe { most_spare, ..Pipe::default() }
    }

    /// Writes `bytes`, or as much as fits.
    ///
    /// The part beyond whole pages is appended to the last slot if it fits there completely, and
    /// only when the call starts; all else takes new slots. The reader is woken if the pipe was
    /// empty when the write started or went on after a sleep, or if the pipe was ever polled.
    pub(super) fn write(&mut self, bytes: u32, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers, wakes } = call;
        if bytes == 0 {
            return Verdict::Done(Outcome::Done);
        }
        if retry && self.is_full() {
            sleepers.queue_again(&mut self.writers, task, WaitFor::PipeRoom, id.0);
            return Verdict::Block;
        }
        if retry {
            sleepers.finish_wait(&mut self.writers, task, WaitFor::PipeRoom);
        }
        let was_empty = self.used == 0;
        let left = if retry { sleepers.left(task) } else { self.merge(bytes) };
        let left = self.append(left);
        if left > 0 {
            sleepers.set_left(task, left);
            if was_empty {
                sleepers.wake_one_exclusive(&mut self.readers, wakes);
            }
            sleepers.push_back(&mut self.writers, task, WaitFor::PipeRoom, id.0);
            return Verdict::Block;
        }
        if was_empty || self.polled {
            sleepers.wake_one_exclusive(&mut self.readers, wakes);
        }
        if retry && !self.is_full() {
            sleepers.wake_one_exclusive(&mut self.writers, wakes);
        }
        Verdict::Done(Outcome::Done)
    }

    /// Reads at most `bytes`, at least one.
    ///
    /// With `wakes_spuriously` a writer is woken if the pipe was full when the read started, even if no slot became free:
    /// it looks, and sleeps again behind all others.
    pub(super) fn read(&mut self, bytes: u32, wakes_spuriously: bool, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers, wakes } = call;
        if bytes == 0 {
            return Verdict::Done(Outcome::Bytes(0));
        }
        if self.used == 0 {
            sleepers.queue_again(&mut self.readers, task, WaitFor::PipeData, id.0);
            return Verdict::Block;
        }
        if retry {
            sleepers.finish_wait(&mut self.readers, task, WaitFor::PipeData);
        }
        let was_full = self.is_full();
        let left = self.take(bytes);
        if was_full && (wakes_spuriously || !self.is_full()) {
            sleepers.wake_one_exclusive(&mut self.writers, wakes);
        }
        if retry && self.used > 0 {
            sleepers.wake_one_exclusive(&mut self.readers, wakes);
        }
        Verdict::Done(Outcome::Bytes(bytes - left))
    }

    /// Writes `bytes`, less than a page, if that neither blocks nor wakes anybody.
    #[inline(always)]
    pub(super) fn pass_write(&mut self, bytes: u32) -> bool {
        let wakes = (self.used == 0 || self.polled) && !self.readers.is_empty();
        if wakes || bytes == 0 || bytes >= PAGE {
            return false;
        }
        if self.used > 0 {
            let last = self.slot(self.used - 1);
            let filled = u32::from(self.filled[last]) + bytes;
            if filled <= PAGE {
                self.filled[last] = page_bytes(filled);
                return true;
            }
        }
        // What did not merge is all of it, and takes one slot.
        self.append(bytes) == 0
    }

    /// Reads at most `bytes` if that neither blocks nor wakes anybody: how many there were.
    #[inline(always)]
    pub(super) fn pass_read(&mut self, bytes: u32) -> Option<u32> {
        let wakes = self.is_full() && !self.writers.is_empty();
        if wakes || bytes == 0 || self.used == 0 {
            return None;
        }
        let offset = u32::from(self.offset);
        if bytes < u32::from(self.filled[usize::from(self.first % SLOTS)]) - offset {
            self.offset = page_bytes(offset + bytes);
            return Some(bytes);
        }
        Some(bytes - self.take(bytes))
    }

    /// Waits for data and takes none.
    pub(super) fn poll(&mut self, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers, .. } = call;
        self.polled = true;
        let poller = Poller { task, retry, wait_for: WaitFor::PipePoll, object: id.0 };
        sleepers.poll(&mut self.readers, self.used > 0, poller)
    }

    /// Whether there is nothing to read.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Whether a write of `bytes` would find no room for any of them; a writer that has slept needs a
    /// slot.
    #[inline]
    pub(super) fn lacks_room(&self, bytes: u32, retry: bool) -> bool {
        if retry || !self.is_full() {
            return self.is_full();
        }
        let part = bytes % PAGE;
        part == 0 || u32::from(self.filled[self.slot(self.used - 1)]) + part > PAGE
    }

    /// How many slots are in use.
    #[inline(always)]
    pub(super) fn used(&self) -> u8 {
        self.used
    }

    /// Whether a write of `bytes` takes a new slot.
    #[inline]
    pub(super) fn begins_page(&self, bytes: u32) -> bool {
        let fits = || u32::from(self.filled[self.slot(self.used - 1)]) + bytes <= PAGE;
        self.used == 0 || !fits()
    }

    /// Whether a page that a write begins has to be allocated.
    #[inline]
    pub(super) fn allocates(&self) -> bool {
        self.spare == 0
    }

    /// Whether a read of `bytes` empties the first slot.
    #[inline]
    pub(super) fn ends_page(&self, bytes: u32) -> bool {
        self.used > 0
            && u32::from(self.offset) + bytes
                >= u32::from(self.filled[usize::from(self.first % SLOTS)])
    }

    /// Whether a page that a read empties is freed.
    #[inline]
    pub(super) fn frees(&self) -> bool {
        self.spare >= self.most_spare
    }

    /// How many pages a write of `bytes` has to allocate so that the pipe has as many as it may need.
    pub(super) fn prefill(&self, bytes: u32) -> u8 {
        let most = u32::from(self.most_spare);
        let want = u8::try_from(bytes.div_ceil(PAGE).min(most)).unwrap_or(self.most_spare);
        want.saturating_sub(self.spare)
    }

    /// Adds pages that a write has allocated (`anon_pipe_prefill_and_lock()`).
    pub(super) fn fill(&mut self, pages: u8) {
        self.spare = self.spare.saturating_add(pages).min(self.most_spare);
    }

    /// Takes the pages away that it has beyond `keep`: how many (`anon_pipe_trim_and_unlock()`).
    pub(super) fn trim(&mut self, keep: u8) -> u8 {
        let excess = self.spare.saturating_sub(keep);
        self.spare -= excess;
        excess
    }

    /// How often a write of `bytes` that succeeds looks for sleepers: for a reader if the pipe was empty
    /// or is polled, and for the next writer if it has slept itself and leaves room.
    pub(super) fn looks_of_write(&self, bytes: u32, retry: bool) -> u32 {
        let fills = self.used + u8::from(self.begins_page(bytes)) >= SLOTS;
        u32::from(self.used == 0 || self.polled) + u32::from(retry && !fills)
    }

    /// The same of a read: for a writer if the pipe was full, and for the next reader if it has slept
    /// itself and leaves something.
    pub(super) fn looks_of_read(&self, bytes: u32, retry: bool) -> u32 {
        u32::from(self.is_full()) + u32::from(retry && self.bytes() > bytes)
    }

    /// How many bytes are written and not read.
    pub(super) fn bytes(&self) -> u32 {
        let filled = (0..self.used).map(|nth| u32::from(self.filled[self.slot(nth)])).sum::<u32>();
        filled - u32::from(self.offset)
    }

    /// Whether all slots are in use (`pipe_full`): the last may still have room to merge.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.used == SLOTS
    }

    /// The slot `nth` places behind the first one in use.
    #[inline]
    fn slot(&self, nth: u8) -> usize {
        usize::from((self.first + nth) % SLOTS)
    }

    /// Appends what `bytes` has beyond whole pages to the last slot in use, if it fits there;
    /// returns how many bytes are left to write.
    #[inline]
    fn merge(&mut self, bytes: u32) -> u32 {
        let part = bytes % PAGE;
        if part == 0 || self.used == 0 {
            return bytes;
        }
        let last = self.slot(self.used - 1);
        let filled = u32::from(self.filled[last]) + part;
        if filled > PAGE {
            return bytes;
        }
        self.filled[last] = page_bytes(filled);
        bytes - part
    }

    /// Fills new slots, one page each, while there are any; returns how many bytes are left.
    #[inline]
    fn append(&mut self, bytes: u32) -> u32 {
        let mut left = bytes;
        while left > 0 && !self.is_full() {
            let chunk = left.min(PAGE);
            let slot = self.slot(self.used);
            self.filled[slot] = page_bytes(chunk);
            self.used += 1;
            self.spare = self.spare.saturating_sub(1);
            left -= chunk;
        }
        left
    }

    /// Takes at most `bytes` and releases the slots that are read to their end; returns how many
    /// bytes were not there.
    #[inline]
    fn take(&mut self, bytes: u32) -> u32 {
        let mut left = bytes;
        while left > 0 && self.used > 0 {
            let filled = u32::from(self.filled[usize::from(self.first)]);
            let offset = u32::from(self.offset);
            let chunk = left.min(filled - offset);
            left -= chunk;
            if offset + chunk == filled {
                self.offset = 0;
                self.first = (self.first + 1) % SLOTS;
                self.used -= 1;
                self.spare = (self.spare + 1).min(self.most_spare);
            } else {
                self.offset = page_bytes(offset + chunk);
            }
        }
        left
    }
}

/// A position within a page.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most PAGE")]
fn page_bytes(bytes: u32) -> u16 {
    debug_assert!(bytes <= PAGE, "a position lies within its page");
    bytes as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the lab's kernel 6.1.176 a read that empties a page takes 44 ns longer, and 326 where the
    /// pipe keeps a page already: of a pipe of two pages that is the second.
    #[test]
    fn a_pipe_keeps_one_page_and_frees_the_next() {
        let mut pipe = Pipe::new(1);
        assert!(pipe.allocates() && pipe.pass_write(PAGE - 1));
        assert!(pipe.allocates() && pipe.pass_write(PAGE - 1));
        assert!(!pipe.frees() && pipe.pass_read(PAGE - 1).is_some());
        assert!(pipe.frees() && pipe.pass_read(PAGE - 1).is_some());
        assert!(!pipe.allocates() && pipe.pass_write(1) && pipe.allocates());
    }

    /// Two pages stay from 6.15 on; in 7.3 more of them while the mutex is held, of which two stay.
    #[test]
    fn newer_pipes_keep_two_pages() {
        let full = |most_spare| {
            let mut pipe = Pipe::new(most_spare);
            (0..4).for_each(|_| assert!(pipe.pass_write(PAGE - 1)));
            (0..4).for_each(|_| assert!(pipe.pass_read(PAGE - 1).is_some()));
            pipe
        };
        let mut pipe = full(2);
        assert!(pipe.frees() && pipe.spare == 2 && pipe.trim(2) == 0);
        pipe = full(8);
        assert!(!pipe.frees() && pipe.trim(2) == 2 && pipe.spare == 2);
    }

    /// A write of up to a page allocates one if the pipe has none, also if it will fit behind the last; a longer one as
    /// many as it may need, eight at most.
    #[test]
    fn a_write_allocates_what_the_pipe_may_lack() {
        let mut pipe = Pipe::new(8);
        assert_eq!([1, PAGE, PAGE + 1, 20 * PAGE].map(|bytes| pipe.prefill(bytes)), [1, 1, 2, 8]);
        pipe.fill(1);
        assert_eq!([1, PAGE + 1].map(|bytes| pipe.prefill(bytes)), [0, 1]);
        assert!(pipe.pass_write(100) && pipe.prefill(100) == 1);
    }

    /// `___wait_event()`: a wakeup from elsewhere, such as a late one from the mutex of the pipe, leaves the
    /// entry in the queue; who finds its condition false keeps its place, and who goes on takes it off.
    #[test]
    fn who_is_woken_by_something_else_is_queued_once_and_not_any_more_when_it_goes_on() {
        let (mut pipe, mut sleepers, mut wakes) =
            (Pipe::default(), Sleepers::new(3), Wakes::default());
        let (a, b, reader) = (TaskId(0), TaskId(1), TaskId(2));
        let id = PipeId(0);
        (0..SLOTS).for_each(|_| assert!(pipe.pass_write(PAGE - 1)));
        for (task, retry) in [(a, false), (b, false), (a, true)] {
            let call = Call { id, task, retry, sleepers: &mut sleepers, wakes: &mut wakes };
            assert_eq!(pipe.write(100, call), Verdict::Block);
        }
        let read = |pipe: &mut Pipe, sleepers: &mut Sleepers| {
            let mut wakes = Wakes::default();
            let call = Call { id, task: reader, retry: false, sleepers, wakes: &mut wakes };
            pipe.read(PAGE - 1, true, call);
            wakes.drain().map(|wake| wake.task).collect::<Vec<_>>()
        };
        assert_eq!(read(&mut pipe, &mut sleepers), [a]);
        // `b` comes back from elsewhere, and there is room: nobody is left in the queue.
        let call = Call { id, task: b, retry: true, sleepers: &mut sleepers, wakes: &mut wakes };
        assert_eq!(pipe.write(100, call), Verdict::Done(Outcome::Done));
        assert!(pipe.is_full() && pipe.writers.is_empty());
        assert_eq!(read(&mut pipe, &mut sleepers), []);
    }

    /// `pipe_write()` and `pipe_read()`, 6.1: the other side is looked for if the pipe was empty or full,
    /// the own one by who has slept and leaves something to do.
    #[test]
    fn who_has_slept_looks_for_the_next_of_its_side() {
        let mut pipe = Pipe::default();
        assert_eq!(pipe.looks_of_write(100, false), 1);
        assert!(pipe.pass_write(100) && pipe.pass_write(100));
        assert_eq!(pipe.looks_of_write(100, false), 0);
        assert_eq!(pipe.looks_of_write(100, true), 1);
        assert_eq!((pipe.looks_of_read(100, false), pipe.looks_of_read(100, true)), (0, 1));
        assert_eq!(pipe.looks_of_read(200, true), 0);
    }
}
