//! `Gathering`: from when on the threads of a process are in one LLC.

use super::super::float;
use super::places::Row;
use crate::value::{Value, round};

/// How long the threads of a process are together before it has gathered, in µs.
const STAYS: u64 = 100_000;

/// Instants of a run, in µs of the tracer's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// When the launcher is about to fork the first process.
    pub(super) begun: u64,
    /// The release of the threads, if they are held; else the same.
    pub(super) start: u64,
    /// The last event.
    pub(super) ended: u64,
}

/// A time in which nothing changes, or the fullest LLC has 9 of 10 threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: u64,
    to: u64,
    llc: usize,
}

/// Where the threads of one process were while it had all of them.
#[derive(Clone, Debug)]
pub(super) struct Gathering {
    times: Times,
    /// From when on it has all its threads and they are free.
    start: u64,
    /// In µs, all of it.
    lasted: u64,
    /// In µs, with 9 of 10 threads in one LLC.
    together: u64,
    /// The first such span that is long enough.
    first: Option<Span>,
    /// Threads per LLC times µs.
    sums: Vec<u64>,
    end: Vec<u64>,
}

impl Gathering {
    /// None of a process that has never had a thread. `dies`: its threads end one by one.
    pub(super) fn of(history: &[Row], times: Times, dies: bool) -> Option<Gathering> {
        let count = |row: &Row| row.1.iter().sum::<u64>();
        let most = history.iter().map(count).max()?;
        let complete = history.iter().find(|row| count(row) == most)?.0;
        let start = complete.max(times.start);
        let mut gathering = Gathering {
            times,
            start,
            lasted: 0,
            together: 0,
            first: None,
            sums: vec![0; history[0].1.len()],
            end: Vec::new(),
        };
        let enough = if dies { 2 } else { most };
        let mut current: Option<Span> = None;
        for (nth, row) in history.iter().enumerate() {
            let to = history.get(nth + 1).map_or(times.ended, |next| next.0);
            if to > start && count(row) >= enough.max(1) {
                let (from, counts) = (row.0.max(start), &row.1);
                gathering.add(&mut current, from, to, counts);
            }
        }
        gathering.close(&mut current);
        Some(gathering)
    }

    fn add(&mut self, current: &mut Option<Span>, from: u64, to: u64, counts: &[u64]) {
        let span = to - from;
        self.lasted += span;
        for (sum, count) in self.sums.iter_mut().zip(counts) {
            *sum += span * count;
        }
        self.end = counts.to_vec();
        // Of LLCs that are equally full the first.
        let fullest = (0..counts.len()).rev().max_by_key(|llc| counts[*llc]);
        let all: u64 = counts.iter().sum();
        let together = fullest.filter(|llc| 10 * counts[*llc] >= 9 * all);
        if let (Some(open), Some(llc)) = (current.as_mut(), together)
            && (open.llc, open.to) == (llc, from)
        {
            open.to = to;
            return;
        }
        self.close(current);
        *current = together.map(|llc| Span { from, to, llc });
    }

    fn close(&mut self, current: &mut Option<Span>) {
        if let Some(span) = current.take() {
            let lasted = span.to - span.from;
            self.together += lasted;
            if self.first.is_none() && lasted >= STAYS {
                self.first = Some(span);
            }
        }
    }

    /// The LLC in which it has gathered, and when.
    pub(super) fn gathered(&self) -> Option<(usize, u64)> {
        self.first.map(|span| (span.llc, span.from))
    }

    pub(super) fn gather_ms(&self) -> Option<Value> {
        self.after(self.times.begun)
    }

    pub(super) fn gather_after_start_ms(&self) -> Option<Value> {
        self.after(self.start)
    }

    fn after(&self, us: u64) -> Option<Value> {
        let (_, at) = self.gathered()?;
        Some(round(float(at - us) / 1000.0, 3).into())
    }

    pub(super) fn share(&self) -> Option<Value> {
        (self.lasted > 0).then(|| round(float(self.together) / float(self.lasted), 4).into())
    }

    /// The threads in the fullest LLC, where each LLC has its mean over time.
    pub(super) fn mean_max(&self) -> f64 {
        let most = self.sums.iter().copied().max().unwrap_or(0);
        if self.lasted == 0 { 0.0 } else { round(float(most) / float(self.lasted), 3) }
    }

    /// The threads in each LLC at last.
    pub(super) fn end(&self) -> &[u64] {
        &self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { begun: 1_000, start: 1_000, ended: 1_000_000 };

    fn of(rows: &[(u64, [u64; 2])]) -> Gathering {
        let rows: Vec<Row> = rows.iter().map(|(us, counts)| (*us, counts.to_vec())).collect();
        Gathering::of(&rows, TIMES, false).unwrap()
    }

    #[test]
    fn a_process_has_gathered_when_its_threads_stay_together_for_a_tenth_of_a_second() {
        // Complete at 2 ms; together for 50 ms, and from 100 ms on but for a leak of 20 ms.
        let rows = [
            (1_500, [1, 0]),
            (2_000, [1, 1]),
            (10_000, [2, 0]),
            (60_000, [1, 1]),
            (100_000, [0, 2]),
            (400_000, [1, 1]),
            (420_000, [0, 2]),
        ];
        let found = of(&rows);
        assert_eq!(found.gathered(), Some((1, 100_000)));
        assert_eq!(found.gather_ms(), Some(Value::from(99.0)));
        assert_eq!(found.gather_after_start_ms(), Some(Value::from(98.0)));
        let together = (50.0 + 300.0 + 580.0) / 998.0;
        assert_eq!(found.share(), Some(round(together, 4).into()));
        assert_eq!(found.end(), [0, 2]);
        // In LLC 1 two threads for 880 ms, and one for 8, 40 and 20.
        assert!((found.mean_max() - round((1760.0 + 68.0) / 998.0, 3)).abs() < 1e-9);
    }

    #[test]
    fn a_process_that_stays_split_has_not_gathered() {
        let found = of(&[(2_000, [2, 2])]);
        assert_eq!((found.gathered(), found.gather_ms()), (None, None));
        assert_eq!(found.share(), Some(Value::from(0.0)));
        assert_eq!(Gathering::of(&[], TIMES, false).map(|_| ()), None);
    }
}
