//! `lower`: a recording to programs.

use std::collections::BTreeMap;

use simsched_core::{
    MaskId, Nanos, ProcId, RecordedTimes, SchedPolicy, Setup, Start, TaskId, TaskSpec,
};
use simsched_topology::{CpuId, CpuSet};

use super::{
    Act, Affinity, Begin, Deed, Does, Lowered, Options, Player, Recording, Thread, Timers, Wake,
    Woken,
};
use crate::error::WorkloadError;

/// The priority of nice value 0.
const PRIO: i32 = 120;
/// The first priority that is none of a real-time class.
const FAIR: i32 = 100;

/// Names of threads of the kernel that belong to the CPU whose number follows.
const PINNED: [&str; 9] = [
    "kworker/",
    "ksoftirqd/",
    "cpuhp/",
    "rcuc/",
    "irq_work/",
    "idle_inject/",
    "ktimers/",
    "backlog_napi/",
    "migration/",
];

/// The programs of a recording, for a machine of so many CPUs with ticks of `tick` ns.
///
/// # Errors
/// When it has no thread, or more of something than a run can hold.
pub fn lower(
    recording: &Recording,
    options: &Options,
    nr_cpus: usize,
    tick: u64,
) -> Result<Lowered, WorkloadError> {
    let threads = order(recording);
    let mut task_of = vec![None; recording.threads.len()];
    for (task, thread) in threads.iter().enumerate() {
        task_of[*thread] = Some(TaskId::new(task));
    }
    let recorded = RecordedTimes {
        dispatch: Nanos(recording.dispatch),
        preempt: Nanos(recording.preempt),
        here: recording.here,
    };
    // The switch comes so long behind its tick.
    let behind = |at: u64| (at + tick - recording.preempt % tick) % tick;
    let lead = options.tick.map_or(0, |at| (tick - behind(at % tick)) % tick);
    let mut lowered = Lowered {
        setup: Setup { recorded: Some(recorded), ..Setup::default() },
        acts: Vec::new(),
        players: Vec::new(),
        lead,
        threads,
        wakeups: 0,
    };
    let waits = waits(recording, &mut lowered.wakeups);
    let mut procs = BTreeMap::new();
    for nth in lowered.threads.clone() {
        let thread = &recording.threads[nth];
        let proc = *procs.entry(thread.tgid).or_insert_with(|| {
            lowered.setup.procs.push(thread.comm.clone());
            ProcId::new(lowered.setup.procs.len() - 1)
        });
        lowered.setup.tasks.push(spec(thread, proc, options.affinity, nr_cpus));
        let first = lowered.acts.len();
        Writer {
            acts: &mut lowered.acts,
            task_of: &task_of,
            lead,
            timers: options.timers,
            affinity: options.affinity,
            recording,
            nr_cpus,
            waits: &waits,
            wait: waits[nth],
            done: 0,
        }
        .thread(thread);
        let end = lowered.acts.len();
        let begins = lowered.acts.get(first).copied();
        if let Some(task) = lowered.setup.tasks.last_mut() {
            task.start = start(task.start, begins);
        }
        let dispatch = match thread.begin {
            Begin::Forked(dispatch) => short(dispatch),
            _ => 0,
        };
        let (first, end) = (place(first)?, place(end)?);
        lowered.players.push(Player { first, end, ends: thread.end, dispatch });
    }
    if lowered.setup.tasks.iter().all(|task| task.start == Start::Spawned) {
        let what = "no thread of the recording runs, waits or sleeps at its begin".to_owned();
        return Err(WorkloadError::Usage { program: super::NAME, what });
    }
    lowered.setup.masks = masks(nr_cpus);
    // A futex word for each thread, and one for the end.
    lowered.setup.futexes = u32::try_from(lowered.players.len() + 1).unwrap_or(u32::MAX);
    lowered.setup.marks = vec!["done".to_owned(), "end".to_owned()];
    Ok(lowered)
}

/// The place of an act.
fn place(at: usize) -> Result<u32, WorkloadError> {
    u32::try_from(at).map_err(|_| WorkloadError::TooMany {
        what: "steps of a recording",
        count: at as u64,
        limit: u32::MAX.into(),
    })
}

/// By thread: the number of its first wakeup by another one; and how many of these there are.
fn waits(recording: &Recording, wakeups: &mut u32) -> Vec<u32> {
    let is_wait =
        |deed: &&Deed| matches!(deed.does, Does::Sleep(Some(Woken { by: Wake::Thread, .. })));
    let mut first = |thread: &Thread| {
        let own = thread.deeds.iter().filter(is_wait).count();
        let next = wakeups.saturating_add(u32::try_from(own).unwrap_or(u32::MAX));
        std::mem::replace(wakeups, next)
    };
    recording.threads.iter().map(&mut first).collect()
}

