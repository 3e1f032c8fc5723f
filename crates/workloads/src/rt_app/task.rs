//! Tasks and phases of a file.

use simsched_core::SchedPolicy;
use simsched_topology::{CpuId, CpuSet};

use super::config::{Phase, Task};
use super::event;
use super::json::{Kind, Value, Wrong};
use super::read::{Context, policy};
use super::tree::{self, Tree, natural};

/// The longest name of a task, in bytes: each of its threads has it, and tells it.
///
/// Guess: threads of the kernel have 15, and names of rt-app go into names of files, which have 255.
const MAX_NAME: usize = 255;

/// Keys of a task that are no events.
const TASK: &[&str] = &[
    "instance",
    "loop",
    "phases",
    "delay",
    "policy",
    "priority",
    "cpus",
    "nodes_membind",
    "taskgroup",
    "util_min",
    "util_max",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "period",
    "deadline",
];

/// Keys of a phase that are no events.
const PHASE: &[&str] = &[
    "loop",
    "policy",
    "priority",
    "cpus",
    "nodes_membind",
    "taskgroup",
    "util_min",
    "util_max",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
];

/// Reads all tasks.
pub(super) fn read_all(tasks: Tree<'_>, context: &mut Context<'_>) -> Result<(), Wrong> {
    let names: Vec<&str> = tasks.entries.iter().map(|entry| entry.key.as_str()).collect();
    for entry in tasks.entries {
        name(&entry.key).map_err(|what| Wrong::new(entry.at, what))?;
        let tree = Tree::of(&entry.value, &format!("task `{}`", entry.key))?;
        let task = task(&entry.key, tree, &names, context)?;
        context.config.tasks.push(task);
    }
    Ok(())
}

/// Whether all can show and keep the name of a task that its threads, messages and traces have.
fn name(name: &str) -> Result<(), String> {
    let bytes = name.len();
    if bytes > MAX_NAME {
        return Err(format!("the name of a task has {bytes} bytes, expected at most {MAX_NAME}"));
    }
    let odd = name.chars().find(|c| c.is_control()).map(u32::from);
    odd.map_or(Ok(()), |odd| {
        Err(format!(
            "found the character U+{odd:04X} in the name of a task, expected none of control"
        ))
    })
}

fn task(
    name: &str,
    tree: Tree<'_>,
    names: &[&str],
    context: &mut Context<'_>,
) -> Result<Task, Wrong> {
    let mut task = Task {
        name: name.to_owned(),
        instances: tree.get("instance").map_or(Ok(1), |value| natural(value, "instance"))?,
        loops: -1,
        delay_us: tree.get("delay").map_or(Ok(0), |value| natural(value, "delay"))?,
        policy: context.config.global.policy,
        nice: 0,
        cpus: cpus(tree, context)?,
        phases: Vec::new(),
        timers: Vec::new(),
        uses_memory: false,
    };
    if let Some(name) = tree.text("policy")? {
        task.policy = policy(name, tree.at("policy"))?;
    }
    task.nice = nice(tree, task.policy, context)?.unwrap_or(0);
    unsimulated(tree, context)?;
    unknown(tree, TASK, context);
    let loops = tree.int("loop")?;
    let Some(value) = tree.get("phases") else {
        let phase = phase(tree, names, &mut task, context)?;
        // Release 1.0 begins anew behind the last loop; its head ends if any number was given.
        task.loops = if loops.is_some() && !context.reading.is_1_0 { 1 } else { -1 };
        task.phases.push(Phase { nice: None, cpus: None, ..phase });
        return Ok(task);
    };
    task.loops = loops.unwrap_or(-1);
    for entry in tree.entries.iter().filter(|entry| event::is_event(&entry.key)) {
        let what = format!("`{}` is no part of a phase, and ignored by rt-app", entry.key);
        context.note(entry.at, &what);
    }
    let phases = Tree::of(value, "`phases`")?;
    if phases.entries.is_empty() {
        return Err(Wrong::new(phases.at, "`phases`: expected a phase, found none"));
    }
    for entry in phases.entries {
        let tree = Tree::of(&entry.value, &format!("phase `{}`", entry.key))?;
        unsimulated(tree, context)?;
        unknown(tree, PHASE, context);
        let mut phase = phase(tree, names, &mut task, context)?;
        phase.cpus = cpus(tree, context)?;
        phase.nice = phase_nice(tree, task.policy, context)?;
        task.phases.push(phase);
    }
    Ok(task)
}

/// The events of a phase, and how often it is done.
fn phase(
    tree: Tree<'_>,
    names: &[&str],
    task: &mut Task,
    context: &mut Context<'_>,
) -> Result<Phase, Wrong> {
    let loops = tree.int("loop")?.unwrap_or(1);
    let mut events = Vec::new();
    for entry in tree.entries.iter().filter(|entry| event::is_event(&entry.key)) {
        events.push(event::read(entry, task, names, context)?);
    }
    if events.is_empty() {
        return Err(Wrong::new(
            tree.at,
            "found no event, expected one such as run, sleep or timer: a key that begins with its name",
        ));
    }
    Ok(Phase { loops, cpus: None, nice: None, events })
}

fn unknown(tree: Tree<'_>, known: &[&str], context: &mut Context<'_>) {
    for entry in tree.entries {
        let key = entry.key.as_str();
        if !known.contains(&key) && !event::is_event(key) {
            context.note(entry.at, &format!("`{key}` is no key of rt-app, which ignores it"));
        }
    }
}

