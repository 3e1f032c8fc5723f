//! Numbers as people quote them.

pub(crate) use simsched_pages::units::{count, decimal, micros, percent, span, span_of};
use simsched_topology::Topology;

/// How long somebody waits, in the two units that matter: `4 min 10 s`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below a century")]
pub(crate) fn wall(seconds: f64) -> String {
    match seconds.max(0.0).ceil() as u64 {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
    }
}

/// The size of a machine: `384 CPUs, 24 LLCs, 2 nodes, 2 packages`.
pub(crate) fn machine(topology: &Topology) -> String {
    let parts = [
        (topology.nr_cpus(), "CPU"),
        (topology.nr_llcs(), "LLC"),
        (topology.nr_nodes(), "node"),
        (topology.nr_packages(), "package"),
    ];
    parts.map(|(nr, what)| format!("{nr} {what}{}", if nr == 1 { "" } else { "s" })).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_two_units() {
        let found = [0.2, 59.0, 250.0, 3_600.0, 93_784.0].map(wall);
        assert_eq!(found, ["1 s", "59 s", "4 min 10 s", "1 h 0 min", "26 h 3 min"]);
    }
}
