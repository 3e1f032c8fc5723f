//! The fast path by masks against a slow obvious twin, which walks CPU by CPU as the kernel does
//! (spec 05, sections 3.2, 4 and 8), on random worlds.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

mod common;

use proptest::prelude::*;
use simsched_core::testkit::WorldKit;
use simsched_core::{Placement, Policy, TaskId, WakeKind, Wakeup};
use simsched_policies::fair::{Fair, Features, IdleStats, Overrides, reason};
use simsched_topology::{CpuId, CpuSet, Topology};

use common::{machine, vector_machine};

/// What is true of one CPU.
#[derive(Clone, Copy, Debug)]
struct Cpu {
    /// 0 idle, 1 busy, 2 idle with a hand-off pending, 3 only `SCHED_IDLE` tasks, 4 idle task
    /// current but a task queued.
    state: u8,
    nr_running: u32,
    util_est: u32,
    allowed: bool,
}

#[derive(Clone, Debug)]
struct Case {
    cpus: Vec<Cpu>,
    waker: usize,
    prev: usize,
    recent: usize,
    sync: bool,
    pinned: bool,
    bias: bool,
    sis_util: bool,
    /// With the expected idle time of the waker's CPU and what a scan costs, in ns.
    sis_prop: Option<(u64, u64)>,
    scan: Vec<u32>,
    idle_cores: Vec<bool>,
}

/// The twin's machine: tables of plain numbers.
struct Shape {
    llc: Vec<usize>,
    core: Vec<usize>,
}

impl Shape {
    fn of(topology: &Topology) -> Shape {
        let cpus = || topology.cpus().iter();
        Shape {
            llc: cpus().map(|cpu| topology.llc_of(cpu).idx()).collect(),
            core: cpus().map(|cpu| topology.core_of(cpu).idx()).collect(),
        }
    }

    fn threads(&self, cpu: usize) -> Vec<usize> {
        (0..self.core.len()).filter(|&other| self.core[other] == self.core[cpu]).collect()
    }

    fn has_smt(&self) -> bool {
        (0..self.core.len()).any(|cpu| self.threads(cpu).len() > 1)
    }
}

struct Twin<'a> {
    shape: &'a Shape,
    case: &'a Case,
    recent_used_cpu: usize,
    idle_cores: Vec<bool>,
    sis_prop: Option<(u64, u64)>,
    scanned: usize,
}

