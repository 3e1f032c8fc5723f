//! The machine of a folder: built in under the name that the folder has, or as the kernel itself
//! shows it in `static/topology.txt`, or as the virtual machine was asked for in `run.json`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use simsched_topology::{CpuId, CpuSet, OsCosts, Topology, builtin_names};

use crate::error::LabError;

/// The longest turn that is taken from a recording: no kernel was recorded with turns of more than 5 us, and with
/// one of a tick (4 ms) no CPU would see another.
const MAX_TURN: u32 = 100_000;

/// Whose prices and idle states a machine of the lab has that is not built in.
const TEMPLATE: &str = "t16";

/// Whether a machine of the lab pays for the kernel's tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// The scheduler's events are traced.
    On,
    /// Nothing is traced: the command lines of hackbench.
    Off,
}

impl Tracer {
    /// The mode of a built-in machine under this kernel.
    fn mode(self, kernel: &str) -> &'static str {
        match (self, kernel) {
            (Tracer::On, "6.12") => "lab-6.12",
            (Tracer::Off, "6.12") => "untraced-6.12",
            // No run of 7.2 was read for prices.
            (Tracer::On, "7.2" | "7.3") => "lab-7.3",
            (Tracer::Off, "7.2" | "7.3") => "untraced-7.3",
            (Tracer::On, _) => "lab",
            (Tracer::Off, _) => "untraced",
        }
    }
}

/// The machine `name` of the lab folder `folder`, with the prices of its kernel.
///
/// # Errors
/// When it is neither built in nor described, or its description is no machine.
pub fn machine(
    folder: &Path,
    name: &str,
    kernel: &str,
    tracer: Tracer,
) -> Result<Topology, LabError> {
    if builtin_names().contains(&name) {
        return Ok(Topology::builtin(name, Some(tracer.mode(kernel)))?);
    }
    let path = folder.join("static").join("topology.txt");
    let parts = if path.is_file() {
        let text = fs::read_to_string(&path).map_err(|error| LabError::read(&path, error))?;
        Parts::of_sysfs(&text, &path)?
    } else {
        Parts::of_smp(folder, name)?
    };
    let file = folder.display().to_string();
    let template = Topology::builtin(TEMPLATE, Some(tracer.mode(kernel)))?;
    let machine = Topology::parse(&parts.machine_file(name), &file, None)?;
    let machine = machine.with_costs(*template.costs());
    Ok(machine.with_idle_states(template.idle_states().to_vec()))
}

/// What writing the event `sched_lab_sis` takes, in nanoseconds: a round trip of a pair with its two
/// wakeups takes 16.9 us with it (`pingpong-1`, lockstep-off) and 15.9 without (lockstep-plain).
const PLACEMENT_EVENT: u32 = 500;

/// The machine under a kernel that also traces each of its placements: the event comes behind a choice, not
/// where a wakee is pinned (`hogper-1-1`: 6.86 us from expiry to user space, lockstep-off and -plain) or handed
/// back to the CPU that it leaves.
pub(crate) fn traces_placements(machine: Topology) -> Topology {
    let mut costs = *machine.costs();
    costs.wake_affine += PLACEMENT_EVENT;
    costs.wake_select += PLACEMENT_EVENT;
    machine.with_costs(costs)
}

