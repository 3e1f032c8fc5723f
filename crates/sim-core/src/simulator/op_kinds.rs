//! Which ops stay in user space.

use crate::workload::Op;

impl Op {
    /// Whether the op stays in user space as long as nobody waits or has to wait; else it makes a
    /// futex call.
    #[inline]
    pub(super) fn is_lock(self) -> bool {
        matches!(self, Op::Lock(_) | Op::Unlock(_) | Op::Barrier(_))
    }

    /// Whether the task computes in user space: it can be rescheduled at any instant.
    #[inline]
    pub(super) fn is_user(self) -> bool {
        matches!(self, Op::Run(_) | Op::Pause(_) | Op::Fetch { .. }) || self.is_memory()
    }
}
