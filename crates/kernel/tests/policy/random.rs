//! Random programs on random machines: what a seed stands for never changes, as long as this file does not.

use std::fmt;
use std::sync::Arc;

use rand::Rng;
use simsched_core::testkit::Script;
use simsched_core::{
    FutexId, LockId, MaskId, Nanos, Op, PipeId, ProcId, SchedPolicy, Seed, Setup, Start, Stream,
    TaskId, TaskSpec,
};
use simsched_topology::{CpuId, CpuSet, Topology};

/// What any machine file has beside its structure.
const REST: &str = r#"
[c2c_ns]
smt = 8
same_llc = 57
same_socket = 100
cross_socket = 150

[[idle]]
name = "C1"
exit_us = 1
residency_us = 2
polling = true

[[idle]]
name = "C6"
exit_us = 170
residency_us = 600
polling = false
"#;

/// Features of each version that may be turned over, and numbers that may be set, as the built-in policies call them.
const FEATURES: [&[&str]; 5] = [
    &[
        "GENTLE_FAIR_SLEEPERS",
        "START_DEBIT",
        "NEXT_BUDDY",
        "LAST_BUDDY",
        "WAKEUP_PREEMPTION",
        "WA_IDLE",
        "WA_WEIGHT",
        "WA_BIAS",
        "ATTACH_AGE_LOAD",
        "ALT_PERIOD",
        "BASE_SLICE",
    ],
    &[
        "PLACE_LAG",
        "PLACE_DEADLINE_INITIAL",
        "PLACE_REL_DEADLINE",
        "RUN_TO_PARITY",
        "PREEMPT_SHORT",
        "NEXT_BUDDY",
        "PICK_BUDDY",
        "DELAY_DEQUEUE",
        "DELAY_ZERO",
        "WA_IDLE",
        "WA_WEIGHT",
        "WA_BIAS",
    ],
    &[
        "PLACE_LAG",
        "PLACE_DEADLINE_INITIAL",
        "PLACE_REL_DEADLINE",
        "RUN_TO_PARITY",
        "PREEMPT_SHORT",
        "PICK_BUDDY",
        "DELAY_DEQUEUE",
        "DELAY_ZERO",
        "HRTICK",
        "NI_RATE",
        "WA_IDLE",
        "WA_WEIGHT",
        "WA_BIAS",
    ],
    &[
        "PLACE_LAG",
        "PLACE_DEADLINE_INITIAL",
        "PLACE_REL_DEADLINE",
        "RUN_TO_PARITY",
        "PREEMPT_SHORT",
        "PICK_BUDDY",
        "DELAY_DEQUEUE",
        "DELAY_ZERO",
        "HRTICK",
        "NI_RATE",
        "WA_IDLE",
        "WA_WEIGHT",
        "WA_BIAS",
    ],
    &[
        "PLACE_LAG",
        "PLACE_DEADLINE_INITIAL",
        "PLACE_REL_DEADLINE",
        "RUN_TO_PARITY",
        "PREEMPT_SHORT",
        "PICK_BUDDY",
        "DELAY_DEQUEUE",
        "DELAY_ZERO",
        "HRTICK",
        "NI_RATE",
        "WA_IDLE",
        "WA_WEIGHT",
        "WA_BIAS",
    ],
];
const NUMBERS: [&[&str]; 5] = [
    &["min_granularity_ns", "wakeup_granularity_ns", "migration_cost_ns"],
    &["migration_cost_ns"],
    &["migration_cost_ns"],
    &["migration_cost_ns"],
    &["migration_cost_ns"],
];

/// The numbers of cache-aware scheduling, each with values that decide otherwise than the usual one.
const GATHERING: [(&str, &[&str]); 4] = [
    ("llc_balancing.aggr_tolerance", &["0", "2", "100"]),
    ("llc_balancing.overaggr_pct", &["25", "80"]),
    ("llc_balancing.imb_pct", &["0", "50"]),
    ("llc_balancing.epoch_period", &["1", "5"]),
];

/// The policies of the programs: the fair class of each release.
const BASES: [&str; 5] =
    ["cfs@6.1", "eevdf@6.12", "eevdf@7.3", "eevdf@7.2", "eevdf@7.3+cache_aware"];

