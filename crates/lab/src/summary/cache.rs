//! Metrics of processes as the lab's own program has computed them: `scenarios.NAME.cache` of a summary.

use serde_json::{Map, Value as Json};

use crate::value::{Value, round};

/// The metrics of the processes of one scenario.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cache<'a>(pub(super) &'a Map<String, Json>);

impl Cache<'_> {
    pub(super) fn value(self, metric: &str) -> Option<Value> {
        if let Some(mover) = metric.strip_prefix("xllc_migrations ") {
            // A path that the summary does not name has moved nobody.
            let moves = self.0.get("xllc_migrations_by_cause")?.get(mover);
            return Some(moves.and_then(Json::as_f64).unwrap_or(0.0).into());
        }
        match metric {
            "xllc_migrations" | "xllc_wakeups_per_wakeup" => return number(self.0.get(metric)),
            "gathered_procs" => return Some((self.gathered().count() as u64).into()),
            "distinct_gather_llcs" => {
                let mut llcs: Vec<u64> = self.gathered().collect();
                llcs.sort_unstable();
                llcs.dedup();
                return Some((llcs.len() as u64).into());
            }
            "end_per_llc_sorted" => {
                let mut ends: Vec<Vec<u64>> =
                    self.procs().filter_map(|(_, proc)| end(proc)).collect();
                ends.sort();
                return Some(Value::Vector(ends.concat()));
            }
            "mean_max_threads_in_llc" => {
                let most = self.procs().filter_map(|(_, proc)| mean_max(proc));
                return Some(round(most.sum::<f64>(), 3).into());
            }
            _ => {}
        }
        let (metric, name) = match metric.rsplit_once(' ') {
            Some((metric, name)) => (metric, name),
            None if self.procs().count() == 1 => (metric, self.procs().next()?.0),
            None => return None,
        };
        self.of_proc(metric, name)
    }

    fn of_proc(self, metric: &str, name: &str) -> Option<Value> {
        let proc = self.procs().find(|(known, _)| *known == name)?.1;
        let key = match metric {
            "gather_ms" | "gather_after_start_ms" | "gathered_share_of_time" => {
                return number(proc.get(metric));
            }
            "scans" => "scans",
            "pref_changes" => "n_pref_changes",
            "nr_running_avg_max" => "nr_running_avg_max",
            _ => return None,
        };
        let view = self.0.get("kernel_view")?.get(name)?;
        let counts = threads(proc) > 1 && view.get("scans")?.as_u64()? > 0;
        counts.then(|| number(view.get(key)))?
    }

    fn procs(&self) -> impl Iterator<Item = (&str, &Json)> {
        let procs = self.0.get("procs").and_then(Json::as_object);
        procs.into_iter().flatten().map(|(name, proc)| (name.as_str(), proc))
    }

    /// The LLC of each process of several threads that has gathered.
    fn gathered(&self) -> impl Iterator<Item = u64> {
        let several = self.procs().filter(|(_, proc)| threads(proc) > 1);
        several.filter_map(|(_, proc)| proc.get("gather_llc")?.as_u64())
    }
}

fn number(json: Option<&Json>) -> Option<Value> {
    json?.as_f64().map(|number| round(number, 4).into())
}

fn threads(proc: &Json) -> u64 {
    proc.get("threads").and_then(Json::as_u64).unwrap_or(0)
}

/// The threads per LLC at last, in ascending order.
fn end(proc: &Json) -> Option<Vec<u64>> {
    let counts = proc.get("end_per_llc")?.as_array()?;
    let mut counts: Vec<u64> = counts.iter().map(Json::as_u64).collect::<Option<_>>()?;
    counts.sort_unstable();
    Some(counts)
}

fn mean_max(proc: &Json) -> Option<f64> {
    let means = proc.get("mean_threads_per_llc")?.as_array()?;
    means.iter().filter_map(Json::as_f64).max_by(f64::total_cmp)
}
