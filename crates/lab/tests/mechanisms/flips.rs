//! How often hackbench's tasks change whom they wake (`wakee_flips`), beside whole Debian guests of 8 CPUs in
//! two LLCs in which the same jobs were started by `ssh host hackbench` or from a login (kernel 7.3.4: two
//! runs of each job; 6.12.117: three and one).

use std::sync::Arc;

use simsched_core::{Config, Launcher, Nanos, Seed, SimTime, Simulator, TaskId};
use simsched_policies::fair::{Fair, Features, Overrides, Version};
use simsched_topology::Topology;

use super::cut;

/// When the flips are read, in ms after the last birth, which is some 10 ms after the start.
const MS: [u64; 3] = [100, 300, 1000];

/// What was recorded at these times: least, median and most.
type Recorded = [[u32; 3]; 3];

/// The guests' machine.
fn guest(mode: &str) -> Arc<Topology> {
    let same = "same_llc = { v = 0, src = \"LAB\" }";
    let lines = [
        ("llcs_per_socket = 1", "llcs_per_socket = 2"),
        ("cores_per_llc = 8", "cores_per_llc = 4"),
        (same, &format!("{same}\nsame_socket = {{ v = 0, src = \"LAB\" }}")),
    ];
    Arc::new(cut("t8", Some(mode), &lines))
}

/// Runs that are pooled: of the four receivers of a single run it is the third that is looked at, and which one that is
/// changes by chance.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// The flips, of tasks that are born with so many (medians of what was recorded at birth), of the receivers and
/// of the senders of `groups` groups of `pairs` at each of [`MS`], sorted, of all [`SEEDS`].
fn flips(
    version: Version,
    pipes: &str,
    (groups, pairs): (usize, usize),
    born_with: u32,
) -> [[Vec<u32>; 2]; 3] {
    let mut pooled: [[Vec<u32>; 2]; 3] = Default::default();
    for seed in SEEDS {
        let run = flips_of(Seed(seed), (version, pipes), (groups, pairs), born_with);
        for (all, one) in pooled.iter_mut().flatten().zip(run.into_iter().flatten()) {
            all.extend(one);
            all.sort_unstable();
        }
    }
    pooled
}

/// What [`flips`] pools, of one run.
fn flips_of(
    seed: Seed,
    (version, pipes): (Version, &str),
    (groups, pairs): (usize, usize),
    born_with: u32,
) -> [[Vec<u32>; 2]; 3] {
    let mode = if version == Version::V6_12 { "untraced-6.12" } else { "untraced" };
    let command = format!("hackbench -T -p -g {groups} -f {pairs} -l 1000000");
    let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let workload = simsched_workloads::catalog::parse(&argv, 1, 8).unwrap().workload();
    let launcher = Some(Launcher::Flips(born_with));
    let mut config = Config { seed, launcher, ..Config::default() };
    config.set("spurious_writer_wakeups", pipes).unwrap();
    let policy = Box::new(Fair::new(Features::of(version), Overrides::default()));
    let mut run = Simulator::new(guest(mode), policy, workload, (), config).unwrap();
    MS.map(|ms| {
        run.run_until(SimTime::ZERO + Nanos::from_millis(10 + ms)).unwrap();
        // Behind main: of each group its receivers, then its senders.
        [0, pairs].map(|first| {
            let tasks = (0..groups)
                .flat_map(|group| (0..pairs).map(move |nth| 1 + 2 * pairs * group + first + nth));
            tasks.map(|task| run.policy().wakee(TaskId::new(task)).flips).collect()
        })
    })
}

/// Receivers and senders in what [`flips`] returns.
const RECEIVERS: usize = 0;
const SENDERS: usize = 1;

/// The median of this side lies in the recorded range, or within a factor of 1.5 of it.
#[track_caller]
fn check(what: &str, found: &[[Vec<u32>; 2]; 3], side: usize, recorded: Recorded) {
    for ((ms, found), [least, _, most]) in MS.iter().zip(found).zip(recorded) {
        let found = &found[side];
        let median = found[found.len() / 2];
        let holds = median * 3 >= least * 2 && median * 2 <= most * 3;
        assert!(holds, "{what} after {ms} ms: {median}, recorded {least} to {most}");
    }
}

/// Up to 6.13 a reader of a full pipe wakes a writer even if it frees no slot, another one each time: receivers
/// collect hundreds of flips within a second. From 6.14 on they keep what they were born with and some
/// thirty more.
#[test]
fn receivers_collect_flips_by_spurious_wakeups_of_writers() {
    let found = flips(Version::V6_12, "on", (1, 4), 6);
    check(
        "6.12, receivers",
        &found,
        RECEIVERS,
        [[16, 98, 420], [110, 372, 1124], [522, 883, 1812]],
    );
    check("6.12, senders", &found, SENDERS, [[90, 194, 605], [600, 789, 1684], [1541, 1697, 3843]]);
    let found = flips(Version::V7_0, "off", (1, 4), 6);
    check("7.3, receivers", &found, RECEIVERS, [[5, 12, 20], [5, 12, 20], [5, 10, 20]]);
    // Control: it is the pipes and not the policy.
    let swapped = [flips(Version::V6_12, "off", (1, 4), 6), flips(Version::V7_0, "on", (1, 4), 6)];
    let [few, many] = swapped.map(|found| found[2][RECEIVERS][found[2][RECEIVERS].len() / 2]);
    assert!(few < 100 && many > 300, "{few} {many}");
}

#[test]
fn a_crowd_collects_flips_as_recorded() {
    let found = flips(Version::V7_0, "off", (4, 20), 2);
    check("7.3, receivers", &found, RECEIVERS, [[1, 2, 7], [1, 2, 10], [1, 4, 16]]);
    check("7.3, senders", &found, SENDERS, [[3, 99, 991], [45, 454, 1230], [313, 1248, 2647]]);
    let found = flips(Version::V6_12, "on", (4, 20), 3);
    check("6.12, receivers", &found, RECEIVERS, [[3, 3, 674], [3, 12, 754], [3, 81, 1805]]);
    check("6.12, senders", &found, SENDERS, [[3, 64, 505], [31, 261, 959], [343, 1044, 2389]]);
}
