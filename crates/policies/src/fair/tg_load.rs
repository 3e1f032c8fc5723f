//! `TgLoad`: who reads and writes `tg->load_avg`, the number that all CPUs of a task group share.
//!
//! Writers are the queues of the group (`update_tg_load_avg()`), readers the shares of its entities
//! (`calc_group_shares()`). Here are the counters by node, the rules that patches change, what was
//! touched, and how often. The root group has none of this.

use simsched_core::{Access, LineId, World};
use simsched_topology::{CpuId, NodeId};

use super::asked::{Asked, UPDATE_CFS_GROUP, UPDATE_LOAD_AVG};
use super::cfs_rq::CfsRq;
use super::features::{Grouping, Version};
use super::group::{GroupId, TaskGroup, TgUpdate};

/// What an update of a group's load comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An entity has joined a queue.
    Attach,
    /// An entity has left a queue for another one.
    Detach,
    /// Time has passed, or something has changed below.
    Decay,
    /// A balancer has aged a queue.
    Blocked,
}

/// How often something happened at one level of groups.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    calls: u64,
    writes: u64,
    reads: u64,
}

/// How often what happened.
#[derive(Clone, Debug, Default)]
struct Counts {
    /// Calls, by [`Source`].
    calls: [u64; 4],
    /// Calls that wrote, by [`Source`].
    writes: [u64; 4],
    /// Calls that the rate limit refused.
    limited: u64,
    /// Calls that had too little to tell.
    small: u64,
    /// Shares that were computed.
    reads: u64,
    /// By the number of groups above, the first below the root being 1.
    levels: [Level; Grouping::MAX_LEVELS + 1],
}

/// What patches change of how `tg->load_avg` is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TgRules {
    /// Each node has a counter (`tg_per_node`).
    pub(super) per_node: bool,
    /// A write goes to the node of the runqueue's CPU, not to that of the executing CPU (`tg_node`).
    pub(super) by_runqueue: bool,
    /// A queue writes once in a millisecond (`tg_ratelimit`).
    pub(super) ratelimit: bool,
    /// A migration moves contributions and writes nothing (`tg_nomig`).
    pub(super) nomig: bool,
}

/// The shared side of the groups' load.
#[derive(Clone, Debug, Default)]
pub(super) struct TgLoad {
    /// There are groups besides the root.
    pub(super) is_on: bool,
    pub(super) rules: TgRules,
    /// Queues tell of their runnable averages, too (7.3).
    both: bool,
    /// The rate limit runs on the clock of the runqueue (7.2 and later), not on `sched_clock()`.
    by_rq_clock: bool,
    /// That time, and the executing CPU's node, of the call that is under way.
    clock: u64,
    node: usize,
    /// Lines per group: 1, or as many as there are nodes.
    lines_per_group: usize,
    /// By CPU.
    nodes: Vec<NodeId>,
    /// By group (without the root) and node, where each node has a counter.
    counters: Vec<i64>,
    /// By group: how many groups are above.
    levels: Vec<usize>,
    /// By task: the contribution that is on its way to another queue (with `nomig`).
    moving: Vec<Option<u64>>,
    /// By group: the sum of those.
    in_transit: Vec<u64>,
    counts: Counts,
}

impl TgLoad {
    /// For these groups, of which the first is the root.
    pub(super) fn new(
        world: &World,
        groups: &[TaskGroup],
        rules: TgRules,
        version: Version,
    ) -> TgLoad {
        let (topology, is_on) = (world.topology(), groups.len() > 1);
        if !is_on {
            return TgLoad::default();
        }
        let mut levels = vec![0; groups.len()];
        for (group, row) in groups.iter().enumerate() {
            let above = row.parent.map_or(0, |parent| levels[parent.idx()] + 1);
            levels[group] = above.min(Grouping::MAX_LEVELS);
        }
        let lines_per_group = if rules.per_node { topology.nr_nodes() } else { 1 };
        let nr_moving = if rules.nomig { world.tasks().len() } else { 0 };
        TgLoad {
            is_on,
            rules,
            both: version.is_flat(),
            by_rq_clock: version >= Version::V7_2,
            clock: world.sched_clock(),
            node: 0,
            lines_per_group,
            nodes: topology.cpus().iter().map(|cpu| topology.node_of(cpu)).collect(),
            counters: vec![0; if rules.per_node { lines_per_group * groups.len() } else { 0 }],
            levels,
            moving: vec![None; nr_moving],
            in_transit: vec![0; groups.len()],
            counts: Counts::default(),
        }
    }

    /// A call begins for queues of `cpu`: what time it is, and where it is executed.
    #[inline]
    pub(super) fn enter(&mut self, world: &World, cpu: CpuId) {
        self.clock = if self.by_rq_clock { world.rq(cpu).clock } else { world.sched_clock() };
        self.node = usize::from(self.nodes[world.this_cpu().idx()].0);
    }

    /// The row of a group's counter of `node`, and of its line.
    #[inline]
    fn row(&self, group: GroupId, node: usize) -> usize {
        (group.idx() - 1) * self.lines_per_group + if self.rules.per_node { node } else { 0 }
    }

    /// The line of this row.
    #[inline]
    fn line(row: usize) -> LineId {
        LineId(u32::try_from(row).expect("few groups and nodes"))
    }

    /// The load of a group, to weigh one of its entities.
    #[inline]
    pub(super) fn read(&mut self, asked: &mut Asked, groups: &[TaskGroup], group: GroupId) -> i64 {
        self.counts.reads += 1;
        self.counts.levels[self.levels[group.idx()]].reads += 1;
        let first = self.row(group, 0);
        for row in first..first + self.lines_per_group {
            asked.touch(TgLoad::line(row), Access::Read, UPDATE_CFS_GROUP);
        }
        self.load_avg(groups, group)
    }

