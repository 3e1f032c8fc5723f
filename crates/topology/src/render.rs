//! Machines and sched domains as text of at most 100 columns, behind `simsched topo`.

use std::fmt::Write as _;

use crate::cpuset::CpuSet;
use crate::ids::CpuId;
use crate::report::{DomainReport, MachineReport, MachineSummary, NodeReport};

/// The width of the text.
const COLUMNS: usize = 100;

/// A table of machines: name, CPUs, LLCs, nodes, modes with the default one starred, and a line about it.
#[must_use]
pub fn render_list(machines: &[MachineSummary]) -> String {
    let width = machines.iter().map(|m| m.name.len()).max().unwrap_or(0).max(4);
    let mut text = format!("{:width$}  CPUs  LLCs  nodes  modes (* by default)\n", "name");
    for m in machines {
        let name = |mode: &crate::ModeInfo| {
            format!("{}{}", mode.name, if mode.is_default { "*" } else { "" })
        };
        let modes: Vec<String> = m.modes.iter().map(name).collect();
        let counts = format!("{:>4}  {:>4}  {:>5}", m.nr_cpus, m.nr_llcs, m.nr_nodes);
        line(&mut text, &format!("{:width$}  {counts}  {}", m.name, modes.join(", ")));
        line(&mut text, &format!("{:width$}  {}", "", m.title));
    }
    text
}

/// A machine, its nodes, and the sched domains of one CPU from the top down.
#[must_use]
pub fn render_show(report: &MachineReport) -> String {
    let mut text = String::new();
    summary(&mut text, report);
    nodes(&mut text, &report.nodes);
    let r = report;
    line(&mut text, "");
    line(
        &mut text,
        &format!(
            "CPU {}: core {} (CPUs {}), LLC {} of {} CPUs, node {}, package {}",
            r.cpu, r.core, r.smt_mask, r.llc, r.llc_size, r.node, r.package
        ),
    );
    line(
        &mut text,
        &format!("sched domains in Linux {}, imb_numa_nr by rule {}:", r.kernel, r.numa_imbalance),
    );
    line(&mut text, &format!("  ({})", r.numa_imbalance_doc));
    for (depth, domain) in report.domains.iter().rev().enumerate() {
        self::domain(&mut text, 2 * depth + 2, domain);
    }
    if report.domains.is_empty() {
        line(&mut text, "  none: there is nobody to balance with");
    }
    text
}

