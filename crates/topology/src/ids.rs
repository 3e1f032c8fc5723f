//! Names of the parts of a machine: small integers that index tables, one type for each kind of part.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u16);

        impl $name {
            /// The id with this index. In debug builds an index beyond `u16` is an error.
            #[inline]
            #[must_use]
            #[expect(clippy::cast_possible_truncation, reason = "a machine has at most 1,024 parts of a kind")]
            pub const fn new(idx: usize) -> Self {
                debug_assert!(idx <= u16::MAX as usize);
                Self(idx as u16)
            }

            /// The index into a table that has one row for each part of this kind.
            #[inline]
            #[must_use]
            pub const fn idx(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id! {
    /// A hardware thread as Linux numbers it: what a runqueue belongs to.
    CpuId
}
id! {
    /// A physical core: the CPUs that share an L1 cache, which is the kernel's `cpu_smt_mask`.
    ///
    /// On Power10 it is the small core of four threads, not the eight threads that firmware calls a core.
    CoreId
}
id! {
    /// A last-level cache as the scheduler sees it: an L3, cut at the NUMA node in sub-NUMA modes.
    LlcId
}
id! {
    /// A NUMA node: CPUs with one local memory.
    NodeId
}
id! {
    /// A physical package: a socket.
    PackageId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_prints_its_bare_number() {
        assert_eq!(CpuId::new(383).to_string(), "383");
        assert_eq!(format!("{:>4}", LlcId(7)), "   7");
    }

    #[test]
    fn ids_are_ordered_by_number() {
        assert!(CpuId(9) < CpuId(10));
        assert_eq!(CpuId::new(1023).idx(), 1023);
    }
}
