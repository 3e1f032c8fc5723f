//! `SchedAvg`: the kernel's integer decay, bit for bit; no state beside its own.
//!
//! PELT (per-entity load tracking) is a geometric series over periods of 1024 units of 1024 ns:
//!
//! ```text
//! sum(now) = c0 + c1 * y + c2 * y^2 + ...        y^32 = 1/2
//! avg      = weight * sum / (LOAD_AVG_MAX - 1024 + period_contrib)
//! ```
//!
//! All steps truncate, so their order matters. Source: `kernel/sched/pelt.c`, Linux 6.1 (6.12 is
//! the same).

/// The limit of the series: the sum of a signal that was always 1. Source: `LOAD_AVG_MAX`.
pub const LOAD_AVG_MAX: u32 = 47_742;

/// What divides a sum at the start of a period. Source: `PELT_MIN_DIVIDER`.
pub const PELT_MIN_DIVIDER: u32 = LOAD_AVG_MAX - 1024;

/// Periods after which a sum has halved. Source: `LOAD_AVG_PERIOD`.
pub const LOAD_AVG_PERIOD: u32 = 32;

/// One full CPU is `1 << SCHED_CAPACITY_SHIFT`.
pub const SCHED_CAPACITY_SHIFT: u32 = 10;

/// The flag in the `enqueued` word of a task's `util_est` that says that `util_avg` has not changed
/// since the last sample. Source: `UTIL_AVG_UNCHANGED`.
pub const UTIL_AVG_UNCHANGED: u32 = 1 << 31;

/// `2^32 * y^n` for n in 0..32, rounded as the kernel does. Source: `runnable_avg_yN_inv`.
const RUNNABLE_AVG_YN_INV: [u32; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// `floor(2^64 / divider) + 1` by `period_contrib`: a division by the divider becomes a
/// multiplication, exact for dividends below [`EXACT_BELOW`].
static DIVIDER_INV: [u64; 1024] = divider_inverses();

/// With `m = floor(2^64 / d) + 1` the error of `n * m / 2^64` stays below `1 / d` while
/// `n * d < 2^64`; `d` is below 2^16.
const EXACT_BELOW: u64 = 1 << 48;

const fn divider_inverses() -> [u64; 1024] {
    let mut table = [0; 1024];
    let mut contrib = 0;
    while contrib < 1024 {
        table[contrib] = u64::MAX / (PELT_MIN_DIVIDER as u64 + contrib as u64) + 1;
        contrib += 1;
    }
    table
}

/// The three signals of an entity or a runqueue (`struct sched_avg`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SchedAvg {
    /// Up to when the sums count, in ns of the PELT clock; 0 is "attached to no runqueue".
    pub last_update_time: u64,
    /// An entity's is not weighted (at most [`LOAD_AVG_MAX`]), a runqueue's is.
    pub load_sum: u64,
    /// 1024 for each runnable task.
    pub runnable_sum: u64,
    /// 1024 while running.
    pub util_sum: u32,
    /// Units of 1024 ns that lie in the period that has begun, 0..1024.
    pub period_contrib: u32,
    /// Weight times the share of time runnable.
    pub load_avg: u64,
    /// 1024 times the mean number of runnable tasks.
    pub runnable_avg: u64,
    /// 1024 times the share of time running.
    pub util_avg: u64,
}

const _: () = assert!(size_of::<SchedAvg>() == 56, "a cache line with room for `util_est`");

/// `2^32 * y^n`, for a number of periods that is the same for several sums.
#[derive(Clone, Copy)]
struct Decay {
    shift: u32,
    inv: u32,
}

impl Decay {
    /// Everything is gone after 63 half-lives: `None`.
    #[inline]
    fn new(periods: u64) -> Option<Decay> {
        if periods > u64::from(LOAD_AVG_PERIOD * 63) {
            return None;
        }
        let periods = low32(periods);
        Some(Decay {
            shift: periods / LOAD_AVG_PERIOD,
            inv: RUNNABLE_AVG_YN_INV[(periods % LOAD_AVG_PERIOD) as usize],
        })
    }

    /// The shift comes first, then a product of 96 bits.
    #[inline]
    fn of(self, val: u64) -> u64 {
        low64((u128::from(val >> self.shift) * u128::from(self.inv)) >> 32)
    }
}

/// `val * y^n`. Source: `decay_load()`.
#[must_use]
pub fn decay_load(val: u64, n: u64) -> u64 {
    Decay::new(n).map_or(0, |decay| decay.of(val))
}

/// What a signal that was always 1 gathers over `d1` units, `periods - 1` whole periods and `d3`
/// units, `periods` of them crossed (at least 1).
///
/// ```text
/// c1 = d1 y^p      c2 = 1024 (y + ... + y^(p-1)) = MAX - MAX y^p - 1024      c3 = d3
/// ```
///
/// Source: `__accumulate_pelt_segments()`.
#[must_use]
pub fn accumulate_pelt_segments(periods: u64, d1: u32, d3: u32) -> u32 {
    segments(Decay::new(periods), d1, d3)
}

#[inline]
fn segments(decay: Option<Decay>, d1: u32, d3: u32) -> u32 {
    let (c1, gone) = decay.map_or((0, 0), |decay| {
        (low32(decay.of(u64::from(d1))), low32(decay.of(u64::from(LOAD_AVG_MAX))))
    });
    let c2 = LOAD_AVG_MAX.wrapping_sub(gone).wrapping_sub(1024);
    c1.wrapping_add(c2).wrapping_add(d3)
}

