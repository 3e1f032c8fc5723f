//! What the machine asks of pipes before it prices an op on them.

use super::{Ipc, Page};
use crate::hardware::Slots;
use crate::ids::PipeId;
use crate::workload::Op;

impl Ipc {
    /// Whether nothing is in `pipe`.
    #[inline]
    pub(crate) fn is_empty(&self, pipe: PipeId) -> bool {
        self.pipes[pipe.idx()].is_empty()
    }

    /// How often `op`, if it is done now, looks for a sleeper at its pipe: at the other side, and at its
    /// own if it has slept itself.
    pub(crate) fn looks_for_sleepers(&self, op: Op, retry: bool) -> u32 {
        match op {
            Op::Write { pipe, bytes } => self.pipes[pipe.idx()].looks_of_write(bytes, retry),
            Op::Read { pipe, bytes } => self.pipes[pipe.idx()].looks_of_read(bytes, retry),
            _ => 0,
        }
    }

    /// What becomes of a page of its pipe if `op` is done.
    #[inline]
    pub(crate) fn turns_page(&self, op: Op) -> Page {
        match op {
            Op::Write { pipe, bytes } if self.pipes[pipe.idx()].begins_page(bytes) => {
                if self.pipes[pipe.idx()].allocates() { Page::Allocated } else { Page::Begun }
            }
            Op::Read { pipe, bytes } if self.pipes[pipe.idx()].ends_page(bytes) => {
                if self.pipes[pipe.idx()].frees() { Page::Freed } else { Page::Ended }
            }
            _ => Page::Stays,
        }
    }

    /// What a write of `bytes` finds at `pipe`, or a read.
    #[inline(always)]
    pub(crate) fn slots(&self, pipe: PipeId, bytes: u32, reads: bool) -> Slots {
        let pipe = &self.pipes[pipe.idx()];
        let turns = if reads { pipe.ends_page(bytes) } else { pipe.begins_page(bytes) };
        Slots { used: pipe.used(), turns }
    }

    /// Whether a write of `bytes` would find no room for any of them; a writer that has slept needs a
    /// slot.
    #[inline]
    pub(crate) fn is_full(&self, pipe: PipeId, bytes: u32, retry: bool) -> bool {
        let pipe = &self.pipes[pipe.idx()];
        if retry { pipe.is_full() } else { !pipe.has_room(bytes) }
    }

    /// Whether `op` would find its pipe with nothing to read, or with no room to write anything;
    /// false for ops on other objects. A writer that has slept needs a slot.
    #[inline(always)]
    pub(crate) fn finds_pipe_unready(&self, op: Op, retry: bool) -> bool {
        match op {
            Op::Write { pipe, bytes } => self.is_full(pipe, bytes, retry),
            Op::Read { pipe, .. } => self.is_empty(pipe),
            _ => false,
        }
    }
}
