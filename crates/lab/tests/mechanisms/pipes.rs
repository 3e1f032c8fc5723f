//! How fast messages go through pipes of two, four and eight pairs, and how often their tasks sleep, beside a kernel
//! 7.3.4 on the lab's larger machines, nothing traced (`7.3-s2x8`, `7.3-s2x16`, `7.3-s4d2`, labels `hackbench-*`).

use simsched_core::{Config, HardwareModel, Launcher, Seed, SimTime};
use simsched_topology::Topology;

use super::Run;

/// Messages a ms, start and end of the program included, and wakeups for 1,000 messages, of `hackbench -T -p -g 1`,
/// started as in the lab.
#[expect(clippy::cast_precision_loss, reason = "millions")]
fn cell(machine: &str, pairs: u32, loops: u32) -> [f64; 2] {
    let machine = Topology::builtin(machine, Some("untraced-7.3")).unwrap();
    let config = Config {
        seed: Seed(1),
        hardware: HardwareModel::Priced,
        launcher: Some(Launcher::Lab),
        jitter_1024: 0,
        irq_accounting: false,
        ..Config::default()
    };
    let command = format!("hackbench -T -p -g 1 -f {pairs} -l {loops}");
    let span = [SimTime::ZERO, SimTime::NEVER];
    let run = Run::between(&machine, "eevdf@7.3", "root", &command, config, span);
    let messages = f64::from(pairs * pairs) * f64::from(loops);
    [messages / (run.end.0 as f64 / 1e6), 1_000.0 * run.wakeups() as f64 / messages]
}

/// The rates of all cells are those that were recorded within 5 %, and where pipes run dry or full as a rule, so are
/// the wakeups within a quarter. With two pairs hardly anybody sleeps, there (1.1 to 1.4 wakeups for 1,000 messages) and
/// here (25 to 39 with the pipes and the paths of 6.12).
#[test]
fn messages_of_7_3_are_as_fast_as_recorded_and_two_pairs_hardly_sleep() {
    let (few, four, eight) =
        ([0.0, 1.4 * 1.5], [31.0 * 0.75, 38.0 * 1.25], [39.0 * 0.75, 42.0 * 1.25]);
    let cells = [
        ("s2x16", 2, 200_000, [1_385.0, 1_388.0], few),
        ("s2x8", 2, 200_000, [1_377.0, 1_404.0], few),
        ("s4d2", 2, 200_000, [1_386.0, 1_394.0], few),
        ("s2x16", 4, 30_000, [2_233.0, 2_292.0], four),
        ("s2x16", 8, 12_000, [4_461.0, 4_586.0], eight),
        ("s2x8", 8, 12_000, [4_487.0, 4_526.0], eight),
    ];
    for (machine, pairs, loops, [slowest, fastest], [least, most]) in cells {
        let [rate, wakeups] = cell(machine, pairs, loops);
        let what = format!("{machine}, {pairs} pairs: {rate:.0} a ms, {wakeups:.2} wakeups");
        assert!((slowest * 0.95..=fastest * 1.05).contains(&rate), "{what}");
        assert!((least..=most).contains(&wakeups), "{what}");
    }
}
