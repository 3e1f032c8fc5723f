//! Runs on all threads, their results in the order asked.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Does the jobs of these numbers on all threads, begun in this order; what each has come to, by its
/// number.
///
/// A thread that is free takes the next job, one at a time: shares that are dealt out in advance would
/// leave a thread idle while another works on its share's rest.
pub(crate) fn in_parallel<T: Send>(order: &[usize], work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let by_thread = rayon::broadcast(|_| {
        let mine = std::iter::from_fn(|| order.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|job| (*job, work(*job))).collect::<Vec<_>>()
    });
    let mut all: Vec<(usize, T)> = by_thread.into_iter().flatten().collect();
    all.sort_by_key(|(job, _)| *job);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The same for so many jobs, begun by their numbers.
pub(crate) fn each_in_parallel<T: Send>(jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    in_parallel(&(0..jobs).collect::<Vec<_>>(), work)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_numbers_whatever_began_first() {
        let begun = Mutex::new(Vec::new());
        let results = in_parallel(&[1, 3, 2, 0], |job| {
            begun.lock().unwrap_or_else(PoisonError::into_inner).push(job);
            10 * job
        });
        assert_eq!(results, [0, 10, 20, 30]);
        let mut begun = begun.into_inner().expect("nobody panicked");
        begun.sort_unstable();
        assert_eq!(begun, [0, 1, 2, 3]);
    }

    /// The first job lasts until all others are done: on two threads that ends only if none of them waits
    /// for the thread of the first.
    #[test]
    fn a_long_job_keeps_no_other_one_waiting() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        let (told, heard) = mpsc::channel();
        let heard = Mutex::new(heard);
        let long = || {
            let heard = heard.lock().expect("nobody panics");
            (1..16).filter(|_| heard.recv_timeout(Duration::from_secs(60)).is_ok()).count()
        };
        let work = |job| if job == 0 { long() } else { told.send(job).map_or(0, |()| job) };
        let results = pool.install(|| each_in_parallel(16, work));
        assert_eq!(results[0], 15, "the others ended while the first went on");
        assert_eq!(results[1..], (1..16).collect::<Vec<_>>());
    }
}