/// The machine under the kernel that can bias its wakeups, a build of its own of 6.1.192 with fewer drivers
/// and security modules: system calls, switches and idle loops are shorter, and its placements pass a few
/// more instructions.
///
/// Counted in such a build of 6.1.192 as the prices of the list were in 6.1.176, untraced under the counters
/// of perf (`hackbench -T -p -g 1 -f 4`), instruction by instruction between the entries of the same
/// functions: a read that neither waits nor wakes takes 1,177 in place of 1,245, a write 1,142 in place of
/// 1,209. From `ksys_read()` to `pipe_read()` 321 (383), `ksys_write()` to `pipe_write()` 299 (359), up to
/// the mutex of a pipe and back from it 5 or 6 less in all; `finish_task_switch()` 164 behind the switch
/// (176); `select_task_rq_fair()` to the first look at a CPU 111 (89), and from that 80 (71) to the queue.
pub(crate) fn of_the_biased_build(machine: Topology, tracer: Tracer) -> Topology {
    let mut costs = *machine.costs();
    let shorter = [
        (&mut costs.pipe_read_entry, 63),
        (&mut costs.pipe_read_tail, 5),
        (&mut costs.pipe_write_entry, 61),
        (&mut costs.pipe_write_tail, 6),
        (&mut costs.pipe_wake, 4),
        (&mut costs.pipe_wait, 4),
        (&mut costs.pipe_relock, 4),
        (&mut costs.recheck, 4),
        (&mut costs.context_switch_thread, 16),
        (&mut costs.context_switch_process, 16),
        (&mut costs.context_switch_idle, 28),
        (&mut costs.context_switch_from_idle, 16),
        (&mut costs.idle_entry, 5),
        (&mut costs.sleep_entry, 3),
        (&mut costs.dequeue, 18),
        (&mut costs.wakeup, 6),
        (&mut costs.wake_lock, 16),
        (&mut costs.handoff, 5),
        (&mut costs.ipi_handler, 9),
        (&mut costs.set_task_cpu, 3),
    ];
    for (price, less) in shorter {
        *price = price.saturating_sub(less);
    }
    if tracer == Tracer::Off {
        // 2,342 behind `finish_task_switch()` to put the task's events on (2,405).
        costs.context_switch_from_idle -= 63;
    }
    costs.wake_affine += 31;
    costs.wake_select += 31;
    machine.with_costs(costs)
}

/// What the software counters of perf that a command line of hackbench inherits to its tasks add to a
/// switch, in nanoseconds, beside the events of the tracer: counted in the lab's kernel 6.1.176, from the
/// choice of the next task to the caller of `schedule()`. To a task from the idle task 1,807 to the switch
/// and 2,405 behind `finish_task_switch()` where it is 1,645 and 84 without; to the idle task 2,765 and 131
/// where it is 1,515 and 81; between threads, whose counters change places, 2,353 and 136.
const COUNTERS_IN: u32 = 2_483;
/// See [`COUNTERS_IN`].
const COUNTERS_OUT: u32 = 1_300;
/// See [`COUNTERS_IN`].
const COUNTERS_SWAPPED: u32 = 395;

/// The machine where each task has the counters of perf.
pub(crate) fn counts_events(machine: &Topology) -> Topology {
    let mut costs = *machine.costs();
    costs.context_switch_from_idle += COUNTERS_IN;
    costs.context_switch_idle += COUNTERS_OUT;
    costs.context_switch_thread += COUNTERS_SWAPPED;
    costs.context_switch_process += COUNTERS_SWAPPED;
    machine.clone().with_costs(costs)
}

/// The parts of a machine as lists of CPUs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    cores: Vec<CpuSet>,
    llcs: Vec<CpuSet>,
    packages: Vec<CpuSet>,
    nodes: Vec<CpuSet>,
    distance: Vec<Vec<u32>>,
}

impl Parts {
    /// The parts that sysfs shows: lines of `PATH: CONTENT`.
    fn of_sysfs(text: &str, path: &Path) -> Result<Parts, LabError> {
        let mut sysfs = Sysfs::default();
        for (at, line) in text.lines().enumerate() {
            let known = line.split_once(": ").and_then(|(file, content)| sysfs.see(file, content));
            known.ok_or_else(|| LabError::line(path, at + 1, line, "PATH: CONTENT of sysfs"))?;
        }
        let lacks = |what: &str| LabError::content(path, format!("no {what}"), "that of each CPU");
        let of = |parts: &BTreeMap<usize, CpuSet>, what| {
            (!parts.is_empty()).then(|| distinct(parts.values())).ok_or_else(|| lacks(what))
        };
        let llcs: BTreeMap<usize, CpuSet> = sysfs.llcs.values().map(|llc| (llc.0, llc.2)).collect();
        Ok(Parts {
            cores: of(&sysfs.cores, "topology/thread_siblings_list")?,
            llcs: of(&llcs, "cache/index*/shared_cpu_list")?,
            packages: of(&sysfs.packages, "topology/package_cpus_list")?,
            nodes: of(&sysfs.nodes, "node*/cpulist")?,
            distance: sysfs.distance.into_values().collect(),
        })
    }

