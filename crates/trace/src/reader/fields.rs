//! The fields of the scheduler's events.
//!
//! The kernel's own way to print them is `KEY=VALUE`; trace-cmd and perf print some more briefly where
//! they have a plugin for that (`COMM:PID [PRIO] STATE ==> ...`). States are letters, or the number in
//! the event where it is printed raw.

use super::head::MAX_CPUS;
use crate::event::PrevState;

/// A thread as an event names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub(super) comm: &'a str,
    pub(super) pid: i32,
    pub(super) prio: Option<i32>,
}

/// The fields of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fields<'a> {
    Switch { prev: Named<'a>, state: PrevState, next: Named<'a> },
    Waking { wakee: Named<'a>, target: u32, sync: bool },
    Wakeup { wakee: Named<'a>, target: u32 },
    WakeupNew { wakee: Named<'a>, target: u32 },
    Migrate { task: Named<'a>, from: u32, to: u32 },
    Fork { parent: Named<'a>, child: Named<'a> },
    Exit { task: Named<'a> },
}

/// What is expected of the fields of `event`; `None` is an event that nobody here asks for.
pub(super) fn expected(event: &str) -> Option<&'static str> {
    Some(match event {
        "sched_switch" => {
            "prev_comm= prev_pid= prev_prio= prev_state= ==> next_comm= next_pid= next_prio="
        }
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => "comm= pid= prio= target_cpu=",
        "sched_migrate_task" => "comm= pid= prio= orig_cpu= dest_cpu=",
        "sched_process_fork" => "comm= pid= child_comm= child_pid=",
        "sched_process_exit" => "comm= pid= prio=",
        _ => return None,
    })
}

/// The fields `text` of `event`.
pub(super) fn parse<'a>(event: &str, text: &'a str) -> Option<Fields<'a>> {
    match event {
        "sched_switch" => switch(text),
        "sched_waking" => {
            let told = cut(text, " sync=").filter(|(_, value)| ["0", "1"].contains(value));
            let (text, sync) = told.map_or((text, false), |(rest, value)| (rest, value == "1"));
            woken(text).map(|(wakee, target)| Fields::Waking { wakee, target, sync })
        }
        "sched_wakeup" => woken(text).map(|(wakee, target)| Fields::Wakeup { wakee, target }),
        "sched_wakeup_new" => {
            woken(text).map(|(wakee, target)| Fields::WakeupNew { wakee, target })
        }
        "sched_migrate_task" => {
            let (rest, to) = cut(text, " dest_cpu=")?;
            let (rest, from) = cut(rest, " orig_cpu=")?;
            let (from, to) = (cpu(from)?, cpu(to)?);
            Some(Fields::Migrate { task: named(rest, "")?, from, to })
        }
        "sched_process_fork" => {
            let (rest, pid) = cut(text, " child_pid=")?;
            let (rest, comm) = cut(rest, " child_comm=")?;
            let child = Named { comm, pid: pid.parse().ok()?, prio: None };
            let (rest, pid) = cut(rest, " pid=")?;
            let parent =
                Named { comm: rest.strip_prefix("comm=")?, pid: pid.parse().ok()?, prio: None };
            Some(Fields::Fork { parent, child })
        }
        "sched_process_exit" => {
            let text = cut(text, " group_dead=").map_or(text, |(rest, _)| rest);
            Some(Fields::Exit { task: named(text, "")? })
        }
        _ => None,
    }
}

fn switch(text: &str) -> Option<Fields<'_>> {
    if let Some((prev, next)) = text.rsplit_once(" ==> next_comm=") {
        let (rest, state) = cut(prev, " prev_state=")?;
        let prev = named(rest, "prev_")?;
        let (rest, prio) = cut(next, " next_prio=")?;
        let (comm, pid) = cut(rest, " next_pid=")?;
        let next = Named { comm, pid: pid.parse().ok()?, prio: Some(prio.parse().ok()?) };
        return Some(Fields::Switch { prev, state: prev_state(state)?, next });
    }
    let (prev, next) = text.rsplit_once(" ==> ")?;
    let (prev, state) = prev.trim_end().rsplit_once(' ')?;
    Some(Fields::Switch { prev: brief(prev)?, state: prev_state(state)?, next: brief(next)? })
}

/// A thread that is or was woken, and the CPU that is named with it.
fn woken(text: &str) -> Option<(Named<'_>, u32)> {
    if let Some((rest, target)) = cut(text, " target_cpu=") {
        let rest = cut(rest, " success=").map_or(rest, |(rest, _)| rest);
        return Some((named(rest, "")?, cpu(target)?));
    }
    let (rest, target) = cut(text, " CPU:")?;
    let rest = cut(rest, " success=").map_or(rest, |(rest, _)| rest);
    Some((brief(rest)?, cpu(target)?))
}

/// The number of a CPU that a kernel can have.
fn cpu(text: &str) -> Option<u32> {
    text.parse().ok().filter(|cpu| *cpu < MAX_CPUS)
}