const MASKS: [MaskId; 3] = [MaskId(0), MaskId(1), MaskId(2)];

/// What a seed stands for.
pub(crate) struct Plan {
    seed: u64,
    shape: [u64; 4],
    linear: bool,
    /// The policy, as a user would write it.
    pub(crate) expr: String,
    masks: [CpuSet; 3],
    tasks: Vec<(TaskSpec, Vec<Op>)>,
}

/// Random numbers, one after the other.
struct Random(Stream);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    /// A time from `from` ns to a thousand times that, of each power of ten as often.
    fn time(&mut self, from: u64) -> Nanos {
        let scale = self.of(&[1, 10, 100]);
        Nanos(scale * (from + self.below(9 * from)))
    }

    fn nice(&mut self) -> i8 {
        let nice = i8::try_from(self.below(40)).unwrap() - 20;
        if self.one_in(3) { nice } else { 0 }
    }
}

impl Plan {
    /// The program of `seed`, for the fair class of 6.1, 6.12, 7.2 or 7.3, or for that with cache-aware scheduling.
    pub(crate) fn new(seed: u64, version: &str) -> Plan {
        let ends = |base: &&str| base.ends_with(&format!("@{version}"));
        let release = BASES.iter().position(ends).unwrap();
        let mut random = Random(Seed(seed).stream("PLAN", release as u64));
        let shape =
            [1 + random.below(2), 1 + random.below(3), 1 + random.below(4), 1 + random.below(2)];
        let cpus = shape.iter().product::<u64>();
        let expr = expr(&mut random, release);
        let masks = [CpuId(0); 3].map(|cpu| some_cpus(&mut random, cpus, cpu));
        let nr_tasks = 1 + random.below(3 * cpus + 4);
        let tasks = (0..nr_tasks)
            .map(|task| {
                let cpu = CpuId(u16::try_from(random.below(cpus)).unwrap());
                // Every third is started by the one before it.
                let start = match task % 3 {
                    2 => Start::Spawned,
                    _ => Start::AtZero(cpu),
                };
                let child = (task % 3 == 1 && task + 1 < nr_tasks).then(|| spawn(task + 1));
                let ops = child.into_iter().chain(ops(&mut random, task)).collect();
                let allowed = random.one_in(4).then(|| some_cpus(&mut random, cpus, cpu));
                let policy = random.of(&[
                    SchedPolicy::Normal,
                    SchedPolicy::Normal,
                    SchedPolicy::Normal,
                    SchedPolicy::Normal,
                    SchedPolicy::Batch,
                    SchedPolicy::Idle,
                ]);
                let spec = TaskSpec {
                    name: format!("t{task}"),
                    proc: ProcId(0),
                    nice: random.nice(),
                    policy,
                    allowed,
                    start,
                };
                (spec, ops)
            })
            .collect();
        let linear = random.one_in(2);
        Plan { seed, shape, linear, expr, masks, tasks }
    }

    pub(crate) fn topology(&self) -> Arc<Topology> {
        let [sockets, llcs, cores, threads] = self.shape;
        let numbering = if self.linear { "linear" } else { "smt_split" };
        let text = format!(
            "name = \"random\"\ntitle = \"random\"\ndefault_mode = \"one\"\ncosts = \"x86\"\n\
             [cores]\nsockets = {sockets}\nllcs_per_socket = {llcs}\ncores_per_llc = {cores}\n\
             threads_per_core = {threads}\nnumbering = \"{numbering}\"\n\
             [mode.one]\nnodes_per_socket = 1\ncross_socket = 21\n{REST}"
        );
        Arc::new(Topology::parse(&text, "random.toml", None).unwrap())
    }

    /// The tasks, and one that wakes the waiters of the futex and writes to the pipes.
    pub(crate) fn script(&self) -> Script {
        let procs = vec!["proc".to_owned()];
        let masks = self.masks.to_vec();
        let mut script =
            Script::new(Setup { procs, pipes: 3, locks: 1, futexes: 1, masks, ..Setup::default() });
        for (spec, ops) in &self.tasks {
            let task = script.spawned(ops);
            script.spec(task).clone_from(spec);
        }
        let wake = Op::FutexWake { futex: FutexId(0), count: 9, sync: false };
        let writes = (0..3).map(|pipe| Op::Write { pipe: PipeId(pipe), bytes: 100 });
        let once: Vec<Op> = [Op::Sleep(Nanos(3_000_000)), wake].into_iter().chain(writes).collect();
        script.task(CpuId(0), &once.repeat(100));
        script
    }

