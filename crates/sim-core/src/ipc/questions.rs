//! What the machine asks of pipes before it prices an op on them.

use super::version::PAGES_KEPT;
use super::{Ipc, Page};
use crate::ids::PipeId;
use crate::workload::Op;

/// What an op finds at its pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Slots in use before the op.
    pub(crate) used: u8,
    /// Whether the op begins or ends a page, so that `head` or `tail` moves on.
    pub(crate) turns: bool,
}

impl Ipc {
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

    /// How many pages `op` allocates on its way to the mutex of its pipe.
    #[inline]
    pub(crate) fn prefill(&self, op: Op) -> u8 {
        match op {
            Op::Write { pipe, bytes } if self.version.prefills() => {
                self.pipes[pipe.idx()].prefill(bytes)
            }
            _ => 0,
        }
    }

    /// Adds to `pipe` what a write has allocated on its way.
    pub(crate) fn fill(&mut self, pipe: PipeId, pages: u8) {
        self.pipes[pipe.idx()].fill(pages);
    }

    /// How many pages `op`, which has been done, leaves to be freed behind the mutex of its pipe: they are the pipe's no
    /// more.
    pub(crate) fn trim(&mut self, op: Op) -> u32 {
        match op {
            Op::Write { pipe, .. } | Op::Read { pipe, .. } if self.version.prefills() => {
                u32::from(self.pipes[pipe.idx()].trim(PAGES_KEPT))
            }
            _ => 0,
        }
    }

    /// What a write of `bytes` finds at `pipe`, or a read; `None` if it is not ready for that.
    #[inline(always)]
    pub(crate) fn ready<const READ: bool>(
        &self,
        pipe: PipeId,
        bytes: u32,
        retry: bool,
    ) -> Option<Slots> {
        let pipe = &self.pipes[pipe.idx()];
        let unready = if READ { pipe.is_empty() } else { pipe.lacks_room(bytes, retry) };
        if unready {
            return None;
        }
        let turns = if READ { pipe.ends_page(bytes) } else { pipe.begins_page(bytes) };
        Some(Slots { used: pipe.used(), turns })
    }

    /// Whether `op` would find its pipe with nothing to read, or with no room to write anything;
    /// false for ops on other objects. A writer that has slept needs a slot.
    #[inline(always)]
    pub(crate) fn finds_pipe_unready(&self, op: Op, retry: bool) -> bool {
        match op {
            Op::Write { pipe, bytes } => self.pipes[pipe.idx()].lacks_room(bytes, retry),
            Op::Read { pipe, .. } => self.pipes[pipe.idx()].is_empty(),
            _ => false,
        }
    }
}
