//! The fast path by masks against a slow obvious twin, which walks CPU by CPU as the kernel does
//! (spec 05, sections 3.2, 4 and 8), on random worlds.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use proptest::prelude::*;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Placement, TaskId, WakeKind, Wakeup};
use simsched_policies::catalog;
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::{Fair, Features, IdleStats};
use simsched_topology::{CpuId, CpuSet, Topology};

use crate::common::twin::{Case, Cpu, Shape, Twin};
use crate::common::{machine, vector_machine};

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
fn select(topology: &Topology, case: &Case) -> (PolicyHost<Fair>, Placement) {
    select_with(topology, case, false)
}

fn select_with(topology: &Topology, case: &Case, pays: bool) -> (PolicyHost<Fair>, Placement) {
    let mut kit = WorldKit::new(topology.clone(), 250);
    for _ in 0..=case.cpus.len() {
        kit.add_task(0);
    }
    let features = Features {
        wa_weight: false,
        sis_util: case.sis_util,
        sis_prop: case.sis_prop.is_some(),
        ..Features::default()
    };
    let mut class = FairSpec::from(features);
    class.patches.set("wakeup_bias_prev", case.bias);
    class.patches.set("bias_pays_search", pays);
    let mut host = PolicyHost::new(kit, class.fair_class());
    for (idx, state) in case.cpus.iter().enumerate() {
        let cpu = CpuId::new(idx);
        match state.state {
            0 => {}
            2 => host.kit.set_pending(cpu, true),
            4 => host.kit.set_nr_running(cpu, state.nr_running),
            _ => {
                host.kit.run_on(cpu, Some(TaskId::new(idx + 1)));
                host.kit.set_nr_running(cpu, state.nr_running);
            }
        }
        host.policy.set_sched_idle(cpu, state.state == 3);
        host.policy.cfs_rq_mut(cpu).util_est_enqueued = state.util_est;
        let llc = topology.llc_of(cpu);
        let shared = host.policy.llc_shared_mut(llc);
        shared.nr_idle_scan = case.scan[llc.idx()];
        shared.has_idle_cores = case.idle_cores[llc.idx()];
    }
    if case.pinned {
        let allowed: CpuSet =
            topology.cpus().iter().filter(|cpu| case.cpus[cpu.idx()].allowed).collect();
        host.kit.set_allowed(WAKEE, Some(allowed));
    }
    host.policy.wakee_mut(WAKEE).recent_used_cpu = CpuId::new(case.recent);
    if let Some((wake_avg_idle, avg_scan_cost)) = case.sis_prop {
        let wake_stamp = host.kit.world().jiffies();
        let stats = host.policy.idle_stats_mut(CpuId::new(case.waker));
        *stats = IdleStats { wake_stamp, wake_avg_idle, avg_scan_cost, ..*stats };
    }
    let kind = if case.sync { WakeKind::WakeSync } else { WakeKind::Wake };
    let [waker, prev] = [case.waker, case.prev].map(CpuId::new);
    let wakeup = Wakeup { wakee: WAKEE, prev, waker, kind };
    let placement = host.select_task_rq(&wakeup);
    (host, placement)
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
        same_core: 0,
    };
    let target = twin.target();
    let (cpu, why) = twin.select(target);
    let (host, placement) = select(topology, case);
    prop_assert_eq!((placement.cpu.idx(), placement.reason), (cpu, why));
    prop_assert_eq!(usize::from(placement.scanned), twin.scanned);
    prop_assert_eq!(usize::from(placement.far.same_core), twin.same_core);
    prop_assert_eq!(host.policy.wakee(WAKEE).recent_used_cpu.idx(), twin.recent_used_cpu);
    if let Some(paid) = twin.sis_prop {
        let stats = host.policy.idle_stats(CpuId::new(case.waker));
        prop_assert_eq!((stats.wake_avg_idle, stats.avg_scan_cost), paid);
    }
    for cpu in topology.cpus().iter() {
        let hint = host.policy.llc_shared(host.kit.world(), cpu).has_idle_cores;
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

/// `bias_pays_search` changes nothing but the looks, which are those of the search without a bias.
fn check_paying(topology: &Topology, case: Case) -> Result<(), TestCaseError> {
    let case = Case { bias: true, sis_prop: None, ..case };
    let (biased, kept) = select_with(topology, &case, false);
    let (paying, paid) = select_with(topology, &case, true);
    prop_assert_eq!((paid.cpu, paid.reason), (kept.cpu, kept.reason));
    let recent = [&biased, &paying].map(|host| host.policy.wakee(WAKEE).recent_used_cpu);
    prop_assert_eq!(recent[0], recent[1]);
    for cpu in topology.cpus().iter() {
        let [hint, plain] = [&paying, &biased]
            .map(|host| host.policy.llc_shared(host.kit.world(), cpu).has_idle_cores);
        prop_assert_eq!(hint, plain);
    }
    let reason = catalog::reasons("cfs")[usize::from(paid.reason.0)].name;
    let is_kept = reason.starts_with("bias_prev") && reason != "bias_prev_fallback";
    let (_, plain) = select_with(topology, &Case { bias: false, ..case }, false);
    let looks = |found: Placement| (found.scanned, found.far);
    prop_assert_eq!(looks(paid), looks(if is_kept { plain } else { kept }));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn selection_walks_like_the_twin_with_two_threads_a_core(case in any_case(16)) {
        check(&vector_machine("mini_2x4x2"), &case)?;
    }

    #[test]
    fn who_pays_for_the_search_looks_where_it_would_have_looked(case in any_case(16)) {
        check_paying(&vector_machine("mini_2x4x2"), case)?;
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
