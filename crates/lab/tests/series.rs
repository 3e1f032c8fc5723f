//! The scenarios of the lab's cache set, one behind the other on one machine.

use simsched_lab::event::{PrevState, What};
use simsched_lab::reference::{Scenario, Turn};
use simsched_lab::run::Bed;

/// Scenarios with short traces, in the order of their runs.
const SHORT: [&str; 7] =
    ["th-free-2", "th-free-3", "th-free-4", "th-free-6", "th-free-8", "th-free-12", "th-spread-2"];

fn bed() -> Bed {
    crate::bed::of_7_3("n2x8", "eevdf@7.3+cache_aware")
}

fn scenario(names: &[&str], name: &str) -> Scenario {
    let turn = |name: &&str| Turn { name: (*name).to_owned(), length_ms: Some(200) };
    let series = Some(names.iter().map(turn).collect());
    Scenario { series, length_ms: Some(200), ..Scenario::new(name, Vec::new()) }
}

/// From the end of one to the begin of the next one are 22.9 to 32.9 ticks in the kernel, 26.9 in the middle (7.3.4 on
/// n2x8, 20 gaps behind traces of up to 750 lines). The shortest of six here is a tick
/// too short, 21.9; it may be two.
#[test]
fn what_is_between_two_scenarios_takes_as_long_as_in_the_kernel() {
    let bed = bed();
    let watch = |name| bed.watch(&scenario(&SHORT, name), 1, &|| false).unwrap().unwrap();
    let records = SHORT.map(watch);
    let mut gaps: Vec<u64> = records
        .windows(2)
        .map(|two| two[1].started.get() - two[0].started.get() - two[0].elapsed_ns)
        .collect();
    gaps.sort_unstable();
    let ticks = |gap: u64| gap as f64 / 4e6;
    assert!(ticks(gaps[0]) > 21.0 && ticks(gaps[5]) < 33.9, "{gaps:?}");
    assert!((ticks(gaps[3]) - 26.9).abs() < 2.5, "{gaps:?}");
}

/// What a scenario comes to does not depend on what is run behind it.
#[test]
fn a_series_that_is_cut_short_is_the_begin_of_the_long_one() {
    let run = |names: &[&str]| {
        let recorded = bed().run(&scenario(names, "th-free-3"), 2, &|| false).unwrap().unwrap();
        recorded.events
    };
    let (short, long) = (run(&SHORT[..2]), run(&SHORT[..4]));
    assert!(short.len() > 20, "{}", short.len());
    let places = |events: &[simsched_lab::event::Event]| -> Vec<(u64, u32)> {
        events.iter().map(|event| (event.us, event.cpu)).collect()
    };
    assert_eq!(places(&short), places(&long));
}

/// A scenario that is not the first one begins on a machine that another one has used: its tasks have other pids, and
/// its record has only these.
#[test]
fn each_record_has_the_tasks_of_its_own_scenario() {
    let bed = bed();
    let watch = |name| bed.watch(&scenario(&SHORT, name), 1, &|| false).unwrap().unwrap();
    let pids = |name| watch(name).tasks.iter().map(|task| task.pid).collect::<Vec<_>>();
    let (two, three) = (pids("th-free-2"), pids("th-free-3"));
    assert_eq!((two.len(), three.len()), (3, 4));
    assert_eq!(two.last().unwrap() + 1, three[0]);
}

/// From a tick to the first fork, in microseconds, of runs with 17 seeds.
fn first_forks(bed: &Bed, scenario: &Scenario) -> Vec<u64> {
    let first = |seed| {
        let recorded = bed.run(scenario, seed, &|| false).unwrap().unwrap();
        let mut forks =
            recorded.events.iter().filter(|event| matches!(event.what, What::Fork { .. }));
        forks.next().unwrap().us % 4_000
    };
    (1..=17).map(first).collect()
}

/// The first fork of hogs, forks, herds and timers under 7.3.4 comes 0.57 to 0.68 ms behind a tick on t8 and 0.74 to
/// 0.93 on t16 (17 runs each). Here 5 of 17 runs are up to 0.04 ms beside that.
#[test]
fn scenarios_of_the_first_set_begin_as_far_behind_a_tick_as_in_the_kernel() {
    for (machine, recorded) in [("t8", 570..=680), ("t16", 740..=930)] {
        let bed = crate::bed::of_7_3(machine, "eevdf@7.3");
        let found = first_forks(&bed, &Scenario::new("hogs-free-4", Vec::new()));
        let (first, last) = (recorded.start() - 40, recorded.end() + 40);
        assert!(found.iter().all(|us| (first..=last).contains(us)), "{machine}: {found:?}");
        let beside = found.iter().filter(|us| !recorded.contains(us)).count();
        assert!(beside <= 5, "{machine}: {found:?}");
    }
}

