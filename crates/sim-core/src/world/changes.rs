//! `Changes`: which CPUs have changed lately in what a copy of the world needs.

use simsched_topology::CpuId;

/// The last changes, so that who keeps a copy of the world brings only those CPUs up to date.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// The CPU of each of the last changes; that of number n at n modulo the length, which is a power of two.
    last: Vec<CpuId>,
    /// How many there were since the start.
    count: u64,
}

impl Changes {
    /// None yet, on a machine of so many CPUs.
    pub(super) fn new(nr_cpus: usize) -> Changes {
        Changes { last: vec![CpuId(0); nr_cpus.next_power_of_two()], count: 0 }
    }

    /// `cpu` has changed.
    #[inline]
    pub(super) fn note(&mut self, cpu: CpuId) {
        let at = self.place(self.count);
        self.last[at] = cpu;
        self.count += 1;
    }

    /// How many there were since the start.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The CPUs of all changes behind the first `seen`, a CPU once for each change; none if they are more than are
    /// kept, or fewer than `seen` have been.
    pub(super) fn since(&self, seen: u64) -> Option<impl Iterator<Item = CpuId> + '_> {
        let since = self.count.checked_sub(seen)?;
        (since <= self.last.len() as u64)
            .then(|| (seen..self.count).map(|number| self.last[self.place(number)]))
    }

    /// Where the change of this number is kept.
    #[inline]
    fn place(&self, number: u64) -> usize {
        usize::try_from(number & (self.last.len() as u64 - 1)).expect("below a length")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_kept_until_they_are_more_than_the_cpus() {
        let mut changes = Changes::new(3);
        for cpu in [2, 0, 2] {
            changes.note(CpuId(cpu));
        }
        let since = |changes: &Changes, seen| {
            changes.since(seen).map(|cpus| cpus.map(|cpu| cpu.0).collect::<Vec<_>>())
        };
        assert_eq!(since(&changes, 0), Some(vec![2, 0, 2]));
        assert_eq!(since(&changes, 2), Some(vec![2]));
        assert_eq!(since(&changes, changes.count()), Some(vec![]));
        for cpu in [1, 1] {
            changes.note(CpuId(cpu));
        }
        assert_eq!(since(&changes, 0), None);
        assert_eq!(since(&changes, 1), Some(vec![0, 2, 1, 1]));
        assert_eq!(since(&changes, 6), None);
    }
}
