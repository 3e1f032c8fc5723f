//! Two small programs that no workload of the catalog is: pairs that play ping-pong over two pipes
//! (`perf bench sched pipe`, many at once), and one task that sleeps on a machine with nothing to do.

use simsched_core::{
    Nanos, Op, Outcome, PipeId, ProcId, Setup, SimTime, Start, TaskId, TaskSpec, Workload,
};
use simsched_topology::CpuId;

/// How long the sleeper of an idle machine sleeps at once.
const SLEEP: Nanos = Nanos(10_000_000);

/// Bytes of a ball: `perf bench sched pipe` sends an `int`.
const BALL: u32 = 4;

/// Pairs of tasks, each of which writes to its partner and then waits for the answer. Task 0 starts all
/// others, so task `2k + 1` serves and `2k + 2` returns.
#[derive(Debug)]
pub(crate) struct PingPong {
    pairs: usize,
    rounds: usize,
    /// Ops done, by task.
    done: Vec<usize>,
}

impl PingPong {
    /// So many pairs that send so many balls each way.
    pub(crate) fn new(pairs: usize, rounds: usize) -> PingPong {
        PingPong { pairs, rounds, done: vec![0; 2 * pairs + 1] }
    }
}

fn task(name: &str, start: Start) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        proc: ProcId::new(0),
        nice: 0,
        policy: simsched_core::SchedPolicy::Normal,
        allowed: None,
        start,
    }
}

fn setup(others: usize, pipes: usize) -> Setup {
    let mut tasks = vec![task("main", Start::AtZero(CpuId::new(0)))];
    tasks.extend((0..others).map(|_| task("player", Start::Spawned)));
    let pipes = u32::try_from(pipes).expect("few pipes");
    Setup { procs: vec!["bench".to_owned()], tasks, pipes, ..Setup::default() }
}

impl Workload for PingPong {
    fn setup(&self) -> Setup {
        setup(2 * self.pairs, 2 * self.pairs)
    }

    fn next_op(&mut self, task: TaskId, _: SimTime, _: Outcome) -> Op {
        let done = &mut self.done[task.idx()];
        let step = *done;
        *done += 1;
        let Some(player) = task.idx().checked_sub(1) else {
            // Those who return are there before those who serve.
            let spawned =
                if step < self.pairs { 2 * step + 2 } else { 2 * (step - self.pairs) + 1 };
            return if step < 2 * self.pairs { Op::Spawn(TaskId::new(spawned)) } else { Op::Exit };
        };
        if step == 2 * self.rounds {
            return Op::Exit;
        }
        let (there, back) = (PipeId::new(player & !1), PipeId::new(player | 1));
        let is_server = player.is_multiple_of(2);
        let writes = (step.is_multiple_of(2)) == is_server;
        match (writes, is_server) {
            (true, true) => Op::Write { pipe: there, bytes: BALL },
            (true, false) => Op::Write { pipe: back, bytes: BALL },
            (false, true) => Op::Read { pipe: back, bytes: BALL },
            (false, false) => Op::Read { pipe: there, bytes: BALL },
        }
    }
}

/// One task that sleeps ten milliseconds at a time; nobody else is there.
#[derive(Debug)]
pub(crate) struct Idle {
    sleeps: u32,
}

impl Idle {
    /// Sleeps so often.
    pub(crate) fn new(sleeps: u32) -> Idle {
        Idle { sleeps }
    }
}

impl Workload for Idle {
    fn setup(&self) -> Setup {
        setup(0, 0)
    }

    fn next_op(&mut self, _: TaskId, _: SimTime, _: Outcome) -> Op {
        match self.sleeps.checked_sub(1) {
            Some(left) => {
                self.sleeps = left;
                Op::Sleep(SLEEP)
            }
            None => Op::Exit,
        }
    }
}