/// On the 32 CPUs of s2d2 the first fork of the cache set comes 2.28 to 2.33 ms behind a tick in the middle half of 49
/// recorded runs. Its child is born on the CPU of the shell, which is the last of its LLC to become idle, and the child's
/// first thread on that of the parent, in the node's other LLC. The shell's CPU was recorded in one boot of 7.3.4; in
/// three others the children of four scenarios are born on one CPU. Here they are born in one LLC, but for one of 15
/// whose parent is born in the other node already.
#[test]
fn the_first_task_of_a_scenario_is_born_where_the_shell_is() {
    let bed = crate::bed::of_7_3("s2d2", "eevdf@7.3+cache_aware");
    let names = ["th-spread-2", "th-free-2", "th-free-4", "th-free-6", "th-free-8"];
    let elsewhere = std::cell::Cell::new(0);
    for seed in [1, 2, 3] {
        let born = |name| {
            let recorded = bed.run(&scenario(&names, name), seed, &|| false).unwrap().unwrap();
            let fork = recorded.events.iter().find(|event| matches!(event.what, What::Fork { .. }));
            let fork = fork.unwrap();
            assert!((2_200..=2_400).contains(&(fork.us % 4_000)), "{seed} {name}: {}", fork.us);
            let new = recorded.events.iter().filter_map(|event| match event.what {
                What::WakeupNew { target, .. } => Some(target),
                _ => None,
            });
            let new: Vec<u32> = new.take(2).collect();
            let is_beside = new[1] == fork.cpu && new[0] / 16 == new[1] / 16;
            elsewhere.set(elsewhere.get() + u32::from(!is_beside));
            new[0] / 8
        };
        // The first ones begin on a machine that has just booted; the lab ran others before these.
        let [_, _, rest @ ..] = names.map(born);
        let moved = rest.iter().filter(|llc| **llc != rest[0]).count();
        elsewhere.set(elsewhere.get() + u32::try_from(moved).unwrap());
    }
    // None of 30 in six boots of the kernel.
    assert!(elsewhere.get() <= 2, "{} of 15", elsewhere.get());
}

/// A grace period is under way when a scenario begins, and the timer that `rcu_preempt` has set for its next look wakes it
/// up, on the CPU where it last ran: in all 44 scenarios of two boots of 7.3.4 on s2d2, 38 times in the first tick of the
/// scenario and 6 times in the second. Here one of 20 is by another CPU.
#[test]
fn the_first_look_at_a_grace_period_is_where_the_last_one_was() {
    let bed = crate::bed::of_7_3("s2d2", "eevdf@7.3+cache_aware");
    let names = ["th-free-2", "th-free-4", "th-free-6", "th-free-8", "th-spread-4"];
    let (mut later, mut elsewhere) = (0, 0);
    for (seed, name) in (1..=4).flat_map(|seed| names.map(|name| (seed, name))) {
        let recorded = bed.run(&scenario(&names, name), seed, &|| false).unwrap().unwrap();
        let is_fork = |what: &What| matches!(what, What::Fork { .. });
        let mut events = recorded.events.iter().skip_while(|event| !is_fork(&event.what));
        let first = events.next().unwrap().us;
        let look = events.find_map(|event| match event.what {
            What::Waking { wakee, target } if wakee.comm.as_str() == "rcu_preempt" => {
                Some((event.us, event.cpu, target))
            }
            _ => None,
        });
        let (us, cpu, target) = look.unwrap();
        elsewhere += u32::from(cpu != target);
        assert!(us - first < 8_000, "{seed} {name}: {us} behind {first}");
        later += u32::from(us - first > 4_000);
    }
    assert!(later <= 8 && elsewhere <= 2, "{later} later and {elsewhere} elsewhere of 20");
}

