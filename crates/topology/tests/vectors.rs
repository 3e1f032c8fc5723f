//! Sched domains and groups are those that the kernel's own code builds, field by field.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::common::Machine;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use simsched_topology::{CpuId, Domains, Kernel, NumaImbalance, SchedDomain, Topology};

fn folder(kernel: Kernel) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(kernel.name())
}

fn read(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("the file is there"))
        .read_to_string(&mut text)
        .expect("gzip");
    text
}

/// The vector files of a kernel, by the name of the machine.
fn files(kernel: Kernel) -> Vec<Value> {
    let entries = fs::read_dir(folder(kernel)).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.to_string_lossy().contains("topo_"));
    paths.sort();
    paths.iter().map(|path| serde_json::from_str(&read(path)).expect("JSON")).collect()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a number")).expect("small")
}

/// How many cores share a cache: the files tell it only in their comments.
fn cores_per_llc(name: &str, per_socket: usize) -> usize {
    match name.split('_').next().expect("a name") {
        "genoa" | "milan" | "ryzen" => 8,
        "rome" => 4,
        "mini" => 2,
        _ => per_socket,
    }
}

/// The machine of a vector file, written as a machine file.
fn machine(file: &Value) -> Machine {
    let name = file["name"].as_str().expect("a name");
    let (sockets, cores) = (number(&file["sockets"]), number(&file["cores_per_socket"]));
    let nodes =
        format!("nodes = {}\ndistance = {}\ncut_llc = true", file["node_cpus"], file["distance"]);
    let mut head = format!("reclaim_distance = {}", file["node_reclaim_distance"]);
    if name.starts_with("p10") {
        // Small cores of 4 threads; a hemisphere of 5 cores is 10 of them.
        head += "\narch = \"power\"";
        let mode = nodes + "\ncores_per_coregroup = 10";
        return Machine::new(sockets, 2 * cores, 1, 4)
            .numbering("small_cores")
            .head(&head)
            .mode(&mode);
    }
    let per_llc = cores_per_llc(name, cores);
    Machine::new(sockets, cores / per_llc, per_llc, number(&file["threads"]))
        .head(&head)
        .mode(&nodes)
}

fn level(kernel: Kernel, sd: &SchedDomain) -> Value {
    json!({
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
    })
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
            if domains.kernel() == Kernel::V6_12 {
                found["cores"] = json!(group.cores);
            }
            found
        })
        .collect();
    json!({ "name": sd.name, "span": sd.span.to_string(), "group_ring": group_ring })
}

fn detail(domains: &Domains, cpu: CpuId) -> Value {
    let all: Vec<Value> = domains.of(cpu).iter().map(|sd| domain(domains, cpu, sd)).collect();
    json!({ "cpu": cpu.0, "sd_llc_id": domains.llc_id(cpu).0, "domains": all })
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
    found["sd_llc_id_of_cpu0_and_last"] =
        json!([domains.llc_id(CpuId(0)).0, domains.llc_id(last).0]);
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

fn check(kernel: Kernel) {
    let files = files(kernel);
    assert_eq!(files.len(), 23, "all machines of Linux {}", kernel.name());
    for file in &files {
        let name = file["name"].as_str().expect("a name");
        compare(&format!("{} {name}", kernel.name()), &found(file, kernel), file);
    }
}

#[test]
fn the_domains_of_6_1_are_the_kernels() {
    check(Kernel::V6_1);
}

#[test]
fn the_domains_of_6_12_are_the_kernels() {
    check(Kernel::V6_12);
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
        let text = read(&folder(kernel).join("sched_domain_levels.csv.gz"));
        let expected: Vec<&str> =
            text.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
        let mut rows = Vec::new();
        for file in files(kernel) {
            let topology = machine(&file).topology();
            let domains = Domains::build(&topology, kernel, NumaImbalance::Merged);
            let name = file["name"].as_str().expect("a name").to_owned();
            let levels = 0..domains.of(CpuId(0)).len();
            rows.extend(levels.map(|index| csv_row(&name, &topology, &domains, index)));
        }
        assert_eq!(rows.len(), 87);
        assert_eq!(rows, expected);
    }
}
