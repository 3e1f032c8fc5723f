//! Hand-made tracepoints, with numbers that can be worked out on paper.

use super::*;
use crate::names::{NO_DOMAIN, Reason};
use crate::testkit::WorldKit;
use crate::world::BOOT_CLOCK;

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const P: ProcId = ProcId(0);

struct Rig {
    kit: WorldKit,
    series: LlcSeries,
}

/// Two sockets of 8 CPUs; an LLC has 4. Two tasks of one process; intervals of 100 ns.
fn rig() -> Rig {
    let topology = Topology::builtin("t16", None).unwrap();
    let series = LlcSeries::new(&topology, 2, 1, Nanos(100));
    let mut kit = WorldKit::new(topology, 250);
    kit.add_task(0);
    kit.add_task(0);
    Rig { kit, series }
}

impl Rig {
    fn tell(&mut self, at: u64, tracepoint: Tracepoint) {
        self.kit.set_clock(BOOT_CLOCK + at);
        self.series.on(self.kit.world(), tracepoint);
    }

    fn switch(&mut self, at: u64, cpu: u16, prev: Option<TaskId>, next: Option<TaskId>) {
        self.tell(at, Tracepoint::Switch { cpu: CpuId(cpu), prev, next, preempted: false });
    }

    fn migrate(&mut self, at: u64, [from, to]: [u16; 2], cause: Cause) {
        let (task, from, to, reason) = (A, CpuId(from), CpuId(to), Reason(0));
        let moved = Tracepoint::Migrate { task, from, to, cause, reason, domain: NO_DOMAIN };
        self.tell(at, moved);
    }

    fn prefers(&mut self, at: u64, llc: Option<u16>) {
        self.tell(at, Tracepoint::Preferred { proc: P, llc: llc.map(LlcId) });
    }

    fn finish(&mut self, at: u64) -> Vec<LlcRow> {
        self.series.finish(SimTime(at));
        self.series.rows().to_vec()
    }
}

/// A runs on CPU 0 (LLC 0) from 10 to 70, B on CPU 4 (LLC 1) from 20 to 50: 60 and 30 of 90.
#[test]
fn without_a_preference_the_home_is_where_the_process_ran_most() {
    let mut rig = rig();
    rig.switch(10, 0, None, Some(A));
    rig.switch(20, 4, None, Some(B));
    rig.switch(50, 4, Some(B), None);
    rig.switch(70, 0, Some(A), None);
    let rows = rig.finish(80);
    let LlcRow { home, by_policy, runtime, at_home, .. } = rows[0];
    assert_eq!((home, by_policy), (LlcId(0), false));
    assert_eq!((runtime, at_home), (Nanos(90), Nanos(60)));
    assert_eq!((rows.len(), rig.series.spans()), (1, &[Nanos(80)][..]));
    assert_eq!(rig.series.busy(0), [60, 30, 0, 0]);
}

/// The same with LLC 1 preferred from 25 to the end, 55 of 80.
#[test]
fn the_home_is_the_llc_that_the_policy_prefers_for_longest() {
    let mut rig = rig();
    rig.switch(10, 0, None, Some(A));
    rig.switch(20, 4, None, Some(B));
    rig.prefers(25, Some(1));
    rig.switch(50, 4, Some(B), None);
    rig.switch(70, 0, Some(A), None);
    let LlcRow { home, by_policy, at_home, .. } = rig.finish(80)[0];
    assert_eq!((home, by_policy, at_home), (LlcId(1), true, Nanos(30)));
}

/// Preferred from 0 to 30 only: none for 50 of 80.
#[test]
fn a_preference_that_was_given_up_early_is_no_home() {
    let mut rig = rig();
    rig.prefers(0, Some(3));
    rig.switch(10, 0, None, Some(A));
    rig.prefers(30, None);
    rig.switch(70, 0, Some(A), None);
    let LlcRow { home, by_policy, .. } = rig.finish(80)[0];
    assert_eq!((home, by_policy), (LlcId(0), false));
}

/// A runs from 60 to 230: 40, 100 and 30 of three intervals; the last one ends at 250.
#[test]
fn a_task_that_runs_on_is_cut_at_the_ends_of_the_intervals() {
    let mut rig = rig();
    rig.switch(60, 9, None, Some(A));
    rig.switch(230, 9, Some(A), None);
    let rows = rig.finish(250);
    let told: Vec<_> = rows.iter().map(|row| (row.interval, row.runtime, row.home)).collect();
    let llc = LlcId(2);
    assert_eq!(told, [(0, Nanos(40), llc), (1, Nanos(100), llc), (2, Nanos(30), llc)]);
    assert_eq!(rig.series.spans(), [Nanos(100), Nanos(100), Nanos(50)]);
    assert_eq!([0, 1, 2].map(|at| rig.series.busy(at)[2]), [40, 100, 30]);
}