/// The nice value of an object that has one.
fn nice(
    tree: Tree<'_>,
    policy: SchedPolicy,
    context: &mut Context<'_>,
) -> Result<Option<i8>, Wrong> {
    let Some(value) = tree.int("priority")? else { return Ok(None) };
    let at = tree.at("priority");
    match i8::try_from(value) {
        _ if policy == SchedPolicy::Idle => {
            context.note(at, "`priority` has no effect under SCHED_IDLE");
            Ok(None)
        }
        Ok(nice @ -20..=19) => Ok(Some(nice)),
        _ => {
            let what = format!("`priority`: expected a nice value from -20 to 19, found {value}");
            Err(Wrong::new(at, what))
        }
    }
}

/// What a phase changes the nice value to: a policy without a priority sets 0.
fn phase_nice(
    tree: Tree<'_>,
    of_task: SchedPolicy,
    context: &mut Context<'_>,
) -> Result<Option<i8>, Wrong> {
    let Some(name) = tree.text("policy")? else { return nice(tree, of_task, context) };
    let at = tree.at("policy");
    if policy(name, at)? != of_task {
        let what =
            format!("policy {name} of a phase cannot be simulated: it differs from its task's");
        return Err(Wrong::new(at, what));
    }
    let given = nice(tree, of_task, context)?;
    Ok(given.or((of_task != SchedPolicy::Idle).then_some(0)))
}

/// The CPUs of an object.
fn cpus(tree: Tree<'_>, context: &Context<'_>) -> Result<Option<CpuSet>, Wrong> {
    let Some(value) = tree.get("cpus") else { return Ok(None) };
    let last = context.topology.nr_cpus().saturating_sub(1);
    let numbers = list(value, "cpus", "CPU", last)?;
    let mut set = CpuSet::new();
    for number in &numbers {
        set.insert(CpuId::new(*number));
    }
    Ok(Some(set))
}

/// Numbers of CPUs or nodes, none above the last of the machine; at least one.
fn list(value: &Value, key: &str, what: &str, last: usize) -> Result<Vec<usize>, Wrong> {
    let Kind::Array(items) = &value.kind else {
        return Err(tree::mismatch(value, key, "an array of integers"));
    };
    if items.is_empty() {
        return Err(Wrong::new(value.at, format!("`{key}`: expected a {what}, found none")));
    }
    let number = |item: &Value| {
        // json-c makes an integer of a string that begins with one.
        let number = match &item.kind {
            Kind::Text(text) => {
                text.trim().parse().map_err(|_| tree::mismatch(item, key, "integers"))?
            }
            _ => natural(item, key)? as usize,
        };
        if number > last {
            let range = format!("the machine has {what} 0 to {last}, and no {what} {number}");
            return Err(Wrong::new(item.at, format!("`{key}`: {range}")));
        }
        Ok(number)
    };
    items.iter().map(number).collect()
}

/// Refuses what cannot be simulated, unless it changes nothing.
fn unsimulated(tree: Tree<'_>, context: &mut Context<'_>) -> Result<(), Wrong> {
    let refuse = |key: &str, why: &str| {
        Err(Wrong::new(tree.at(key), format!("`{key}` cannot be simulated: {why}")))
    };
    if let Some(group) = tree.text("taskgroup")? {
        match group {
            "" | "/" => context.note(tree.at("taskgroup"), "all tasks are in the root task group"),
            _ if !group.starts_with('/') => {
                let what =
                    format!("`taskgroup`: expected a name that begins with /, found `{group}`");
                return Err(Wrong::new(tree.at("taskgroup"), what));
            }
            _ => {
                return refuse(
                    "taskgroup",
                    "threads have no groups of their own (--set group=... puts all of them in one)",
                );
            }
        }
    }
    for (key, neutral) in [("util_min", 0), ("util_max", 1024)] {
        match tree.int(key)? {
            None | Some(-1) => {}
            Some(value) if value == neutral => {
                context.note(tree.at(key), &format!("`{key}` of {neutral} clamps nothing"));
            }
            Some(1025..) => return refuse(key, "it is above 1024"),
            Some(_) => return refuse(key, "there are no utilization clamps"),
        }
    }
    for key in ["dl-runtime", "dl-period", "dl-deadline", "period", "deadline"] {
        match (tree.int(key)?, key) {
            (None, _) => {}
            (Some(1..), "dl-runtime") => {
                return refuse(
                    key,
                    "under the fair class it is a slice of the task's own (Linux 6.12)",
                );
            }
            _ => context.note(tree.at(key), &format!("`{key}` has no effect under the fair class")),
        }
    }
    if let Some(value) = tree.get("nodes_membind") {
        let last = context.topology.nr_nodes().saturating_sub(1);
        list(value, "nodes_membind", "node", last)?;
        if last > 0 && has_memory(tree) {
            return refuse("nodes_membind", "pages come from the node where the task runs");
        }
        context.note(value.at, "`nodes_membind` has no effect without events that use memory");
    }
    Ok(())
}

/// Whether this object, or a phase in it, has an event that stores to memory.
fn has_memory(tree: Tree<'_>) -> bool {
    tree.entries.iter().any(|entry| {
        let inner = |value: &Value| match &value.kind {
            Kind::Object(entries) => has_memory(Tree { at: value.at, entries }),
            _ => false,
        };
        entry.key.starts_with("mem") || inner(&entry.value)
    })
}
