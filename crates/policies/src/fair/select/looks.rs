//! `Looks`: how many CPUs a search for a CPU has read, and which of them are not simply behind the
//! waker's LLC.

use std::ops::AddAssign;

use simsched_core::{Far, Placement, Reason};
use simsched_topology::{CpuId, Distance};

/// The CPUs that a search has looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    /// All of them; a CPU that is looked at twice counts twice.
    pub(super) all: u16,
    /// Those among them that are nearer to the waker than its LLC, or farther.
    pub(super) far: Far,
    /// Groups that were summed up.
    pub(super) groups: u16,
}

impl Looks {
    /// `all` looks at CPUs of one LLC, of which so many are at CPUs of the waker's core.
    pub(super) fn in_llc(all: usize, same_core: usize) -> Looks {
        let count = |looks| u16::try_from(looks).expect("a core's threads are looked at once");
        let far = Far { same_core: count(same_core), ..Far::default() };
        Looks { all: count(all), far, groups: 0 }
    }

    /// Counts a look at a CPU that is `distance` away from the waker.
    pub(super) fn count(&mut self, distance: Distance) {
        self.far.count(distance);
        self.all += 1;
    }

    /// That these looks have led to `cpu`, for this reason.
    pub(super) fn found(self, cpu: CpuId, reason: Reason) -> Placement {
        let Looks { all, far, groups } = self;
        Placement { scanned: all, far, groups, ..Placement::at(cpu, reason) }
    }

    /// That these looks, and those by which a patch has chosen, have led to its choice.
    pub(super) fn chosen(mut self, choice: Placement) -> Placement {
        self.all += choice.scanned;
        self.found(choice.cpu, choice.reason)
    }
}

impl AddAssign for Looks {
    fn add_assign(&mut self, other: Looks) {
        self.all += other.all;
        self.far += other.far;
        self.groups += other.groups;
    }
}
