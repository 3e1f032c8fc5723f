//! A placement of the real kernel as it was recorded, and what its scenario tells of it.

use serde_json::Value;
use simsched_core::WakeKind;
use simsched_topology::{CpuId, CpuSet, Topology};

use crate::common::ints;

/// What was seen of a decision. Times are in us.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) scenario: String,
    pub(crate) time_us: u64,
    pub(crate) is_fork: bool,
    pub(crate) pid: u64,
    pub(crate) prev: CpuId,
    pub(crate) waker: CpuId,
    /// 0 is the idle task of the waker's CPU, which a timer or an interrupt had woken up.
    pub(crate) waker_pid: u64,
    /// The wakee had not been switched out yet: nobody chose.
    pub(crate) on_rq: bool,
    pub(crate) idle: CpuSet,
    pub(crate) nr_running: Vec<u32>,
    /// CPUs that became idle or busy between the waking call and the queueing of the wakee.
    pub(crate) unsure: CpuSet,
    /// Of a fork, when each CPU last switched to its idle task in this scenario, or 0.
    pub(crate) idle_since: Vec<u64>,
    pub(crate) chosen: CpuId,
    pub(crate) comm: String,
    /// What the kernel told of its search, where it was asked and searched.
    pub(crate) seen: Option<Seen>,
}

/// What a search of the fast path saw.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Near which CPU it searched (what the affine stage left).
    pub(crate) target: CpuId,
    prev_is_idle: bool,
    target_is_idle: bool,
    /// The estimated utilization of what was queued on the previous CPU.
    pub(crate) prev_util_est: u32,
    /// The branch that ended it.
    pub(crate) branch: String,
}

impl Seen {
    fn parse(row: &Value) -> Option<Seen> {
        let flag = |key: &str| row[key].as_u64().unwrap() != 0;
        Some(Seen {
            branch: row.get("path")?.as_str().unwrap().to_owned(),
            target: cpu(&row["tg"]),
            prev_is_idle: flag("pi"),
            target_is_idle: flag("ti"),
            prev_util_est: u32::try_from(row["uep"].as_u64().unwrap()).unwrap(),
        })
    }
}

fn cpu(value: &Value) -> CpuId {
    CpuId::new(usize::try_from(value.as_u64().unwrap()).unwrap())
}

fn cpus(value: &Value) -> CpuSet {
    value.as_array().unwrap().iter().map(cpu).collect()
}

impl Row {
    pub(crate) fn parse(line: &str) -> Row {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        let number = |key: &str| row[key].as_u64().unwrap();
        let mut parsed = Row {
            scenario: text("s"),
            time_us: number("t"),
            is_fork: text("k") == "fork",
            pid: number("pid"),
            prev: cpu(&row["p"]),
            waker: cpu(&row["w"]),
            waker_pid: number("wp"),
            on_rq: number("onrq") != 0,
            idle: cpus(&row["idle"]),
            nr_running: ints(&row["nr"]).iter().map(|&nr| u32::try_from(nr).unwrap()).collect(),
            unsure: cpus(&row["unsure"]),
            idle_since: row.get("since").map(ints).unwrap_or_default(),
            chosen: cpu(&row["d"]),
            comm: text("c"),
            seen: Seen::parse(&row),
        };
        parsed.correct();
        parsed
    }

    /// What the search saw of two CPUs is sure.
    fn correct(&mut self) {
        let Some(seen) = &self.seen else { return };
        for (cpu, is_idle) in [(self.prev, seen.prev_is_idle), (seen.target, seen.target_is_idle)] {
            self.unsure.remove(cpu);
            if is_idle {
                self.idle.insert(cpu);
            } else {
                self.idle.remove(cpu);
            }
        }
    }

    pub(crate) fn nr_running(&self, cpu: CpuId) -> u32 {
        self.nr_running[cpu.idx()]
    }

    /// Scenarios whose programs pin themselves to CPU 0.
    fn pins(&self) -> bool {
        ["share-", "hogper-", "hogs-herd-"].iter().any(|prefix| self.scenario.starts_with(prefix))
    }

    /// The task may run on one CPU only, so that nobody chose: a kernel thread of one CPU, or a
    /// program that pins itself.
    pub(crate) fn is_pinned(&self) -> bool {
        is_per_cpu(&self.comm) || self.pins() && (self.is_fork || self.comm.starts_with("per"))
    }

    /// The masks that the task may have.
    pub(crate) fn allowed(&self, topology: &Topology) -> Vec<CpuSet> {
        let all = *topology.cpus();
        match self.comm.strip_prefix("kcompactd") {
            // A kernel thread of one node.
            Some(node) => {
                let node = node.parse::<u16>().unwrap();
                vec![all.iter().filter(|&cpu| topology.node_of(cpu).0 == node).collect()]
            }
            // The parent of such programs pins itself, too, and later no more.
            None if self.pins() && is_program(&self.comm) => {
                vec![all, [self.prev].into_iter().collect()]
            }
            None => vec![all],
        }
    }

    /// Whether the waker said that it was about to sleep, or both where that is not known:
    /// pipes say so, futexes and timers do not.
    pub(crate) fn kinds(&self, waker: Option<&str>) -> &'static [WakeKind] {
        const EITHER: &[WakeKind] = &[WakeKind::Wake, WakeKind::WakeSync];
        let of_pipes = |comm: &str| ["ping", "pong"].iter().any(|name| comm.starts_with(name));
        match waker {
            _ if self.is_fork => &[WakeKind::Fork],
            // An interrupt, at which the current task is the idle task.
            _ if self.waker_pid == 0 => &[WakeKind::Wake],
            Some(waker) if of_pipes(waker) && of_pipes(&self.comm) => &[WakeKind::WakeSync],
            _ if ["wrk", "msg", "per", "rcu_", "kcompactd"]
                .iter()
                .any(|name| self.comm.starts_with(name)) =>
            {
                &[WakeKind::Wake]
            }
            _ => EITHER,
        }
    }
}

/// A kernel thread of one CPU, such as `kworker/3:1` or `ksoftirqd/3`; `kworker/u16:1` is none.
pub(crate) fn is_per_cpu(comm: &str) -> bool {
    comm.split_once('/')
        .is_some_and(|(_, cpu)| cpu.starts_with(|first: char| first.is_ascii_digit()))
}

/// A task of the scenario, and not of the kernel.
fn is_program(comm: &str) -> bool {
    ["lab", "init", "hog", "per"].iter().any(|prefix| comm.starts_with(prefix))
}