impl SchedAvg {
    /// What divides the sums now. Source: `get_pelt_divider()`.
    #[inline]
    #[must_use]
    pub fn divider(&self) -> u32 {
        PELT_MIN_DIVIDER + self.period_contrib
    }

    /// Brings the sums to `now`, during which `load`, `runnable` and `running` held; true when a
    /// period has ended, so that the averages are to be computed anew.
    ///
    /// A clock that went back sets the time stamp and nothing else; less than a unit changes
    /// nothing. Source: `___update_load_sum()`.
    #[inline]
    pub fn update_load_sum(&mut self, now: u64, load: u64, runnable: u64, running: bool) -> bool {
        let delta = now.wrapping_sub(self.last_update_time);
        if delta.cast_signed() < 0 {
            self.last_update_time = now;
            return false;
        }
        let delta = delta >> 10;
        if delta == 0 {
            return false;
        }
        self.last_update_time = self.last_update_time.wrapping_add(delta << 10);
        if load == 0 {
            self.accumulate_sum(delta, 0, 0, false)
        } else {
            self.accumulate_sum(delta, load, runnable, running)
        }
    }

    /// Source: `accumulate_sum()`.
    #[inline]
    fn accumulate_sum(&mut self, delta: u64, load: u64, runnable: u64, running: bool) -> bool {
        let total = delta.wrapping_add(u64::from(self.period_contrib));
        let periods = total / 1024;
        let rest = low32(total % 1024);
        let mut contrib = low32(delta);
        if periods > 0 {
            let decay = Decay::new(periods);
            self.decay_sums(decay);
            if load != 0 {
                contrib = segments(decay, 1024 - self.period_contrib, rest);
            }
        }
        self.period_contrib = rest;
        if load != 0 {
            let contrib = u64::from(contrib);
            self.load_sum = self.load_sum.wrapping_add(load.wrapping_mul(contrib));
            let runnable = runnable.wrapping_mul(contrib) << SCHED_CAPACITY_SHIFT;
            self.runnable_sum = self.runnable_sum.wrapping_add(runnable);
        }
        if running {
            self.util_sum = self.util_sum.wrapping_add(contrib << SCHED_CAPACITY_SHIFT);
        }
        periods > 0
    }

    #[inline]
    fn decay_sums(&mut self, decay: Option<Decay>) {
        let of = |val| decay.map_or(0, |decay| decay.of(val));
        self.load_sum = of(self.load_sum);
        self.runnable_sum = of(self.runnable_sum);
        self.util_sum = low32(of(u64::from(self.util_sum)));
    }

    /// The averages of the sums; `weight` (scaled down) multiplies the load.
    /// Source: `___update_load_avg()`.
    #[inline]
    pub fn update_load_avg(&mut self, weight: u64) {
        self.load_avg = self.divided(weight.wrapping_mul(self.load_sum));
        self.runnable_avg = self.divided(self.runnable_sum);
        self.util_avg = self.divided(u64::from(self.util_sum));
    }

    /// `sum / divider`, truncated.
    #[inline]
    #[must_use]
    pub fn divided(&self, sum: u64) -> u64 {
        match DIVIDER_INV.get(self.period_contrib as usize) {
            Some(&inv) if sum < EXACT_BELOW => low64((u128::from(sum) * u128::from(inv)) >> 64),
            _ => sum / u64::from(self.divider()),
        }
    }
}

/// The state of an entity that its signals depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeState {
    /// Its weight, scaled down.
    pub weight: u64,
    /// Queued, running or waiting.
    pub on_rq: bool,
    /// Runnable tasks: `on_rq` of a task, a stored count of a group (`se_runnable`).
    pub runnable: u64,
    /// It is the current entity of its runqueue.
    pub running: bool,
}

/// Brings a blocked entity to `now`; true when its averages have changed.
/// Source: `__update_load_avg_blocked_se()`.
#[inline]
pub fn update_load_avg_blocked_se(now: u64, avg: &mut SchedAvg, weight: u64) -> bool {
    let changed = avg.update_load_sum(now, 0, 0, false);
    if changed {
        avg.update_load_avg(weight);
    }
    changed
}

/// Brings an entity to `now`; true when its averages have changed, which also clears the
/// [`UTIL_AVG_UNCHANGED`] flag in `util_est_enqueued`. Source: `__update_load_avg_se()`.
#[inline]
pub fn update_load_avg_se(
    now: u64,
    avg: &mut SchedAvg,
    se: SeState,
    util_est_enqueued: &mut u32,
) -> bool {
    let changed = avg.update_load_sum(now, u64::from(se.on_rq), se.runnable, se.running);
    if changed {
        avg.update_load_avg(se.weight);
        *util_est_enqueued &= !UTIL_AVG_UNCHANGED;
    }
    changed
}

/// Brings a runqueue to `now`: `weight` is the sum of its entities' weights, scaled down,
/// `runnable` the number of runnable tasks below. True when its averages have changed.
/// Source: `__update_load_avg_cfs_rq()`.
#[inline]
pub fn update_load_avg_cfs_rq(
    now: u64,
    avg: &mut SchedAvg,
    weight: u64,
    runnable: u64,
    has_curr: bool,
) -> bool {
    let changed = avg.update_load_sum(now, weight, runnable, has_curr);
    if changed {
        avg.update_load_avg(1);
    }
    changed
}

/// The kernel keeps these in 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the kernel's u32 arithmetic")]
#[inline]
const fn low32(val: u64) -> u32 {
    val as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel's u64 arithmetic")]
#[inline]
const fn low64(val: u128) -> u64 {
    val as u64
}