/// Into LLC 0: one by a wakeup; out of it: one by each of two balancers; between others one. CPUs 0 and
/// 3 share it.
#[test]
fn moves_between_llcs_are_told_apart_by_direction_and_cause() {
    let mut rig = rig();
    rig.prefers(0, Some(0));
    rig.migrate(10, [4, 0], Cause::Wakeup);
    rig.migrate(20, [0, 3], Cause::Wakeup);
    rig.migrate(30, [3, 8], Cause::NewIdle);
    rig.migrate(40, [8, 4], Cause::Wakeup);
    rig.migrate(110, [0, 12], Cause::Periodic);
    let rows = rig.finish(200);
    let of = |counts: &ByCause| {
        [Cause::Wakeup, Cause::Periodic, Cause::NewIdle].map(|cause| counts[cause as usize])
    };
    let told: Vec<_> =
        rows.iter().map(|row| (of(&row.into), of(&row.out_of), of(&row.moves))).collect();
    assert_eq!(told[0], ([1, 0, 0], [0, 0, 1], [2, 0, 1]));
    assert_eq!(told[1], ([0, 0, 0], [0, 1, 0], [0, 1, 0]));
}

#[test]
fn the_first_wakeup_of_a_new_task_is_none() {
    let mut rig = rig();
    let wakeup = |cpu| {
        let (cpu, reason) = (CpuId(cpu), Reason(0));
        Tracepoint::Wakeup { wakee: A, cpu, reason, scanned: 0 }
    };
    rig.prefers(0, Some(1));
    rig.tell(1, Tracepoint::Fork { parent: None, child: A });
    rig.tell(2, wakeup(4));
    rig.tell(3, wakeup(5));
    rig.tell(4, wakeup(0));
    let LlcRow { wakeups, wakeups_home, .. } = rig.finish(10)[0];
    assert_eq!((wakeups, wakeups_home), (2, 1));
}

#[test]
fn an_interval_in_which_a_process_does_nothing_has_no_row() {
    let mut rig = rig();
    rig.switch(10, 0, None, Some(A));
    rig.switch(20, 0, Some(A), None);
    rig.switch(310, 0, None, Some(A));
    rig.switch(320, 0, Some(A), None);
    let rows = rig.finish(400);
    let intervals: Vec<u32> = rows.iter().map(|row| row.interval).collect();
    assert_eq!((intervals, rig.series.spans().len()), (vec![0, 3], 4));
}

/// A runs behind LLC 0 up to 40,000 and behind LLC 1 from there to 70,000, in intervals of 1 ns, of which
/// 16,384 are kept: 16,384 * 4 < 70,000, so they come to be 8 ns long.
#[test]
fn intervals_that_are_used_up_become_longer_and_nothing_is_lost() {
    let mut rig = rig();
    rig.series = LlcSeries::new(&Topology::builtin("t16", None).unwrap(), 2, 1, Nanos(1));
    rig.switch(10, 0, None, Some(A));
    rig.switch(40_000, 0, Some(A), None);
    rig.migrate(40_000, [0, 4], Cause::NewIdle);
    rig.switch(40_000, 4, None, Some(A));
    rig.switch(70_000, 4, Some(A), None);
    let rows = rig.finish(70_001);
    let series = &rig.series;
    assert_eq!((series.interval(), series.spans().len()), (Nanos(8), 8_751));
    assert_eq!(series.spans().iter().map(|span| span.get()).sum::<u64>(), 70_001);
    let sum = |value: fn(&LlcRow) -> u64| rows.iter().map(value).sum::<u64>();
    assert_eq!((sum(|row| row.runtime.0), sum(|row| row.at_home.0)), (69_990, 69_990));
    assert_eq!(sum(|row| row.moves[Cause::NewIdle as usize]), 1);
    let busy = |llc: usize| (0..series.spans().len()).map(|at| series.busy(at)[llc]).sum::<u64>();
    assert_eq!([busy(0), busy(1), busy(2)], [39_990, 30_000, 0]);
    // The first holds 10 to 16, half of it; the last whole one 69,992 to 70,000.
    assert_eq!((series.busy(1), series.busy(8_749)), (&[6, 0, 0, 0][..], &[0, 8, 0, 0][..]));
    assert!(rows.iter().all(|row| row.home.0 == u16::from(row.interval >= 5_000)));
}
