//! `LlcSeries`: where the processes of a run are at home among its LLCs, interval by interval.

use simsched_topology::{CpuId, LlcId, Topology};

use crate::ids::{ProcId, TaskId};
use crate::names::Cause;
use crate::observer::{Observer, Tracepoint};
use crate::policy::Wants;
use crate::time::{Nanos, SimTime};
use crate::world::World;

/// How many tasks changed their CPU, by [`Cause`].
pub type ByCause = [u64; Cause::NAMES.len()];

/// What a run did in each LLC, cut into intervals of equal length.
///
/// The **home** of a process in an interval is the LLC that its policy preferred for the longest part
/// of it ([`Tracepoint::Preferred`]). If it preferred none for longer, or never says, the home is the
/// LLC in which the process has run most in this interval, the first of equals; [`LlcRow::by_policy`]
/// says which.
///
/// Runtime is the time for which a task is the current one of a CPU, from switch to switch. A
/// migration counts if its two CPUs are in different LLCs. Wakeups are those of tasks that were started
/// before: the first one of a new task is none.
///
/// When there are more than 16,384 intervals, or 262,144 rows, each two intervals become one that is twice as
/// long, so that a run of any length takes a bounded part of the memory. Their counts are added (what was at
/// home in its half remains so), and the home of both is that of the half in which the process ran longer, the
/// first of equals.
#[derive(Clone, Debug)]
pub struct LlcSeries {
    interval: Nanos,
    /// The end of the interval that is under way.
    end: SimTime,
    /// By CPU.
    llc_of: Vec<LlcId>,
    running: Vec<Running>,
    nr_llcs: usize,
    /// By process.
    homes: Vec<Home>,
    /// By process, then by LLC.
    now: Vec<Cell>,
    /// By process, then by LLC and none: for how long it was preferred.
    held: Vec<u64>,
    /// By task: it has not been queued yet.
    is_new: Vec<bool>,
    busy: Vec<u64>,
    rows: Vec<LlcRow>,
    spans: Vec<Nanos>,
}

/// What a CPU does, in ns.
#[derive(Clone, Copy, Debug)]
struct Running {
    proc: Option<ProcId>,
    since: SimTime,
}

/// What a policy says of a process.
#[derive(Clone, Copy, Debug)]
struct Home {
    llc: Option<LlcId>,
    since: SimTime,
}

/// A process in one LLC in the interval that is under way.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    runtime: u64,
    wakeups: u64,
    into: ByCause,
    out_of: ByCause,
}

/// A process in one interval in which it ran, was woken or moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlcRow {
    /// Which interval.
    pub interval: u32,
    /// Which process.
    pub proc: ProcId,
    /// Its home.
    pub home: LlcId,
    /// Whether its policy says so.
    pub by_policy: bool,
    /// For how long its tasks have run, all together.
    pub runtime: Nanos,
    /// The part of it in the home.
    pub at_home: Nanos,
    /// How often its tasks were woken.
    pub wakeups: u64,
    /// The part of it that ended in the home.
    pub wakeups_home: u64,
    /// Moves from other LLCs into the home.
    pub into: ByCause,
    /// Moves from the home to other LLCs.
    pub out_of: ByCause,
    /// All moves between LLCs.
    pub moves: ByCause,
}

/// An even number of intervals, and how many rows they may have.
const MOST: [usize; 2] = [1 << 14, 1 << 18];

/// Adds the counts of `b`.
fn add(a: &mut ByCause, b: &ByCause) {
    a.iter_mut().zip(b).for_each(|(sum, count)| *sum += count);
}

impl LlcRow {
    /// Both halves of an interval.
    fn with(mut self, other: &LlcRow) -> LlcRow {
        if other.runtime > self.runtime {
            (self.home, self.by_policy) = (other.home, other.by_policy);
        }
        self.runtime += other.runtime;
        self.at_home += other.at_home;
        self.wakeups += other.wakeups;
        self.wakeups_home += other.wakeups_home;
        add(&mut self.into, &other.into);
        add(&mut self.out_of, &other.out_of);
        add(&mut self.moves, &other.moves);
        self
    }
}

