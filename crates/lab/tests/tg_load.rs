//! How often `tg->load_avg` is read and written: hackbench in one and in two levels of groups, with
//! the limit of one write per ms and without it, against the counters of a real 6.1 kernel.
//!
//! The numbers are the lab's, `6.1bias-t16/tgload-*/tg-*.counters`, and so is the bound of 30 %. What
//! depends on how often hackbench's tasks move is seen in relation to the entities that joined a
//! queue, which the kernel counted: the number of moves that its perf counter tells leaves out a
//! second move before a task runs.

#[allow(dead_code, reason = "each test uses a part of it")]
use std::collections::BTreeMap;
use std::sync::Arc;

use simsched_core::observe::Stats;
use simsched_core::{Config, HardwareModel, Seed, SimTime, Simulator, Status, Workload};
use simsched_policies::catalog;
use simsched_workloads::hackbench;
use simsched_workloads::lab::{self, WithKthreads};

/// What was counted in a run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    elapsed_ms: f64,
    wakeups: f64,
    /// Attach, detach, decay.
    calls: [f64; 3],
    writes: [f64; 3],
    /// All, also by balancers that age queues.
    all_calls: f64,
    all_writes: f64,
    reads: f64,
    limited: f64,
}

/// One case of the lab.
struct Case {
    group: &'static str,
    command: &'static str,
    kernel: Counts,
}

const MANY: &str = "-T -p -g 2 -f 8 -l 12000";
const FEW: &str = "-T -p -g 4 -f 4 -l 15000";

/// Without the limit.
const PLAIN: [Case; 4] = [
    Case {
        group: "container",
        command: MANY,
        kernel: Counts {
            elapsed_ms: 371.8,
            wakeups: 50_479.0,
            calls: [6_104.0, 2_328.0, 6_159.0],
            writes: [5_804.0, 2_328.0, 2_900.0],
            all_calls: 14_920.0,
            all_writes: 11_300.0,
            reads: 105_130.0,
            limited: 0.0,
        },
    },
    Case {
        group: "container",
        command: FEW,
        kernel: Counts {
            elapsed_ms: 217.4,
            wakeups: 18_512.0,
            calls: [2_208.0, 951.0, 2_789.0],
            writes: [2_090.0, 951.0, 914.0],
            all_calls: 6_102.0,
            all_writes: 4_029.0,
            reads: 38_995.0,
            limited: 0.0,
        },
    },
    Case {
        group: "nested:2",
        command: MANY,
        kernel: Counts {
            elapsed_ms: 356.8,
            wakeups: 40_715.0,
            calls: [5_877.0, 2_155.0, 20_262.0],
            writes: [5_466.0, 2_155.0, 16_250.0],
            all_calls: 31_546.0,
            all_writes: 24_170.0,
            reads: 170_672.0,
            limited: 0.0,
        },
    },
    Case {
        group: "nested:2",
        command: FEW,
        kernel: Counts {
            elapsed_ms: 221.7,
            wakeups: 21_136.0,
            calls: [2_541.0, 951.0, 9_982.0],
            writes: [2_408.0, 951.0, 7_616.0],
            all_calls: 13_818.0,
            all_writes: 11_044.0,
            reads: 88_544.0,
            limited: 0.0,
        },
    },
];

/// With the limit.
const LIMITED: [Case; 4] = [
    Case {
        group: "container",
        command: MANY,
        kernel: Counts {
            elapsed_ms: 331.6,
            wakeups: 34_577.0,
            calls: [6_358.0, 2_688.0, 5_843.0],
            writes: [862.0, 499.0, 1_415.0],
            all_calls: 15_129.0,
            all_writes: 2_838.0,
            reads: 74_378.0,
            limited: 10_763.0,
        },
    },
    Case {
        group: "container",
        command: FEW,
        kernel: Counts {
            elapsed_ms: 204.4,
            wakeups: 21_345.0,
            calls: [2_529.0, 1_103.0, 2_901.0],
            writes: [538.0, 274.0, 868.0],
            all_calls: 6_648.0,
            all_writes: 1_715.0,
            reads: 44_930.0,
            limited: 4_057.0,
        },
    },
    Case {
        group: "nested:2",
        command: MANY,
        kernel: Counts {
            elapsed_ms: 402.0,
            wakeups: 50_651.0,
            calls: [6_036.0, 2_416.0, 20_982.0],
            writes: [995.0, 517.0, 5_293.0],
            all_calls: 32_935.0,
            all_writes: 6_919.0,
            reads: 211_324.0,
            limited: 20_977.0,
        },
    },
    Case {
        group: "nested:2",
        command: FEW,
        kernel: Counts {
            elapsed_ms: 216.8,
            wakeups: 17_965.0,
            calls: [1_999.0, 839.0, 8_656.0],
            writes: [429.0, 254.0, 2_902.0],
            all_calls: 11_951.0,
            all_writes: 3_623.0,
            reads: 75_696.0,
            limited: 6_819.0,
        },
    },
];

