//! `TaskId`, `ProcId`, `PipeId`, ...: `u32` newtypes that index plain tables.

use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of row `idx` of its table.
            ///
            /// # Panics
            /// When `idx` does not fit in 32 bits.
            pub fn new(idx: usize) -> $name {
                $name(u32::try_from(idx).expect("a table has at most 2^32 rows"))
            }

            /// The row of this id in its table.
            #[inline]
            pub const fn idx(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// A task: what the scheduler schedules. Declared before the run, never reused.
    TaskId,
    /// A process: the tasks that share one address space.
    ProcId,
    /// A pipe.
    PipeId,
    /// One end of a socket pair; the ends of pair `k` are `2k` and `2k + 1`.
    SocketId,
    /// A mutex of user space.
    LockId,
    /// A semaphore of the kernel for readers and writers.
    SemId,
    /// A barrier of user space.
    BarrierId,
    /// A futex word.
    FutexId,
    /// A point in time that a workload wants measured.
    MarkId,
    /// A set of CPUs to which tasks can be confined.
    MaskId,
    /// A part of memory.
    RegionId,
}

impl SocketId {
    /// The other end of the pair.
    pub const fn peer(self) -> SocketId {
        SocketId(self.0 ^ 1)
    }
}
