//! A handful of tasks and objects, and one place where the interface is touched.

use simsched_core::ipc::{Ipc, IpcVersion, Verdict, Wakes};
use simsched_core::{
    Op, Outcome, PipeId, ProcId, SchedPolicy, Setup, SocketId, SocketSpec, Start, TaskId, TaskSpec,
};

/// Whom an op has woken: task, and whether synchronously.
pub(crate) type Woken = Vec<(u32, bool)>;

pub(crate) struct Rig {
    pub(crate) ipc: Ipc,
    wakes: Wakes,
}

/// Sixteen tasks in two processes (0..8 and 8..16) and a few of each object.
pub(crate) fn setup() -> Setup {
    let task = |idx: u32| TaskSpec {
        name: format!("t{idx}"),
        proc: ProcId(idx / 8),
        nice: 0,
        policy: SchedPolicy::Normal,
        allowed: None,
        start: Start::Spawned,
    };
    Setup {
        procs: vec!["p".to_owned(), "q".to_owned()],
        tasks: (0..16).map(task).collect(),
        pipes: 2,
        sockets: vec![
            SocketSpec::Unix { sndbuf_bytes: 212_992, overhead_bytes: 668 },
            SocketSpec::Unix { sndbuf_bytes: 4000, overhead_bytes: 900 },
            SocketSpec::Udp { rcvbuf_bytes: 2000, overhead_bytes: 900 },
            SocketSpec::Tcp {
                sndbuf_bytes: 3000,
                rcvbuf_bytes: 2000,
                max_rcvbuf_bytes: 2000,
                mss_bytes: 400,
            },
            SocketSpec::Tcp {
                sndbuf_bytes: 3000,
                rcvbuf_bytes: 2000,
                max_rcvbuf_bytes: 10_000,
                mss_bytes: 100,
            },
        ],
        locks: 1,
        sems: 1,
        barriers: vec![3, 1],
        futexes: 1,
        marks: Vec::new(),
        masks: Vec::new(),
        spans: Vec::new(),
        footprints: Vec::new(),
        regions: Vec::new(),
        smt_milli: None,
        recorded: None,
    }
}

impl Rig {
    pub(crate) fn new(version: IpcVersion) -> Rig {
        Rig { ipc: Ipc::new(&setup(), version), wakes: Wakes::new() }
    }

    fn attempt(&mut self, task: u32, op: Op, retry: bool) -> (Verdict, Woken) {
        let verdict = self.ipc.attempt(TaskId(task), op, retry, &mut self.wakes);
        (verdict, self.woken())
    }

    fn woken(&mut self) -> Woken {
        self.wakes.drain().map(|wake| (wake.task.0, wake.sync)).collect()
    }

    /// The first attempt.
    pub(crate) fn op(&mut self, task: u32, op: Op) -> (Verdict, Woken) {
        self.attempt(task, op, false)
    }

    /// The attempt after a wakeup.
    pub(crate) fn retry(&mut self, task: u32, op: Op) -> (Verdict, Woken) {
        self.attempt(task, op, true)
    }

    pub(crate) fn exit(&mut self, task: u32) -> Woken {
        self.ipc.exit(TaskId(task), &mut self.wakes);
        self.woken()
    }

    pub(crate) fn blocked_on(&self, task: u32) -> String {
        self.ipc.blocked_on(TaskId(task)).unwrap_or_default()
    }

    /// Writes by task 15, one after another, until it blocks: how many went through.
    pub(crate) fn fill(&mut self, op: Op) -> u32 {
        (0..).find(|_| self.op(15, op).0 == Verdict::Block).expect("a pipe ends")
    }
}

pub(crate) const DONE: Verdict = Verdict::Done(Outcome::Done);
pub(crate) const BLOCK: Verdict = Verdict::Block;

pub(crate) fn bytes(bytes: u32) -> Verdict {
    Verdict::Done(Outcome::Bytes(bytes))
}

pub(crate) fn write(bytes: u32) -> Op {
    Op::Write { pipe: PipeId(0), bytes }
}

pub(crate) fn read(bytes: u32) -> Op {
    Op::Read { pipe: PipeId(0), bytes }
}

/// Sends from end 1, as hackbench does.
pub(crate) fn send(bytes: u32) -> Op {
    Op::Send { socket: SocketId(1), bytes }
}

/// Receives at end 0.
pub(crate) fn recv(bytes: u32) -> Op {
    Op::Recv { socket: SocketId(0), bytes }
}

/// Nobody is woken.
pub(crate) fn nobody() -> Woken {
    Vec::new()
}

/// These tasks are woken by a waker that is about to sleep.
pub(crate) fn sync<const N: usize>(tasks: [u32; N]) -> Woken {
    tasks.map(|task| (task, true)).to_vec()
}

/// These tasks are woken by a waker that goes on.
pub(crate) fn plain<const N: usize>(tasks: [u32; N]) -> Woken {
    tasks.map(|task| (task, false)).to_vec()
}