fn summary(text: &mut String, r: &MachineReport) {
    line(text, &format!("{}@{}: {}", r.name, r.mode, r.title));
    let l3 = r.l3_kib.map_or(String::new(), |kib| format!(", L3 of {} MiB", mib(kib)));
    line(
        text,
        &format!(
            "{} CPUs, {} cores, {}, {}, {}{l3}",
            r.nr_cpus,
            r.nr_cores,
            count(r.nr_llcs, "LLC"),
            count(r.nodes.len(), "node"),
            count(r.nr_packages, "package"),
        ),
    );
    line(
        text,
        &format!("NUMA type {}, reclaim distance {}", r.numa_topology_type, r.reclaim_distance),
    );
    if let Some(numbers) = &r.os_numbers {
        wrapped(text, "the machine's own kernel calls them ", std::slice::from_ref(numbers));
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// MiB with one decimal if there is one.
fn mib(kib: u64) -> String {
    crate::fact::decimal(kib * 10 / 1024 * 100)
}

fn nodes(text: &mut String, nodes: &[NodeReport]) {
    let cell = |set: &CpuSet| set.to_string();
    let llcs = |node: &NodeReport| {
        node.llcs.iter().map(|llc| CpuId(llc.0)).collect::<CpuSet>().to_string()
    };
    let width = |texts: Vec<String>, title: &str| {
        texts.iter().map(String::len).max().unwrap_or(0).max(title.len())
    };
    let cpus_width = width(nodes.iter().map(|n| cell(&n.cpus)).collect(), "CPUs");
    let llcs_width = width(nodes.iter().map(llcs).collect(), "LLCs");
    line(text, "");
    line(
        text,
        &format!("{:>6}  {:cpus_width$}  {:llcs_width$}  distances", "node", "CPUs", "LLCs"),
    );
    for node in nodes {
        let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
        let head = format!(
            "{:>6}  {:cpus_width$}  {:llcs_width$}  ",
            node.node,
            cell(&node.cpus),
            llcs(node)
        );
        wrapped(text, &head, &distances);
    }
}

fn domain(text: &mut String, indent: usize, report: &DomainReport) {
    let sd = &report.domain;
    let pad = " ".repeat(indent);
    let distance = sd.distance.map_or(String::new(), |d| format!(", node distance up to {d}"));
    wrapped(
        text,
        &format!("{pad}{} ", sd.name),
        &[format!("{},", sd.span), format!("{} CPUs{distance}", sd.weight)],
    );
    let inner = " ".repeat(indent + 2);
    let flags: Vec<String> =
        report.flags.iter().map(|flag| flag.trim_start_matches("SD_").to_owned()).collect();
    wrapped(text, &format!("{inner}flags  "), &flags);
    wrapped(
        text,
        &format!("{inner}every  "),
        &[
            format!("{}..{} ms,", sd.min_interval, sd.max_interval),
            format!("busy x {},", sd.busy_factor),
            format!("imbalance_pct {},", sd.imbalance_pct),
            format!("cache_nice_tries {},", sd.cache_nice_tries),
            allowance(report),
        ],
    );
    groups(text, &inner, report);
}

/// How much imbalance is tolerated: the number that is stored, or the limit that stands for it.
fn allowance(report: &DomainReport) -> String {
    match report.imb_allowed_below {
        Some(limit) => format!("imbalance allowed below {limit} tasks"),
        None => format!("imb_numa_nr {}", report.domain.imb_numa_nr),
    }
}

/// The ring: each group in brackets, with its owners if they are not all of it.
fn groups(text: &mut String, inner: &str, report: &DomainReport) {
    let mut cells: Vec<String> = vec![format!("{},", count(report.groups.len(), "group"))];
    let capacities: Vec<u32> = report.groups.iter().map(|group| group.capacity).collect();
    let same = capacities.windows(2).all(|pair| pair[0] == pair[1]);
    cells.extend(capacities.first().filter(|_| same).map(|c| format!("capacity {c} each:")));
    for group in &report.groups {
        let owned = if group.balance_mask == group.cpus {
            String::new()
        } else {
            format!(" owned by {}", group.balance_mask)
        };
        let capacity = if same { String::new() } else { format!(" capacity {}", group.capacity) };
        cells.push(format!("[{}{owned}{capacity}]", group.cpus));
    }
    wrapped(text, &format!("{inner}ring   "), &cells);
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{}", content.trim_end()).expect("a string grows");
}

/// Words after a head, broken before column 100; later lines are indented by the head's width.
fn wrapped(text: &mut String, head: &str, words: &[String]) {
    let indent = " ".repeat(head.chars().count());
    let mut current = head.to_owned();
    let mut is_fresh = true;
    for word in words.iter().flat_map(|word| pieces(word, COLUMNS - indent.len())) {
        let gap = usize::from(!is_fresh);
        if !is_fresh && current.len() + gap + word.len() > COLUMNS {
            line(text, &current);
            current.clone_from(&indent);
            is_fresh = true;
        }
        if !is_fresh {
            current.push(' ');
        }
        current.push_str(&word);
        is_fresh = false;
    }
    line(text, &current);
}

/// A word as it is, or broken after commas if no line can hold it.
fn pieces(word: &str, room: usize) -> Vec<String> {
    if word.len() <= room {
        return vec![word.to_owned()];
    }
    let mut pieces = vec![String::new()];
    for part in word.split_inclusive(',') {
        let last = pieces.last_mut().expect("never empty");
        if last.len() + part.len() > room {
            pieces.push(part.to_owned());
        } else {
            last.push_str(part);
        }
    }
    pieces
}
