//! The answers that `select_task_rq` gives when everything that a row does not show varies over
//! what it can be.

use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Reason, Report, TaskId, WakeKind, Wakeup};
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::patches::wakeup_bias_prev;
use simsched_policies::fair::{EntityId, Fair, Wakee, reason};
use simsched_topology::{CpuId, CpuSet, Topology};

use crate::decisions::history::History;
use crate::decisions::row::Row;

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) cpu: CpuId,
    pub(crate) reason: Reason,
    /// `recent_used_cpu` of the task afterwards.
    pub(crate) recent: CpuId,
}

impl Answer {
    /// An answer without hidden inputs.
    pub(crate) fn of(cpu: CpuId) -> Answer {
        Answer { cpu, reason: reason::STAY, recent: cpu }
    }
}

/// All hidden inputs at once.
#[derive(Clone, Debug)]
struct Hidden {
    kind: WakeKind,
    allowed: CpuSet,
    /// What `wakee_flips` of waker and wakee are.
    flips: [u32; 2],
    recent: CpuId,
    /// Whether the waker's CPU has less load than the previous one.
    waker_is_lighter: bool,
    idle_cores: bool,
    nr_idle_scan: u32,
    /// CPUs whose state is the other one than the row shows.
    toggled: CpuSet,
    waker_nr: u32,
    /// Of each CPU: load, util, runnable and idle stamp.
    loads: Vec<[u64; 4]>,
}

/// The wakee is task 0; task `1 + cpu` runs on a busy CPU.
const WAKEE: TaskId = TaskId(0);

const BEFORE_HINTS: [Reason; 4] =
    [reason::TARGET, reason::PREV, wakeup_bias_prev::IDLE, wakeup_bias_prev::SPARE];

/// How often the averages of all CPUs are drawn for a fork.
const DRAWS: u64 = 192;

/// More unsure CPUs near the decision than this are not tried in all combinations.
const MAX_UNSURE: usize = 7;

pub(crate) struct Rig {
    pub(crate) host: PolicyHost<Fair>,
    topology: Topology,
    draws: u64,
}

impl Rig {
    pub(crate) fn new(topology: Topology, class: impl Into<FairSpec>) -> Rig {
        let mut kit = WorldKit::new(topology.clone(), 250);
        for _ in 0..=topology.nr_cpus() {
            kit.add_task(0);
        }
        let mut host = PolicyHost::new(kit, class.into().fair_class());
        // Loads are those of the queues: what a task adds to them is hidden, too.
        for task in (0..=topology.nr_cpus()).map(TaskId::new) {
            host.policy.entity_mut(task).avg.load_avg = 0;
        }
        Rig { host, topology, draws: 0 }
    }

    /// All answers, each once; `None` if too much changed a moment before.
    pub(crate) fn answers(&mut self, row: &Row, history: &mut History) -> Option<Vec<Answer>> {
        let mut answers = Vec::new();
        if row.is_fork {
            self.fork(row, &mut answers);
            return Some(answers);
        }
        let near = self.near(row.prev).or(&self.near(row.waker));
        let mut unsure = row.unsure.and(&near);
        unsure.remove(row.waker);
        if unsure.len() > MAX_UNSURE {
            return None;
        }
        let toggles: Vec<CpuId> = unsure.iter().collect();
        for subset in 0..1usize << toggles.len() {
            let chosen = toggles.iter().enumerate().filter(|(n, _)| subset >> n & 1 == 1);
            let toggled = chosen.map(|(_, &cpu)| cpu).collect();
            self.wake(row, history, toggled, &mut answers);
        }
        Some(answers)
    }

    fn near(&self, cpu: CpuId) -> CpuSet {
        *self.topology.llc_span(self.topology.llc_of(cpu))
    }

