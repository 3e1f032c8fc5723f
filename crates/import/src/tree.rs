//! `Tree`: the files of a `/sys/devices/system` that are read, wherever they come from.

use std::collections::BTreeMap;

use crate::maker;
use crate::set::{self, Set};

/// The files of a tree that tell of CPUs, caches and nodes, by their path below `/sys/devices/system`.
///
/// A folder, a tarball and the running machine are the same here.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// The place of a file in the tree, if it is one of those that are read.
    ///
    /// `path` may lie anywhere: `host/sys/devices/system/cpu/online` and `cpu/online` are the same.
    #[must_use]
    pub fn place(path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let (name, folders) = parts.split_last()?;
        if folders.last() == Some(&"proc") && matches!(*name, "cpuinfo" | "hwloc-nofile-info") {
            return Some((*name).to_owned());
        }
        // A copy beside the tree.
        if *name == "cpuinfo" && folders.len() < 2 {
            return Some((*name).to_owned());
        }
        if let [.., "devices", kind @ ("cpu_atom" | "cpu_core")] = folders {
            return (*name == "cpus").then(|| format!("{kind}/cpus"));
        }
        let system = folders.iter().position(|part| *part == "system").map_or(0, |at| at + 1);
        let below = parts.get(system..)?;
        is_read(below).then(|| below.join("/"))
    }

    /// Adds the text of a file at its [`Tree::place`].
    pub fn insert(&mut self, place: String, text: String) {
        self.files.insert(place, text);
    }

    /// Whether no file of a tree was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.keys().all(|path| !path.starts_with("cpu/"))
    }

    /// Whether it tells what the CPUs call themselves.
    #[must_use]
    pub fn has_cpuinfo(&self) -> bool {
        self.files.contains_key("cpuinfo")
    }

    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|text| trimmed(text))
    }

    /// All files by their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), trimmed(text)))
    }

    /// The architecture, by files of a CPU that only one has: a tree without `/proc/cpuinfo` names none.
    pub(crate) fn architecture(&self) -> Option<&'static str> {
        let has = |name: &str| self.files.keys().any(|path| path.ends_with(name));
        let known = [("/midr_el1", "aarch64"), ("/pir", "ppc64le"), ("/polarization", "s390x")];
        known.into_iter().find(|(name, _)| has(name)).map(|(_, architecture)| architecture)
    }

    /// Whether there are files below this folder, which ends with a slash.
    pub(crate) fn has_below(&self, within: &str) -> bool {
        let first = self.files.range(within.to_owned()..).next();
        first.is_some_and(|(path, _)| path.starts_with(within))
    }

    /// The numbers `N` of the folders `{within}{name}N`.
    pub(crate) fn numbered(&self, within: &str, name: &str) -> Set {
        let below = self.files.range(within.to_owned()..).map(|(path, _)| path);
        let below = below.take_while(|path| path.starts_with(within));
        let folder = |path: &String| {
            let (folder, _) = path.get(within.len()..)?.split_once('/')?;
            set::number(folder.strip_prefix(name)?)
        };
        below.filter_map(folder).collect()
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0')
}

const TOPOLOGY: &[&str] = &[
    "core_cpus",
    "core_cpus_list",
    "thread_siblings",
    "thread_siblings_list",
    "package_cpus",
    "package_cpus_list",
    "core_siblings",
    "core_siblings_list",
    "cluster_cpus",
    "cluster_cpus_list",
    "physical_package_id",
    "book_siblings",
    "book_siblings_list",
];
const CACHE: &[&str] =
    &["level", "type", "size", "shared_cpu_map", "shared_cpu_list", "coherency_line_size"];

fn is_read(parts: &[&str]) -> bool {
    let numbered = |part: &str, name: &str| part.strip_prefix(name).and_then(set::number).is_some();
    match parts {
        ["cpu", name] => matches!(*name, "online" | "possible" | "present" | "modalias"),
        ["cpu", "vulnerabilities", name] => maker::is_gap(name),
        ["cpu", "cpuidle", name] => *name == "current_driver",
        ["cpu", "cpufreq", policy, name] => numbered(policy, "policy") && *name == "scaling_driver",
        ["cpu", cpu, rest @ ..] if numbered(cpu, "cpu") => match rest {
            ["online" | "cpu_capacity" | "pir" | "polarization"] => true,
            ["regs", "identification", name] => *name == "midr_el1",
            ["topology", name] => TOPOLOGY.contains(name),
            ["cache", index, name] => numbered(index, "index") && CACHE.contains(name),
            ["cpufreq", name] => matches!(*name, "cpuinfo_max_freq" | "scaling_driver"),
            _ => false,
        },
        ["node", "online" | "possible"] => true,
        ["node", node, name] => {
            numbered(node, "node") && matches!(*name, "cpulist" | "cpumap" | "distance")
        }
        _ => false,
    }
}
