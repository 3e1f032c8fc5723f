//! Names that metrics had: they are read for one release, with a note.

/// The names of counts until 0.1, each with the name that says whose count it is.
const COUNTS: [(&str, &str); 4] = [
    ("context_switches", "task_switches"),
    ("context_switches_per_cpu_second", "task_switches_per_cpu_second"),
    ("migrations", "cpu_migrations"),
    ("migrations_per_cpu_second", "cpu_migrations_per_cpu_second"),
];

/// The latency of which there are two.
const LATENCY: &str = "wakeup_latency:";

/// The present name of what the claim of a `workload` calls `metric`, if that is a name of the past: perf's
/// counts, and the latency that a program measures itself, which schbench alone does.
pub(crate) fn present_name(metric: &str, workload: &str) -> Option<String> {
    if let Some((_, name)) = COUNTS.iter().find(|(old, _)| *old == metric) {
        return Some((*name).to_owned());
    }
    let measures_itself =
        workload.split_whitespace().next().is_some_and(|program| program.starts_with("schbench"));
    (measures_itself && metric.starts_with(LATENCY)).then(|| format!("reported_{metric}"))
}

/// What is said of a claim that uses a name of the past.
pub(crate) fn note(old: &str, new: &str) -> String {
    let whose = match new.starts_with("reported_") {
        true => "the latency that the program measures itself",
        false => "perf's count",
    };
    format!(
        "metric: {old} is read as {new}, {whose}; in the next release it will be the scheduler's own"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_past_is_known_by_the_program_that_it_is_of() {
        let of = |metric, workload| present_name(metric, workload);
        assert_eq!(of("migrations", "hackbench -g 1").as_deref(), Some("cpu_migrations"));
        assert_eq!(of("context_switches", "").as_deref(), Some("task_switches"));
        let reported = of("wakeup_latency:p99", "schbench -m 2");
        assert_eq!(reported.as_deref(), Some("reported_wakeup_latency:p99"));
        assert_eq!(of("wakeup_latency:p99", "hackbench -g 1"), None);
        assert_eq!(of("reported_wakeup_latency:p99", "schbench -m 2"), None);
        assert_eq!(of("task_switches", "hackbench -g 1"), None);
    }
}
