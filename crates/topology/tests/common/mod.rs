//! Machines for tests, through the public way of reading them.

pub(crate) mod vectors;

use std::fmt::Write as _;

use simsched_topology::{Topology, TopologyError};

/// What every test machine has beside its shape.
pub(crate) const TAIL: &str = "
[c2c_ns]
smt = 10
same_llc = 25
same_socket = 100
cross_socket = 200

[[idle]]
name = \"C1\"
exit_us = 1
residency_us = 2
polling = true
";

/// A regular machine with these lines under its mode.
pub(crate) struct Machine {
    pub(crate) head: String,
    pub(crate) sockets: usize,
    pub(crate) llcs_per_socket: usize,
    pub(crate) cores_per_llc: usize,
    pub(crate) threads: usize,
    pub(crate) numbering: &'static str,
    pub(crate) mode: String,
}

impl Machine {
    pub(crate) fn new(
        sockets: usize,
        llcs_per_socket: usize,
        cores_per_llc: usize,
        threads: usize,
    ) -> Self {
        let mode = "nodes_per_socket = 1\ncross_socket = 32".to_owned();
        let numbering = "smt_split";
        let head = "reclaim_distance = 32".to_owned();
        Self { head, sockets, llcs_per_socket, cores_per_llc, threads, numbering, mode }
    }

    pub(crate) fn mode(mut self, lines: &str) -> Self {
        lines.clone_into(&mut self.mode);
        self
    }

    pub(crate) fn head(mut self, lines: &str) -> Self {
        lines.clone_into(&mut self.head);
        self
    }

    pub(crate) fn numbering(mut self, name: &'static str) -> Self {
        self.numbering = name;
        self
    }

    pub(crate) fn text(&self) -> String {
        let mut text =
            String::from("name = \"test\"\ntitle = \"a test machine\"\ncosts = \"x86\"\n");
        writeln!(text, "{}\n[cores]", self.head).expect("a string grows");
        writeln!(text, "sockets = {}", self.sockets).expect("a string grows");
        writeln!(text, "llcs_per_socket = {}", self.llcs_per_socket).expect("a string grows");
        writeln!(text, "cores_per_llc = {}", self.cores_per_llc).expect("a string grows");
        writeln!(text, "threads_per_core = {}", self.threads).expect("a string grows");
        writeln!(text, "numbering = \"{}\"", self.numbering).expect("a string grows");
        writeln!(text, "[mode.test]\n{}", self.mode).expect("a string grows");
        text + TAIL
    }

    pub(crate) fn topology(&self) -> Topology {
        Topology::parse(&self.text(), "test.toml", None).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Two sockets of one LLC each, with several nodes per socket that cut it.
pub(crate) fn snc(cores: usize, threads: usize, nodes: usize) -> Topology {
    let mode = "same_socket = 12\ncross_socket = 21\ncut_llc = true";
    Machine::new(2, 1, cores, threads)
        .head("")
        .mode(&format!("nodes_per_socket = {nodes}\n{mode}"))
        .topology()
}

/// Two sockets of one LLC and one node each.
pub(crate) fn one_node_each(cores: usize, threads: usize) -> Topology {
    let mode = "nodes_per_socket = 1\ncross_socket = 21";
    Machine::new(2, 1, cores, threads).head("").mode(mode).topology()
}

/// A machine that is right: 2 sockets x 2 LLCs x 2 cores x 2 threads.
pub(crate) const REGULAR: &str = r#"name = "m"
title = "a machine"
costs = "x86"
[cores]
sockets = 2
llcs_per_socket = 2
cores_per_llc = 2
threads_per_core = 2
numbering = "smt_split"
[mode.two]
nodes_per_socket = 1
distance = [
  [10, 21],
  [21, 10],
]
"#;

/// A machine given by lists, which is right: 4 CPUs in 2 LLCs, packages and nodes.
pub(crate) const LISTED: &str = r#"name = "m"
title = "a machine"
costs = "x86"
core = [
  { cpus = "0" },
  { cpus = "1" },
  { cpus = "2" },
  { cpus = "3" },
]
llc = [
  { cpus = "0-1" },
  { cpus = "2-3" },
]
package = [
  { cpus = "0-1" },
  { cpus = "2-3" },
]
node = [
  { cpus = "0-1" },
  { cpus = "2-3" },
]
distance = [[10, 20], [20, 10]]
"#;

pub(crate) fn parse(text: &str) -> Result<Topology, TopologyError> {
    Topology::parse(&format!("{text}{TAIL}"), "m.toml", None)
}

/// Replaces `from` by `to` and expects this complaint, which begins with file and line.
pub(crate) fn check(good: &str, from: &str, to: &str, expected: &str) {
    assert_eq!(good.matches(from).count(), 1, "`{from}` is in the text once");
    let error = parse(&good.replace(from, to)).expect_err(expected);
    assert_eq!(error.to_string(), expected);
}
