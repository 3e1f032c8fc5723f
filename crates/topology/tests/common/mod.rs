//! Machines for tests, through the public way of reading them.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fmt::Write as _;

use simsched_topology::Topology;

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