impl LlcSeries {
    /// Nothing yet, of a run of `nr_tasks` tasks in `nr_procs` processes.
    #[must_use]
    pub fn new(
        topology: &Topology,
        nr_tasks: usize,
        nr_procs: usize,
        interval: Nanos,
    ) -> LlcSeries {
        let nr_llcs = topology.nr_llcs();
        LlcSeries {
            interval,
            end: SimTime::ZERO + interval,
            llc_of: topology.cpus().iter().map(|cpu| topology.llc_of(cpu)).collect(),
            running: vec![Running { proc: None, since: SimTime::ZERO }; topology.nr_cpus()],
            nr_llcs,
            homes: vec![Home { llc: None, since: SimTime::ZERO }; nr_procs],
            now: vec![Cell::default(); nr_procs * nr_llcs],
            held: vec![0; nr_procs * (nr_llcs + 1)],
            is_new: vec![false; nr_tasks],
            busy: Vec::new(),
            rows: Vec::new(),
            spans: Vec::new(),
        }
        .with_room()
    }

    /// The length of all intervals but the last: as asked for, or a power of two times that.
    #[must_use]
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// The intervals: how long each was.
    #[must_use]
    pub fn spans(&self) -> &[Nanos] {
        &self.spans
    }

    /// For how long the CPUs of each LLC ran tasks in this interval, all together.
    ///
    /// # Panics
    /// When there is no such interval.
    #[must_use]
    pub fn busy(&self, interval: usize) -> &[u64] {
        &self.busy[interval * self.nr_llcs..][..self.nr_llcs]
    }

    /// The processes, interval by interval.
    #[must_use]
    pub fn rows(&self) -> &[LlcRow] {
        &self.rows
    }

    /// Ends the last interval, which may be shorter, when the run is over at `now`.
    pub fn finish(&mut self, now: SimTime) {
        self.pass(now);
        let start = SimTime::ZERO + Nanos(self.end.get() - self.interval.get());
        if now > start {
            self.close(now);
        }
        self.busy.truncate(self.spans.len() * self.nr_llcs);
    }

    /// Room for the sums of the interval under way.
    fn with_room(mut self) -> LlcSeries {
        self.busy.resize((self.spans.len() + 1) * self.nr_llcs, 0);
        self
    }

    /// Ends the intervals that are over.
    #[inline]
    fn pass(&mut self, now: SimTime) {
        while now >= self.end {
            self.close(self.end);
        }
    }

    #[cold]
    fn close(&mut self, at: SimTime) {
        (0..self.running.len()).for_each(|cpu| self.charge(CpuId::new(cpu), at));
        (0..self.homes.len()).for_each(|proc| self.hold(proc, at));
        for proc in 0..self.homes.len() {
            if let Some(row) = self.row_of(proc) {
                self.rows.push(row);
            }
        }
        let start = self.end.get() - self.interval.get();
        self.spans.push(Nanos(at.get() - start));
        while self.spans.len().is_multiple_of(2) && self.is_full() {
            self.double();
        }
        self.end += self.interval;
        self.now.fill(Cell::default());
        self.held.fill(0);
        self.busy.resize((self.spans.len() + 1) * self.nr_llcs, 0);
    }

    fn is_full(&self) -> bool {
        let [intervals, rows] = MOST;
        self.spans.len() >= intervals || (self.rows.len() >= rows && self.spans.len() > 2)
    }

    /// Each two intervals, all of which are over, become one.
    fn double(&mut self) {
        let nr = self.spans.len() / 2;
        self.spans =
            self.spans.chunks(2).map(|pair| Nanos(pair[0].get() + pair[1].get())).collect();
        for (at, llc) in (0..nr).flat_map(|at| (0..self.nr_llcs).map(move |llc| (at, llc))) {
            let of = |half: usize| self.busy[(2 * at + half) * self.nr_llcs + llc];
            self.busy[at * self.nr_llcs + llc] = of(0) + of(1);
        }
        // What comes next begins with nothing.
        self.busy.truncate(nr * self.nr_llcs);
        let mut rows = std::mem::take(&mut self.rows);
        rows.iter_mut().for_each(|row| row.interval /= 2);
        // Stable: of equals the earlier half comes first.
        rows.sort_by_key(|row| (row.interval, row.proc));
        for row in rows {
            match self.rows.last_mut() {
                Some(last) if (last.interval, last.proc) == (row.interval, row.proc) => {
                    *last = last.with(&row);
                }
                _ => self.rows.push(row),
            }
        }
        self.interval = Nanos(2 * self.interval.get());
    }