    fn wake(
        &mut self,
        row: &Row,
        history: &mut History,
        toggled: CpuSet,
        answers: &mut Vec<Answer>,
    ) {
        let llc_size = u32::try_from(self.near(row.waker).len()).unwrap();
        let waker_comm = history.task(row.waker_pid).comm.clone();
        let flips = match [row.waker_pid, row.pid].map(|pid| history.flips(pid)) {
            [Some(waker), Some(wakee)] => vec![[waker, wakee]],
            // A crowd has at least as many as an LLC has CPUs on both sides.
            [waker, wakee] if waker.or(wakee).is_some_and(|flips| flips + 1 < llc_size) => {
                vec![[0, 0]]
            }
            _ => vec![[0, 0], [1_000, 1_000_000]],
        };
        let recent = history.task(row.pid).recent;
        let nr = row.nr_running(row.waker);
        let nrs =
            if row.unsure.contains(row.waker) { vec![nr, nr + 1, nr.max(1) - 1] } else { vec![nr] };
        let mut hidden = Hidden {
            kind: WakeKind::Wake,
            allowed: CpuSet::new(),
            flips: [0, 0],
            recent: row.prev,
            waker_is_lighter: false,
            idle_cores: false,
            nr_idle_scan: 0,
            toggled,
            waker_nr: nr,
            loads: vec![[0, 0, 0, 1]; self.topology.nr_cpus()],
        };
        let waker = (!waker_comm.is_empty()).then_some(waker_comm.as_str());
        for allowed in row.allowed(&self.topology) {
            for (&kind, &flips, &waker_nr) in row
                .kinds(waker)
                .iter()
                .flat_map(|kind| flips.iter().map(move |flips| (kind, flips)))
                .flat_map(|(kind, flips)| nrs.iter().map(move |nr| (kind, flips, nr)))
            {
                hidden = Hidden { kind, allowed, flips, waker_nr, ..hidden };
                self.hints(row, &mut hidden, recent, answers);
            }
        }
    }

    /// The loads, the CPU used before, and the hints of the LLC.
    fn hints(&mut self, row: &Row, hidden: &mut Hidden, recent: CpuSet, answers: &mut Vec<Answer>) {
        let llc_size = u32::try_from(self.near(row.prev).len()).unwrap();
        let scans = [false, true].into_iter();
        let scans = scans.flat_map(|hint| (0..=llc_size).map(move |nr| (hint, nr)));
        for waker_is_lighter in [false, true] {
            for cpu in recent.iter() {
                for (idle_cores, nr_idle_scan) in scans.clone() {
                    hidden.waker_is_lighter = waker_is_lighter;
                    hidden.recent = cpu;
                    (hidden.idle_cores, hidden.nr_idle_scan) = (idle_cores, nr_idle_scan);
                    let reason = self.ask(row, hidden, answers);
                    // These are looked at before any hint.
                    if BEFORE_HINTS.contains(&reason) {
                        break;
                    }
                }
            }
            if row.waker == row.prev {
                break;
            }
        }
    }

    fn fork(&mut self, row: &Row, answers: &mut Vec<Answer>) {
        for _ in 0..DRAWS {
            let mut toggled: CpuSet = row.unsure.iter().filter(|_| self.draw(1) == 1).collect();
            toggled.remove(row.waker);
            let cpus: Vec<CpuId> = self.topology.cpus().iter().collect();
            let loads = cpus.iter().map(|&cpu| self.load(row, cpu)).collect();
            for allowed in row.allowed(&self.topology) {
                let hidden = Hidden {
                    kind: WakeKind::Fork,
                    allowed,
                    flips: [0, 0],
                    recent: row.prev,
                    waker_is_lighter: false,
                    idle_cores: false,
                    nr_idle_scan: 0,
                    toggled,
                    waker_nr: row.nr_running(row.waker),
                    loads: Vec::clone(&loads),
                };
                self.ask(row, &hidden, answers);
            }
        }
    }

    /// Averages that a CPU may have, and when it may have become idle.
    fn load(&mut self, row: &Row, cpu: CpuId) -> [u64; 4] {
        let nr = u64::from(row.nr_running(cpu));
        // The stamp is from the begin of the switch, a few us before; of a CPU that has not
        // switched it is from before the scenario.
        let stamp = match row.idle_since[cpu.idx()] {
            0 => 1 + self.draw(999),
            since => since * 1000 - self.draw(4000),
        };
        let util = self.draw(1024);
        let runnable = util + self.draw(1024 * nr.saturating_sub(1));
        [self.draw(1024 * nr.max(1)), util, runnable, stamp]
    }

