//! What stands before the fields of an event: who, where, when, and which event.
//!
//! The kernel's tracer and `trace-cmd report` write `COMM-PID [CPU] FLAGS SECONDS.FRACTION: EVENT:`,
//! with `(TGID)` before the CPU if they know it and without flags in some versions; `perf script`
//! writes `COMM TID [CPU] SECONDS.FRACTION: PERIOD GROUP:EVENT:`, with `PID/TID` and without the
//! period by its `-F`. A name may have blanks, dashes, colons and brackets in it, so all is read from
//! its right end. (Layouts: Documentation/trace/ftrace.rst, Linux 6.1; output of perf 6.1 and trace-cmd
//! 3.1.6.)

/// Which program has written the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The kernel's tracer, or `trace-cmd report`.
    Ftrace,
    /// `perf script`.
    PerfScript,
}

/// In what the code that tells of an event ran, beside the current thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// In the current thread itself.
    Thread,
    /// In an interrupt or a softirq that came over it.
    Interrupt,
    /// The text does not say.
    Unknown,
}

/// The head of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) comm: &'a str,
    pub(super) pid: i32,
    pub(super) tgid: Option<i32>,
    pub(super) cpu: u32,
    /// In ns.
    pub(super) time: u64,
    pub(super) context: Context,
    /// Without its group.
    pub(super) event: &'a str,
    pub(super) fields: &'a str,
}

/// More CPUs than any kernel can be built for.
pub(super) const MAX_CPUS: u32 = 8192;

/// How many CPUs the machine has, as the line `cpus=N` says with which `trace-cmd report` begins; 0 of any other.
pub(super) fn named_cpus(line: &str) -> u32 {
    let number = line.trim().strip_prefix("cpus=").and_then(|text| text.parse::<u32>().ok());
    number.filter(|cpus| *cpus <= MAX_CPUS).unwrap_or(0)
}

/// No event is later, in ns: 146 years since the boot or since 1970. Sums of two times are times.
const LATEST: u64 = 1 << 62;

/// The head of `line` and its fields; `None` if it is no event in this format.
pub(super) fn head(format: Format, line: &str) -> Option<Head<'_>> {
    // The first colon behind which an event follows and before which a head stands; there may be
    // others in the name.
    let colons = line.match_indices(": ").map(|(at, _)| at);
    colons.into_iter().find_map(|colon| {
        let (before, behind) = (&line[..colon], line[colon + 2..].trim_start());
        let (before, time) = last_word(before)?;
        let time = nanos(time)?;
        let (event, fields) = event(format, behind)?;
        match format {
            Format::Ftrace => of_ftrace(before, time, event, fields),
            Format::PerfScript => of_perf(before, time, event, fields),
        }
    })
}

/// The event's name and its fields; of perf also the period before and the group.
fn event(format: Format, behind: &str) -> Option<(&str, &str)> {
    let colon = behind.find(": ").or_else(|| behind.strip_suffix(':').map(str::len))?;
    let (name, fields) = (&behind[..colon], behind.get(colon + 1..).unwrap_or(""));
    let name = match format {
        Format::Ftrace => name,
        Format::PerfScript => {
            let name = match name.split_once(char::is_whitespace) {
                Some((period, name)) if is_number(period) => name.trim_start(),
                _ => name,
            };
            name.rsplit(':').next().unwrap_or(name)
        }
    };
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    is_name.then_some((name, fields.trim()))
}

fn of_ftrace<'a>(before: &'a str, time: u64, event: &'a str, fields: &'a str) -> Option<Head<'a>> {
    let (rest, word) = last_word(before)?;
    let (rest, cpu, flags) = match bracketed(word) {
        Some(cpu) => (rest, cpu, None),
        None => {
            let (rest, cpu) = last_word(rest)?;
            (rest, bracketed(cpu)?, Some(word))
        }
    };
    let rest = rest.trim_end();
    let (rest, tgid) = match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((rest, tgid)) => (rest.trim_end(), number(tgid.trim())),
        None => (rest, None),
    };
    let (comm, pid) = rest.rsplit_once('-')?;
    let context = flags.map_or(Context::Unknown, context);
    Some(Head {
        comm: comm.trim_start(),
        pid: number(pid)?,
        tgid,
        cpu,
        time,
        context,
        event,
        fields,
    })
}

fn of_perf<'a>(before: &'a str, time: u64, event: &'a str, fields: &'a str) -> Option<Head<'a>> {
    let (rest, cpu) = last_word(before)?;
    let cpu = bracketed(cpu)?;
    let (comm, ids) = last_word(rest)?;
    let (tgid, pid) = match ids.split_once('/') {
        Some((tgid, tid)) => (Some(number(tgid)?), number(tid)?),
        None => (None, number(ids)?),
    };
    let comm = comm.trim();
    Some(Head { comm, pid, tgid, cpu, time, context: Context::Unknown, event, fields })
}

