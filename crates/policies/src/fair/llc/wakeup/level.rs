//! How much of the series of cache-aware wakeups is there.
//!
//! Source: the prototype of 2025-03-25 and "sched: Introduce Cache aware scheduling", RFC of 2025-04-21
//! (spec 07).

/// A prefix of the series; each has all of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WakeupLevel {
    /// The prototype: its first patch.
    L1,
    /// Three patches: processes of one thread are left alone, and so is a wakee whose previous CPU is
    /// behind the preferred LLC.
    L2,
    /// All four: a process does not go where the preferred LLC is over-aggregated.
    #[default]
    L3,
}

impl WakeupLevel {
    /// The words of the setting.
    pub const VALUES: &'static [&'static str] = &["L1", "L2", "L3"];

    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            WakeupLevel::L1 => "L1",
            WakeupLevel::L2 => "L2",
            WakeupLevel::L3 => "L3",
        }
    }

    /// The level of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<WakeupLevel> {
        [WakeupLevel::L1, WakeupLevel::L2, WakeupLevel::L3].into_iter().find(|it| it.name() == name)
    }
}
