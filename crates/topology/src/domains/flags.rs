//! `SdFlags`: what a sched domain does and shares, in the kernel's names.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

use super::Kernel;

/// The flags of a sched domain or group: a set of bits, numbered our own way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SdFlags(u32);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $printed:literal;)*) => {
        impl SdFlags {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*

            /// Every flag with its name in 6.8 and later, in the kernel's order.
            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$name, $printed)),*];
        }
    };
}

flags! {
    /// Balance when a CPU is about to go idle.
    BALANCE_NEWIDLE = 0, "SD_BALANCE_NEWIDLE";
    /// Balance on exec.
    BALANCE_EXEC = 1, "SD_BALANCE_EXEC";
    /// Balance on fork.
    BALANCE_FORK = 2, "SD_BALANCE_FORK";
    /// Balance on wakeup; never set by default.
    BALANCE_WAKE = 3, "SD_BALANCE_WAKE";
    /// A wakee may move to the waker's CPU.
    WAKE_AFFINE = 4, "SD_WAKE_AFFINE";
    /// The CPUs differ in capacity.
    ASYM_CPUCAPACITY = 5, "SD_ASYM_CPUCAPACITY";
    /// All capacities of the machine occur.
    ASYM_CPUCAPACITY_FULL = 6, "SD_ASYM_CPUCAPACITY_FULL";
    /// The CPUs share a core.
    SHARE_CPUCAPACITY = 7, "SD_SHARE_CPUCAPACITY";
    /// The CPUs share an L2 cluster (6.8 and later).
    CLUSTER = 8, "SD_CLUSTER";
    /// The CPUs share a last-level cache; `SD_SHARE_PKG_RESOURCES` before 6.8.
    SHARE_LLC = 9, "SD_SHARE_LLC";
    /// Only one CPU of the machine balances such a domain at a time.
    SERIALIZE = 10, "SD_SERIALIZE";
    /// Some CPUs are to be preferred; inert here.
    ASYM_PACKING = 11, "SD_ASYM_PACKING";
    /// Spread over the children: prefer to place tasks in a sibling domain.
    PREFER_SIBLING = 12, "SD_PREFER_SIBLING";
    /// Groups may overlap (before 7.2: later that is what NUMA means).
    OVERLAP = 13, "SD_OVERLAP";
    /// Crosses NUMA nodes.
    NUMA = 14, "SD_NUMA";
}

impl SdFlags {
    /// No flag.
    pub const NONE: Self = Self(0);

    /// What every fresh domain has before its level speaks.
    pub(super) const EVERYWHERE: Self = Self(
        Self::BALANCE_NEWIDLE.0
            | Self::BALANCE_EXEC.0
            | Self::BALANCE_FORK.0
            | Self::WAKE_AFFINE.0
            | Self::PREFER_SIBLING.0,
    );

    /// What a domain loses beyond the reclaim distance.
    pub(super) const NEARBY_ONLY: Self =
        Self(Self::BALANCE_EXEC.0 | Self::BALANCE_FORK.0 | Self::WAKE_AFFINE.0);

    /// The flags that mean nothing with a single group: all but `WAKE_AFFINE`.
    pub(super) const NEEDS_GROUPS: Self = Self(((1 << 15) - 1) & !Self::WAKE_AFFINE.0);

    /// Whether all of these are set.
    #[inline]
    #[must_use]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether any of these is set.
    #[inline]
    #[must_use]
    pub const fn intersects(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }

    /// Whether none is set.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names that this kernel prints, in its order, with the prefix `SD_`.
    pub fn names(self, kernel: Kernel) -> impl Iterator<Item = &'static str> {
        let renamed = move |(flag, name)| match (flag, kernel) {
            (Self::SHARE_LLC, Kernel::V6_1) => "SD_SHARE_PKG_RESOURCES",
            _ => name,
        };
        Self::NAMES.iter().copied().filter(move |(flag, _)| self.contains(*flag)).map(renamed)
    }
}

impl BitOr for SdFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for SdFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for SdFlags {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for SdFlags {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl fmt::Display for SdFlags {
    /// The names of 6.12 without their prefix, joined by `+`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            self.names(Kernel::V6_12).map(|name| name.trim_start_matches("SD_")).collect();
        f.pad(&names.join("+"))
    }
}
