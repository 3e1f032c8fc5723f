//! The role of a scenario: its name with the numbers that depend on the machine's size named.
//!
//! `hogs-free-16` is one hog for each CPU on a machine of 16 CPUs, and two on one of 8: what is
//! known of the one is known of `hogs-free-N`, and not of `hogs-free-16` everywhere.

/// The role of scenario `name` on a machine of `nr_cpus` CPUs.
#[must_use]
pub fn role(name: &str, nr_cpus: usize) -> String {
    let hogs = ["hogs-free-", "hogs-herd-", "hogs-long-free-", "hogs-long-herd-"];
    let found = hogs.iter().find_map(|prefix| Some((prefix, name.strip_prefix(prefix)?)));
    match found.and_then(|(prefix, count)| Some((prefix, relative(count.parse().ok()?, nr_cpus)))) {
        Some((prefix, relative)) => format!("{prefix}{relative}"),
        None => name.to_owned(),
    }
}

/// `count` as a multiple of the number of CPUs, if it is one of those in use.
fn relative(count: usize, nr_cpus: usize) -> String {
    let known = [
        ("1", 1),
        ("N", nr_cpus),
        ("2N", 2 * nr_cpus),
        ("N+1", nr_cpus + 1),
        ("N-1", nr_cpus.saturating_sub(1)),
        ("H", nr_cpus / 2),
        ("Q", nr_cpus / 4),
        ("N+H", nr_cpus + nr_cpus / 2),
    ];
    let found = known.into_iter().find(|(_, value)| *value == count);
    found.map_or_else(|| count.to_string(), |(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_told_by_the_size_of_the_machine() {
        for (name, cpus, expected) in [
            ("hogs-free-16", 16, "hogs-free-N"),
            ("hogs-free-16", 8, "hogs-free-2N"),
            ("hogs-free-17", 16, "hogs-free-N+1"),
            ("hogs-free-15", 16, "hogs-free-N-1"),
            ("hogs-free-7", 8, "hogs-free-N-1"),
            ("hogs-herd-8", 16, "hogs-herd-H"),
            ("hogs-free-2", 8, "hogs-free-Q"),
            ("hogs-long-free-24", 16, "hogs-long-free-N+H"),
            ("hogs-free-36", 24, "hogs-free-N+H"),
            ("hogs-free-1", 4, "hogs-free-1"),
            ("hogs-free-5", 16, "hogs-free-5"),
        ] {
            assert_eq!(role(name, cpus), expected, "{name} on {cpus} CPUs");
        }
    }

    #[test]
    fn a_name_without_such_a_count_is_its_own_role() {
        for name in ["pingpong-H-w20", "share-0-5", "hackbench -T -p -g 1 -f 2 -l 500"] {
            assert_eq!(role(name, 16), name);
        }
    }
}
