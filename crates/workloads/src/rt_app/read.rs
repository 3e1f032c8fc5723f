//! From the text of a file to a [`Config`].
//!
//! Source: the grammar of rt-app's tutorial, and what `rt-app_parse_config.c` takes and refuses
//! (1.0 and its head of May 2026). Stricter than rt-app where it would go on with something that nobody
//! asked for: a value of the wrong type never becomes a default.

use simsched_core::SchedPolicy;
use simsched_topology::{Topology, on_one_line};

use super::config::{Config, Global};
use super::json::{self, Entry, Kind, Value, Wrong};
use super::size;
use super::task;
use super::tree::{self, File, Tree, natural};

/// How a file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// As release 1.0 reads it, where its head differs.
    pub(super) is_1_0: bool,
    /// As `workgen` hands it on to release 1.0.
    pub(super) workgen: bool,
}

/// What a file is read with: how, for which machine, and what is known so far.
pub(super) struct Context<'a> {
    pub(super) file: File<'a>,
    pub(super) reading: Reading,
    pub(super) topology: &'a Topology,
    pub(super) config: Config,
}

impl Context<'_> {
    /// Notes that a key has no effect.
    pub(super) fn note(&mut self, at: usize, what: &str) {
        self.config.notes.push(format!("line {}: {}", self.file.line(at), on_one_line(what)));
    }
}

/// Keys of the global object that change nothing that is simulated.
const HARMLESS: &[(&str, Type)] = &[
    ("gnuplot", Type::Bool),
    ("logdir", Type::Text),
    ("log_basename", Type::Text),
    ("log_size", Type::TextOrInt),
    ("ftrace", Type::TextOrBool),
    ("pi_enabled", Type::Bool),
    ("frag", Type::Any),
];

