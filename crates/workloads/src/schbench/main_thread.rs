//! The main thread: creates the message threads, counts once a second, and says when the time is over.
//!
//! Source: `main()` and `sleep_for_runtime()` of `schbench.c`.

use simsched_core::{Nanos, Op, SimTime, TaskId};

use super::program::{Asked, START, STOP, Shared, Step, us};

/// Between two counts.
const ROUND: Nanos = Nanos::from_secs(1);

#[derive(Clone, Debug, Default)]
pub(super) struct Main {
    at: At,
    start: u64,
    last_rps: u64,
    last_table: u64,
    zeroed: u64,
    counted: u64,
    warm: bool,
}

/// Where it is; a number is that of a message thread.
#[derive(Clone, Copy, Debug)]
enum At {
    Create(u32),
    Begin,
    Round,
    Stop,
    Post(u32),
    Join(u32),
    Report,
    Over,
}

impl Default for At {
    fn default() -> At {
        At::Create(0)
    }
}

impl Main {
    pub(super) fn step(&mut self, shared: &mut Shared, asked: Asked) -> Step {
        let messengers = shared.options.messengers;
        let thread = |nth: u32| shared.options.messenger(nth);
        let (next, step) = match self.at {
            At::Create(nth) if nth < messengers => {
                (At::Create(nth + 1), Step::Call(Op::Spawn(TaskId(thread(nth)))))
            }
            At::Create(_) => (At::Begin, Step::Call(Op::Mark(START))),
            At::Begin => {
                let now = us(asked.now);
                (self.start, self.last_rps, self.last_table, self.zeroed) = (now, now, now, now);
                (At::Round, Step::Next)
            }
            At::Round => match self.round(shared, asked.now) {
                Some(sleep) => (At::Round, Step::Call(Op::Sleep(sleep))),
                None => (At::Stop, Step::Next),
            },
            At::Stop => {
                shared.stopping = true;
                (At::Post(0), Step::Call(Op::Mark(STOP)))
            }
            At::Post(nth) if nth < messengers => {
                let messenger = thread(nth);
                (At::Join(nth), shared.post(messenger))
            }
            At::Join(nth) => (At::Post(nth + 1), Step::Call(Op::Join(TaskId(thread(nth))))),
            At::Post(_) => (At::Report, Step::Next),
            At::Report => {
                shared.report();
                (At::Over, Step::Next)
            }
            At::Over => (At::Over, Step::Call(Op::Exit)),
        };
        self.at = next;
        step
    }

    /// All was forgotten at `now`: the time until it is shown and forgotten next counts from there.
    pub(super) fn forgets(&mut self, now: SimTime) {
        (self.last_table, self.zeroed) = (us(now), us(now));
    }

    /// Counts, prints and forgets what is due; how long to sleep, unless the time is over.
    fn round(&mut self, shared: &mut Shared, now: SimTime) -> Option<Nanos> {
        let (at, options) = (us(now), shared.options.clone());
        let passed = at - self.start;
        let micros = |span: Nanos| span.get() / 1000;
        let is_over = passed >= micros(options.runtime);
        let warmup = micros(options.warmup);
        if options.rps == 0 && options.pipe == 0 && warmup > 0 && passed > warmup && !self.warm {
            (self.warm, self.zeroed) = (true, at);
            shared.tables.line("warmup done, zeroing stats");
            shared.reset();
        } else if options.pipe == 0 {
            self.count(shared, at);
            if at - self.last_table >= micros(options.interval) {
                self.last_table = at;
                shared.show(passed / 1_000_000);
                shared.show_current();
            }
        }
        let zero = micros(options.zero);
        if zero > 0 && at - self.zeroed > zero {
            self.zeroed = at;
            shared.reset();
        }
        let left = options.runtime.get().saturating_sub(passed * 1000).max(1);
        // A whole number of seconds is passed by a little, as the real one always sleeps for one.
        let whole = options.runtime.get().is_multiple_of(ROUND.get());
        (!is_over).then(|| if whole { ROUND } else { Nanos(ROUND.get().min(left)) })
    }

    /// Requests a second since the last count.
    fn count(&mut self, shared: &mut Shared, at: u64) {
        let done = shared.loops - self.counted;
        let span = at - self.last_rps;
        (self.counted, self.last_rps) = (shared.loops, at);
        let rps = (done * 1_000_000).checked_div(span).unwrap_or(0);
        shared.rps.add(rps);
        shared.tables.current = (done * 100_000_000).checked_div(span).unwrap_or(0);
    }
}
