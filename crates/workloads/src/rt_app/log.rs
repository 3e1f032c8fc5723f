//! The log of a thread: what rt-app writes at the end of each phase, summed up.

/// A thread's log. Times are in us, each rounded as rt-app rounds it.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// The row that is being made.
    pub(super) row: Row,
    rows: u64,
    run: u64,
    period: u64,
    c_duration: u64,
    c_period: u64,
    perf: u64,
    timers: u64,
    missed: u64,
    /// Of each row: time in its events,
    runs: Vec<u32>,
    /// and of those with a timer how late and how early it was.
    wakeup: Vec<u32>,
    slack: Vec<i32>,
}

/// A row: one pass through a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    /// Time in events `run` and `runtime`.
    pub(super) run: u64,
    /// What these were asked for,
    pub(super) c_duration: u64,
    /// and thousands of loops.
    pub(super) perf: u64,
    /// Periods of timers.
    pub(super) c_period: u64,
    /// How late the thread was behind its timers.
    pub(super) wakeup: u64,
    /// How early it was at the last timer, or at all of them together.
    pub(super) slack: i64,
    /// How many timers it came to, and to how many of them late.
    pub(super) timers: u64,
    pub(super) missed: u64,
}

impl Log {
    /// Begins anew; the row that is being made goes on.
    pub(super) fn forget(&mut self) {
        *self = Log { row: self.row, ..Log::default() };
    }

    /// A phase ends that took so long.
    pub(super) fn end(&mut self, period: u64) {
        let row = std::mem::take(&mut self.row);
        self.rows += 1;
        self.run += row.run;
        self.runs.push(u32::try_from(row.run).unwrap_or(u32::MAX));
        self.period += period;
        self.c_duration += row.c_duration;
        self.c_period += row.c_period;
        self.perf += row.perf;
        self.timers += row.timers;
        self.missed += row.missed;
        if row.timers > 0 {
            self.wakeup.push(u32::try_from(row.wakeup).unwrap_or(u32::MAX));
            let slack = row.slack.clamp(i32::MIN.into(), i32::MAX.into());
            self.slack.push(i32::try_from(slack).unwrap_or_default());
        }
    }

    /// Its numbers by name; `has_perf` if loops were counted.
    pub(super) fn numbers(&self, has_perf: bool) -> Vec<(&'static str, i64)> {
        let int = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut numbers = vec![
            ("rows", int(self.rows)),
            ("run_us", int(self.run)),
            ("period_us", int(self.period)),
            ("c_duration_us", int(self.c_duration)),
        ];
        if !self.runs.is_empty() {
            let mut runs = self.runs.clone();
            runs.sort_unstable();
            let run = |permille| i64::from(runs[place(runs.len(), permille)]);
            numbers.extend([("run_p50_us", run(500)), ("run_p95_us", run(950))]);
        }
        if has_perf {
            numbers.push(("perf", int(self.perf)));
        }
        if self.timers == 0 {
            return numbers;
        }
        numbers.push(("c_period_us", int(self.c_period)));
        numbers.push(("timers", int(self.timers)));
        numbers.push(("period_misses", int(self.missed)));
        let mut late = self.wakeup.clone();
        let mut early = self.slack.clone();
        if late.is_empty() {
            return numbers;
        }
        late.sort_unstable();
        early.sort_unstable();
        let late = |permille| i64::from(late[place(late.len(), permille)]);
        let sum: i64 = self.wakeup.iter().map(|&us| i64::from(us)).sum();
        let mean = |sum: i64| sum / int(self.wakeup.len() as u64);
        numbers.push(("wu_lat_mean_us", mean(sum)));
        numbers.push(("wu_lat_p50_us", late(500)));
        numbers.push(("wu_lat_p95_us", late(950)));
        numbers.push(("wu_lat_p99_us", late(990)));
        numbers.push(("wu_lat_max_us", late(1000)));
        let early = |permille| i64::from(early[place(early.len(), permille)]);
        let sum: i64 = self.slack.iter().map(|&us| i64::from(us)).sum();
        numbers.push(("slack_mean_us", mean(sum)));
        numbers.push(("slack_min_us", early(0)));
        numbers.push(("slack_p5_us", early(50)));
        numbers.push(("slack_p50_us", early(500)));
        numbers
    }
}

/// The place of a quantile among so many sorted numbers, by the nearest rank.
fn place(count: usize, permille: usize) -> usize {
    (count * permille).div_ceil(1000).clamp(1, count) - 1
}
