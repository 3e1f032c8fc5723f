//! Reads what the lab has watched beside the scheduler's events: `NAME.probe.gz`, and the flags of
//! `NAME.trace.gz`.

use std::path::Path;

use super::read::{Fields, Head, Lack, head, unpacked};
use crate::error::LabError;
use crate::probes::{Mover, Probes, Scan};

/// How long behind the entry of its stopper a task is moved at most, in µs.
const STOPPER: u64 = 60;

/// How much earlier than the entry of its stopper the clock may show the move, in µs.
const EARLIER: u64 = 5;

/// The entry of one of the two stoppers of active balance.
#[derive(Clone, Copy, Debug)]
struct Stop {
    us: u64,
    cpu: u32,
    for_llc: bool,
}

/// What was watched of the run of this trace; without `probe` a task that a stopper has moved is moved by the
/// balancer ([`Mover::Active`]).
///
/// # Errors
/// When a file cannot be read or unpacked, or a line of it is no event.
pub fn read_probes(trace: &Path, probe: Option<&Path>) -> Result<Probes, LabError> {
    let mut probes = Probes::default();
    let mut stops = Vec::new();
    if let Some(path) = probe {
        each(&unpacked(path)?, path, |line| probe_line(line, &mut probes.scans, &mut stops))?;
    }
    let stops = probe.is_some().then_some(stops);
    let mut is_first = true;
    each(&unpacked(trace)?, trace, |line| {
        let Some(line) = head(line) else { return Err("COMM-PID [CPU] FLAGS TIME:".to_owned()) };
        probes.ended = line.us;
        if std::mem::take(&mut is_first) || line.body.starts_with("tracing_mark_write: begin") {
            probes.begun = line.us;
        }
        if line.body.starts_with("sched_migrate_task:") {
            probes.movers.push(mover(&line, stops.as_deref()));
        }
        Ok(())
    })?;
    Ok(probes)
}

/// Each line of `text` that is no heading.
fn each(
    text: &str,
    path: &Path,
    mut see: impl FnMut(&str) -> Result<(), Lack>,
) -> Result<(), LabError> {
    for (at, line) in text.lines().enumerate() {
        if !line.starts_with('#') && !line.trim().is_empty() {
            see(line).map_err(|lack| LabError::line(path, at + 1, line, lack))?;
        }
    }
    Ok(())
}

/// The path that moved the task of a `sched_migrate_task` line: stoppers have names of their own, the balancers
/// differ in the context and in the task that they interrupt.
fn mover(line: &Head<'_>, stops: Option<&[Stop]>) -> Mover {
    if line.comm.starts_with("migration/") {
        let Some(stops) = stops else { return Mover::Active };
        let near = |stop: &&Stop| {
            stop.cpu == line.cpu && stop.us <= line.us + EARLIER && line.us <= stop.us + STOPPER
        };
        return match stops.iter().rfind(near) {
            Some(Stop { for_llc: true, .. }) => Mover::ActiveLlc,
            Some(_) => Mover::Active,
            None => Mover::Affinity,
        };
    }
    match (line.flags.as_bytes().get(2), line.comm) {
        (Some(b's' | b'S' | b'h' | b'H'), "<idle>") => Mover::IdlePeriodic,
        (Some(b's' | b'S' | b'h' | b'H'), _) => Mover::BusyPeriodic,
        _ => Mover::NewIdle,
    }
}

fn probe_line(line: &str, scans: &mut Vec<Scan>, stops: &mut Vec<Stop>) -> Result<(), Lack> {
    let line = head(line).ok_or_else(|| "COMM-PID [CPU] FLAGS TIME: PROBE: FIELDS".to_owned())?;
    let Some((name, fields)) = line.body.split_once(": ") else { return Ok(()) };
    let stop = |for_llc| Stop { us: line.us, cpu: line.cpu, for_llc };
    match name {
        "alb" => stops.push(stop(false)),
        "albl" => stops.push(stop(true)),
        "scan" => {
            let fields = Fields(fields);
            let text = fields.text("avg=", "")?;
            // Of an unsigned number of 64 bits that the kernel lets run below 0.
            let avg = text.parse::<i64>().ok();
            let avg = avg.or_else(|| text.parse::<u64>().ok().map(u64::cast_signed));
            scans.push(Scan {
                us: line.us,
                pid: fields.number("pid=")?,
                preferred: fields.text("cpu=", "")?.parse().ok(),
                nr_running_avg: avg.ok_or_else(|| "a number in `avg`".to_owned())?,
            });
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mover_of(line: &str, stops: Option<&[Stop]>) -> Mover {
        mover(&head(line).unwrap(), stops)
    }

    #[test]
    fn a_move_is_known_by_who_is_current_and_by_the_context() {
        let event = "sched_migrate_task: comm=p0t03 pid=265 prio=120 orig_cpu=5 dest_cpu=10";
        for (line, expected) in [
            ("          <idle>-0       [010] dNs3.     5.966124: ", Mover::IdlePeriodic),
            ("           p0t01-263     [010] d.s3.     5.966124: ", Mover::BusyPeriodic),
            ("     rcu_preempt-15      [010] d..2.     5.966124: ", Mover::NewIdle),
        ] {
            assert_eq!(mover_of(&format!("{line}{event}"), None), expected, "{line}");
        }
        let line = format!("     migration/5-48      [005] d..2.     5.966124: {event}");
        let stop = |us, cpu, for_llc| Stop { us, cpu, for_llc };
        let of = |stops: &[Stop]| mover_of(&line, Some(stops));
        assert_eq!(of(&[stop(5_966_117, 5, true)]), Mover::ActiveLlc);
        assert_eq!(of(&[stop(5_966_100, 5, true), stop(5_966_117, 5, false)]), Mover::Active);
        assert_eq!(of(&[stop(5_966_117, 4, true), stop(5_966_000, 5, true)]), Mover::Affinity);
        assert_eq!(mover_of(&line, None), Mover::Active);
    }

    #[test]
    fn a_scan_has_what_it_finds() {
        let line = "  p0t03-265     [005] .....     5.942084: scan: (task_cache_work+0x4/0x790) pid=265 \
                    pref=1 cpu=9 avg=2";
        let (mut scans, mut stops) = (Vec::new(), Vec::new());
        probe_line(line, &mut scans, &mut stops).unwrap();
        let none = "  lab-261 [006] ..... 5.930086: scan: (x) pid=261 pref=-1 cpu=-1 \
                    avg=18446744073709551615";
        probe_line(none, &mut scans, &mut stops).unwrap();
        let scan = |us, pid, preferred, nr_running_avg| Scan { us, pid, preferred, nr_running_avg };
        assert_eq!(scans, [scan(5_942_084, 265, Some(9), 2), scan(5_930_086, 261, None, -1)]);
        assert!(
            probe_line("  a-1 [001] ..... 1.000000: scan: (x) pid=1 cpu=0", &mut scans, &mut stops)
                .is_err()
        );
    }
}