/// One run with this seed.
fn count(case: &Case, patch: &str, seed: u64) -> Counts {
    let bed = crate::bed::bed(&format!("cfs@6.1+group={}{patch}", case.group));
    let args: Vec<String> = case.command.split(' ').map(str::to_owned).collect();
    let programs = lab::timed(&hackbench::parse(&args).unwrap(), Seed(seed)).unwrap();
    let programs = WithKthreads::new(programs, &bed.untraced, Seed(seed));
    let policy = catalog::build(&bed.policy, &[]).unwrap();
    // The recorded machine has no caches.
    let config = Config { seed: Seed(seed), hardware: HardwareModel::Free, ..bed.config };
    let topology = Arc::clone(&bed.untraced);
    let setup = programs.setup();
    let stats = Stats::new(&topology, setup.tasks.len(), setup.marks.len());
    let mut run = Simulator::new(topology, policy, programs, stats, config).unwrap();
    assert_eq!(run.run_until(SimTime::NEVER).unwrap(), Status::Finished);
    let elapsed = run.elapsed();
    let (_, policy, _, stats) = run.into_parts();
    let mut told = BTreeMap::new();
    policy.metrics(&mut |name, value| {
        told.insert(name, value);
    });
    let float = |count: u64| f64::from(u32::try_from(count).unwrap());
    let get = |name: String| float(told.get(name.as_str()).copied().unwrap());
    let by = |what: &str, source: &str| get(format!("tg_{what}_{source}"));
    let three = |what| ["attach", "detach", "decay"].map(|source| by(what, source));
    let all = |what| three(what).iter().sum::<f64>() + by(what, "blocked");
    Counts {
        elapsed_ms: float(elapsed.0 / 1000) / 1000.0,
        wakeups: float(stats.wakeups_by_reason().iter().sum()),
        calls: three("calls"),
        writes: three("writes"),
        all_calls: all("calls"),
        all_writes: all("writes"),
        reads: get("tg_reads".to_owned()),
        limited: get("tg_limited".to_owned()),
    }
}

type Ratio = (&'static str, fn(&Counts) -> f64);

/// Each ratio of the simulator, the median of three seeds, is within 30 % of the kernel's.
fn compare(cases: &[Case], patch: &str, ratios: &[Ratio]) {
    let mut failed = Vec::new();
    for case in cases {
        let runs = [1, 2, 3].map(|seed| count(case, patch, seed));
        for (name, ratio) in ratios {
            let mut all = runs.each_ref().map(ratio);
            all.sort_by(f64::total_cmp);
            let (median, kernel) = (all[1], ratio(&case.kernel));
            let text =
                format!("{} {}: {name} {median:.3}, kernel {kernel:.3}", case.group, case.command);
            if !(0.7..=1.3).contains(&(median / kernel)) {
                failed.push(text);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_group_is_told_and_asked_of_its_load_as_often_as_in_the_kernel() {
    compare(
        &PLAIN,
        "",
        &[
            ("writes per joining entity", |c| c.all_writes / c.calls[0]),
            ("of these by decay", |c| c.writes[2] / c.calls[0]),
            ("writes per call, attach", |c| c.writes[0] / c.calls[0]),
            ("writes per call, detach", |c| c.writes[1] / c.calls[1]),
            ("reads per wakeup", |c| c.reads / c.wakeups),
        ],
    );
}

#[test]
fn the_limit_refuses_as_many_updates_as_in_the_kernel() {
    compare(
        &LIMITED,
        "+tg_ratelimit",
        &[
            ("writes per ms", |c| c.all_writes / c.elapsed_ms),
            ("refused of calls", |c| c.limited / c.all_calls),
            ("reads per wakeup", |c| c.reads / c.wakeups),
            ("decay of writes", |c| c.writes[2] / c.all_writes),
        ],
    );
}