    /// The runnable average of a group is read, to know how many tasks it has (7.3). It stands beside its load.
    #[inline]
    pub(super) fn read_tasks(&self, asked: &mut Asked, group: GroupId) {
        asked.touch(TgLoad::line(self.row(group, 0)), Access::Read, UPDATE_CFS_GROUP);
    }

    /// The load of a group, without anybody noticing.
    pub(super) fn load_avg(&self, groups: &[TaskGroup], group: GroupId) -> i64 {
        if !self.rules.per_node || group == GroupId::ROOT {
            return groups[group.idx()].load_avg;
        }
        let first = self.row(group, 0);
        let nodes = &self.counters[first..first + self.lines_per_group];
        nodes.iter().fold(0, |sum, node| sum.wrapping_add(*node))
    }

    /// Tells the group of `child` what has changed there.
    pub(super) fn update(
        &mut self,
        asked: &mut Asked,
        groups: &mut [TaskGroup],
        child: &mut CfsRq,
        source: Source,
    ) {
        let group = child.group;
        let level = &mut self.counts.levels[self.levels[group.idx()]];
        self.counts.calls[source as usize] += 1;
        level.calls += 1;
        match child.update_tg_contrib(self.rules.ratelimit.then_some(self.clock), self.both) {
            TgUpdate::Small => self.counts.small += 1,
            TgUpdate::Limited => self.counts.limited += 1,
            TgUpdate::Written { load, runnable } => {
                level.writes += 1;
                self.counts.writes[source as usize] += 1;
                let row = self.add(groups, group, child.cpu, load);
                asked.touch(TgLoad::line(row), Access::Write, UPDATE_LOAD_AVG);
                if self.both {
                    let sum = &mut groups[group.idx()].runnable_avg;
                    *sum = sum.wrapping_add(runnable);
                    asked.touch(TgLoad::line(row), Access::Write, UPDATE_LOAD_AVG);
                }
            }
        }
    }

    /// Adds to the load of `group`; the row that has changed.
    fn add(&mut self, groups: &mut [TaskGroup], group: GroupId, cpu: CpuId, delta: i64) -> usize {
        let node =
            if self.rules.by_runqueue { usize::from(self.nodes[cpu.idx()].0) } else { self.node };
        let row = self.row(group, node);
        let counter = match self.rules.per_node {
            true => &mut self.counters[row],
            false => &mut groups[group.idx()].load_avg,
        };
        *counter = counter.wrapping_add(delta);
        row
    }

    /// The row of `task` has left `from` and takes this much of its contribution along.
    pub(super) fn depart(&mut self, task: usize, from: GroupId, contrib: u64) {
        self.moving[task] = Some(contrib);
        self.in_transit[from.idx()] += contrib;
    }

    /// What the row of `task`, if it is one, brings along to `to`.
    pub(super) fn arrive(&mut self, task: usize, to: GroupId) -> Option<u64> {
        let contrib = self.moving.get_mut(task)?.take()?;
        self.in_transit[to.idx()] -= contrib;
        Some(contrib)
    }

    /// What the contributions of the queues of `group` sum up to, `contrib` less `moved`, must be the
    /// group's load.
    pub(super) fn check(
        &self,
        groups: &[TaskGroup],
        group: GroupId,
        [contrib, moved]: [u64; 2],
    ) -> Result<(), String> {
        let in_transit = self.in_transit[group.idx()];
        let known = contrib.wrapping_add(in_transit).wrapping_sub(moved).cast_signed();
        let load_avg = self.load_avg(groups, group);
        if known == load_avg {
            return Ok(());
        }
        Err(format!("group {}: its load is {load_avg}, its queues told of {known}", group.0))
    }

    /// The nodes of the lines, by group and node. The single counter is where the group was created:
    /// on the first node.
    pub(super) fn lines(&self) -> Vec<NodeId> {
        let nodes = (0..self.lines_per_group).map(|node| match u16::try_from(node) {
            Ok(node) if self.rules.per_node => NodeId(node),
            _ => NodeId(0),
        });
        let nodes: Vec<NodeId> = nodes.collect();
        nodes.repeat(self.levels.len().saturating_sub(1))
    }

    /// Hands out all counts, by name.
    pub(super) fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        const CALLS: [&str; 4] =
            ["tg_calls_attach", "tg_calls_detach", "tg_calls_decay", "tg_calls_blocked"];
        const WRITES: [&str; 4] =
            ["tg_writes_attach", "tg_writes_detach", "tg_writes_decay", "tg_writes_blocked"];
        if !self.is_on {
            return;
        }
        let counts = &self.counts;
        for (names, counts) in [(CALLS, counts.calls), (WRITES, counts.writes)] {
            names.into_iter().zip(counts).for_each(|(name, count)| emit(name, count));
        }
        emit("tg_limited", counts.limited);
        emit("tg_small", counts.small);
        emit("tg_reads", counts.reads);
        let deepest = self.levels.iter().copied().max().unwrap_or(0);
        for (names, level) in LEVELS.iter().zip(&counts.levels[1..=deepest]) {
            let all = [level.calls, level.writes, level.reads];
            names.iter().zip(all).for_each(|(name, count)| emit(name, count));
        }
    }
}

macro_rules! levels {
    ($($level:literal)*) => {
        [$([
            concat!("tg_calls_level", $level),
            concat!("tg_writes_level", $level),
            concat!("tg_reads_level", $level),
        ]),*]
    };
}

/// Calls, writes and reads by level.
const LEVELS: [[&str; 3]; Grouping::MAX_LEVELS] = levels!(1 2 3 4 5 6 7 8);