    /// The parts of a virtual machine that was asked for with
    /// `-smp CPUS,sockets=S,dies=D,cores=C,threads=T`, in the `run.json` of any label: a last-level
    /// cache for each die and a node for each socket, at the distance that QEMU gives.
    fn of_smp(folder: &Path, name: &str) -> Result<Parts, LabError> {
        let none = || {
            let found = format!("no machine `{name}`");
            let expected = "one that is built in, or static/topology.txt, or a run.json with `smp`";
            LabError::content(folder, found, expected)
        };
        let smp = smp(folder).ok_or_else(none)?;
        let count = |key: &str| {
            let word = smp.split([',', ' ']).find_map(|word| word.strip_prefix(key));
            word.map_or(Some(1), |count| count.parse::<usize>().ok()).filter(|count| *count > 0)
        };
        let [sockets, dies, cores, threads] =
            ["sockets=", "dies=", "cores=", "threads="].map(|key| count(key).ok_or_else(none));
        let (sockets, dies, cores, threads) = (sockets?, dies?, cores?, threads?);
        let cpus = sockets * dies * cores * threads;
        let groups = |size: usize| {
            let group = move |nth| (nth * size..(nth + 1) * size).map(CpuId::new).collect();
            (0..cpus / size).map(group)
        };
        let far = |a, b| if a == b { 10 } else { 20 };
        Ok(Parts {
            cores: groups(threads).collect(),
            llcs: groups(threads * cores).collect(),
            packages: groups(threads * cores * dies).collect(),
            nodes: groups(threads * cores * dies).collect(),
            distance: (0..sockets).map(|a| (0..sockets).map(|b| far(a, b)).collect()).collect(),
        })
    }

    /// The text of a machine file.
    fn machine_file(&self, name: &str) -> String {
        let mut text = format!("name = \"{name}\"\ntitle = \"a machine of the lab\"\n");
        text.push_str("vendor = \"lab\"\ncosts = \"lab\"\n");
        let parts = [
            ("core", &self.cores),
            ("llc", &self.llcs),
            ("package", &self.packages),
            ("node", &self.nodes),
        ];
        for (key, parts) in parts {
            let lists: Vec<String> =
                parts.iter().map(|cpus| format!("{{ cpus = \"{cpus}\" }}")).collect();
            writeln!(text, "{key} = [{}]", lists.join(", ")).expect("a string takes all");
        }
        writeln!(text, "distance = {:?}", self.distance).expect("a string takes all");
        text.push_str("[c2c_ns]\nsmt = 0\nsame_llc = 0\nsame_socket = 0\ncross_socket = 0\n");
        text.push_str("[[idle]]\nname = \"HLT\"\nexit_us = 0\nresidency_us = 0\npolling = false\n");
        text
    }
}

/// What sysfs shows of each CPU and node.
#[derive(Default)]
struct Sysfs {
    cores: BTreeMap<usize, CpuSet>,
    packages: BTreeMap<usize, CpuSet>,
    /// By CPU: its number, the level, and who shares that level.
    llcs: BTreeMap<usize, (usize, u32, CpuSet)>,
    /// The level of the cache index that was named last.
    level: u32,
    nodes: BTreeMap<usize, CpuSet>,
    distance: BTreeMap<usize, Vec<u32>>,
}

