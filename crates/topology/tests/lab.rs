//! Sched domains are those of booted kernels: the boot log and debugfs of every CPU, line by line.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use simsched_topology::{CpuId, Domains, Kernel, NumaImbalance, SchedGroup, SdFlags, Topology};

/// What the kernel logged at boot with `sched_verbose`, then its `sched/domains` in debugfs.
fn recorded(kernel: Kernel, machine: &str) -> Vec<String> {
    let file = format!("tests/data/lab/{}-{machine}.txt.gz", kernel.name());
    let file =
        File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("the file is there");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// A group as the boot log prints it: the capacity only if it is not 1024, the mask only if it differs.
fn group(group: &SchedGroup) -> String {
    let mut text = format!("{}:{{ span={}", group.balance_cpu, group.span);
    if group.balance_mask != group.span {
        write!(text, " mask={}", group.balance_mask).expect("a string grows");
    }
    if group.capacity != 1024 {
        write!(text, " cap={}", group.capacity).expect("a string grows");
    }
    text + " }"
}

/// The boot log of one CPU.
fn boot_log(domains: &Domains, cpu: CpuId) -> Vec<String> {
    let mut lines = vec![format!("CPU{cpu} attaching sched-domain(s):")];
    for (n, sd) in domains.of(cpu).iter().enumerate() {
        lines.push(format!("domain-{n}: span={} level={}", sd.span, sd.name));
        let groups: Vec<String> = domains.groups_of(sd).map(group).collect();
        lines.push(format!("groups: {}", groups.join(", ")));
    }
    lines
}

/// The files of one CPU in debugfs.
fn debugfs(domains: &Domains, cpu: CpuId) -> Vec<String> {
    let kernel = domains.kernel();
    let names = |flags: SdFlags| flags.names(kernel).collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    for (n, sd) in domains.of(cpu).iter().enumerate() {
        let mut file = |name: &str, value: String| {
            let line = format!("cpu{cpu}/domain{n}/{name}: {value}");
            lines.push(line.trim_end().to_owned());
        };
        file("busy_factor", sd.busy_factor.to_string());
        file("cache_nice_tries", sd.cache_nice_tries.to_string());
        file("flags", names(sd.flags));
        if kernel != Kernel::V6_1 {
            file("groups_flags", names(domains.local_group(sd).flags));
        }
        file("imbalance_pct", sd.imbalance_pct.to_string());
        if kernel != Kernel::V6_1 {
            file("level", sd.level.to_string());
        }
        file("max_interval", sd.max_interval.to_string());
        file("min_interval", sd.min_interval.to_string());
        file("name", sd.name.to_owned());
    }
    lines
}

fn check(machine: &str, nr_lines: [usize; 2]) {
    check_under(Kernel::V6_1, machine, nr_lines[0]);
    check_under(Kernel::V6_12, machine, nr_lines[1]);
}

fn check_under(kernel: Kernel, machine: &str, nr_lines: usize) {
    let topology = Topology::resolve(machine).expect("a shipped machine");
    let domains = Domains::build(&topology, kernel, NumaImbalance::Merged);
    let cpus = || topology.cpus().iter();
    let logs = cpus().flat_map(|cpu| boot_log(&domains, cpu));
    let mut found: Vec<String> =
        logs.chain(cpus().flat_map(|cpu| debugfs(&domains, cpu))).collect();
    let mut expected = recorded(kernel, machine);
    assert_eq!(expected.len(), nr_lines, "{machine} {}", kernel.name());
    // Directories are read in another order than by number.
    found.sort();
    expected.sort();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{machine} {}", kernel.name());
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn t8_boots_with_these_domains() {
    check("t8", [80, 96]);
}

#[test]
fn t16_boots_with_these_domains() {
    check("t16", [592, 720]);
}

#[test]
fn t32_boots_with_these_domains() {
    check("t32", [1184, 1440]);
}

#[test]
fn t64_boots_with_these_domains() {
    check("t64", [2368, 2880]);
}

/// The kernel lab has recorded the domains of 7.3 on this machine only.
#[test]
fn n2x8_boots_with_these_domains() {
    check_under(Kernel::V7_3, "n2x8", 368);
}
