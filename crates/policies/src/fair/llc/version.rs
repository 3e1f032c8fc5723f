//! Which form of cache-aware load balancing, and what it takes for the size of a process.
//!
//! Source: "Cache aware scheduling", version 4, T. Chen and Y. Chen, 2026-04-01, and what of it was
//! merged for Linux 7.2 (spec 08).

/// Which form of cache-aware load balancing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheAwareVersion {
    /// That of Linux 7.2.
    #[default]
    Merged,
    /// Version 4 of the series, 22 patches of April 2026.
    V4,
}

impl CacheAwareVersion {
    /// The words of the setting.
    pub const VALUES: &'static [&'static str] = &["merged", "v4"];

    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CacheAwareVersion::Merged => "merged",
            CacheAwareVersion::V4 => "v4",
        }
    }

    /// The form of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CacheAwareVersion> {
        [CacheAwareVersion::Merged, CacheAwareVersion::V4].into_iter().find(|it| it.name() == name)
    }

    /// What it takes for the size of a process.
    #[must_use]
    pub const fn footprint(self) -> Footprint {
        match self {
            CacheAwareVersion::Merged => Footprint::NumaFaults,
            CacheAwareVersion::V4 => Footprint::Rss,
        }
    }
}

/// What is taken for the size of a process, which is held against that of an LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footprint {
    /// Its resident memory (version 4), whether NUMA balancing is on or not.
    Rss,
    /// What its NUMA hinting faults count (Linux 7.2). NUMA balancing is not simulated, so no process is
    /// too large.
    NumaFaults,
    /// Nothing.
    Zero,
}

impl Footprint {
    /// The words of the setting; the first is what the form of cache-aware load balancing takes.
    pub const VALUES: &'static [&'static str] = &["default", "rss", "numa_faults", "zero"];

    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Footprint::Rss => "rss",
            Footprint::NumaFaults => "numa_faults",
            Footprint::Zero => "zero",
        }
    }

    /// The source of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Footprint> {
        [Footprint::Rss, Footprint::NumaFaults, Footprint::Zero]
            .into_iter()
            .find(|it| it.name() == name)
    }
}