/// The threads in the order of their tasks: who sleeps at the begin comes first, so that all of them
/// are asleep when the others begin; then those who run, then those who wait for them.
fn order(recording: &Recording) -> Vec<usize> {
    let rank = |thread: &Thread| match thread.begin {
        Begin::Asleep(_) => 0,
        Begin::Running(_) => 1,
        Begin::Waiting(_) => 2,
        Begin::Forked(_) => 3,
    };
    let mut order: Vec<usize> = (0..recording.threads.len()).collect();
    order.sort_by_key(|nth| rank(&recording.threads[*nth]));
    order
}

/// A mask for each CPU, and then one of all.
fn masks(nr_cpus: usize) -> Vec<CpuSet> {
    let mut all = CpuSet::new();
    let mut masks = Vec::with_capacity(nr_cpus + 1);
    for cpu in (0..nr_cpus).map(CpuId::new) {
        let mut one = CpuSet::new();
        one.insert(cpu);
        all.insert(cpu);
        masks.push(one);
    }
    masks.push(all);
    masks
}

fn spec(thread: &Thread, proc: ProcId, affinity: Affinity, nr_cpus: usize) -> TaskSpec {
    let allowed = allowed(thread, affinity, nr_cpus);
    let start = match thread.begin {
        Begin::Forked(_) => Start::Spawned,
        Begin::Running(cpu) | Begin::Waiting(cpu) | Begin::Asleep(cpu) => {
            // On a smaller machine CPUs stand for several.
            let cpu = CpuId::new(cpu as usize % nr_cpus.max(1));
            let first = allowed.and_then(|set| if set.contains(cpu) { None } else { set.first() });
            let cpu = first.unwrap_or(cpu);
            match thread.begin {
                Begin::Asleep(_) => Start::Asleep(cpu),
                _ => Start::AtZero(cpu),
            }
        }
    };
    TaskSpec {
        name: thread.comm.clone(),
        proc,
        nice: nice(thread.prio),
        policy: SchedPolicy::Normal,
        allowed,
        start,
    }
}

/// How a task starts whose first act is this one: who does something before it sleeps is not asleep.
fn start(start: Start, begins: Option<Act>) -> Start {
    use Act::{Dispatch, Early, Leave, Sleep, SleepUntil, Wait};
    match (start, begins) {
        (
            _,
            None | Some(Dispatch(_) | Early(_) | Leave(_) | Wait(_) | Sleep(_) | SleepUntil(_)),
        ) => start,
        (Start::Asleep(cpu), _) => Start::AtZero(cpu),
        _ => start,
    }
}

/// The nice value of a priority; real-time classes, of which there are none here, get the least.
pub(super) fn nice(prio: i32) -> i8 {
    i8::try_from(prio.saturating_sub(PRIO).clamp(-20, 19)).unwrap_or(0)
}

/// Whether a priority is one of a real-time class.
pub(super) fn is_real_time(prio: i32) -> bool {
    prio < FAIR
}

fn allowed(thread: &Thread, affinity: Affinity, nr_cpus: usize) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    let mut add = |cpu: u32| {
        if (cpu as usize) < nr_cpus {
            set.insert(CpuId::new(cpu as usize));
        }
    };
    match affinity {
        Affinity::Known => add(own_cpu(&thread.comm)?),
        Affinity::Inferred => add(own_cpu(&thread.comm).or(thread.kept)?),
        Affinity::Seen => thread.cpus.iter().for_each(|cpu| add(*cpu)),
    }
    (!set.is_empty()).then_some(set)
}

/// The CPU to which a thread of the kernel of this name belongs.
fn own_cpu(comm: &str) -> Option<u32> {
    let number = PINNED.iter().find_map(|name| comm.strip_prefix(name))?;
    let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    // `kworker/u17:1` belongs to none.
    number[..digits].parse().ok()
}

/// Writes the acts of one thread.
struct Writer<'a> {
    acts: &'a mut Vec<Act>,
    task_of: &'a [Option<TaskId>],
    lead: u64,
    timers: Timers,
    affinity: Affinity,
    recording: &'a Recording,
    nr_cpus: usize,
    /// By thread: the number of its first wakeup.
    waits: &'a [u32],
    /// The number of its next wakeup.
    wait: u32,
    /// What it has computed since its last act, in ns.
    done: u64,
}

