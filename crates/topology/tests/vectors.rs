//! Sched domains and groups are those that the kernel's own code builds, field by field.

use std::fmt::Write as _;

use serde_json::{Value, json};
use simsched_topology::{CpuId, Domains, Kernel, NumaImbalance, SchedDomain, Topology};

use crate::common::vectors::{files, folder, machine, number, other_vectors, read};

fn level(kernel: Kernel, sd: &SchedDomain) -> Value {
    let mut found = json!({
        "level": sd.level,
        "name": sd.name,
        "span_weight": sd.weight,
        "groups": sd.nr_groups(),
        "flags": sd.flags.names(kernel).collect::<Vec<_>>(),
        "imbalance_pct": sd.imbalance_pct,
        "busy_factor": sd.busy_factor,
        "min_interval": sd.min_interval,
        "max_interval": sd.max_interval,
        "cache_nice_tries": sd.cache_nice_tries,
        "imb_numa_nr": sd.imb_numa_nr,
        "has_shared": u8::from(sd.has_shared),
    });
    if kernel == Kernel::V7_3 {
        // The limit of the scan is the balancer's; what is shared starts with this one.
        found["nr_idle_scan_at_start"] = json!(if sd.has_shared { 512 } else { -1 });
    }
    found
}

fn domain(domains: &Domains, cpu: CpuId, sd: &SchedDomain) -> Value {
    let group_ring: Vec<Value> = domains
        .groups_of(sd)
        .map(|group| {
            let mut found = json!({
                "cpus": group.span.to_string(),
                "weight": group.weight,
                "balance_cpu": group.balance_cpu.0,
                "capacity": group.capacity,
                "flags_are_child_flags": domains.flags_are_child_flags(cpu, sd, group),
            });
            if domains.kernel() != Kernel::V6_1 {
                found["cores"] = json!(group.cores);
            }
            found
        })
        .collect();
    json!({ "name": sd.name, "span": sd.span.to_string(), "group_ring": group_ring })
}

fn detail(domains: &Domains, cpu: CpuId) -> Value {
    let all: Vec<Value> = domains.of(cpu).iter().map(|sd| domain(domains, cpu, sd)).collect();
    json!({ "cpu": cpu.0, "sd_llc_id": domains.llc_id(cpu), "domains": all })
}

/// Whether all CPUs have the same stack of name, weight, flags and allowance.
fn all_cpus_alike(topology: &Topology, domains: &Domains) -> bool {
    let stack = |cpu| -> Vec<_> {
        let key = |sd: &SchedDomain| (sd.name, sd.weight, sd.flags, sd.imb_numa_nr);
        domains.of(cpu).iter().map(key).collect()
    };
    topology.cpus().iter().all(|cpu| stack(cpu) == stack(CpuId(0)))
}

/// What we find for a vector file, in the form of that file.
fn found(file: &Value, kernel: Kernel) -> Value {
    let topology = machine(file).topology();
    let domains = Domains::build(&topology, kernel, NumaImbalance::Merged);
    let last = CpuId::new(topology.nr_cpus() - 1);
    let nodes = || (0..topology.nr_nodes()).map(simsched_topology::NodeId::new);
    let row = |a| nodes().map(|b| topology.node_distance(a, b)).collect::<Vec<_>>();
    let mut found = file.clone();
    found["cpus"] = json!(topology.nr_cpus());
    found["nodes"] = json!(topology.nr_nodes());
    found["node_cpus"] = nodes().map(|n| topology.node_span(n).to_string()).collect();
    found["distance"] = nodes().map(row).collect();
    found["numa_topology_type"] = json!(domains.numa_topology_type().name());
    found["all_cpus_alike"] = json!(all_cpus_alike(&topology, &domains));
    found["sd_llc_size"] = json!(domains.llc_size(CpuId(0)));
    found["sd_llc_id_of_cpu0_and_last"] = json!([domains.llc_id(CpuId(0)), domains.llc_id(last)]);
    if kernel == Kernel::V7_3 {
        // Nothing is to be gathered where one LLC is all, or where no CPU shares one.
        let is_part = |sd: &SchedDomain| sd.span != *topology.cpus();
        let is_present = topology.cpus().iter().any(|cpu| domains.sd_llc(cpu).is_some_and(is_part));
        found["sched_cache_present"] = json!(is_present);
        let numbers = topology.cpus().iter().map(|cpu| domains.llc_id(cpu) + 1);
        found["llc_max"] = json!(numbers.max());
    }
    found["levels_cpu0"] = domains.of(CpuId(0)).iter().map(|sd| level(kernel, sd)).collect();
    let cpus = file["cpu_detail"].as_array().expect("a list").iter();
    found["cpu_detail"] = cpus.map(|c| detail(&domains, CpuId::new(number(&c["cpu"])))).collect();
    found
}

