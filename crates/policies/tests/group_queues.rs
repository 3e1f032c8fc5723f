//! The queues of groups on their CPUs: aged until nothing is left, and which shared lines they touch.

use simsched_core::{Access, LineId, TaskId};
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::features::Grouping;
use simsched_policies::fair::{BalanceKit, FUNCTIONS, Features, GroupId};
use simsched_topology::{CpuId, NodeId};

use crate::common::driver::Driver;
use crate::common::machine;

const MS: u64 = 1_000_000;
const CPU: CpuId = CpuId(1);
const UPPER: GroupId = GroupId(1);
const LOWER: GroupId = GroupId(2);

fn nested() -> Driver {
    let grouping = Grouping::from_name("nested:2").unwrap();
    let features = Features { grouping, ..Features::default() };
    Driver::new(machine([1, 1, 4, 1], "", "nodes_per_socket = 1"), features, &[0])
}

fn age(driver: &mut Driver) {
    let host = &mut driver.host;
    BalanceKit { fair: &mut host.policy, world: host.kit.world() }.update_blocked_averages(CPU);
}

fn listed(driver: &Driver) -> [bool; 2] {
    [UPPER, LOWER].map(|group| driver.host.policy.group_cfs_rq(group, CPU).on_list)
}

/// A task runs for a while and sleeps: what is left of it decays at all levels, and then its queues
/// are visited no more.
#[test]
fn queues_are_aged_until_nothing_is_left() {
    let mut driver = nested();
    // The upper queue has had an entity since the lower group was created.
    assert_eq!(listed(&driver), [true, false]);
    // An entity that joins without load counts as 1.
    assert_eq!(driver.host.policy.group_cfs_rq(UPPER, CPU).avg.load_sum, 1024);
    driver.spend(500 * MS);
    driver.pass(MS, |_| {});
    age(&mut driver);
    assert_eq!(listed(&driver), [false, false]);
    driver.start(TaskId(0), CPU);
    assert_eq!(listed(&driver), [true, true]);
    driver.pass(100 * MS, |_| {});
    driver.sleep(CPU);
    let load = |driver: &Driver, group| driver.host.policy.tg_load_avg(group);
    let before = [UPPER, LOWER].map(|group| load(&driver, group));
    assert!(before.iter().all(|&load| load > 900), "{before:?}");

    driver.spend(32 * MS);
    driver.pass(MS, |_| {});
    age(&mut driver);
    // Half of it after 32 periods, at both levels.
    for (group, before) in [UPPER, LOWER].into_iter().zip(before) {
        let after = load(&driver, group);
        assert!((after - before / 2).abs() < before / 20, "{group:?}: {before} {after}");
    }
    assert_eq!(listed(&driver), [true, true]);
    driver.spend(3_000 * MS);
    driver.pass(MS, |_| {});
    age(&mut driver);
    assert_eq!(listed(&driver), [false, false]);
    assert_eq!([UPPER, LOWER].map(|group| load(&driver, group)), [0, 0]);
    let last = driver.host.policy.group_cfs_rq(LOWER, CPU).avg.last_update_time;
    driver.pass(100 * MS, |_| {});
    age(&mut driver);
    assert_eq!(driver.host.policy.group_cfs_rq(LOWER, CPU).avg.last_update_time, last);
}

/// The upper queue stays as long as the lower one: it hears from it.
#[test]
fn a_queue_is_aged_as_long_as_one_below_it() {
    let mut driver = nested();
    driver.start(TaskId(0), CPU);
    driver.pass(20 * MS, |_| {});
    driver.sleep(CPU);
    for _ in 0..4_000 {
        driver.spend(MS);
        driver.host.kit.set_clock(driver.host.kit.world().sched_clock());
        age(&mut driver);
        let [upper, lower] = listed(&driver);
        assert!(upper || !lower);
        if !upper {
            return;
        }
    }
    panic!("4 s are not enough");
}

/// A waker on node 0 puts a task on node 1: both levels are written where the rule says, and the share
/// of both is read on all nodes.
#[test]
fn each_read_and_write_is_listed_by_line_and_function() {
    let touches = |tg_per_node, tg_node: &str| {
        let grouping = Grouping::from_name("nested:2").unwrap();
        let mut class = FairSpec::from(Features { grouping, ..Features::default() });
        assert!(class.patches.assign("tg_node", tg_node).unwrap());
        class.patches.set("tg_per_node", tg_per_node);
        let topology = machine([2, 1, 2, 1], "", "nodes_per_socket = 1\ncross_socket = 21");
        let mut driver = Driver::new(topology, class, &[0]);
        driver.host.actions.forget_costs();
        driver.host.kit.set_this_cpu(CpuId(0));
        driver.start(TaskId(0), CpuId(2));
        let touched = driver.host.actions.touched();
        let of = |access, what| {
            let all = touched.iter().filter(|touch| touch.access == access);
            let mut lines: Vec<LineId> = all.clone().map(|touch| touch.line).collect();
            assert!(all.clone().all(|touch| FUNCTIONS[touch.what.idx()].name == what));
            lines.sort_unstable();
            lines.dedup();
            lines.iter().map(|line| line.0).collect::<Vec<_>>()
        };
        let reads = of(Access::Read, "update_cfs_group");
        let writes = of(Access::Write, "update_load_avg");
        (driver.host.attached.lines, reads, writes)
    };
    let nodes = |nodes: &[u16]| nodes.iter().copied().map(NodeId).collect::<Vec<_>>();
    let single = touches(false, "executing");
    assert_eq!(single, (nodes(&[0, 0]), vec![0, 1], vec![0, 1]));
    let executing = touches(true, "executing");
    assert_eq!(executing, (nodes(&[0, 1, 0, 1]), vec![0, 1, 2, 3], vec![0, 2]));
    let runqueue = touches(true, "runqueue");
    assert_eq!(runqueue, (nodes(&[0, 1, 0, 1]), vec![0, 1, 2, 3], vec![1, 3]));
}