    /// What the process in row `proc` did in the interval; none if that was nothing.
    fn row_of(&self, proc: usize) -> Option<LlcRow> {
        let cells = &self.now[proc * self.nr_llcs..][..self.nr_llcs];
        let sum = |value: fn(&Cell) -> u64| cells.iter().map(value).sum::<u64>();
        let (runtime, wakeups) = (sum(|cell| cell.runtime), sum(|cell| cell.wakeups));
        let mut moves = ByCause::default();
        cells.iter().for_each(|cell| add(&mut moves, &cell.into));
        if runtime == 0 && wakeups == 0 && moves == ByCause::default() {
            return None;
        }
        let held = &self.held[proc * (self.nr_llcs + 1)..][..=self.nr_llcs];
        let longest = first_max(held.iter().copied());
        let by_policy = longest < self.nr_llcs;
        let home =
            if by_policy { longest } else { first_max(cells.iter().map(|cell| cell.runtime)) };
        let cell = &cells[home];
        Some(LlcRow {
            interval: u32::try_from(self.spans.len()).expect("fewer intervals than events"),
            proc: ProcId::new(proc),
            home: LlcId::new(home),
            by_policy,
            runtime: Nanos(runtime),
            at_home: Nanos(cell.runtime),
            wakeups,
            wakeups_home: cell.wakeups,
            into: cell.into,
            out_of: cell.out_of,
            moves,
        })
    }

    /// Adds what `cpu` has run up to `at`.
    #[inline]
    fn charge(&mut self, cpu: CpuId, at: SimTime) {
        let running = &mut self.running[cpu.idx()];
        if let Some(proc) = running.proc {
            // Where CPUs take turns, one may be told of before another that is ahead of it.
            let ns = at.get().saturating_sub(running.since.get());
            let llc = self.llc_of[cpu.idx()].idx();
            self.now[proc.idx() * self.nr_llcs + llc].runtime += ns;
            self.busy[self.spans.len() * self.nr_llcs + llc] += ns;
        }
        running.since = running.since.max(at);
    }

    /// Adds for how long the home of this process has been what it is.
    fn hold(&mut self, proc: usize, at: SimTime) {
        let home = &mut self.homes[proc];
        let llc = home.llc.map_or(self.nr_llcs, LlcId::idx);
        self.held[proc * (self.nr_llcs + 1) + llc] += at.get().saturating_sub(home.since.get());
        home.since = home.since.max(at);
    }

    #[inline]
    fn cell(&mut self, world: &World, task: TaskId, cpu: CpuId) -> &mut Cell {
        let proc = world.task(task).proc.idx();
        &mut self.now[proc * self.nr_llcs + self.llc_of[cpu.idx()].idx()]
    }

    fn moved(&mut self, world: &World, task: TaskId, [from, to]: [CpuId; 2], cause: Cause) {
        if self.llc_of[from.idx()] != self.llc_of[to.idx()] {
            self.cell(world, task, from).out_of[cause as usize] += 1;
            self.cell(world, task, to).into[cause as usize] += 1;
        }
    }
}

/// Where the greatest of these is, the first of equals.
fn first_max(values: impl Iterator<Item = u64>) -> usize {
    let best = values.enumerate().fold((0, 0), |best, at| if at.1 > best.1 { at } else { best });
    best.0
}

impl Observer for LlcSeries {
    fn wants(&self) -> Wants {
        Wants::PREFERRED
    }

    #[inline]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        let now = world.now();
        match tracepoint {
            Tracepoint::Switch { cpu, next, .. } => {
                self.pass(now);
                self.charge(cpu, now);
                self.running[cpu.idx()].proc = next.map(|task| world.task(task).proc);
            }
            Tracepoint::Wakeup { wakee, cpu, .. } => {
                self.pass(now);
                if !std::mem::take(&mut self.is_new[wakee.idx()]) {
                    self.cell(world, wakee, cpu).wakeups += 1;
                }
            }
            Tracepoint::Migrate { task, from, to, cause, .. } => {
                self.pass(now);
                self.moved(world, task, [from, to], cause);
            }
            Tracepoint::Fork { child, .. } => self.is_new[child.idx()] = true,
            Tracepoint::Preferred { proc, llc } => {
                self.pass(now);
                self.hold(proc.idx(), now);
                self.homes[proc.idx()].llc = llc;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