/// Compares, and names the first place that differs.
fn compare(at: &str, found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = |o: &serde_json::Map<String, Value>| {
                o.keys().cloned().collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(keys(a), keys(b), "{at}: keys");
            for (key, value) in b {
                compare(&format!("{at}.{key}"), &a[key], value);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for (n, (x, y)) in a.iter().zip(b).enumerate() {
                compare(&format!("{at}[{n}]"), x, y);
            }
            assert_eq!(a.len(), b.len(), "{at}: length");
        }
        _ => assert_eq!(found, expected, "{at}"),
    }
}

fn check(kernel: Kernel, nr_machines: usize) {
    let files = files(kernel);
    assert_eq!(files.len(), nr_machines, "all machines of Linux {}", kernel.name());
    for file in &files {
        let name = file["name"].as_str().expect("a name");
        compare(&format!("{} {name}", kernel.name()), &found(file, kernel), file);
    }
}

#[test]
fn the_domains_of_6_1_are_the_kernels() {
    check(Kernel::V6_1, 23);
}

#[test]
fn the_domains_of_6_12_are_the_kernels() {
    check(Kernel::V6_12, 23);
}

/// Without the one with Power processors.
#[test]
fn vectors_7_3_topo() {
    let nr_machines = if other_vectors().is_some() { files(Kernel::V7_3).len() } else { 22 };
    check(Kernel::V7_3, nr_machines);
}

/// One line of `sched_domain_levels.csv` for a domain of CPU 0.
fn csv_row(name: &str, topology: &Topology, domains: &Domains, index: usize) -> String {
    let cpu = CpuId(0);
    let sd = &domains.of(cpu)[index];
    let flags: Vec<_> =
        sd.flags.names(domains.kernel()).map(|f| f.trim_start_matches("SD_")).collect();
    let mut row = String::new();
    write!(row, "{name},{},{},", topology.nr_cpus(), topology.nr_nodes()).expect("a string grows");
    write!(
        row,
        "{},{},{index},{},",
        domains.llc_size(cpu),
        domains.numa_topology_type().name(),
        sd.name
    )
    .expect("a string grows");
    write!(row, "{},{},{},{},", sd.weight, sd.nr_groups(), sd.imbalance_pct, sd.busy_factor)
        .expect("a string grows");
    write!(row, "{},{},{},", sd.min_interval, sd.max_interval, sd.cache_nice_tries)
        .expect("a string grows");
    write!(row, "{},{},{}", sd.imb_numa_nr, u8::from(sd.has_shared), flags.join("+"))
        .expect("a string grows");
    row
}

#[test]
fn the_levels_of_cpu_0_are_the_kernels() {
    for kernel in [Kernel::V6_1, Kernel::V6_12] {
        assert_eq!(check_levels(kernel, "sched_domain_levels.csv.gz"), 87);
    }
}

#[test]
fn vectors_7_3_sched_domain_levels() {
    let name = "sched_domain_levels.csv";
    match other_vectors() {
        Some(folder) if !folder.join(name).exists() => {}
        Some(_) => assert!(check_levels(Kernel::V7_3, name) > 0),
        None => assert_eq!(check_levels(Kernel::V7_3, &format!("{name}.gz")), 82),
    }
}

/// All machines of a kernel; returns the number of rows.
fn check_levels(kernel: Kernel, name: &str) -> usize {
    let text = read(&folder(kernel).join(name));
    let expected: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    let mut rows = Vec::new();
    for file in files(kernel) {
        let topology = machine(&file).topology();
        let domains = Domains::build(&topology, kernel, NumaImbalance::Merged);
        let name = file["name"].as_str().expect("a name").to_owned();
        let levels = 0..domains.of(CpuId(0)).len();
        rows.extend(levels.map(|index| csv_row(&name, &topology, &domains, index)));
    }
    assert_eq!(rows, expected);
    rows.len()
}