    /// A number up to `max`, the same in each run (SplitMix64).
    fn draw(&mut self, max: u64) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % (max + 1)
    }

    fn ask(&mut self, row: &Row, hidden: &Hidden, answers: &mut Vec<Answer>) -> Reason {
        self.show(row, hidden);
        let &Row { prev, waker, .. } = row;
        let wakeup = Wakeup { wakee: WAKEE, prev, waker, kind: hidden.kind };
        let wins = self.wins();
        let placement = self.host.select_task_rq(&wakeup);
        let target = if self.wins() > wins { waker } else { prev };
        if row.seen.as_ref().is_some_and(|seen| seen.target != target) {
            return placement.reason;
        }
        let recent = self.host.policy.wakee(WAKEE).recent_used_cpu;
        let answer = Answer { cpu: placement.cpu, reason: placement.reason, recent };
        if !answers.contains(&answer) {
            answers.push(answer);
        }
        placement.reason
    }

    /// How often the affine stage has decided for the waker's CPU.
    fn wins(&self) -> u64 {
        let mut wins = 0;
        self.host.policy.metrics(&mut |name, count| {
            if name == "wake_affine_to_waker" {
                wins = count;
            }
        });
        wins
    }

    /// Makes world and policy what the row says, and what is hidden.
    fn show(&mut self, row: &Row, hidden: &Hidden) {
        let cpus = *self.topology.cpus();
        for cpu in cpus.iter() {
            let is_idle = row.idle.contains(cpu) != hidden.toggled.contains(cpu);
            let is_waker = cpu == row.waker;
            let nr = if is_waker { hidden.waker_nr } else { row.nr_running(cpu) };
            let (curr, nr) = match is_idle {
                _ if is_waker && row.waker_pid != 0 => (Some(cpu), nr.max(1)),
                _ if is_waker => (None, nr),
                true => (None, 0),
                false => (Some(cpu), nr.max(1)),
            };
            self.host.kit.set_nr_running(cpu, 0);
            self.host.kit.run_on(cpu, curr.map(|cpu| TaskId(1 + u32::from(cpu.0))));
            self.host.kit.set_nr_running(cpu, nr);
            self.host.kit.set_pending(cpu, is_waker && row.waker_pid == 0 && !is_idle && nr == 0);
            let [load, util, runnable, stamp] = hidden.loads[cpu.idx()];
            let rq = self.host.policy.cfs_rq_mut(cpu);
            (rq.avg.load_avg, rq.avg.util_avg, rq.avg.runnable_avg) = (load, util, runnable);
            (rq.h_nr_running, rq.nr_running, rq.last_h_load_update) = (nr, nr, 0);
            self.host.policy.idle_stats_mut(cpu).idle_stamp = stamp;
        }
        if let Some(seen) = &row.seen {
            self.host.policy.cfs_rq_mut(row.prev).util_est_enqueued = seen.prev_util_est;
        }
        self.show_wakee(row, hidden);
        let idle_cores = *self.host.kit.world().idle_cores();
        for cpu in cpus.iter() {
            let llc = self.topology.llc_of(cpu);
            // A CPU that goes idle beside idle siblings sets the hint, and no scan that fails can
            // clear it while there is such a core.
            let has_idle_core = idle_cores.intersects(self.topology.llc_span(llc));
            let shared = self.host.policy.llc_shared_mut(llc);
            shared.has_idle_cores = has_idle_core || hidden.idle_cores;
            shared.nr_idle_scan = hidden.nr_idle_scan;
        }
        if row.waker != row.prev && !row.is_fork {
            let lighter = if hidden.waker_is_lighter { row.waker } else { row.prev };
            let heavier = if hidden.waker_is_lighter { row.prev } else { row.waker };
            self.host.policy.cfs_rq_mut(lighter).avg.load_avg = 0;
            self.host.policy.cfs_rq_mut(heavier).avg.load_avg = 1_000;
        }
    }

    fn show_wakee(&mut self, row: &Row, hidden: &Hidden) {
        let mask = (hidden.allowed != *self.topology.cpus()).then_some(hidden.allowed);
        self.host.kit.set_allowed(WAKEE, mask);
        self.host.kit.task(WAKEE).cpu = row.prev;
        let [waker, wakee] = hidden.flips;
        let last = Wakee {
            flip_decay_ts: self.host.kit.world().jiffies(),
            flips: waker,
            last: Some(EntityId::of(WAKEE)),
            recent_used_cpu: row.prev,
        };
        match self.host.kit.world().curr(row.waker) {
            Some(curr) => *self.host.policy.wakee_mut(curr) = last,
            None => *self.host.policy.idle_wakee_mut(row.waker) = last,
        }
        *self.host.policy.wakee_mut(WAKEE) =
            Wakee { flips: wakee, recent_used_cpu: hidden.recent, ..last };
        let attached = self.host.policy.cfs_rq(row.prev).avg.last_update_time.max(1);
        let entity = self.host.policy.entity_mut(WAKEE);
        entity.avg.last_update_time = if row.is_fork { 0 } else { attached };
        entity.cfs_rq.0 = u32::from(row.prev.0);
    }
}
