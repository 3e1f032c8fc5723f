//! The tracer's text (`/sys/kernel/tracing/trace`): lines of events, read and written.
//!
//! A line is `COMM-PID [CPU] FLAGS SECONDS.MICROS: EVENT: FIELDS`; lines that begin with `#` are a
//! heading. Events that nobody here asks for are skipped.

mod probes;
mod read;
mod write;

pub use probes::read_probes;
pub use read::{read, read_file};
pub use write::{line, write};

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;

/// What `tracing_mark_write` says when the herd is let go.
const RELEASE: &str = "release";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::event::{PrevState, What};

    const LINES: &str = "\
# tracer: nop
#
             lab-234     [007] .....     2.569799: sched_process_fork: comm=lab pid=234 child_comm=lab child_pid=235
             lab-234     [007] d..2.     2.569806: sched_wakeup_new: comm=lab pid=235 prio=120 target_cpu=001
          <idle>-0       [001] d..2.     2.569808: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a b=c next_pid=235 next_prio=120
           a b=c-235     [001] dN.5.     2.575794: sched_migrate_task: comm=lab pid=234 prio=120 orig_cpu=7 dest_cpu=5
           a b=c-235     [001] dN.5.     2.575795: sched_stat_runtime: comm=lab pid=234 runtime=1 [ns]
           a b=c-235     [001] dN.5.     2.575796: sched_waking: comm=lab pid=234 prio=115 target_cpu=007
          <idle>-0       [005] dNh2.     2.575797: sched_wakeup: comm=lab pid=234 prio=115 target_cpu=005
             lab-234     [000] .....    14.362953: tracing_mark_write: release
           a b=c-235     [001] .....    14.575493: sched_process_exit: comm=a b=c pid=235 prio=120
           a b=c-235     [001] d..2.    14.575505: sched_switch: prev_comm=a b=c prev_pid=235 prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120
";

    #[test]
    fn events_are_read_with_time_place_and_tasks() {
        let events = read(LINES, Path::new("x")).unwrap();
        assert_eq!(events.len(), 9, "the event that nobody asks for is skipped");
        assert_eq!((events[0].us, events[0].cpu, events[0].by.pid), (2_569_799, 7, 234));
        let What::Switch { prev, state, next } = events[2].what else { panic!("{:?}", events[2]) };
        assert!(prev.is_idle() && state == PrevState::Runnable);
        assert_eq!((next.comm.as_str(), next.pid, next.prio), ("a b=c", 235, 120));
        assert!(matches!(events[3].what, What::Migrate { from: 7, to: 5, .. }));
        let What::Waking { wakee, target: 7 } = events[4].what else { panic!("{:?}", events[4]) };
        assert_eq!(wakee.prio, 115);
        assert_eq!((events[6].us, events[6].what), (14_362_953, What::Release));
        let What::Switch { state, .. } = events[8].what else { panic!("{:?}", events[8]) };
        assert_eq!(state, PrevState::Dead('X'));
    }

    #[test]
    fn what_is_written_reads_as_it_was() {
        let events = read(LINES, Path::new("x")).unwrap();
        assert_eq!(read(&write(&events, 16), Path::new("y")).unwrap(), events);
    }

    #[test]
    fn the_kernels_lines_are_written_as_the_kernel_writes_them_but_for_the_flags() {
        let written = write(&read(LINES, Path::new("x")).unwrap(), 16);
        let fields = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let lines = lines.filter(|line| !line.contains("sched_stat_runtime"));
            lines.map(|line| format!("{}{}", &line[..31], &line[36..])).collect::<Vec<_>>()
        };
        assert_eq!(fields(&written), fields(LINES));
    }

    #[test]
    fn a_broken_line_is_named() {
        for (line, expected) in [
            ("nonsense", "COMM-PID [CPU]"),
            ("a-1 [001] ..... 1.000000: sched_wakeup: comm=a pid=x prio=1 target_cpu=0", "`pid`"),
            ("a-1 [001] ..... 1.000000: sched_migrate_task: comm=a pid=1 prio=1", "`orig_cpu`"),
        ] {
            let error = read(&format!("# x\n{line}\n"), Path::new("t.gz")).unwrap_err().to_string();
            assert!(error.starts_with("t.gz:2: found '"), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }
}