impl Writer<'_> {
    fn thread(&mut self, thread: &Thread) {
        // Who waits in the recording may have a CPU at once here, and what it does before is not counted.
        let is_awake = matches!(thread.begin, Begin::Running(_) | Begin::Waiting(_));
        if is_awake && self.lead > 0 {
            self.acts.push(Act::RunUntil(self.lead));
        }
        let ends = ends_of_runs(&thread.deeds);
        let mut since = None;
        for (deed, end) in thread.deeds.iter().zip(ends) {
            // A wakeup that took effect when its waker was gone was done before.
            let time = deed.time.min(end);
            if let Some((cpu, since)) = &mut since {
                self.done += match &self.recording.speeds {
                    Some(speeds) => speeds.work(*cpu, *since, time),
                    None => time.saturating_sub(*since),
                };
                *since = time.max(*since);
            }
            match deed.does {
                Does::In(cpu) => since = Some((cpu, time)),
                Does::Out | Does::Exits => since = None,
                Does::Sleep(wake) => {
                    since = None;
                    self.sleep(time, wake);
                }
                Does::Wakes(wakee, nth, sync) => {
                    if let Some(task) = self.task(wakee) {
                        let wakeup = self.waits[wakee] + nth;
                        let wake = if sync { Act::WakeSync } else { Act::Wake };
                        self.act(wake(task, wakeup));
                    }
                }
                Does::Forks(child) => {
                    if let Some(task) = self.task(child) {
                        self.act(Act::Spawn(task));
                    }
                }
                Does::Keeps(kept, cpu) => {
                    if let (Some(task), Some(mask)) = (self.task(kept), self.mask(kept, cpu)) {
                        self.act(Act::Keep(task, mask));
                    }
                }
                Does::Prio(prio) if is_real_time(prio) => {}
                Does::Prio(prio) => self.act(Act::Nice(nice(prio))),
            }
        }
        self.compute();
    }

    /// The mask of this CPU, or of all, for a thread that was kept there; none if that is left out.
    fn mask(&self, thread: usize, cpu: Option<u32>) -> Option<MaskId> {
        let by_name = own_cpu(&self.recording.threads[thread].comm).is_some();
        let nth = cpu.map_or(self.nr_cpus, |cpu| cpu as usize);
        let is_there = cpu.is_none() || nth < self.nr_cpus;
        let holds = self.affinity == Affinity::Inferred && is_there && !by_name;
        holds.then(|| MaskId::new(nth))
    }

    fn compute(&mut self) {
        let ns = std::mem::take(&mut self.done);
        if ns > 0 {
            self.acts.push(Act::Run(ns));
        }
    }

    fn act(&mut self, act: Act) {
        self.compute();
        self.acts.push(act);
    }

    /// The task of a thread of the recording.
    fn task(&self, thread: usize) -> Option<TaskId> {
        self.task_of.get(thread).copied().flatten()
    }

    fn sleep(&mut self, time: u64, woken: Option<Woken>) {
        if let Some(Woken { by, dispatch, early }) = woken {
            // Who is called for on the way out of its CPU was asleep by then.
            let leave = self.done.min(early.max(self.recording.leave));
            if by == Wake::Thread && leave > 0 {
                self.done -= leave;
                self.act(Act::Leave(short(Some(leave))));
                if early > 0 {
                    self.act(Act::Early(short(Some(early.min(leave)))));
                }
            }
            self.act(Act::Dispatch(short(dispatch)));
        }
        match (woken.map(|woken| woken.by), self.timers) {
            // The rest of the recording: all wait for its end.
            (None, _) => self.compute(),
            (Some(Wake::Thread), _) => {
                let wait = self.wait;
                self.wait += 1;
                self.act(Act::Wait(wait));
            }
            (Some(Wake::Outside(at)), Timers::Absolute) => {
                self.act(Act::SleepUntil(self.lead + at))
            }
            (Some(Wake::Outside(at)), Timers::Relative) => {
                self.act(Act::Sleep(at.saturating_sub(time)));
            }
        }
    }
}

/// A time that fits into an act; what is not known is 0.
fn short(ns: Option<u64>) -> u32 {
    ns.map_or(0, |ns| u32::try_from(ns).unwrap_or(u32::MAX))
}

/// By deed: the time at which the run of its thread ends in which it is.
fn ends_of_runs(deeds: &[Deed]) -> Vec<u64> {
    let mut end = u64::MAX;
    let mut ends: Vec<u64> = deeds
        .iter()
        .rev()
        .map(|deed| {
            if matches!(deed.does, Does::Out | Does::Exits | Does::Sleep(_)) {
                end = deed.time;
            }
            end
        })
        .collect();
    ends.reverse();
    ends
}
