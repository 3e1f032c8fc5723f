//! What schbench prints: percentiles, requests a second.

use std::fmt::Write;

use simsched_core::Notes;

use super::program::Shared;
use crate::buckets::Buckets;
use crate::measured::pretty;

/// The percentiles of every table.
const PERCENTS: [f64; 5] = [20.0, 50.0, 90.0, 99.0, 99.9];

/// What was printed, and what would be.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    text: String,
    /// Requests in the last second, in hundredths.
    pub(super) current: u64,
}

/// Which percentiles a table has, and which of them bears a star.
#[derive(Clone, Copy)]
struct Shown {
    rows: &'static [usize],
    star: usize,
}

const LATENCIES: Shown = Shown { rows: &[1, 2, 3, 4], star: 3 };
const ALL: Shown = Shown { rows: &[0, 1, 2, 3, 4], star: 3 };
const REQUESTS: Shown = Shown { rows: &[0, 1, 2], star: 1 };

impl Tables {
    /// One line more.
    pub(super) fn line(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    fn table(&mut self, (what, unit): (&str, &str), seconds: u64, of: &Buckets, shown: Shown) {
        let mut text = format!(
            "{what} percentiles ({unit}) runtime {seconds} (s) ({} total samples)\n",
            of.samples()
        );
        let found = of.percentiles(PERCENTS);
        for row in shown.rows {
            let (star, percent) = (if *row == shown.star { "* " } else { "  " }, PERCENTS[*row]);
            let (value, samples) = (found[*row].value, found[*row].samples);
            let _ = writeln!(text, "\t{star}{percent:.1}th: {value:<10} ({samples} samples)");
        }
        let _ = write!(text, "\t  min={}, max={}", of.least(), of.most());
        self.line(&text);
    }
}

impl Shared {
    /// The tables of latencies and of requests a second.
    pub(super) fn show(&mut self, seconds: u64) {
        let tables = &mut self.tables;
        tables.table(("Wakeup Latencies", "usec"), seconds, &self.wakeups, LATENCIES);
        tables.table(("Request Latencies", "usec"), seconds, &self.latencies, LATENCIES);
        tables.table(("RPS", "requests"), seconds, &self.rps, REQUESTS);
    }

    pub(super) fn show_current(&mut self) {
        let rps = self.tables.current;
        self.tables.line(&format!("current rps: {}.{:02}", rps / 100, rps % 100));
    }

    /// What is printed at the end.
    pub(super) fn report(&mut self) {
        let runtime = self.options.runtime.get();
        let seconds = runtime / 1_000_000_000;
        if self.options.pipe > 0 {
            self.tables.table(("Wakeup Latencies", "usec"), seconds, &self.wakeups, ALL);
            let line = self.transfers();
            self.tables.line(&line);
            return;
        }
        self.show(seconds);
        let hundredths = u128::from(self.loops) * 100_000_000_000 / u128::from(runtime.max(1));
        self.tables.line(&format!("average rps: {}.{:02}", hundredths / 100, hundredths % 100));
        self.tables.line("sched delay: message 0 (usec) worker 0 (usec)");
    }

    /// Operations and bytes a second of one worker.
    fn transfers(&self) -> String {
        let per_second = |all: u64| {
            let all = u128::from(all) * 100_000_000;
            all.checked_div(u128::from(self.loop_time)).unwrap_or(0)
        };
        let operations = per_second(self.loops);
        let bytes = per_second(self.loops * u64::from(self.options.pipe)) / 100 * 100;
        let size = pretty(bytes);
        format!(
            "avg worker transfer: {}.{:02} ops/sec {size}/s",
            operations / 100,
            operations % 100,
        )
    }

    /// What was printed and counted so far.
    pub(super) fn notes(&self) -> Notes {
        let at = |of: &Buckets| of.percentiles(PERCENTS).map(|at| u64::from(at.value));
        let [_, p50, p90, p99, p99_9] = at(&self.wakeups);
        let mut values = Vec::new();
        if self.wakeups.samples() > 0 {
            values.extend([
                ("wakeup_latency_p50_us", p50),
                ("wakeup_latency_p90_us", p90),
                ("wakeup_latency_p99_us", p99),
                ("wakeup_latency_p99_9_us", p99_9),
            ]);
        }
        if self.options.pipe == 0 && self.rps.samples() > 1 {
            let [p20, p50, p90, ..] = at(&self.rps);
            values.extend([("rps_p20", p20), ("rps_p50", p50), ("rps_p90", p90)]);
        }
        Notes { text: self.tables.text.clone(), values, ..Notes::default() }
    }
}