impl Sysfs {
    /// Takes the content of a file; none if it is not what sysfs has there. Files that say nothing
    /// of the shape are skipped.
    fn see(&mut self, file: &str, content: &str) -> Option<()> {
        let content = content.trim();
        let (kind, number) = owner(file)?;
        let name = file.rsplit('/').next()?;
        let cpus = || content.parse::<CpuSet>().ok();
        match (kind, name) {
            ("node", "cpulist") => drop(self.nodes.insert(number, cpus()?)),
            ("node", "distance") => {
                let row = content.split_whitespace().map(|far| far.parse().ok());
                self.distance.insert(number, row.collect::<Option<_>>()?);
            }
            ("cpu", "thread_siblings_list") => drop(self.cores.insert(number, cpus()?)),
            ("cpu", "package_cpus_list") => drop(self.packages.insert(number, cpus()?)),
            ("cpu", "level") => self.level = content.parse().ok()?,
            ("cpu", "shared_cpu_list") => {
                let level = self.level;
                let row = self.llcs.entry(number).or_insert((number, 0, CpuSet::new()));
                if level >= row.1 {
                    *row = (number, level, cpus()?);
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// Whose file it is: `cpu` or `node`, and its number.
fn owner(file: &str) -> Option<(&'static str, usize)> {
    file.split('/').find_map(|folder| {
        ["cpu", "node"].into_iter().find_map(|kind| {
            let number = folder.strip_prefix(kind)?.parse().ok()?;
            Some((kind, number))
        })
    })
}

/// Each set once, in the order of their first CPUs.
fn distinct<'a>(sets: impl Iterator<Item = &'a CpuSet>) -> Vec<CpuSet> {
    let by_first = sets.map(|set| (set.first(), *set));
    by_first.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// The `smp` of a `run.json` below `folder`.
fn smp(folder: &Path) -> Option<String> {
    let mut labels: Vec<_> =
        fs::read_dir(folder).ok()?.flatten().map(|label| label.path()).collect();
    labels.sort();
    labels.iter().find_map(|label| Some(asked(label)?.get("smp")?.as_str()?.to_owned()))
}

/// The `run.json` of a label: how its virtual machine was started. None where there is none.
fn asked(label: &Path) -> Option<serde_json::Value> {
    let text = fs::read_to_string(label.join("run.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// The machine with turns as long as those of the virtual machine that was recorded under `label`:
/// `lockstep_quantum` in its `run.json`, in nanoseconds. The price list's where that does not tell.
///
/// # Errors
/// When it tells another thing than a number from 2 to [`MAX_TURN`].
pub(crate) fn in_turns_as_recorded(machine: Topology, label: &Path) -> Result<Topology, LabError> {
    let Some(quantum) = asked(label).and_then(|json| json.get("lockstep_quantum").cloned()) else {
        return Ok(machine);
    };
    let number = quantum.as_str().map_or_else(|| quantum.as_u64(), |text| text.parse().ok());
    let turn =
        number.and_then(|ns| u32::try_from(ns).ok()).filter(|ns| (2..=MAX_TURN).contains(ns));
    let turn = turn.ok_or_else(|| {
        let expected = format!("nanoseconds, from 2 to {MAX_TURN}");
        let path = label.join("run.json");
        LabError::content(&path, format!("lockstep_quantum {quantum}"), expected)
    })?;
    let costs = OsCosts { turn, ..*machine.costs() };
    Ok(machine.with_costs(costs))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted in a build of 6.1.192: from `pipe_read()` to the next of the same task, and the same of
    /// `pipe_write()`, nothing traced (9,426 and 5,991 times); in 6.1.176 1,245 and 1,209.
    #[test]
    fn a_message_takes_what_was_counted_in_either_build() {
        let of = |machine: &Topology| {
            let costs = machine.costs();
            let copy = costs.pipe_copy + 100 * costs.copy_per_kib / 1_024;
            [
                costs.syscall + costs.pipe_read_entry + copy + costs.pipe_read_tail,
                costs.syscall + costs.pipe_write_entry + copy + costs.pipe_write_tail,
            ]
        };
        let stock = Topology::builtin("t16", Some("untraced")).unwrap();
        assert_eq!(of(&stock), [1_245, 1_209]);
        assert_eq!(of(&of_the_biased_build(stock, Tracer::Off)), [1_177, 1_142]);
    }

    /// Counted in the lab's kernel 6.1.176, hackbench with its counters and the events traced: from
    /// `pick_next_task_fair()` to `__switch_to_asm()`, `finish_task_switch()` and its caller's caller,
    /// or `do_idle()`, which is 61 ns behind the release of who ran.
    #[test]
    fn counters_make_switches_as_long_as_was_counted() {
        let machine = counts_events(&Topology::builtin("t8", None).unwrap());
        let costs = machine.costs();
        let near =
            |sum: u32, counted: u32| assert!(sum.abs_diff(counted) <= counted / 100, "{sum}");
        near(costs.context_switch_from_idle, 1_807 + 129 + 24 + 2_381);
        near(costs.context_switch_idle + 61, 2_765 + 176 + 24 + 107);
        near(costs.context_switch_thread, 2_353 + 176 + 24 + 112);
    }
}