impl Twin<'_> {
    fn is_idle(&self, cpu: usize) -> bool {
        self.case.cpus[cpu].state == 0
    }

    fn only_idle_policy(&self, cpu: usize) -> bool {
        self.case.cpus[cpu].state == 3
    }

    fn is_free(&self, cpu: usize) -> bool {
        self.is_idle(cpu) || self.only_idle_policy(cpu)
    }

    fn shares_cache(&self, a: usize, b: usize) -> bool {
        self.shape.llc[a] == self.shape.llc[b]
    }

    fn allowed(&self, cpu: usize) -> bool {
        !self.case.pinned || self.case.cpus[cpu].allowed
    }

    /// Spec 05, section 3.2, stage IDLE; the stage WEIGHT is switched off.
    fn target(&self) -> usize {
        let Case { waker, prev, sync, .. } = *self.case;
        if waker == prev || !self.allowed(waker) {
            return prev;
        }
        if self.is_idle(waker) && self.shares_cache(waker, prev) {
            return if self.is_idle(prev) { prev } else { waker };
        }
        if sync && self.case.cpus[waker].nr_running == 1 {
            return waker;
        }
        prev
    }

    /// Spec 05, sections 4 and 8.
    fn select(&mut self, target: usize) -> (usize, simsched_core::Reason) {
        let prev = self.case.prev;
        let near = self.shares_cache(prev, target);
        if self.case.bias && near {
            if self.is_free(prev) {
                return (prev, reason::BIAS_PREV_IDLE);
            }
            if self.case.cpus[prev].util_est <= 768 {
                return (prev, reason::BIAS_PREV_SPARE);
            }
        }
        if self.is_free(target) {
            return (target, reason::TARGET);
        }
        if !self.case.bias && prev != target && near && self.is_free(prev) {
            return (prev, reason::PREV);
        }
        let recent = std::mem::replace(&mut self.recent_used_cpu, prev);
        if recent != prev
            && recent != target
            && self.shares_cache(recent, target)
            && self.is_free(recent)
            && self.allowed(recent)
        {
            return (recent, reason::RECENT);
        }
        let span = (0..self.shape.llc.len()).filter(|&cpu| self.shares_cache(cpu, target)).count();
        if span > 1
            && let Some(found) = self.search_llc(target, near)
        {
            return found;
        }
        if self.case.bias && prev != target && near {
            return (prev, reason::BIAS_PREV_FALLBACK);
        }
        (target, reason::NONE_IDLE)
    }

    fn search_llc(&mut self, target: usize, near: bool) -> Option<(usize, simsched_core::Reason)> {
        let prev = self.case.prev;
        let has_core = self.shape.has_smt() && self.idle_cores[self.shape.llc[target]];
        if self.shape.has_smt() && !has_core && near {
            for cpu in self.shape.threads(prev) {
                if cpu != prev && self.allowed(cpu) && self.shares_cache(cpu, target) {
                    self.scanned += 1;
                    if self.is_free(cpu) {
                        return Some((cpu, reason::SIBLING));
                    }
                }
            }
        }
        self.scan(target, has_core)
    }

    /// Spec 05, section 4.1.
    fn scan(&mut self, target: usize, has_core: bool) -> Option<(usize, simsched_core::Reason)> {
        let nr_cpus = self.shape.llc.len();
        let near: Vec<bool> = (0..nr_cpus).map(|cpu| self.shares_cache(cpu, target)).collect();
        let mut mask: Vec<bool> = (0..nr_cpus).map(|cpu| near[cpu] && self.allowed(cpu)).collect();
        let before = self.scanned;
        let mut budget = u32::MAX;
        if let Some((idle, cost)) = self.sis_prop
            && !has_core
        {
            let span = near.iter().filter(|&&near| near).count() as u64;
            budget = 4;
            if span * idle > 4 * (cost + 1) {
                budget = u32::try_from(span * idle / (cost + 1)).unwrap();
            }
        }
        if self.case.sis_util {
            budget = self.case.scan[self.shape.llc[target]] + 1;
            if budget == 1 {
                return None;
            }
        }
        let mut remembered = None;
        for cpu in (target + 1..nr_cpus).chain(0..=target) {
            if !mask[cpu] {
                continue;
            }
            if has_core {
                if self.is_idle_core(cpu, &mut mask, &mut remembered) {
                    return Some((cpu, reason::IDLE_CORE));
                }
                continue;
            }
            budget -= 1;
            if budget == 0 {
                return None;
            }
            self.scanned += 1;
            if self.is_free(cpu) {
                self.pay((self.scanned - before) as u64);
                return Some((cpu, reason::IDLE_CPU));
            }
        }
        if !has_core {
            self.pay((self.scanned - before) as u64);
        }
        if has_core {
            self.idle_cores[self.shape.llc[target]] = false;
        }
        remembered.map(|cpu| (cpu, reason::IDLE_CPU))
    }

    /// Spec 05, section 4.3, at 35 ns for each CPU.
    fn pay(&mut self, scanned: u64) {
        if let Some((idle, cost)) = &mut self.sis_prop {
            let time = 35 * scanned;
            *idle -= time.min(*idle);
            *cost = cost.wrapping_add_signed((time.cast_signed() - cost.cast_signed()) / 8);
        }
    }

    /// Spec 05, section 4.2.
    fn is_idle_core(
        &mut self,
        cpu: usize,
        mask: &mut [bool],
        remembered: &mut Option<usize>,
    ) -> bool {
        let mut idle = true;
        for thread in self.shape.threads(cpu) {
            self.scanned += 1;
            if !self.is_idle(thread) {
                idle = false;
                if remembered.is_some() {
                    break;
                }
                if self.only_idle_policy(thread) && mask[thread] {
                    *remembered = Some(thread);
                    break;
                }
            } else if remembered.is_none() && mask[thread] {
                *remembered = Some(thread);
            }
        }
        if !idle {
            for thread in self.shape.threads(cpu) {
                mask[thread] = false;
            }
        }
        idle
    }
}

fn any_cpu() -> impl Strategy<Value = Cpu> {
    (prop_oneof![2 => Just(0u8), 6 => Just(1), 1 => 2u8..5], 1u32..4, 700u32..850, any::<bool>())
        .prop_map(|(state, nr_running, util_est, allowed)| Cpu {
            state,
            nr_running: if [0, 2].contains(&state) { 0 } else { nr_running },
            util_est,
            allowed,
        })
}

fn any_case(nr_cpus: usize) -> impl Strategy<Value = Case> {
    let cpu = 0..nr_cpus;
    (
        prop::collection::vec(any_cpu(), nr_cpus),
        (cpu.clone(), cpu.clone(), cpu),
        [any::<bool>(); 4],
        prop::option::of((0u64..3_000, 0u64..2_000)),
        prop::collection::vec(0u32..9, nr_cpus),
        prop::collection::vec(any::<bool>(), nr_cpus),
    )
        .prop_map(|(cpus, (waker, prev, recent), flags, sis_prop, scan, idle_cores)| Case {
            cpus,
            waker,
            prev,
            recent,
            sync: flags[0],
            pinned: flags[1],
            bias: flags[2],
            sis_util: flags[3],
            sis_prop,
            scan,
            idle_cores,
        })
}

const WAKEE: TaskId = TaskId(0);

