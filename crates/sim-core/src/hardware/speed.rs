//! `Speed`: how fast a CPU runs now, by what its siblings do and how many cores of its socket are busy.

use simsched_topology::{CoreId, CpuId, Topology};

use super::divisor::Divisor;
use crate::time::Nanos;

/// Full speed, that of a core alone with all cores of its socket busy.
pub const FULL: u16 = 1000;

/// The speeds that are divided by in a short way: up to twice the full one, and a little more.
#[expect(clippy::cast_possible_truncation, reason = "a row of a short table")]
static SPEEDS: [Divisor; 2048] = {
    let mut speeds = [Divisor::new(1); 2048];
    let mut speed = 1;
    while speed < speeds.len() {
        speeds[speed] = Divisor::new(speed as u32);
        speed += 1;
    }
    speeds
};

/// How long what takes `ns` at full speed takes at `speed`.
#[inline(always)]
pub(crate) fn at_speed(ns: Nanos, speed: u16) -> Nanos {
    if speed == FULL {
        return ns;
    }
    let work = ns.0 * u64::from(FULL);
    match SPEEDS.get(usize::from(speed)) {
        Some(divisor) => Nanos(divisor.divide_up(work)),
        None => Nanos(work.div_ceil(u64::from(speed))),
    }
}

/// The same of two spans.
#[inline(always)]
pub(crate) fn both_at_speed(first: Nanos, second: Nanos, speed: u16) -> (Nanos, Nanos) {
    if speed == FULL {
        return (first, second);
    }
    let Some(divisor) = SPEEDS.get(usize::from(speed)) else {
        return (at_speed(first, speed), at_speed(second, speed));
    };
    let at = |ns: Nanos| Nanos(divisor.divide_up(ns.0 * u64::from(FULL)));
    (at(first), at(second))
}

/// How long what takes `ns` at `speed` takes at full speed.
#[inline]
pub(crate) fn at_full_speed(ns: Nanos, speed: u16) -> Nanos {
    if speed == FULL { ns } else { Nanos(ns.0 * u64::from(speed) / u64::from(FULL)) }
}

/// The speed of each CPU, in thousandths of [`FULL`].
///
/// ```text
/// speed = clock(busy cores of the socket) / clock(all cores busy) * share(busy threads of the core)
/// ```
///
/// The clock falls on a line from that of one or two busy cores to that of all. Source: section 2 of
/// the cost model; prices are those of a machine at work.
#[derive(Clone, Debug)]
pub struct Speed {
    busy: Vec<bool>,
    /// By core: its CPUs.
    threads: Vec<Vec<CpuId>>,
    /// By core: how many of them are busy.
    busy_threads: Vec<u16>,
    /// By package: cores with a busy thread.
    busy_cores: Vec<u32>,
    /// By number of busy threads of a core.
    shares: Vec<u16>,
    /// By number of busy cores of a package; empty if clocks are not known.
    clocks: Vec<u16>,
    /// Nothing here depends on anything.
    constant: bool,
}

impl Speed {
    /// `smt_milli` is the speed of a thread beside one busy sibling where the workload knows it; more
    /// threads share what two have together.
    #[must_use]
    pub fn new(topology: &Topology, smt_milli: Option<u16>) -> Speed {
        let cores = (0..topology.nr_cores()).map(|core| topology.core_span(CoreId::new(core)));
        let threads: Vec<Vec<CpuId>> = cores.map(|core| core.iter().collect()).collect();
        let most = threads.iter().map(Vec::len).max().unwrap_or(1);
        let share = |busy| match smt_milli {
            Some(milli) if busy > 1 => 2 * u64::from(milli) / busy as u64,
            _ => topology.facts().smt.rate_milli(busy),
        };
        let share = |busy| u16::try_from(share(busy)).unwrap_or(FULL);
        let shares: Vec<u16> = (0..=most).map(share).collect();
        Speed {
            busy: vec![false; topology.nr_cpus()],
            threads,
            busy_threads: vec![0; topology.nr_cores()],
            busy_cores: vec![0; topology.nr_packages()],
            constant: false,
            shares,
            clocks: clocks(topology),
        }
        .with_turbo(true, topology)
    }

    /// Without turbo all cores have the clock of the data sheet, however many are busy.
    #[must_use]
    pub fn with_turbo(mut self, turbo: bool, topology: &Topology) -> Speed {
        if !turbo {
            self.clocks = base_clock(topology).into_iter().collect();
        }
        self.constant = self.clocks.is_empty() && self.shares.iter().all(|share| *share == FULL);
        self
    }

    /// Full speed whatever happens.
    pub(crate) fn free(topology: &Topology) -> Speed {
        let shares = vec![FULL; topology.nr_cpus() + 1];
        Speed { shares, clocks: Vec::new(), constant: true, ..Speed::new(topology, None) }
    }

