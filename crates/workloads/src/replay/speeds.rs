//! `Speeds`: what a span of time on a CPU was worth while others ran, as far as switches tell.

use std::sync::Arc;

use simsched_core::{FULL_SPEED, Speed};
use simsched_topology::{CpuId, Topology};

/// How fast each CPU of the recorded machine was at each time: by how many siblings of its core and how many
/// cores of its package were busy, as the machine's file prices that.
///
/// ```text
/// work(cpu, from, to) = sum of share(core) * clock(package) * time
/// ```
#[derive(Clone, Debug)]
pub struct Speeds {
    topology: Arc<Topology>,
    now: Speed,
    /// By core: its share of itself from a time on, in thousandths.
    shares: Vec<Vec<(u64, u16)>>,
    /// By package: its clock from a time on, in thousandths, and how many full nanoseconds that gave until then,
    /// in thousandths.
    clocks: Vec<Vec<(u64, u16, u64)>>,
}

impl Speeds {
    /// All CPUs of this machine are idle at the begin of a recording. Without `turbo` every core has the clock
    /// of the data sheet.
    #[must_use]
    pub fn new(topology: Arc<Topology>, turbo: bool) -> Speeds {
        let now = Speed::new(&topology, None).with_turbo(turbo, &topology);
        let shares = vec![Vec::new(); topology.nr_cores()];
        let clocks = vec![Vec::new(); topology.nr_packages()];
        let mut speeds = Speeds { topology, now, shares, clocks };
        for cpu in speeds.topology.clone().cpus().iter() {
            speeds.changes(0, cpu);
        }
        speeds
    }

    /// Whether every CPU always runs at full speed.
    #[must_use]
    pub fn are_constant(&self) -> bool {
        self.now.is_constant()
    }

    /// `cpu` runs a task from `time` on, in ns from the begin of the recording, or none. Times do not fall. A
    /// CPU that the machine does not have is left out.
    pub fn set_busy(&mut self, time: u64, cpu: u32, busy: bool) {
        let Some(cpu) = self.cpu(cpu) else { return };
        self.now.set_busy(&self.topology, cpu, busy);
        self.changes(time, cpu);
    }

    fn cpu(&self, cpu: u32) -> Option<CpuId> {
        let cpu = usize::try_from(cpu).ok().filter(|cpu| *cpu < self.topology.nr_cpus())?;
        Some(CpuId::new(cpu))
    }

    fn changes(&mut self, time: u64, cpu: CpuId) {
        let share = self.now.share(&self.topology, cpu);
        let shares = &mut self.shares[self.topology.core_of(cpu).idx()];
        if shares.last().is_none_or(|(_, last)| *last != share) {
            shares.push((time, share));
        }
        let clock = self.now.clock(&self.topology, cpu);
        let clocks = &mut self.clocks[self.topology.package_of(cpu).idx()];
        let Some((since, last, until)) = clocks.last().copied() else {
            clocks.push((time, clock, 0));
            return;
        };
        if last != clock {
            clocks.push((time, clock, until + time.saturating_sub(since) * u64::from(last)));
        }
    }

    /// What `cpu` computes between two times, in ns at full speed; the time itself on a CPU that the machine
    /// does not have.
    #[must_use]
    pub fn work(&self, cpu: u32, from: u64, to: u64) -> u64 {
        let span = to.saturating_sub(from);
        let Some(cpu) = self.cpu(cpu) else { return span };
        let clocks = &self.clocks[self.topology.package_of(cpu).idx()];
        let clock = |time: u64| {
            let place = clocks.partition_point(|(since, ..)| *since <= time).saturating_sub(1);
            let (since, clock, until) = clocks[place];
            until + time.saturating_sub(since) * u64::from(clock)
        };
        let shares = &self.shares[self.topology.core_of(cpu).idx()];
        let first = shares.partition_point(|(since, _)| *since <= from).saturating_sub(1);
        let mut sum = 0_u128;
        for (nth, (since, share)) in shares.iter().enumerate().skip(first) {
            let begin = from.max(*since);
            let end = shares.get(nth + 1).map_or(to, |(next, _)| to.min(*next));
            if begin >= to {
                break;
            }
            sum += u128::from(clock(end) - clock(begin)) * u128::from(*share);
        }
        let full = u128::from(FULL_SPEED) * u128::from(FULL_SPEED);
        u64::try_from((sum + full / 2) / full).unwrap_or(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On Genoa a core alone has 3.7 GHz for 3.2 with all busy, and a thread beside its sibling 0.6 of that.
    #[test]
    fn work_is_less_beside_a_sibling() {
        let topology = Arc::new(Topology::builtin("genoa", None).unwrap());
        let mut speeds = Speeds::new(topology, true);
        speeds.set_busy(100, 0, true);
        speeds.set_busy(1_100, 192, true);
        speeds.set_busy(2_100, 192, false);
        assert_eq!(speeds.work(0, 100, 1_100), 1_156);
        assert_eq!(speeds.work(0, 1_100, 2_100), 694);
        assert_eq!(speeds.work(0, 600, 2_600), 578 + 694 + 578);
        assert_eq!(speeds.work(384, 0, 77), 77, "a CPU that is not there");
        assert_eq!(speeds.work(0, 50, 50), 0);
    }

    /// The clocks that its package had meanwhile, of every length of time.
    #[test]
    fn work_follows_the_clock_of_the_package() {
        let topology = Arc::new(Topology::builtin("genoa", None).unwrap());
        let mut speeds = Speeds::new(topology.clone(), true);
        let mut now = Speed::new(&topology, None);
        let mut sum = 0;
        for cpu in 0..96 {
            speeds.set_busy(u64::from(cpu) * 1_000, cpu, true);
            now.set_busy(&topology, CpuId::new(cpu as usize), true);
            sum += u64::from(now.clock(&topology, CpuId(0)));
        }
        assert_eq!(speeds.work(0, 0, 96_000), sum);
        assert!(sum < 96 * 1_156 && sum > 96 * 1_000);
    }
}
