//! `wake_affine`: the waker's CPU or the previous one.

use simsched_core::{TaskId, World};
use simsched_topology::CpuId;

use crate::fair::Fair;

/// What the comparison of loads looks at; `this` is the waker's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffineLoads {
    /// Load of the waker's CPU.
    pub this_load: u64,
    /// Load of the previous CPU.
    pub prev_load: u64,
    /// Hierarchical load of the wakee.
    pub task_load: u64,
    /// Hierarchical load of the waker, which is about to sleep; `None` if it is not.
    pub sync_load: Option<u64>,
    /// Capacity of the waker's CPU.
    pub this_capacity: u32,
    /// Capacity of the previous CPU.
    pub prev_capacity: u32,
    /// `imbalance_pct` of the domain; `None` favours nobody (feature `WA_BIAS` off).
    pub bias_pct: Option<u32>,
}

/// Whether the waker's CPU would be the less loaded of the two with the wakee on it.
///
/// ```text
/// (this - waker + wakee) * 100 / capacity(this) < (prev - wakee) * (100 + (pct - 100) / 2) / capacity(prev)
/// ```
///
/// Source: `wake_affine_weight()`.
#[must_use]
pub fn wake_affine_weight(loads: &AffineLoads) -> bool {
    let [this_capacity, prev_capacity] = [loads.this_capacity, loads.prev_capacity].map(i64::from);
    let task_load = loads.task_load.cast_signed();
    let mut this_eff_load = loads.this_load.cast_signed();
    if let Some(waker_load) = loads.sync_load {
        let waker_load = waker_load.cast_signed();
        if waker_load > this_eff_load {
            return true;
        }
        this_eff_load -= waker_load;
    }
    this_eff_load = this_eff_load.wrapping_add(task_load);
    let mut prev_eff_load = loads.prev_load.cast_signed().wrapping_sub(task_load);
    if let Some(pct) = loads.bias_pct {
        this_eff_load = this_eff_load.wrapping_mul(100);
        prev_eff_load = prev_eff_load.wrapping_mul(100 + (i64::from(pct) - 100) / 2);
    }
    this_eff_load = this_eff_load.wrapping_mul(prev_capacity);
    prev_eff_load = prev_eff_load.wrapping_mul(this_capacity);
    prev_eff_load = prev_eff_load.wrapping_add(i64::from(loads.sync_load.is_some()));
    this_eff_load < prev_eff_load
}

/// How often the two were compared, and the waker's CPU won.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::fair) struct AffineCounts {
    calls: u64,
    wins: u64,
}

impl AffineCounts {
    #[inline]
    pub(super) fn count(&mut self, wins: bool) {
        self.calls += 1;
        self.wins += u64::from(wins);
    }

    pub(in crate::fair) fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        emit("wake_affine_calls", self.calls);
        emit("wake_affine_to_waker", self.wins);
    }
}

/// The question of `wake_affine`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    pub(super) task: TaskId,
    pub(super) this: CpuId,
    pub(super) prev: CpuId,
    pub(super) sync: bool,
    pub(super) imbalance_pct: u32,
}

impl Fair {
    /// The waker's CPU or the previous one. Source: `wake_affine()`.
    pub(super) fn wake_affine(&mut self, world: &World, ask: Affine) -> CpuId {
        let mut target = None;
        if self.all.features.wa_idle {
            target = wake_affine_idle(world, ask, self.all.root(ask.this).h_nr_delayed);
        }
        if self.all.features.wa_weight && target.is_none() && self.is_lighter(world, ask) {
            target = Some(ask.this);
        }
        target.unwrap_or(ask.prev)
    }

    /// Source: `wake_affine_weight()`.
    fn is_lighter(&mut self, world: &World, ask: Affine) -> bool {
        let jiffies = world.jiffies();
        let this_load = self.cpu_load(ask.this);
        let sync_load = ask.sync.then(|| match world.curr(ask.this) {
            Some(waker) => self.all.task_h_load(waker, jiffies),
            None => self.all.idle_h_load(ask.this, jiffies),
        });
        // Then the wakee is not weighed, and its queue not noted as it is now.
        if sync_load.is_some_and(|load| load > this_load) {
            return true;
        }
        let task_load = self.all.task_h_load(ask.task, jiffies);
        wake_affine_weight(&AffineLoads {
            this_load,
            prev_load: self.cpu_load(ask.prev),
            task_load,
            sync_load,
            this_capacity: self.all.capacity(ask.this),
            prev_capacity: self.all.capacity(ask.prev),
            bias_pct: self.all.features.wa_bias.then_some(ask.imbalance_pct),
        })
    }

    /// Source: `cpu_load()`.
    #[inline]
    pub(super) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.all.root(cpu).avg.load_avg
    }
}

/// An idle waker's CPU means a wakeup by an interrupt: the CPU says nothing about the wakee, but
/// it shares the cache. Source: `wake_affine_idle()`.
fn wake_affine_idle(world: &World, ask: Affine, nr_delayed: u32) -> Option<CpuId> {
    let topology = world.topology();
    let prev_is_idle = world.is_idle(ask.prev);
    if world.is_idle(ask.this) && topology.llc_of(ask.this) == topology.llc_of(ask.prev) {
        return Some(if prev_is_idle { ask.prev } else { ask.this });
    }
    // Who sleeps and is queued still does not count (6.12).
    if ask.sync && world.rq(ask.this).nr_running - nr_delayed == 1 {
        return Some(ask.this);
    }
    prev_is_idle.then_some(ask.prev)
}
