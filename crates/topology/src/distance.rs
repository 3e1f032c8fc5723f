//! `Distance`: how far apart two CPUs are, as caches and sockets see it.

use std::fmt;

/// How far apart two CPUs are, from near to far.
///
/// The ladder follows the hardware: two CPUs of different sockets are [`Distance::CrossSocket`] even when
/// the firmware interleaves memory and shows one NUMA node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Distance {
    /// The same CPU.
    SameCpu,
    /// SMT siblings: one core, one L1 and L2.
    SameCore,
    /// Two cores behind one last-level cache.
    SameLlc,
    /// Two last-level caches of one NUMA node.
    SameNode,
    /// Two NUMA nodes of one socket.
    SameSocket,
    /// Two sockets.
    CrossSocket,
}

impl Distance {
    /// All distances, from near to far.
    pub const ALL: [Self; 6] = [
        Self::SameCpu,
        Self::SameCore,
        Self::SameLlc,
        Self::SameNode,
        Self::SameSocket,
        Self::CrossSocket,
    ];

    /// The index into a table with one entry for each distance.
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self as usize
    }

    /// The name in tables and reports, such as `same_llc`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameCpu => "same_cpu",
            Self::SameCore => "same_core",
            Self::SameLlc => "same_llc",
            Self::SameNode => "same_node",
            Self::SameSocket => "same_socket",
            Self::CrossSocket => "cross_socket",
        }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