/// Which context the flags of a line tell: the third is `h` or `H` in an interrupt, `z` or `Z` in one
/// that cannot be masked, `s` in a softirq. Where all are dots nobody has known them.
fn context(flags: &str) -> Context {
    match flags.chars().nth(2) {
        Some('h' | 'H' | 'z' | 'Z' | 's') => Context::Interrupt,
        Some('.') if flags.chars().any(|flag| flag != '.') => Context::Thread,
        _ => Context::Unknown,
    }
}

/// The last word, and what stands before it.
fn last_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let at = text.rfind(char::is_whitespace)?;
    let word = &text[at..];
    Some((&text[..at], word.trim_start()))
}

/// A CPU in brackets.
fn bracketed(word: &str) -> Option<u32> {
    let cpu = word.strip_prefix('[')?.strip_suffix(']')?;
    is_number(cpu).then(|| cpu.parse().ok()).flatten().filter(|cpu| *cpu < MAX_CPUS)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number of a thread; perf writes -1 for one that has gone.
fn number(text: &str) -> Option<i32> {
    text.parse().ok().filter(|pid| *pid >= -1)
}

/// Seconds with up to nine digits behind the point, in ns.
fn nanos(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    if !is_number(seconds) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let fraction = fraction.parse::<u64>().ok()? * scale;
    let time = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)?;
    (time <= LATEST).then_some(time)
}

/// How many digits behind the point the times of the format's line have.
pub(super) fn digits(line: &str) -> usize {
    let mut words = line.split_whitespace().filter_map(|word| word.strip_suffix(':'));
    let time = words.rfind(|word| nanos(word).is_some());
    time.and_then(|time| time.split_once('.')).map_or(0, |(_, fraction)| fraction.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of perf 6.1.192 of Debian, of `perf sched record`, with several `-F`.
    #[test]
    fn the_heads_that_perf_writes_are_read_whatever_its_fields() {
        let fields = "comm=migration/0 pid=18 prio=0 target_cpu=000";
        for (line, tgid) in [
            (format!("  perf 14599 [000] 77739.357569:       sched:sched_waking: {fields}"), None),
            (
                format!("perf 14599/14599 [000] 77739.357569000: sched:sched_waking: {fields}"),
                Some(14599),
            ),
            (format!("perf 14599 [000] 77739.357569:   1   sched:sched_waking: {fields}"), None),
        ] {
            let want = Head {
                comm: "perf",
                pid: 14599,
                tgid,
                cpu: 0,
                time: 77_739_357_569_000,
                context: Context::Unknown,
                event: "sched_waking",
                fields,
            };
            assert_eq!(head(Format::PerfScript, &line), Some(want), "{line}");
        }
    }

    #[test]
    fn a_name_may_look_like_anything() {
        for comm in
            ["Web Content", "a-b-12", "x [001] 1.0", "(sd-pam)", "a: b: c", "kworker/0:1-ev"]
        {
            let line = format!("{comm:>16}-77      [005] d.h2.    28.133303: sched_wakeup: f=1");
            let found = head(Format::Ftrace, &line).unwrap();
            assert_eq!((found.comm, found.pid, found.cpu), (comm, 77, 5), "{line}");
            let line = format!("{comm:>16} 77 [005]    28.133303: sched:sched_wakeup: f=1");
            let found = head(Format::PerfScript, &line).unwrap();
            assert_eq!((found.comm, found.pid, found.cpu), (comm, 77, 5), "{line}");
        }
    }

    #[test]
    fn flags_and_thread_groups_may_be_there_or_not() {
        let of = |line| head(Format::Ftrace, line).unwrap();
        let bare = of("<idle>-0 [005] 28.133303123: sched_switch: f");
        assert_eq!((bare.context, bare.tgid, bare.time), (Context::Unknown, None, 28_133_303_123));
        let group = of("bash-12 (    7) [005] d.s2. 1.5: sched_switch: f");
        assert_eq!((group.context, group.tgid, group.pid), (Context::Interrupt, Some(7), 12));
        assert_eq!(group.time, 1_500_000_000);
        let unknown = of("bash-12 (-----) [005] d..2. 1.5: sched_switch: f");
        assert_eq!((unknown.context, unknown.tgid, unknown.pid), (Context::Thread, None, 12));
        assert_eq!(of("bash-12 [005] ..... 1.5: sched_switch: f").context, Context::Unknown);
    }

    #[test]
    fn what_is_no_head_is_none() {
        for line in [
            "",
            ":",
            ": ",
            "a-1 [0] 1: sched_switch: x",
            "a-1 [99999] 1.0: sched_switch: x",
            "a-1 [000] 1.0000000001: e: x",
            "a-1 [000] 99999999999999999999.0: e: x",
            "a-1 [000] 4611686018.427387905: e: x",
            "a [000] 1.0: e: x",
        ] {
            assert_eq!(head(Format::Ftrace, line), None, "{line}");
        }
    }
}