/// The real thing on the world of a case.
fn select(topology: &Topology, case: &Case) -> (Fair, WorldKit, Placement) {
    let mut kit = WorldKit::new(topology.clone(), 250);
    for _ in 0..=case.cpus.len() {
        kit.add_task(0);
    }
    let features = Features {
        wa_weight: false,
        wakeup_bias_prev: case.bias,
        sis_util: case.sis_util,
        sis_prop: case.sis_prop.is_some(),
        ..Features::default()
    };
    let mut fair = Fair::new(features, Overrides::default());
    fair.attach(kit.world());
    for (idx, state) in case.cpus.iter().enumerate() {
        let cpu = CpuId::new(idx);
        match state.state {
            0 => {}
            2 => kit.set_pending(cpu, true),
            4 => kit.set_nr_running(cpu, state.nr_running),
            _ => {
                kit.run_on(cpu, Some(TaskId::new(idx + 1)));
                kit.set_nr_running(cpu, state.nr_running);
            }
        }
        fair.set_sched_idle(cpu, state.state == 3);
        fair.cfs_rq_mut(cpu).util_est_enqueued = state.util_est;
        let llc = topology.llc_of(cpu);
        let shared = fair.llc_shared_mut(llc);
        shared.nr_idle_scan = case.scan[llc.idx()];
        shared.has_idle_cores = case.idle_cores[llc.idx()];
    }
    if case.pinned {
        let allowed: CpuSet =
            topology.cpus().iter().filter(|cpu| case.cpus[cpu.idx()].allowed).collect();
        kit.set_allowed(WAKEE, Some(allowed));
    }
    fair.wakee_mut(WAKEE).recent_used_cpu = CpuId::new(case.recent);
    if let Some((wake_avg_idle, avg_scan_cost)) = case.sis_prop {
        let wake_stamp = kit.world().jiffies();
        let stats = fair.idle_stats_mut(CpuId::new(case.waker));
        *stats = IdleStats { wake_stamp, wake_avg_idle, avg_scan_cost, ..*stats };
    }
    let kind = if case.sync { WakeKind::WakeSync } else { WakeKind::Wake };
    let [waker, prev] = [case.waker, case.prev].map(CpuId::new);
    let wakeup = Wakeup { wakee: WAKEE, prev, waker, kind };
    let placement = fair.select_task_rq(kit.world(), &wakeup);
    (fair, kit, placement)
}

fn check(topology: &Topology, case: &Case) -> Result<(), TestCaseError> {
    let shape = Shape::of(topology);
    let mut twin = Twin {
        shape: &shape,
        case,
        recent_used_cpu: case.recent,
        idle_cores: case.idle_cores.clone(),
        sis_prop: case.sis_prop,
        scanned: 0,
    };
    let target = twin.target();
    let (cpu, why) = twin.select(target);
    let (fair, kit, placement) = select(topology, case);
    prop_assert_eq!((placement.cpu.idx(), placement.reason), (cpu, why));
    prop_assert_eq!(usize::from(placement.scanned), twin.scanned);
    prop_assert_eq!(fair.wakee(WAKEE).recent_used_cpu.idx(), twin.recent_used_cpu);
    if let Some(paid) = twin.sis_prop {
        let stats = fair.idle_stats(CpuId::new(case.waker));
        prop_assert_eq!((stats.wake_avg_idle, stats.avg_scan_cost), paid);
    }
    for cpu in topology.cpus().iter() {
        let hint = fair.llc_shared(kit.world(), cpu).has_idle_cores;
        prop_assert_eq!(hint, twin.idle_cores[shape.llc[cpu.idx()]]);
    }
    is_near(topology, case, placement, target)
}

/// Spec 05, invariant 1: the result is the target, prev, recent, or an allowed CPU in the LLC of
/// the target; hence in the LLC of prev or of the waker.
fn is_near(
    topology: &Topology,
    case: &Case,
    placement: Placement,
    target: usize,
) -> Result<(), TestCaseError> {
    let llc = |cpu: usize| topology.llc_of(CpuId::new(cpu));
    let cpu = placement.cpu.idx();
    let allowed = !case.pinned || case.cpus[cpu].allowed;
    prop_assert!(cpu == case.prev || cpu == target || (allowed && llc(cpu) == llc(target)));
    prop_assert!([llc(case.prev), llc(case.waker)].contains(&llc(cpu)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn selection_walks_like_the_twin_with_two_threads_a_core(case in any_case(16)) {
        check(&vector_machine("mini_2x4x2"), &case)?;
    }

    #[test]
    fn selection_walks_like_the_twin_without_smt(case in any_case(8)) {
        check(&machine([1, 2, 4, 1], "", "nodes_per_socket = 1"), &case)?;
    }

    #[test]
    fn selection_walks_like_the_twin_with_eight_threads_a_core(case in any_case(64)) {
        check(&machine([1, 2, 4, 8], "", "nodes_per_socket = 1"), &case)?;
    }

    #[test]
    fn selection_walks_like_the_twin_with_one_cpu_per_cache(case in any_case(4)) {
        check(&machine([1, 4, 1, 1], "", "nodes_per_socket = 1"), &case)?;
    }
}