    pub(crate) fn seed(&self) -> Seed {
        Seed(self.seed)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [sockets, llcs, cores, threads] = self.shape;
        let order = if self.linear { "linear" } else { "split" };
        let nr_tasks = self.tasks.len();
        write!(f, "{sockets}x{llcs}x{cores}x{threads} {order}, {nr_tasks} tasks, {}", self.expr)
    }
}

fn expr(random: &mut Random, release: usize) -> String {
    let mut expr = BASES[release].to_owned();
    let group = random.of(&["root", "root", "container", "nested:2", "nested:3"]);
    if group != "root" {
        expr += &format!("+group={group}");
    }
    for feature in FEATURES[release] {
        if random.one_in(10) {
            let value = random.of(&["on", "off"]);
            expr += &format!("+{feature}={value}");
        }
    }
    for (number, values) in GATHERING.iter().filter(|_| BASES[release].ends_with("+cache_aware")) {
        if random.one_in(4) {
            expr += &format!("+{number}={}", random.of(values));
        }
    }
    for number in NUMBERS[release] {
        if random.one_in(8) {
            expr += &format!("+{number}={}", random.time(100_000).get());
        }
    }
    expr
}

fn spawn(task: u64) -> Op {
    Op::Spawn(TaskId::new(usize::try_from(task).unwrap()))
}

/// Some CPUs, `cpu` among them.
fn some_cpus(random: &mut Random, cpus: u64, cpu: CpuId) -> CpuSet {
    let mask = random.0.next_u64();
    let mut some: CpuSet = (0..u16::try_from(cpus).unwrap())
        .filter(|cpu| mask >> (cpu % 64) & 1 == 1)
        .map(CpuId)
        .collect();
    some.insert(cpu);
    some
}

/// What a task does: a few ops, over and over again.
fn ops(random: &mut Random, task: u64) -> Vec<Op> {
    let pipe = PipeId(u32::try_from(random.below(3)).unwrap());
    let kind = random.below(5);
    let mut once = Vec::new();
    for _ in 0..1 + random.below(6) {
        match kind {
            // One that computes,
            0 => once.push(Op::Run(random.time(100_000))),
            // one that sleeps between,
            1 => once.extend([Op::Run(random.time(2_000)), Op::Sleep(random.time(20_000))]),
            // two ends of a pipe,
            2 => once.extend([Op::Write { pipe, bytes: 100 }, Op::Run(random.time(1_000))]),
            3 => once.extend([Op::Read { pipe, bytes: 100 }, Op::Run(random.time(1_000))]),
            // and one that does all that there is.
            _ => any(random, pipe, task, &mut once),
        }
    }
    once.repeat(usize::try_from(1 + random.below(300)).unwrap())
}

fn any(random: &mut Random, pipe: PipeId, task: u64, ops: &mut Vec<Op>) {
    let (lock, futex) = (LockId(0), FutexId(0));
    let (task, mask) = (TaskId::new(usize::try_from(task).unwrap()), random.of(&MASKS));
    match random.below(12) {
        0 | 1 => ops.push(Op::Run(random.time(1_000))),
        2 | 3 => ops.push(Op::Sleep(random.time(10_000))),
        4 => ops.push(Op::Write { pipe, bytes: 3_000 }),
        5 => ops.push(Op::Read { pipe, bytes: 3_000 }),
        6 => ops.push(Op::FutexWait { futex, value: 0 }),
        7 => ops.push(Op::FutexWake { futex, count: 2, sync: random.one_in(2) }),
        8 => ops.extend([Op::Lock(lock), Op::Run(random.time(1_000)), Op::Unlock(lock)]),
        9 => ops.push(Op::Yield),
        10 => ops.push(Op::SetNice(random.nice())),
        _ => ops.push(Op::SetAffinity { task, mask }),
    }
}
