//! STREAM: threads that go through arrays much larger than the caches, and meet after each loop.
//!
//! Source: STREAM 5.10 (`stream.c`, J. McCalpin) for the loops and the text, compiled with OpenMP:
//! each thread has one part of every array, which it is the first to touch, and at the start and the
//! end of each loop all meet.
//!
//! While the main thread starts the others, these spin, as in libgomp (`GOMP_SPINCOUNT`, 300,000 turns
//! where there are no more threads than CPUs): so each of them is started on a machine that is as busy
//! as it looks.
//!
//! What differs: behind that, who waits for the others sleeps at once, where libgomp's threads spin; the
//! arrays are rounded up to whole KiB for each thread; faults of pages cost what clearing them
//! takes of memory, and no instruction.

mod text;

use simsched_core::{BarrierId, FutexId, MarkId, Nanos, RegionId, Seed, Stores};

pub(crate) use text::Run;
pub use text::{NAME, OPTIONS, parse};

use crate::builder::{Body, Builder};
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{Operand, Programs};

/// The options of STREAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// How many threads there are (`OMP_NUM_THREADS`).
    pub threads: u32,
    /// How many numbers of 8 bytes are in an array (`STREAM_ARRAY_SIZE`).
    pub array_size: u64,
    /// How often each loop is done (`NTIMES`).
    pub ntimes: u32,
    /// Whether its stores go around the caches, as some compilers make them.
    pub stores: Stores,
}

/// A loop: how many arrays it loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// How many arrays it loads.
    pub loads: u32,
}

impl Kernel {
    /// How many arrays STREAM counts: those loaded, and the one stored.
    #[must_use]
    pub fn arrays(self) -> u64 {
        u64::from(self.loads) + 1
    }
}

/// The four loops in their order; each stores one array.
pub const KERNELS: [Kernel; 4] = [
    Kernel { name: "Copy", loads: 1 },
    Kernel { name: "Scale", loads: 1 },
    Kernel { name: "Add", loads: 2 },
    Kernel { name: "Triad", loads: 2 },
];

/// All threads are there, and their arrays are touched.
pub const START: MarkId = MarkId(0);
/// All loops are done.
pub const STOP: MarkId = MarkId(1);
/// The first loop begins, not in the first turn; its end and those of the others follow.
pub const FIRST_LOOP: MarkId = MarkId(2);

/// How often who spins looks: much more often than threads are started, and much more rarely than the
/// real one.
const LOOK: Nanos = Nanos::from_micros(5);

/// The most threads of a run.
const MAX_THREADS: u64 = 1 << 16;

/// The most bytes of an array: a part is counted in 2^32 KiB.
const MAX_ARRAY: u64 = 1 << 38;

/// What all threads of a run name.
#[derive(Clone, Copy, Debug)]
struct Team {
    /// Where a loop begins, and where it ends.
    fork: BarrierId,
    join: BarrierId,
    /// 1 when all are started.
    complete: FutexId,
    /// A thread's part of an array, in KiB.
    part_kib: u32,
}

impl Stream {
    fn check(&self) -> Result<(), WorkloadError> {
        for (what, count, limit) in [
            ("threads", u64::from(self.threads), MAX_THREADS),
            ("elements of an array", self.array_size, MAX_ARRAY / 8),
        ] {
            if count > limit {
                return Err(WorkloadError::TooMany { what, count, limit });
            }
        }
        Ok(())
    }

    /// How many bytes an array has.
    #[must_use]
    pub fn array_bytes(&self) -> u64 {
        self.array_size * 8
    }

    /// The programs of all tasks: task 0 is the main thread, which has a part of the work, too.
    ///
    /// # Errors
    /// When there are more threads or larger arrays than a run can hold.
    pub fn build(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.check()?;
        let mut b = Builder::new();
        b.mark("start");
        b.mark("stop");
        for kernel in KERNELS {
            let begins = b.mark(&format!("{} begins", kernel.name));
            let ends = b.mark(&format!("{} ends", kernel.name));
            b.span(begins, ends);
        }
        let part = self.array_bytes().div_ceil(u64::from(self.threads)).div_ceil(1024);
        let part_kib = u32::try_from(part).expect("the size of an array was checked");
        for _ in 0..self.threads {
            b.region(part_kib.saturating_mul(3), self.stores);
        }
        let (fork, join) = (b.barrier(self.threads), b.barrier(self.threads));
        let team = Team { fork, join, complete: b.futexes(1), part_kib };
        let main = b.program("main", |p| self.main(p, team));
        let helper = b.program("helper", |p| self.helper(p, team));
        let proc = b.process(NAME);
        b.start(NAME, proc, main, [0, 0]);
        for nth in 1..self.threads {
            b.thread(NAME, proc, helper, [nth, 0]);
        }
        b.build(seed)
    }

    fn main(&self, p: &mut Body<'_>, team: Team) {
        let helpers = self.threads - 1;
        if helpers > 0 {
            p.repeat(helpers, |p, nth| p.spawn(Operand::fixed(1).plus(nth)));
        }
        p.futex_set(team.complete, 1);
        prepare(p, team, RegionId(0));
        p.mark(START);
        for kernel in KERNELS {
            goes_through(p, team, RegionId(0), kernel);
        }
        if self.ntimes > 1 {
            p.repeat(self.ntimes - 1, |p, _| {
                for (mark, kernel) in (FIRST_LOOP.0..).step_by(2).zip(KERNELS) {
                    p.mark(MarkId(mark));
                    goes_through(p, team, RegionId(0), kernel);
                    p.mark(MarkId(mark + 1));
                }
            });
        }
        p.mark(STOP);
        if helpers > 0 {
            p.repeat(helpers, |p, nth| p.join(Operand::fixed(1).plus(nth)));
        }
    }

    /// Its argument is its part.
    fn helper(&self, p: &mut Body<'_>, team: Team) {
        let region = Operand::arg(0);
        p.forever(|p| {
            p.leave_unless(team.complete, 0);
            p.run(Dist::Constant(LOOK));
        });
        prepare(p, team, region);
        p.repeat(self.ntimes, |p, _| {
            for kernel in KERNELS {
                goes_through(p, team, region, kernel);
            }
        });
    }
}

/// The arrays get their values, and then one is doubled in place to see how long that takes.
fn prepare(p: &mut Body<'_>, team: Team, region: impl Into<Operand>) {
    let region = region.into();
    p.barrier(team.fork);
    p.touch(region, team.part_kib.saturating_mul(3));
    p.barrier(team.join);
    p.barrier(team.fork);
    p.stream(region, 0, team.part_kib);
    p.barrier(team.join);
}

/// One loop over a thread's part.
fn goes_through(p: &mut Body<'_>, team: Team, region: impl Into<Operand>, kernel: Kernel) {
    p.barrier(team.fork);
    p.stream(region, kernel.loads * team.part_kib, team.part_kib);
    p.barrier(team.join);
}
