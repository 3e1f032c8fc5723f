//! The machine as a tree of packages, nodes, LLCs and cores.

use serde_json::Value;

use super::View;
use super::markup::{esc, note, num, ramp};
use crate::document::at;
use crate::side::Side;

/// The cores behind one LLC, each as its CPUs.
pub(super) struct Llc {
    pub(super) package: u64,
    pub(super) node: u64,
    pub(super) cores: Vec<Vec<usize>>,
}

impl Llc {
    /// The CPUs, core by core.
    pub(super) fn cpus(&self) -> impl Iterator<Item = usize> + '_ {
        self.cores.iter().flatten().copied()
    }
}

/// The LLCs of the machine of a side; none if its file does not tell.
pub(super) fn llcs(side: &Side) -> Vec<Llc> {
    let found = at(side.first(), "machine.llcs").and_then(Value::as_array);
    let llc = |value: &Value| {
        let number = |key: &str| value[key].as_u64().unwrap_or(0);
        let cores = value["cores"].as_str().unwrap_or("").split_whitespace().map(cpus).collect();
        Llc { package: number("package"), node: number("node"), cores }
    };
    found.into_iter().flatten().map(llc).collect()
}

/// The CPUs of a set in the kernel's list format; what is no set has none.
fn cpus(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.parse().ok()?;
        let last: usize = last.parse().ok()?;
        // A core has a handful of threads, whatever a file says.
        Some(first..=last.min(first.saturating_add(63)))
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The trees of all sides; of one machine that is drawn, further ones are folded up.
pub(super) fn of(view: &View<'_>) -> String {
    if view.sides.is_empty() {
        return String::new();
    }
    if !view.any("machine.llcs") {
        return note(
            "These files do not describe the machine: they were written by an older simsched. Run \
             the commands of the summary again, or see `simsched topo show`.",
        );
    }
    let mut text = String::new();
    for (idx, (side, name)) in view.sides.iter().zip(&view.names).enumerate() {
        let tree = tree(side);
        if tree.is_empty() {
            continue;
        }
        let open = if idx == 0 { " open=\"open\"" } else { "" };
        text +=
            &format!("<details{open}><summary>under {}</summary>\n{tree}</details>\n", esc(name));
    }
    if view.any("cpu_utilisation") {
        text += &ramp(
            "0 %",
            "100 % of the time busy, on average over what is measured; a box is a core, its \
                              parts are its threads",
        );
    }
    text
}

fn tree(side: &Side) -> String {
    let llcs = llcs(side);
    let busy = utilisation(side);
    let mut packages: Vec<u64> = llcs.iter().map(|llc| llc.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut text = String::new();
    for package in packages {
        let of_package: Vec<(usize, &Llc)> =
            llcs.iter().enumerate().filter(|(_, llc)| llc.package == package).collect();
        let mut nodes: Vec<u64> = of_package.iter().map(|(_, llc)| llc.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let cores: usize = of_package.iter().map(|(_, llc)| llc.cores.len()).sum();
        text += &format!(
            "<div class=\"pkg\"><div class=\"cap\">socket {package}: {} and {}</div>\n",
            nr(cores, "core"),
            nr(of_package.len(), "LLC")
        );
        for node in nodes {
            text += &format!(
                "<div class=\"node\"><div class=\"cap\">node {node}</div><div class=\"llcs\">\n"
            );
            for (idx, llc) in of_package.iter().filter(|(_, llc)| llc.node == node) {
                text += &boxes(*idx, llc, &busy);
            }
            text += "</div></div>\n";
        }
        text += "</div>\n";
    }
    if text.is_empty() { text } else { format!("<div class=\"tree\">\n{text}</div>\n") }
}

fn boxes(idx: usize, llc: &Llc, busy: &[f64]) -> String {
    let mut text =
        format!("<div class=\"llc\"><div class=\"cap\">LLC {idx}{}</div>", mean(llc, busy));
    text += "<div class=\"cores\">";
    for core in &llc.cores {
        text += "<div class=\"core\">";
        for cpu in core {
            let (strength, told) = match busy.get(*cpu) {
                Some(part) => (num(part.clamp(0.0, 1.0)), format!(": {:.1} %", 100.0 * part)),
                None => ("0".to_owned(), String::new()),
            };
            text +=
                &format!("<i title=\"CPU {cpu}{told}\"><b style=\"opacity:{strength}\"></b></i>");
        }
        text += "</div>";
    }
    text + "</div></div>\n"
}

#[expect(clippy::cast_precision_loss, reason = "CPUs are few")]
fn mean(llc: &Llc, busy: &[f64]) -> String {
    let parts: Vec<f64> = llc.cpus().filter_map(|cpu| busy.get(cpu).copied()).collect();
    if parts.is_empty() {
        return String::new();
    }
    format!(": {:.1} %", 100.0 * parts.iter().sum::<f64>() / parts.len() as f64)
}

/// By CPU, the mean over the runs.
#[expect(clippy::cast_precision_loss, reason = "runs are few")]
fn utilisation(side: &Side) -> Vec<f64> {
    let mut sums: Vec<f64> = Vec::new();
    let runs = side.counted();
    for run in &runs {
        let parts = at(run, "cpu_utilisation").and_then(Value::as_array);
        for (cpu, part) in parts.into_iter().flatten().enumerate() {
            if sums.len() <= cpu {
                sums.push(0.0);
            }
            sums[cpu] += part.as_f64().unwrap_or(0.0);
        }
    }
    sums.iter().map(|sum| sum / runs.len() as f64).collect()
}

fn nr(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_a_list_of_the_kernel() {
        assert_eq!(cpus("0,192"), [0, 192]);
        assert_eq!(cpus("4-7"), [4, 5, 6, 7]);
        assert_eq!(cpus("x,1-y"), Vec::<usize>::new());
        assert_eq!(cpus("0-18446744073709551615").len(), 64);
    }
}
