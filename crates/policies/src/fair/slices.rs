//! `Slices`: the slice timers of the CPUs (`rq->hrtick_timer`), by which slices end when they are used up (feature
//! `HRTICK`).

use simsched_core::{CallId, Cx, Nanos, SimTime, TimerId, When};
use simsched_topology::{CpuId, CpuSet};

/// The call by which a CPU starts its slice timer for another one that has queued a task there (`rq->hrtick_csd`).
pub(super) const START_SLICE: CallId = CallId(0);

/// The slice timers of all CPUs.
#[derive(Clone, Debug, Default)]
pub(super) struct Slices {
    /// What the call under way asks for: that a timer expires so long from now, or from the end of the `schedule()` in
    /// which its CPU is, if it is known to be in one.
    asked: Vec<(CpuId, Nanos, bool)>,
    /// CPUs whose timer is armed.
    armed: CpuSet,
    /// By CPU: when its timer is to expire (`rq->hrtick_time`), if another CPU has asked for that and the CPU itself has
    /// not armed the timer since.
    times: Vec<Option<SimTime>>,
    /// By CPU: the part of its time that interrupts take, 1024 being all of it (`cpu_util_irq()`).
    irq_utils: Vec<u64>,
}

impl Slices {
    /// Those of `nr_cpus` CPUs, none of them armed.
    pub(super) fn new(nr_cpus: u32) -> Slices {
        let (times, irq_utils) = (vec![None; nr_cpus as usize], vec![0; nr_cpus as usize]);
        Slices { times, irq_utils, ..Slices::default() }
    }

    /// The slice of the current task of `cpu` ends in `delay` (`hrtick_start()`); `schedules` where the CPU is in
    /// `schedule()`.
    #[inline]
    pub(super) fn start(&mut self, cpu: CpuId, delay: Nanos, schedules: bool) {
        self.asked.push((cpu, delay, schedules));
    }

    /// Interrupts take so much of the time of `cpu`, of 1024.
    #[inline]
    pub(super) fn set_irq_util(&mut self, cpu: CpuId, util: u64) {
        self.irq_utils[cpu.idx()] = util;
    }

    /// How long it takes `cpu` to run a task for `delta` ns beside its interrupts, which get the CPU first.
    /// Source: `hrtick_start_fair()`.
    #[inline]
    pub(super) fn beside_interrupts(&self, cpu: CpuId, delta: u64) -> u64 {
        let scale = match self.irq_utils[cpu.idx()] {
            util @ 1..1024 => (1024 * 1024) / (1024 - util),
            _ => 1024,
        };
        scale.wrapping_mul(delta) / 1024
    }

    /// Whether the slice of the current task of `cpu` has an end (`hrtick_active()`).
    #[inline]
    pub(super) fn is_active(&self, cpu: CpuId) -> bool {
        self.armed.contains(cpu)
    }

    /// The timer of `cpu` has expired, or was cancelled; true if it was armed.
    #[inline]
    pub(super) fn ended(&mut self, cpu: CpuId) -> bool {
        self.armed.remove(cpu)
    }

    /// Asks the simulator for what the call under way has asked for: another CPU is called to do so itself.
    pub(super) fn tell(&mut self, cx: &mut Cx<'_>) {
        for (cpu, delay, schedules) in self.asked.drain(..) {
            if schedules || cpu == cx.world.this_cpu() {
                self.armed.insert(cpu);
                self.times[cpu.idx()] = None;
                cx.arm(TimerId(u32::from(cpu.0)), cpu, When::AfterSchedule(delay));
            } else {
                self.times[cpu.idx()] = Some(cx.world.now() + delay);
                cx.call_on(cpu, START_SLICE);
            }
        }
    }

    /// `cpu` starts its timer, as another CPU has asked (`__hrtick_start()`). Where it has armed that itself meanwhile, at
    /// the end of its `schedule()`, the timer stays as it is.
    pub(super) fn start_here(&mut self, cx: &mut Cx<'_>, cpu: CpuId) {
        if let Some(at) = self.times[cpu.idx()] {
            self.armed.insert(cpu);
            cx.arm(TimerId(u32::from(cpu.0)), cpu, When::Near(at));
        }
    }
}
