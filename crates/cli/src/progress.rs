//! What is told on stderr while a run goes on and when it is over: the only place with a clock.

use std::io::{self, IsTerminal, Write};
#[expect(
    clippy::disallowed_types,
    reason = "the user waits in real time; no result depends on it"
)]
use std::time::Instant;

use simsched_core::SimTime;

use crate::output::units;

/// Tells how fast the simulation goes.
#[derive(Debug)]
pub(crate) struct Progress {
    #[expect(clippy::disallowed_types, reason = "as above")]
    start: Instant,
    /// Whether anything is told at all.
    quiet: bool,
    /// Whether a line can be overwritten.
    terminal: bool,
    /// Tenths of a second at which the line was last drawn.
    drawn: u128,
    /// Runs that were measured before.
    known: u64,
}

impl Progress {
    /// Starts the clock.
    pub(crate) fn start(quiet: bool) -> Progress {
        #[expect(clippy::disallowed_types, reason = "as above")]
        let start = Instant::now();
        Progress { start, quiet, terminal: io::stderr().is_terminal(), drawn: 0, known: 0 }
    }

    /// A run is at `now`, after `events` events.
    pub(crate) fn at(&mut self, now: SimTime, events: u64) {
        self.draw(&format!(
            "{} simulated, {} events, {}",
            units::span(now.get()),
            units::count(events),
            self.speed(events)
        ));
    }

    /// `done` of `all` runs are over; the rest takes as long each as those that were not known before.
    #[expect(clippy::cast_precision_loss, reason = "an estimate of two digits")]
    pub(crate) fn runs(&mut self, done: u64, all: u64) {
        let spent = self.start.elapsed().as_secs_f64();
        let left = match done.saturating_sub(self.known) {
            0 => String::new(),
            run => {
                let left = spent / run as f64 * all.saturating_sub(done) as f64;
                format!(", {} left", units::wall(left))
            }
        };
        self.draw(&format!("{done} of {all} runs done{left}"));
    }

    /// One of the runs was measured before.
    pub(crate) fn was_known(&mut self) {
        self.known += 1;
    }

    /// `done` of the `all` cells of a sweep that were to be run are over; the rest takes as long each.
    #[expect(clippy::cast_precision_loss, reason = "an estimate of two digits")]
    pub(crate) fn cells(&mut self, done: usize, all: usize) {
        let spent = self.start.elapsed().as_secs_f64();
        let left = spent / done.max(1) as f64 * all.saturating_sub(done) as f64;
        self.draw(&format!("{done} of {all} cells done, {} left", units::wall(left)));
    }

    /// `done` of `all` physical parameters have been tried.
    pub(crate) fn parameters(&mut self, done: usize, all: usize) {
        self.draw(&format!("{done} of {all} physical parameters tried"));
    }

    /// Something begins that takes so long that it is told at once.
    #[cfg(feature = "kernel")]
    pub(crate) fn stage(&mut self, text: &str) {
        if !self.quiet && self.terminal {
            self.drawn = u128::MAX;
            self.say(&format!("{}{text}", self.wipe()));
        }
    }

    /// Takes the line away, for what comes to stand there.
    pub(crate) fn clear(&mut self) {
        if self.drawn > 0 {
            self.say(self.wipe());
            self.drawn = 0;
        }
    }

    /// All is over, after `events` events.
    pub(crate) fn done(&mut self, events: u64) {
        if self.quiet {
            return;
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let text = format!(
            "simsched: {} events in {} s of wall time, {}",
            units::count(events),
            units::decimal(seconds),
            self.speed(events)
        );
        self.say(&format!("{text}\n"));
    }

    /// Ten times a second at most, and on a terminal only.
    fn draw(&mut self, text: &str) {
        let tenths = self.start.elapsed().as_millis() / 100;
        if self.quiet || !self.terminal || tenths == self.drawn {
            return;
        }
        self.drawn = tenths;
        self.say(&format!("{}{text}", self.wipe()));
    }

    fn wipe(&self) -> &'static str {
        if self.terminal { "\r\x1b[K" } else { "" }
    }

    /// That stderr is closed is no reason to stop.
    fn say(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn speed(&self, events: u64) -> String {
        let seconds = self.start.elapsed().as_secs_f64().max(1e-9);
        format!("{} million events per second", units::decimal(events as f64 / seconds / 1e6))
    }
}

impl Drop for Progress {
    /// An error message starts on a line of its own.
    fn drop(&mut self) {
        self.clear();
    }
}