/// Beside 31 of the 97 births of hogs on s2d2, and 44 of 160 on n2x8 (7.3.4, one boot each), in the first 50 ms of a
/// scenario, the `kworker` of the CPU wakes up at its first tick: its timer has expired while the CPU was idle, and waits.
#[test]
fn a_birth_on_an_idle_cpu_finds_the_expired_timer_of_its_kworker_as_often_as_in_the_kernel() {
    let names = [
        "th-load-2",
        "th-load-4",
        "th-sload-4",
        "th-free-2",
        "th-free-4",
        "th-free-6",
        "th-free-8",
        "th-spread-4",
        "th-load-8",
        "pr-2x4",
        "pr-3x2",
        "mix-4-4",
    ];
    let turn = |name: &&str| Turn { name: (*name).to_owned(), length_ms: Some(1000) };
    let series: std::sync::Arc<[Turn]> = names.iter().map(turn).collect();
    for (machine, recorded) in [("s2d2", 0.32), ("n2x8", 0.28)] {
        let bed = crate::bed::of_7_3(machine, "eevdf@7.3+cache_aware");
        let (mut births, mut beside) = (0_u32, 0_u32);
        for (seed, name) in (1..=5).flat_map(|seed| names.map(|name| (seed, name))) {
            let series = Some(std::sync::Arc::clone(&series));
            let scenario =
                Scenario { series, length_ms: Some(1000), ..Scenario::new(name, Vec::new()) };
            let events = bed.run(&scenario, seed, &|| false).unwrap().unwrap().events;
            let born = events.iter().filter_map(|event| match event.what {
                What::WakeupNew { target, .. } => Some((event.us, target)),
                _ => None,
            });
            let born: Vec<(u64, u32)> = born.collect();
            for (us, cpu) in born.iter().filter(|(us, _)| *us < born[0].0 + 50_000) {
                let kworker = format!("kworker/{cpu}:");
                births += 1;
                beside += u32::from(events.iter().any(|event| match event.what {
                    What::Waking { wakee, .. } => {
                        wakee.comm.as_str().starts_with(&kworker)
                            && (*us..us + 4_500).contains(&event.us)
                    }
                    _ => false,
                }));
            }
        }
        let part = f64::from(beside) / f64::from(births);
        assert!((part - recorded).abs() < 0.1, "{machine}: {beside} of {births}");
    }
}

/// The set of cache-aware scheduling on s2d2 up to `tpp-4`, with the lengths in ms of the recordings; 0 is as long as the
/// name stands for.
const UP_TO_PAIRS: [(&str, u64); 20] = [
    ("th-load-2", 1000),
    ("th-load-4", 1000),
    ("th-load-8", 1000),
    ("th-sload-4", 1000),
    ("life-fork", 0),
    ("life-exit", 0),
    ("life-exec", 0),
    ("life-grow", 0),
    ("th-free-2", 1000),
    ("th-free-4", 1000),
    ("th-free-6", 1000),
    ("th-free-8", 1000),
    ("th-spread-4", 1000),
    ("pr-2x4", 1000),
    ("pr-3x2", 1000),
    ("mix-4-4", 1000),
    ("sl-4-2-2", 800),
    ("sl-8-2-2", 800),
    ("pc-1x4", 500),
    ("tpp-4", 500),
];

/// Most kworkers that a tick wakes up on the CPU of a thread of `tpp-4` wait until that sleeps: 35 of 41 in nine boots of
/// 7.3.4 (s2d2 and n2x8). They are owed no time: each last ran on an idle CPU, most often to free the stacks of tasks that
/// had ended there. Without that work 22 of 34 were still owed what they had waited for beside a hog, and preempted. Here 31
/// of 122 do; what nine boots show lies between 5 and 29 %.
#[test]
fn kworkers_wait_for_a_thread_that_has_just_woken_up_as_often_as_in_the_kernel() {
    let turn = |&(name, ms): &(&str, u64)| Turn {
        name: name.to_owned(),
        length_ms: (ms > 0).then_some(ms),
    };
    let series: std::sync::Arc<[Turn]> = UP_TO_PAIRS.iter().map(turn).collect();
    let bed = crate::bed::of_7_3("s2d2", "eevdf@7.3+cache_aware");
    let (mut preempts, mut waits) = (0_u32, 0_u32);
    for seed in 1..=30 {
        let series = Some(std::sync::Arc::clone(&series));
        let scenario = Scenario { series, length_ms: Some(500), ..Scenario::new("tpp-4", vec![]) };
        let mut woken = std::collections::BTreeSet::new();
        for event in bed.run(&scenario, seed, &|| false).unwrap().unwrap().events {
            let by_thread = event.by.comm.as_str().starts_with(['a', 'b']);
            match event.what {
                What::Waking { wakee, .. }
                    if by_thread && wakee.comm.as_str().starts_with("kworker/") =>
                {
                    woken.insert(wakee.pid);
                }
                What::Switch { state, next, .. } if woken.remove(&next.pid) => {
                    let count =
                        if state == PrevState::Runnable { &mut preempts } else { &mut waits };
                    *count += 1;
                }
                _ => {}
            }
        }
    }
    let all = preempts + waits;
    assert!(all >= 60 && preempts * 100 <= 29 * all, "{preempts} and {waits}");
}
