//! Hackbench inside task groups, with every access to `tg->load_avg` counted: `tgload-*`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::reference::{Metric, Scenario};
use crate::value::Value;
use crate::verdict::Class;

use super::{Counts, RUNS, read_lines};

/// How the labels of such runs begin.
const LABEL: &str = "tgload-";

/// The groups of a run, by the part of its name that says where hackbench was.
const LEVELS: [(&str, &str); 2] = [("tg-a-", "container"), ("tg-b-", "nested:2")];

/// Why `tg->load_avg` is updated.
const SOURCES: [&str; 4] = ["attach", "detach", "decay", "blocked"];

/// The runs that lie in the folder at `path`.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    let is_label = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(LABEL))
    };
    let labels = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = labels.filter(is_label).map(|label| label.join(RUNS)).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}

/// How often the load of the groups was written and read in each run. The name of a scenario begins
/// with what is added to the policy.
pub(crate) fn read(path: &Path) -> Result<Vec<Scenario>, LabError> {
    let mut scenarios = Vec::new();
    for file in files(path) {
        for line in read_lines(&file)? {
            let level = LEVELS.iter().find(|(part, _)| line.run.starts_with(part));
            let Some((_, group)) = level else { continue };
            let limit = if line.ratelimit > 0 { "+tg_ratelimit" } else { "" };
            let bias = if line.bias > 0 { "+wakeup_bias_prev" } else { "" };
            let name = format!("group={group}{limit}{bias} {}", line.command());
            let of = |name: &str| line.c.get(name).copied().unwrap_or(0);
            let metric = |(name, value): (String, f64)| Metric {
                name,
                class: Class::Counted,
                values: vec![Value::from(value)],
            };
            let metrics = rates(&line.counts(), &of, line.ratelimit > 0);
            scenarios.push(Scenario::new(&name, metrics.into_iter().map(metric).collect()));
        }
    }
    Ok(scenarios)
}

/// What is compared, by the counters of a run.
#[expect(clippy::cast_precision_loss, reason = "counts of a run stay below 2^53")]
pub(super) fn rates(
    counts: &Counts,
    of: &dyn Fn(&str) -> u64,
    limited: bool,
) -> Vec<(String, f64)> {
    let per = |count: u64, of: u64| count as f64 / of.max(1) as f64;
    let mut rows = Vec::new();
    for source in SOURCES {
        let writes = of(&format!("tg_writes_{source}"));
        rows.push((format!("writes per migration, {source}"), per(writes, counts.migrations)));
        rows.push((format!("writes per wakeup, {source}"), per(writes, counts.wakeups)));
    }
    let all = |what: &str| SOURCES.iter().map(|source| of(&format!("tg_{what}_{source}"))).sum();
    rows.push(("reads per write".to_owned(), per(of("tg_reads"), all("writes"))));
    if limited {
        rows.push(("refused per call".to_owned(), per(of("tg_ratelimited"), all("calls"))));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tg-a-g2f8` of tgload-rl0; BIAS.md: 9 to 10 reads for a write in one level.
    #[test]
    fn rates_are_those_that_the_labs_text_tells() {
        let counts = Counts { migrations: 4_780, wakeups: 50_479, ..Counts::default() };
        let of = |name: &str| match name {
            "tg_writes_attach" => 5_804,
            "tg_writes_detach" => 2_328,
            "tg_writes_decay" => 2_900,
            "tg_writes_blocked" => 268,
            "tg_reads" => 105_130,
            _ => 0,
        };
        let rows = rates(&counts, &of, false);
        let value = |name: &str| rows.iter().find(|row| row.0 == name).unwrap().1;
        assert!((9.0..10.0).contains(&value("reads per write")));
        let writes: f64 =
            SOURCES.iter().map(|of| value(&format!("writes per migration, {of}"))).sum();
        assert!((2.3..2.4).contains(&writes), "2.38 with those of forks: {writes}");
        assert!(rows.iter().all(|row| row.0 != "refused per call"));
    }
}