    /// Whether every CPU always runs at full speed.
    #[inline]
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.constant
    }

    /// `cpu` gets busy or idle.
    pub fn set_busy(&mut self, topology: &Topology, cpu: CpuId, busy: bool) {
        if self.busy[cpu.idx()] == busy {
            return;
        }
        self.busy[cpu.idx()] = busy;
        let threads = &mut self.busy_threads[topology.core_of(cpu).idx()];
        *threads = if busy { *threads + 1 } else { *threads - 1 };
        if *threads == u16::from(busy) {
            let cores = &mut self.busy_cores[topology.package_of(cpu).idx()];
            *cores = if busy { *cores + 1 } else { *cores - 1 };
        }
    }

    /// The CPUs of the core of `cpu`, which all have one speed.
    #[inline]
    pub(crate) fn core(&self, topology: &Topology, cpu: CpuId) -> &[CpuId] {
        &self.threads[topology.core_of(cpu).idx()]
    }

    /// The speed of `cpu` now.
    #[must_use]
    pub fn of(&self, topology: &Topology, cpu: CpuId) -> u16 {
        let share = self.share(topology, cpu);
        match self.clock(topology, cpu) {
            FULL => share.max(1),
            clock => {
                let speed = u32::from(share) * u32::from(clock) / u32::from(FULL);
                u16::try_from(speed).unwrap_or(FULL).max(1)
            }
        }
    }

    /// What `cpu` has of its core now, beside its busy siblings, in thousandths of a core of its own.
    #[inline]
    #[must_use]
    pub fn share(&self, topology: &Topology, cpu: CpuId) -> u16 {
        self.shares[usize::from(self.busy_threads[topology.core_of(cpu).idx()])]
    }

    /// The clock of the package of `cpu` now, in thousandths of that with all its cores busy.
    #[inline]
    #[must_use]
    pub fn clock(&self, topology: &Topology, cpu: CpuId) -> u16 {
        let cores = self.busy_cores[topology.package_of(cpu).idx()] as usize;
        self.clocks.get(cores).or(self.clocks.last()).copied().unwrap_or(FULL)
    }
}

/// The clock by number of busy cores, against that with all cores busy.
fn clocks(topology: &Topology) -> Vec<u16> {
    let facts = &topology.facts().frequency_ghz;
    let (Some(most), Some(least)) = (&facts.max_1core, &facts.allcore) else { return Vec::new() };
    let cores = topology.nr_cores() / topology.nr_packages();
    let clock = |busy: usize| {
        let (most, least) = (most.milli, least.milli.max(1));
        let beyond = busy.saturating_sub(2) as u64;
        let range = cores.saturating_sub(2).max(1) as u64;
        let lost = most.saturating_sub(least) * beyond.min(range) / range;
        u16::try_from((most - lost) * u64::from(FULL) / least).unwrap_or(FULL)
    };
    (0..=cores).map(clock).collect()
}

/// The clock of the data sheet, against that with all cores busy; none if either is not known.
fn base_clock(topology: &Topology) -> Option<u16> {
    let facts = &topology.facts().frequency_ghz;
    let (base, busy) = (facts.base.as_ref()?, facts.allcore.as_ref()?);
    u16::try_from(base.milli * u64::from(FULL) / busy.milli.max(1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_sibling_takes_its_share_and_a_busy_socket_its_clock() {
        let topology = Topology::builtin("genoa", None).unwrap();
        let mut speed = Speed::new(&topology, None);
        speed.set_busy(&topology, CpuId(0), true);
        assert_eq!(speed.of(&topology, CpuId(0)), 1156); // 3.7 / 3.2
        for cpu in topology.cpus().iter().take(96) {
            speed.set_busy(&topology, cpu, true);
        }
        assert_eq!(speed.of(&topology, CpuId(0)), 1000);
        speed.set_busy(&topology, CpuId(192), true);
        assert_eq!(speed.of(&topology, CpuId(0)), 600);
        speed.set_busy(&topology, CpuId(192), false);
        (1..96).for_each(|cpu| speed.set_busy(&topology, CpuId(cpu), false));
        assert_eq!(speed.of(&topology, CpuId(0)), 1156); // 3.7 / 3.2
    }

    #[test]
    fn without_turbo_the_clock_does_not_depend_on_other_cores() {
        let topology = Topology::builtin("spr-2x60", None).unwrap();
        let mut speed = Speed::new(&topology, None).with_turbo(false, &topology);
        speed.set_busy(&topology, CpuId(0), true);
        assert_eq!(speed.of(&topology, CpuId(0)), 655); // 1.9 / 2.9
        (1..60).for_each(|cpu| speed.set_busy(&topology, CpuId(cpu), true));
        assert_eq!(speed.of(&topology, CpuId(0)), 655);
        speed.set_busy(&topology, CpuId(120), true);
        assert_eq!(speed.of(&topology, CpuId(0)), 393); // 0.6 of it
    }

    #[test]
    fn a_workload_that_knows_its_own_share_of_a_core_gets_that() {
        let topology = Topology::builtin("power10", None).unwrap();
        let shares = Speed::new(&topology, Some(470)).shares;
        assert_eq!(shares[..5], [1000, 1000, 470, 313, 235]);
    }

    #[test]
    fn the_virtual_machines_of_the_lab_have_one_speed() {
        let topology = Topology::builtin("t16", None).unwrap();
        assert!(Speed::new(&topology, None).is_constant());
    }
}
