//! Warmth, held against section 6 of the cost model.

use super::*;

struct Bed {
    topology: Topology,
    transfers: Transfers,
    warmth: Warmth,
}

impl Bed {
    fn new(machine: &str, footprints: &[u64]) -> Bed {
        let topology = Topology::builtin(machine, None).unwrap();
        let transfers = Transfers::new(&topology);
        let warmth = Warmth::new(&topology, footprints.iter().copied(), topology.costs());
        Bed { topology, transfers, warmth }
    }

    fn arrives(&mut self, task: u32, cpu: u16) -> u64 {
        let (topology, transfers) = (&self.topology, &self.transfers);
        self.warmth.arrives(topology, transfers, TaskId(task), CpuId(cpu)).0
    }

    fn leaves(&mut self, task: u32, cpu: u16) {
        self.warmth.leaves(&self.topology, TaskId(task), CpuId(cpu));
    }

    fn computes(&mut self, task: u32, cpu: u16, ns: u64) -> u64 {
        self.warmth.computes(&self.topology, TaskId(task), CpuId(cpu), Nanos(ns), 1024).0
    }
}

/// Section 6 of the cost model: 200 modified lines take 3 to 6 us within an Intel LLC, 2.5 on an
/// AMD CCX, 8 to 12 to another CCX or socket.
#[test]
fn the_private_lines_follow_a_task_that_moves() {
    for (machine, to, range) in [
        ("spr", 1, 3_000..=6_000),
        ("genoa", 1, 2_000..=3_000),
        ("genoa", 8, 6_000..=12_000),
        ("genoa", 96, 8_000..=13_000),
    ] {
        let mut bed = Bed::new(machine, &[0]);
        assert_eq!(bed.arrives(0, 0), 0);
        bed.leaves(0, 0);
        assert_eq!(bed.arrives(0, 0), 0, "nobody else ran there");
        bed.leaves(0, 0);
        let ns = bed.arrives(0, to);
        assert!(range.contains(&ns), "{machine} to {to}: {ns}");
    }
}

/// The same section: 1 MiB costs 50 to 67 us from the L3, 85 from memory; 256 KiB 6 to 17.
#[test]
fn the_sum_of_a_refill_is_lines_times_the_price_of_a_line() {
    let mut bed = Bed::new("spr", &[1 << 20, 1 << 18]);
    bed.arrives(0, 0);
    let cold: u64 = (0..1000).map(|_| bed.computes(0, 0, 10_000)).sum();
    assert!((93_000..=99_000).contains(&cold), "from memory at 6 ns a line: {cold}");
    bed.leaves(0, 0);
    bed.arrives(0, 1);
    let moved: u64 = (0..1000).map(|_| bed.computes(0, 1, 10_000)).sum();
    assert!((50_000..=67_000).contains(&moved), "from the L3: {moved}");
    assert_eq!(bed.computes(0, 1, 10_000), 0, "all is there");
    bed.arrives(1, 0);
    bed.computes(1, 0, 10_000_000);
    bed.leaves(1, 0);
    bed.arrives(1, 1);
    let small = bed.computes(1, 1, 10_000_000);
    assert!((6_000..=17_000).contains(&small), "{small}");
}

/// The ratio of the prices: 9 to 12 ns a line from the other socket's memory, 5 to 7 from the own.
#[test]
fn memory_of_the_other_socket_takes_longer() {
    let mut bed = Bed::new("spr", &[1 << 20]);
    let far = bed.topology.package_span(PackageId(1)).first().unwrap().0;
    bed.arrives(0, 0);
    let near: u64 = bed.computes(0, 0, 10_000_000);
    bed.leaves(0, 0);
    bed.arrives(0, far);
    let remote = bed.computes(0, far, 10_000_000);
    assert!((near * 17 / 10..near * 18 / 10).contains(&remote), "{near} {remote}");
}

#[test]
fn the_length_of_the_pieces_does_not_change_the_sum() {
    let sum = |pieces: u64| {
        let mut bed = Bed::new("spr", &[1 << 20]);
        bed.arrives(0, 0);
        (0..pieces).map(|_| bed.computes(0, 0, 100_000 / pieces)).sum::<u64>()
    };
    assert!(sum(1).abs_diff(sum(20)) < sum(1) / 20, "{} {}", sum(1), sum(20));
}

