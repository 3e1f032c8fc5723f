//! `Version`: whose fair class.

use super::differences::{self, Difference};

/// Which kernel's fair class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Linux 5.16: proportional idle scans, hand-off to other LLCs only, a quarter of a NUMA
    /// domain filled before a fork leaves the node.
    V5_16,
    /// Linux 6.1.192, as Debian has it: with what was carried back into the long-term kernel.
    #[default]
    V6_1,
    /// Linux 6.5, the last one without EEVDF.
    V6_5,
    /// Linux 6.6, the first one with EEVDF.
    V6_6,
    /// Linux 6.12.117, as Debian has it: with what was carried back into the long-term kernel.
    V6_12,
    /// Linux 7.0.
    V7_0,
    /// Linux 7.2.12, as Debian has it.
    V7_2,
    /// Linux 7.3.4, as Debian has it.
    V7_3,
}

impl Version {
    /// The versions of CFS, from old to new.
    pub const CFS: &[Version] = &[Version::V5_16, Version::V6_1, Version::V6_5];

    /// The versions of EEVDF, from old to new.
    pub const EEVDF: &[Version] =
        &[Version::V6_6, Version::V6_12, Version::V7_0, Version::V7_2, Version::V7_3];

    /// Whether its discipline is EEVDF.
    #[inline]
    #[must_use]
    pub const fn is_eevdf(self) -> bool {
        self as u8 >= Version::V6_6 as u8
    }

    /// Whether virtual time is reckoned by 64-bit divisions and full weights, and not by reciprocals and weights scaled
    /// down (7.2 and later).
    #[inline]
    #[must_use]
    pub(in crate::fair) const fn is_exact(self) -> bool {
        self as u8 >= Version::V7_2 as u8
    }

    /// Whether all tasks of a CPU are in one tree, whatever their groups (7.3).
    #[inline]
    #[must_use]
    pub(in crate::fair) const fn is_flat(self) -> bool {
        self as u8 >= Version::V7_3 as u8
    }

    /// The version that is meant if none is named, of the same discipline.
    #[must_use]
    pub const fn plain(self) -> Version {
        if self.is_eevdf() { Version::V7_3 } else { Version::V6_1 }
    }

    /// The number, such as `6.1`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Version::V5_16 => "5.16",
            Version::V6_1 => "6.1",
            Version::V6_5 => "6.5",
            Version::V6_6 => "6.6",
            Version::V6_12 => "6.12",
            Version::V7_0 => "7.0",
            Version::V7_2 => "7.2",
            Version::V7_3 => "7.3",
        }
    }

    /// One line for people.
    #[must_use]
    pub const fn doc(self) -> &'static str {
        match self {
            Version::V5_16 => "Linux 5.16",
            Version::V6_1 => "Linux 6.1.192 as Debian has it, with what was carried back into it",
            Version::V6_5 => "Linux 6.5, the last one before EEVDF",
            Version::V6_6 => "Linux 6.6, the first one with EEVDF",
            Version::V6_12 => "Linux 6.12.117 as Debian has it, with what was carried back into it",
            Version::V7_0 => "Linux 7.0, by its description: no number of that kernel is at hand",
            Version::V7_2 => "Linux 7.2.12 as Debian has it",
            Version::V7_3 => "Linux 7.3.4 as Debian has it",
        }
    }

    /// What it does otherwise than the version before it of the same discipline, features and settings included; nothing
    /// for the oldest. See [`Version::CFS`] and [`Version::EEVDF`] for the order.
    #[must_use]
    pub const fn differences(self) -> &'static [Difference] {
        match self {
            Version::V5_16 | Version::V6_6 => &[],
            Version::V6_1 => differences::V6_1,
            Version::V6_5 => differences::V6_5,
            Version::V6_12 => differences::V6_12,
            Version::V7_0 => differences::V7_0,
            Version::V7_2 => differences::V7_2,
            Version::V7_3 => differences::V7_3,
        }
    }
}