/// `comm= pid= prio=`, each with `prefix` before it.
fn named<'a>(text: &'a str, prefix: &str) -> Option<Named<'a>> {
    let (rest, prio) = cut(text, &format!(" {prefix}prio="))?;
    let (rest, pid) = cut(rest, &format!(" {prefix}pid="))?;
    let comm = rest.trim_start().strip_prefix(prefix)?.strip_prefix("comm=")?;
    Some(Named { comm, pid: pid.parse().ok()?, prio: Some(prio.parse().ok()?) })
}

/// `COMM:PID [PRIO]`.
fn brief(text: &str) -> Option<Named<'_>> {
    let (rest, prio) = text.trim().strip_suffix(']')?.rsplit_once('[')?;
    let (comm, pid) = rest.trim_end().rsplit_once(':')?;
    Some(Named { comm, pid: pid.parse().ok()?, prio: Some(prio.parse().ok()?) })
}

/// Cuts ` KEY=VALUE` off the end: what is left, and the value, which has no blank in it.
fn cut<'a>(text: &'a str, key: &str) -> Option<(&'a str, &'a str)> {
    let (rest, value) = text.trim_end().rsplit_once(key)?;
    let is_comm = key.ends_with("comm=");
    (is_comm || !value.contains(char::is_whitespace)).then_some((rest, value))
}

/// A state as letters (`S`, `R+`, `D|K`), or as the number that is in the event: the bit of a state
/// (`TASK_REPORT`), or the one above all of them for a task that was preempted (256 since 4.14, more
/// before).
fn prev_state(text: &str) -> Option<PrevState> {
    if let Ok(bits) = text.parse::<u32>() {
        return Some(match bits {
            0 => PrevState::Running { preempted: false },
            256.. => PrevState::Running { preempted: true },
            bits if bits & 0x10 != 0 => PrevState::Dead,
            bits if bits & 0x20 != 0 => PrevState::Zombie,
            bits if bits & (0x1 | 0x4 | 0x8) != 0 => PrevState::Interruptible,
            _ => PrevState::Uninterruptible,
        });
    }
    let preempted = text.ends_with('+');
    let letter = text.trim_end_matches('+').chars().next()?;
    Some(match letter {
        'R' => PrevState::Running { preempted },
        'S' | 'T' | 't' => PrevState::Interruptible,
        // `I`: a thread of the kernel that is idle; `P`: parked.
        'D' | 'I' | 'P' | 'K' | 'W' => PrevState::Uninterruptible,
        'Z' => PrevState::Zombie,
        'X' | 'x' => PrevState::Dead,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(comm: &str, pid: i32, prio: i32) -> Named<'_> {
        Named { comm, pid, prio: Some(prio) }
    }

    #[test]
    fn a_switch_is_read_as_the_kernel_prints_it_and_as_trace_cmd_does() {
        let long = "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=D|K ==> next_comm=x:y [1] \
                    next_pid=0 next_prio=-1";
        let want = |next| Fields::Switch {
            prev: thread("a b", 7, 120),
            state: PrevState::Uninterruptible,
            next,
        };
        assert_eq!(parse("sched_switch", long), Some(want(thread("x:y [1]", 0, -1))));
        let brief = "a b:7 [120] D ==> x:y:0 [98]";
        assert_eq!(parse("sched_switch", brief), Some(want(thread("x:y", 0, 98))));
    }

    #[test]
    fn a_wakeup_is_read_with_and_without_success() {
        let want = Some(Fields::Wakeup { wakee: thread("sh: x", 9, 115), target: 12 });
        for text in [
            "comm=sh: x pid=9 prio=115 target_cpu=012",
            "comm=sh: x pid=9 prio=115 success=1 target_cpu=012",
            "sh: x:9 [115] success=1 CPU:012",
            "sh: x:9 [115] CPU:012",
        ] {
            assert_eq!(parse("sched_wakeup", text), want, "{text}");
        }
    }

    #[test]
    fn a_call_that_is_synchronous_is_known_by_its_last_field() {
        let want =
            |sync| Some(Fields::Waking { wakee: thread("sh sync=1", 9, 115), target: 12, sync });
        for (text, sync) in [
            ("comm=sh sync=1 pid=9 prio=115 target_cpu=012 sync=1", true),
            ("comm=sh sync=1 pid=9 prio=115 target_cpu=012 sync=0", false),
            ("comm=sh sync=1 pid=9 prio=115 target_cpu=012", false),
        ] {
            assert_eq!(parse("sched_waking", text), want(sync), "{text}");
        }
    }

    /// The numbers are those of include/linux/sched.h, Linux 6.1.
    #[test]
    fn states_are_letters_or_bits() {
        let running = |preempted| PrevState::Running { preempted };
        for (letters, bits, want) in [
            ("R", "0", running(false)),
            ("R+", "256", running(true)),
            ("S", "1", PrevState::Interruptible),
            ("D", "2", PrevState::Uninterruptible),
            ("T", "4", PrevState::Interruptible),
            ("t", "8", PrevState::Interruptible),
            ("X", "16", PrevState::Dead),
            ("Z", "32", PrevState::Zombie),
            ("P", "64", PrevState::Uninterruptible),
            ("I", "128", PrevState::Uninterruptible),
        ] {
            assert_eq!(prev_state(letters), Some(want), "{letters}");
            assert_eq!(prev_state(bits), Some(want), "{bits}");
        }
        assert_eq!(prev_state("?"), None);
    }
}