#[test]
fn who_runs_in_between_throws_out_what_he_fills() {
    let mut bed = Bed::new("spr", &[1 << 19, 1 << 22]);
    bed.arrives(0, 0);
    bed.computes(0, 0, 1_000_000_000);
    bed.leaves(0, 0);
    bed.arrives(1, 0);
    bed.computes(1, 0, 1_000_000_000);
    bed.leaves(1, 0);
    assert!(bed.arrives(0, 0) > 0, "some of the private lines are gone");
    assert!(bed.computes(0, 0, 1_000_000_000) > 10_000, "and most of the rest");
}

#[test]
fn a_deep_idle_state_leaves_a_cold_core() {
    let mut bed = Bed::new("spr", &[0]);
    bed.arrives(0, 0);
    bed.leaves(0, 0);
    bed.warmth.forgets(&bed.topology, CpuId(0));
    assert_eq!(bed.arrives(0, 0), 700, "200 lines of 3.5 ns from the LLC");
}

/// The same section: a set of 32 MiB that is left behind costs 3 to 5 ms. Of that, going through it in
/// the LLC is part of what is computed: half a million lines of 1.5 ns.
#[test]
fn a_large_set_is_fetched_anew_behind_another_llc() {
    let mut bed = Bed::new("genoa", &[31 << 20]);
    bed.arrives(0, 0);
    let cold: u64 = (0..100).map(|_| bed.computes(0, 0, 1_000_000)).sum();
    let touched = (31 << 20) / 64 * 3 / 2;
    assert!((3_000_000..=5_000_000).contains(&(cold + touched)), "{cold} and {touched}");
    assert_eq!(bed.computes(0, 0, 1_000_000), 0, "all is there");
    bed.leaves(0, 0);
    bed.arrives(0, 8);
    let moved: u64 = (0..100).map(|_| bed.computes(0, 8, 1_000_000)).sum();
    assert!(moved.abs_diff(cold) < cold / 50, "{moved}");
}

/// Two of three quarters of the cache each hold a half and miss a third: of a touch every 1.5 ns, a
/// third take 4.5 ns more, which is 1.0 ns more for each ns; the cores hold 1 of 24 MiB.
#[test]
fn sets_that_do_not_fit_together_come_from_memory_for_ever() {
    let mut bed = Bed::new("genoa", &[24 << 20, 24 << 20]);
    let both = |bed: &mut Bed| bed.computes(0, 0, 1_000_000) + bed.computes(1, 1, 1_000_000);
    bed.arrives(0, 0);
    let _: u64 = (0..100).map(|_| bed.computes(0, 0, 1_000_000)).sum();
    assert_eq!(bed.computes(0, 0, 1_000_000), 0, "alone it fits");
    bed.arrives(1, 1);
    let _: u64 = (0..100).map(|_| both(&mut bed)).sum();
    let found = both(&mut bed) / 2;
    let want = 1_000_000 / 3 * 45 / 15 * 23 / 24;
    assert!(found.abs_diff(want) < want / 20, "{found} for {want}");
    bed.leaves(1, 1);
    let _: u64 = (0..100).map(|_| bed.computes(0, 0, 1_000_000)).sum();
    assert_eq!(bed.computes(0, 0, 1_000_000), 0, "and again");
}

/// While there is room in the LLC nobody loses anything; a stream through all of it throws out
/// what sleeps there, e times its size 63 %.
#[test]
fn what_streams_by_throws_out_what_sleeps_once_the_cache_is_full() {
    let refilled = |streamed: u64| {
        let mut bed = Bed::new("genoa", &[8 << 20]);
        bed.arrives(0, 0);
        let _: u64 = (0..100).map(|_| bed.computes(0, 0, 1_000_000)).sum();
        bed.leaves(0, 0);
        bed.warmth.streams(&bed.topology, CpuId(1), streamed);
        bed.arrives(0, 0);
        (0..100).map(|_| bed.computes(0, 0, 1_000_000)).sum::<u64>()
    };
    assert_eq!(refilled(20 << 20), 0);
    let lost = refilled((24 + 32) << 20);
    let all = (8 << 20) / 64 * 45 / 10;
    assert!(lost.abs_diff(all * 632 / 1000) < all / 50, "{lost} of {all}");
}
