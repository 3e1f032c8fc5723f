//! `Scans`: what the entries of `task_cache_work()` find.

use crate::probes::Probes;
use crate::shape::Shape;

/// The scans of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scans {
    pub(super) count: u64,
    /// How often the preferred LLC is another one than at the scan before.
    pub(super) changes: u64,
    pub(super) nr_running_avg_max: f64,
}

impl Scans {
    /// The scans by threads that are `own`; none where there are none, or they were not watched.
    pub(super) fn of(probes: &Probes, own: impl Fn(u32) -> bool, shape: &Shape) -> Option<Scans> {
        let mut scans = Scans { count: 0, changes: 0, nr_running_avg_max: f64::MIN };
        let mut last = None;
        for scan in probes.scans.iter().filter(|scan| own(scan.pid)) {
            let llc = scan.preferred.and_then(|cpu| shape.llc(cpu));
            scans.changes += u64::from(last.is_some_and(|last| last != llc));
            last = Some(llc);
            scans.count += 1;
            scans.nr_running_avg_max = scans.nr_running_avg_max.max(average(scan.nr_running_avg));
        }
        (scans.count > 0).then_some(scans)
    }
}

/// An average as a number to compare.
#[expect(clippy::cast_precision_loss, reason = "a process has few threads")]
fn average(nr_running_avg: i64) -> f64 {
    nr_running_avg as f64
}