/// Keys of the global object that count.
const GLOBAL: &[&str] = &[
    "duration",
    "calibration",
    "default_policy",
    "lock_pages",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// What rt-app takes as a value.
#[derive(Clone, Copy, Debug)]
enum Type {
    Bool,
    Text,
    TextOrInt,
    TextOrBool,
    Any,
}

/// The categories of `ftrace`.
const FTRACE: [&str; 6] = ["main", "task", "loop", "event", "stats", "none"];

/// Reads a file.
///
/// # Errors
/// One sentence with file, line and column.
pub(super) fn read(
    file: File<'_>,
    reading: Reading,
    topology: &Topology,
) -> Result<Config, String> {
    let mut context = Context { file, reading, topology, config: Config::default() };
    match root(&mut context) {
        Ok(()) => Ok(context.config),
        Err(wrong) => Err(file.explain(&wrong)),
    }
}

fn root(context: &mut Context<'_>) -> Result<(), Wrong> {
    let mut value = json::read(context.file.text, context.reading.workgen)?;
    if context.reading.workgen {
        tree::number_keys(&mut value);
    } else {
        tree::keep_last(&mut value, context.file, &mut context.config.notes);
    }
    let root = Tree::of(&value, "the file")?;
    let Some(tasks) = root.get("tasks") else {
        return Err(Wrong::new(root.at, "there is no object `tasks`, which rt-app needs"));
    };
    for entry in root.entries {
        if !["tasks", "global", "resources"].contains(&entry.key.as_str()) {
            context
                .note(entry.at, &format!("`{}` is no key of rt-app, which ignores it", entry.key));
        }
    }
    if let Some(value) = root.get("global") {
        context.config.global = global(Tree::of(value, "`global`")?, context)?;
    }
    if let Some(value) = root.get("resources") {
        resources(value, context)?;
    }
    task::read_all(Tree::of(tasks, "`tasks`")?, context)?;
    if let Some(what) = size::excess(&context.config) {
        return Err(Wrong::new(tasks.at, what));
    }
    if context.config.is_endless() {
        let what = "a task has no end, and `duration` sets none: stop it with --duration or Ctrl-C";
        context.note(tasks.at, what);
    }
    Ok(())
}

fn global(tree: Tree<'_>, context: &mut Context<'_>) -> Result<Global, Wrong> {
    for entry in tree.entries {
        harmless(entry, context)?;
    }
    let mut global = Global::default();
    if let Some(seconds) = tree.int("duration")? {
        global.duration_s = seconds;
    }
    if let Some(name) = tree.text("default_policy")? {
        global.policy = policy(name, tree.at("default_policy"))?;
    }
    if let Some(value) = tree.get("calibration") {
        calibration(value, &mut global, context.topology.nr_cpus())?;
    }
    global.lock_pages = tree.bool("lock_pages")?.unwrap_or(true);
    if let Some(path) = tree.text("io_device")? {
        path.clone_into(&mut global.io_device);
    }
    if let Some(value) = tree.get("mem_buffer_size") {
        global.mem_buffer = natural(value, "mem_buffer_size")?;
        if global.mem_buffer == 0 {
            let what =
                "`mem_buffer_size`: a buffer of no byte is never full, and rt-app never done";
            return Err(Wrong::new(value.at, what));
        }
    }
    global.cumulative_slack = tree.bool("cumulative_slack")?.unwrap_or(false);
    Ok(global)
}

/// Checks the value of a key that has no effect, as rt-app does.
fn harmless(entry: &Entry, context: &mut Context<'_>) -> Result<(), Wrong> {
    let Entry { key, at, value } = entry;
    if GLOBAL.contains(&key.as_str()) {
        return Ok(());
    }
    let Some((_, expected)) = HARMLESS.iter().find(|(name, _)| name == key) else {
        context
            .note(*at, &format!("`{key}` is no key of rt-app's global object, and ignored there"));
        return Ok(());
    };
    let complain = |expected: &str| Err(tree::mismatch(value, key, expected));
    match (expected, &value.kind) {
        (_, Kind::Null) | (Type::Any, _) => {}
        (Type::Bool | Type::TextOrBool, Kind::Bool(_)) | (Type::TextOrInt, Kind::Int(_)) => {}
        (Type::TextOrBool, Kind::Text(words)) => {
            for word in words.split(',').filter(|word| !word.is_empty()) {
                if !FTRACE.iter().any(|known| known.eq_ignore_ascii_case(word)) {
                    let known = FTRACE.join(", ");
                    let what = format!("`{key}`: expected some of {known}, found `{word}`");
                    return Err(Wrong::new(value.at, what));
                }
            }
        }
        (Type::Text | Type::TextOrInt, Kind::Text(_)) => {}
        (Type::Bool, _) => return complain("true or false"),
        (Type::Text, _) => return complain("a string"),
        (Type::TextOrInt, _) => return complain("a string or an integer"),
        (Type::TextOrBool, _) => return complain("a string, true or false"),
    }
    context.note(*at, &format!("`{key}` has no effect on the simulation"));
    Ok(())
}

fn calibration(value: &Value, global: &mut Global, nr_cpus: usize) -> Result<(), Wrong> {
    let key = "calibration";
    match &value.kind {
        Kind::Int(0) => {}
        Kind::Int(_) => match natural(value, key)? {
            // A loop of more than a second is none that rt-app could count in.
            ns if ns > 1_000_000_000 => {
                let what = format!("`{key}`: expected at most 1000000000 ns per loop, found {ns}");
                return Err(Wrong::new(value.at, what));
            }
            ns => global.ns_per_loop = Some(ns),
        },
        Kind::Text(name) => {
            let digits = name.strip_prefix("CPU").unwrap_or_default();
            let digits = &digits
                [..digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
            let cpu: Option<u32> = digits.parse().ok();
            let cpu = cpu.filter(|cpu| (*cpu as usize) < nr_cpus);
            global.calibrated_cpu = cpu.ok_or_else(|| {
                let last = nr_cpus.saturating_sub(1);
                let what =
                    format!("`{key}`: expected CPU0 to CPU{last} or ns per loop, found `{name}`");
                Wrong::new(value.at, what)
            })?;
        }
        _ => return Err(tree::mismatch(value, key, "a CPU such as \"CPU0\", or ns per loop")),
    }
    Ok(())
}

/// The old style of declaring what the events name anyway.
fn resources(value: &Value, context: &mut Context<'_>) -> Result<(), Wrong> {
    const TYPES: [&str; 8] =
        ["mutex", "signal", "wait", "broadcast", "sync", "sleep", "run", "timer"];
    let Kind::Object(entries) = &value.kind else {
        context.note(value.at, "`resources` is no object, and ignored by rt-app");
        return Ok(());
    };
    for entry in entries {
        let tree = Tree::of(&entry.value, &format!("resource `{}`", entry.key))?;
        let kind = tree.text("type")?;
        if !kind.is_some_and(|kind| TYPES.contains(&kind)) {
            let found = kind.map_or("nothing".to_owned(), |kind| format!("`{kind}`"));
            let what = format!(
                "resource `{}`: expected a `type` of {}, found {found}",
                entry.key,
                TYPES.join(", ")
            );
            return Err(Wrong::new(tree.at("type"), what));
        }
    }
    context.note(value.at, "`resources` has no effect: events create what they name");
    Ok(())
}

/// A scheduling policy that can be simulated.
pub(super) fn policy(name: &str, at: usize) -> Result<SchedPolicy, Wrong> {
    match name {
        "SCHED_OTHER" => Ok(SchedPolicy::Normal),
        "SCHED_BATCH" => Ok(SchedPolicy::Batch),
        "SCHED_IDLE" => Ok(SchedPolicy::Idle),
        "SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE" => {
            let what = "cannot be simulated: only the fair class is (SCHED_OTHER, SCHED_BATCH, SCHED_IDLE)";
            Err(Wrong::new(at, format!("policy {name} {what}")))
        }
        _ => {
            let known = ["SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE"];
            let near = simsched_topology::nearest(name, known);
            let near: Vec<String> = near.into_iter().map(str::to_owned).collect();
            let hint = simsched_topology::did_you_mean(&near);
            Err(Wrong::new(at, format!("there is no policy `{name}`{hint}")))
        }
    }
}
