//! Random programs that end under every policy that runs all of their tasks.

use rand::Rng;
use simsched_core::{
    Nanos, Op, Outcome, PipeId, ProcId, SchedPolicy, Seed, Setup, SimTime, Start, Stream, TaskId,
    TaskSpec, Workload,
};
use simsched_topology::{CpuId, CpuSet};

const WRITE: Op = Op::Write { pipe: PipeId(0), bytes: 64 };
const READ: Op = Op::Read { pipe: PipeId(0), bytes: 64 };
const BACK: Op = Op::Write { pipe: PipeId(1), bytes: 64 };
const WAIT: Op = Op::Read { pipe: PipeId(1), bytes: 64 };

/// Most tasks of a program, beside a pair that plays ping-pong and a child of each.
const MOST_TASKS: u64 = 24;

/// Tasks that compute, sleep, yield and change their nice values, some of them pinned to two CPUs, each with
/// a child that it forks at its end; beside a pair that plays ping-pong over two pipes.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    setup: Setup,
    /// What each task does, in reverse.
    ops: Vec<Vec<Op>>,
}

impl Programs {
    /// The program of this number for a machine with so many CPUs.
    pub(super) fn new(nth: u64, nr_cpus: usize) -> Programs {
        let mut rng = Seed(nth).stream("conformance", 0);
        let setup = Setup { procs: vec!["p".to_owned()], pipes: 2, ..Setup::default() };
        let mut programs = Programs { setup, ops: Vec::new() };
        let cpus = nr_cpus as u64;
        programs.add(Start::AtZero(CpuId(0)), [WRITE, WAIT].repeat(40));
        programs.add(Start::AtZero(cpu(&mut rng, cpus)), [READ, BACK].repeat(40));
        let tasks = 1 + rng.next_u64() % MOST_TASKS;
        for nth in 0..tasks {
            let child = TaskId::new(usize::try_from(2 + tasks + nth).expect("few tasks"));
            let count = 1 + rng.next_u64() % 24;
            let mut ops: Vec<Op> = (0..count).map(|_| any_op(&mut rng)).collect();
            ops.extend([Op::Spawn(child), Op::Run(Nanos(200_000)), Op::Join(child)]);
            let at = cpu(&mut rng, cpus);
            let spec = programs.add(Start::AtZero(at), ops);
            spec.nice = nice(&mut rng);
            spec.policy = match rng.next_u64() % 7 {
                0 => SchedPolicy::Batch,
                1 => SchedPolicy::Idle,
                _ => SchedPolicy::Normal,
            };
            if rng.next_u64().is_multiple_of(5) {
                spec.allowed = Some([at, cpu(&mut rng, cpus)].into_iter().collect::<CpuSet>());
            }
        }
        for _ in 0..tasks {
            programs.add(Start::Spawned, vec![Op::Run(Nanos(300_000)), Op::Sleep(Nanos(100_000))]);
        }
        programs
    }

    fn add(&mut self, start: Start, mut ops: Vec<Op>) -> &mut TaskSpec {
        ops.reverse();
        self.ops.push(ops);
        let name = format!("t{}", self.setup.tasks.len());
        let (proc, policy, allowed) = (ProcId(0), SchedPolicy::Normal, None);
        self.setup.tasks.push(TaskSpec { name, proc, nice: 0, policy, allowed, start });
        self.setup.tasks.last_mut().expect("it was just added")
    }
}

fn cpu(rng: &mut Stream, cpus: u64) -> CpuId {
    CpuId::new(usize::try_from(rng.next_u64() % cpus).expect("a CPU of the machine"))
}

fn nice(rng: &mut Stream) -> i8 {
    i8::try_from(rng.next_u64() % 40).expect("below 40") - 20
}

fn any_op(rng: &mut Stream) -> Op {
    let time = |rng: &mut Stream| Nanos(1_000 + rng.next_u64() % 8_000_000);
    match rng.next_u64() % 10 {
        0..=3 => Op::Run(time(rng)),
        4..=7 => Op::Sleep(time(rng)),
        8 => Op::Yield,
        _ => Op::SetNice(nice(rng)),
    }
}

impl Workload for Programs {
    fn setup(&self) -> Setup {
        self.setup.clone()
    }

    fn next_op(&mut self, task: TaskId, _: SimTime, _: Outcome) -> Op {
        self.ops[task.idx()].pop().unwrap_or(Op::Exit)
    }
}
