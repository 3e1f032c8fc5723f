//! `Extensive`: the numbers of a report that grow with the length of its run, and how they grow.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use simsched_core::observe::Stats;
use simsched_core::{Nanos, Policy};
use simsched_topology::Topology;

use crate::domains::DomainTable;
use crate::meter::Totals;
use crate::report::{self, Counts, CpuTime, Migrations, Wakeups};

/// The counts of a run up to some time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Extensive {
    pub(crate) span_ns: u64,
    pub(crate) context_switches: u64,
    pub(crate) task_switches: u64,
    pub(crate) cpu_migrations: u64,
    pub(crate) preemptions: u64,
    pub(crate) need_resched: Counts,
    pub(crate) migrations: Migrations,
    pub(crate) domains: Counts,
    pub(crate) wakeups: Wakeups,
    pub(crate) scanned_cpus: u64,
    pub(crate) cpu_time_ns: CpuTime,
    pub(crate) idle_while_waiting_ns: u64,
    pub(crate) costs: Counts,
    pub(crate) costs_by_node: Vec<Counts>,
    pub(crate) policy_metrics: Counts,
}

/// How much more is done than what two counts are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    /// So much more work
    pub(crate) more: u64,
    /// than was done between the two.
    pub(crate) per: u64,
}

impl Growth {
    /// What a count comes to that was `first` and then `last`, to the nearest whole number.
    pub(crate) fn of(self, first: u64, last: u64) -> u64 {
        let Growth { more, per } = self;
        let grown = u128::from(last.saturating_sub(first)) * u128::from(more) + u128::from(per) / 2;
        last + u64::try_from(grown / u128::from(per.max(1))).expect("a job is shorter than 2^64 ns")
    }
}

impl Extensive {
    /// What `stats` and `totals` have counted, under this policy.
    pub(crate) fn of(
        stats: &Stats,
        totals: &Totals,
        wasted: Nanos,
        (policy, reasons): (&(impl Policy + ?Sized), &[&'static str]),
        topology: &Topology,
    ) -> Extensive {
        let mut policy_metrics = Counts::new();
        policy.metrics(&mut |name, value| {
            policy_metrics.insert(name.to_owned(), value.into());
        });
        let domains = DomainTable::of(policy, topology.nr_cpus());
        Extensive {
            span_ns: totals.span_ns,
            context_switches: stats.context_switches(),
            task_switches: totals.task_switches,
            cpu_migrations: totals.cpu_migrations,
            preemptions: stats.preemptions(),
            need_resched: report::need_resched(stats),
            migrations: Migrations::of(stats, reasons, &domains.names),
            domains: domains.to_json(),
            wakeups: Wakeups::of(stats.wakeups_by_reason(), reasons),
            scanned_cpus: stats.scanned(),
            cpu_time_ns: CpuTime::of(stats),
            idle_while_waiting_ns: wasted.get(),
            costs: report::costs(&stats.total_cpu_time(), &totals.names),
            costs_by_node: report::costs_by_node(totals),
            policy_metrics,
        }
    }

    /// These counts once all work is done, if it goes on as since `first`. Parts sum up to their whole,
    /// as they did.
    pub(crate) fn grown(&self, first: &Extensive, growth: Growth) -> Extensive {
        let tree = |counts: &Extensive| serde_json::to_value(counts).expect("keys are strings");
        let grown = grow(&tree(first), &tree(self), growth);
        let mut all: Extensive = serde_json::from_value(grown).expect("a tree of the same shape");
        all.migrations.add_up();
        all.wakeups.total = sum(&all.wakeups.by_reason);
        for (node, was) in all.costs_by_node.iter_mut().zip(&self.costs_by_node) {
            // All time of a CPU is charged.
            let cpus = sum(was) / self.span_ns.max(1);
            fit(node, cpus * all.span_ns);
        }
        for (name, cost) in &mut all.costs {
            let of_nodes = all.costs_by_node.iter().filter_map(|node| node.get(name)?.as_u64());
            *cost = of_nodes.sum::<u64>().into();
        }
        all.cpu_time_ns = CpuTime::of_costs(&all.costs);
        all
    }
}

fn number(count: Option<&Value>) -> u64 {
    count.and_then(Value::as_u64).unwrap_or(0)
}

/// All of these counts together.
pub(crate) fn sum(counts: &Counts) -> u64 {
    counts.values().filter_map(Value::as_u64).sum()
}

/// Makes counts sum up to `total`, which they do but for rounding: the largest takes what is over.
pub(crate) fn fit(counts: &mut Counts, total: u64) {
    let all = sum(counts);
    if let Some(largest) = counts.values_mut().max_by_key(|count| count.as_u64()) {
        *largest = (number(Some(largest)) + total).saturating_sub(all).into();
    }
}

/// All numbers of two trees of one shape.
fn grow(first: &Value, last: &Value, growth: Growth) -> Value {
    match last {
        Value::Number(_) => growth.of(number(Some(first)), number(Some(last))).into(),
        Value::Array(items) => {
            let at = |idx: usize| first.get(idx).unwrap_or(&Value::Null);
            items.iter().enumerate().map(|(idx, item)| grow(at(idx), item, growth)).collect()
        }
        Value::Object(items) => {
            let grown = items.iter().map(|(key, item)| {
                let before = first.get(key).unwrap_or(&Value::Null);
                // The greatest of something is no count.
                let is_count = !key.ends_with("_max");
                let item = if is_count { grow(before, item, growth) } else { item.clone() };
                (key.clone(), item)
            });
            Value::Object(grown.collect())
        }
        _ => last.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// From 100 to 130 in 3 of work; 7 more are 70 more.
    #[test]
    fn a_count_grows_by_what_it_has_grown_for_each_work() {
        let growth = Growth { more: 7, per: 3 };
        assert_eq!(growth.of(100, 130), 200);
        // 10 / 3 * 7 = 23.3
        assert_eq!(growth.of(0, 10), 10 + 23);
        assert_eq!(growth.of(5, 5), 5);
    }

    #[test]
    fn all_numbers_of_a_tree_grow_but_the_greatest_of_something() {
        let first = json!({ "a": 1, "b": { "c": [2, 3] }, "burst_max": 9, "name": "x" });
        let last = json!({ "a": 2, "b": { "c": [2, 5] }, "burst_max": 9, "name": "x", "new": 4 });
        let grown = grow(&first, &last, Growth { more: 10, per: 1 });
        let want =
            json!({ "a": 12, "b": { "c": [2, 25] }, "burst_max": 9, "name": "x", "new": 44 });
        assert_eq!(grown, want);
    }

    #[test]
    fn the_largest_part_takes_what_rounding_leaves() {
        let mut counts = Counts::new();
        for (name, count) in [("a", 3_u64), ("b", 50), ("c", 7)] {
            counts.insert(name.to_owned(), count.into());
        }
        fit(&mut counts, 58);
        assert_eq!(counts.values().cloned().collect::<Vec<_>>(), [json!(3), json!(48), json!(7)]);
    }
}
