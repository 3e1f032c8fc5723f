//! `IpcVersion`: what the releases of Linux do differently with pipes.

/// Which kernel's rules of pipes apply, where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpcVersion {
    /// Up to 6.13 a read of a full pipe wakes a writer even if it frees no slot.
    #[default]
    V6_13,
    /// From 6.14 on a read of a full pipe wakes a writer only if it frees a slot.
    V6_14,
    /// From 6.15 on a pipe keeps two pages that were read out, and not one.
    V6_15,
    /// In 7.3 a write takes care before it takes the pipe's mutex that the pipe will have as many pages as it may need,
    /// also if it needs none; and the pages that a pipe has beyond two are freed behind the mutex.
    V7_3,
}

/// Pages that a pipe keeps for the next writes when its mutex is unlocked (`PIPE_PREALLOC_KEEP`).
pub(super) const PAGES_KEPT: u8 = 2;

impl IpcVersion {
    /// As many pages as a pipe may have for the next writes while its mutex is held (`tmp_page`, `PIPE_PREALLOC_MAX`).
    pub(super) const fn most_spare(self) -> u8 {
        match self {
            IpcVersion::V6_13 | IpcVersion::V6_14 => 1,
            IpcVersion::V6_15 => PAGES_KEPT,
            IpcVersion::V7_3 => 8,
        }
    }

    /// Whether pages of pipes are allocated before the mutex, and freed behind it down to [`PAGES_KEPT`].
    pub(super) const fn prefills(self) -> bool {
        matches!(self, IpcVersion::V7_3)
    }

    /// Whether a read of a full pipe wakes a writer even if it frees no slot.
    pub(super) const fn wakes_spuriously(self) -> bool {
        matches!(self, IpcVersion::V6_13)
    }
}
