//! What a thread does in its phases: events into steps, and the log.

use simsched_core::{MaskId, Nanos, Op, RegionId, SchedPolicy, SimTime, TaskId};

use super::config::{Event, TimerRef};
use super::program::{Program, rounded_us, timer_of};
use super::thread::{Step, lock, unlock};

/// What the end of a phase takes: two looks at the clock and a line of the log. Release 1.0 wrote 857,793
/// lines in a second whose phases computed for 0.17 us, on an EPYC.
const END: Nanos = Nanos(1_000);

/// A `write` to `/dev/null`: a second of `dd bs=1` made 563,000 with a read each, on an EPYC.
const WRITE: Nanos = Nanos(900);

/// The pieces of `runtime`, in us.
const PIECE_US: u32 = 32;

impl Program {
    /// Waits until the thread's time has come.
    pub(super) fn delay(&mut self, thread: usize, now: SimTime) -> Option<Op> {
        let row = &mut self.threads[thread];
        let task = &self.config.tasks[row.def];
        row.first = self.zero + Nanos::from_micros(task.delay_us.into());
        let (index, nice, first) = (row.index, row.nice, row.first);
        let policy = match task.policy {
            SchedPolicy::Normal => "SCHED_OTHER",
            SchedPolicy::Batch => "SCHED_BATCH",
            SchedPolicy::Idle => "SCHED_IDLE",
        };
        if self.config.global.lock_pages {
            self.notice(&format!("[{index}] Locking pages in memory"));
        }
        self.notice(&format!("[{index}] starting thread ...\n"));
        self.notice(&format!("[{index}] Starting with {policy} policy with priority {nice}"));
        (now < first).then_some(Op::SleepUntil(first))
    }

    /// The next phase, unless all are done.
    pub(super) fn begin_phase(&mut self, thread: usize) {
        let row = &self.threads[thread];
        let task = &self.config.tasks[row.def];
        if row.thread_loop == task.loops {
            self.threads[thread].then([Step::Leave]);
            return;
        }
        let nice = task.phases[row.phase].nice.unwrap_or(row.nice);
        let mask = self.mask(row.def, row.phase);
        let row = &mut self.threads[thread];
        if mask != row.mask {
            row.mask = mask;
            let (task, mask) = (TaskId::new(thread), MaskId::new(mask));
            row.then([Step::Call(Op::SetAffinity { task, mask })]);
        }
        if nice != row.nice {
            row.nice = nice;
            row.then([Step::Call(Op::SetNice(nice))]);
        }
        row.then([Step::Begun]);
    }

    /// The next event of the phase, or its end.
    pub(super) fn next_event(&mut self, thread: usize, now: SimTime) {
        let row = &mut self.threads[thread];
        let phase = &self.config.tasks[row.def].phases[row.phase];
        if let Some(event) = phase.events.get(row.event) {
            row.event += 1;
            let event = *event;
            self.begin_event(thread, event);
            return;
        }
        row.log.end(rounded_us(now.since(row.begun)));
        row.phase_loop = row.phase_loop.wrapping_add(1);
        if row.phase_loop == phase.loops {
            (row.phase_loop, row.phase) = (0, row.phase + 1);
            if row.phase == self.config.tasks[row.def].phases.len() {
                row.phase = 0;
                row.thread_loop = row.thread_loop.checked_add(1).unwrap_or(0);
            }
        }
        row.then([Step::Call(Op::Run(END)), Step::Begin]);
    }

    /// The steps of an event.
    fn begin_event(&mut self, thread: usize, event: Event) {
        let row = &mut self.threads[thread];
        match event {
            Event::Run(us) => {
                let op = Op::Run(self.work(us));
                self.count_work(thread, us, us);
                let row = &mut self.threads[thread];
                row.then([Step::Start, Step::Call(op), Step::Ran]);
            }
            Event::Runtime(us) => {
                self.count_work(thread, us, 0);
                let row = &mut self.threads[thread];
                row.then([Step::Start, Step::Until(us), Step::Ran]);
            }
            Event::Sleep(us) => {
                row.then([Step::Call(Op::Sleep(Nanos::from_micros(us.into())))]);
            }
            Event::Timer { timer, period_us } => row.then([Step::Timer(timer, period_us)]),
            Event::Lock(mutex) => row.then([lock(mutex)]),
            Event::Unlock(mutex) => row.then([unlock(mutex)]),
            Event::Wait(cond) => row.wait(cond),
            Event::Signal(cond) => row.then([Step::Signal(cond, 1)]),
            Event::Broad(cond) => row.then([Step::Signal(cond, u32::MAX)]),
            Event::Sync(cond) => {
                row.then([Step::Signal(cond.cond, 1)]);
                row.wait(cond);
            }
            Event::Suspend(cond) => {
                row.then([lock(cond.mutex)]);
                row.wait(cond);
                row.then([unlock(cond.mutex)]);
            }
            Event::Resume(cond) => {
                let broad = Step::Signal(cond.cond, u32::MAX);
                row.then([lock(cond.mutex), broad, unlock(cond.mutex)]);
            }
            Event::Barrier(barrier) => {
                let mutex = self.config.mutexes.len() + barrier;
                row.then([lock(mutex), Step::Meet(barrier)]);
            }
            Event::SemPost(sem) => row.then([Step::Up(sem)]),
            Event::SemWait(sem) => row.then([Step::Down(sem)]),
            Event::Fork(fork) => row.then([Step::Fork(fork)]),
            Event::Yield => row.then([Step::Call(Op::Yield)]),
            Event::Mem(bytes) => self.store(thread, bytes),
            Event::Io(bytes) => {
                let writes = bytes.div_ceil(self.config.global.mem_buffer);
                row.then([Step::Call(Op::Run(Nanos(WRITE.get() * u64::from(writes))))]);
            }
        }
    }

    /// What a `run` of so many us computes: whole loops, where the file says how long one takes.
    fn work(&self, us: u32) -> Nanos {
        let ns = u64::from(us) * 1000;
        match self.config.global.ns_per_loop.map(u64::from) {
            None => Nanos(ns),
            Some(each) => {
                let second = 1_000_000_000;
                Nanos(ns / second * (second / each * each) + ns % second / each * each)
            }
        }
    }

    /// Counts what an event was asked for, and the thousands of loops that it is.
    fn count_work(&mut self, thread: usize, us: u32, counted_us: u32) {
        let row = &mut self.threads[thread].log.row;
        row.c_duration += u64::from(us);
        row.perf += u64::from(counted_us / self.config.global.ns_per_loop.unwrap_or(u32::MAX));
    }

    /// Stores to the buffer of the task, over and over if it is too small.
    fn store(&mut self, thread: usize, bytes: u32) {
        let row = &mut self.threads[thread];
        let region = RegionId::new(row.def);
        let used = bytes.min(self.config.global.mem_buffer).div_ceil(1024);
        let touched = &mut self.touched[row.def];
        if used > *touched {
            row.then([Step::Call(Op::Touch { region, kib: used - *touched })]);
            *touched = used;
        }
        if bytes > 0 {
            let stored_kib = bytes.div_ceil(1024);
            row.then([Step::Call(Op::Stream { region, loaded_kib: 0, stored_kib })]);
        }
    }

    /// Computes one more piece, unless the time is over; there is one piece in any case.
    pub(super) fn until(&mut self, thread: usize, us: u32, now: SimTime) -> Option<Op> {
        // Where a piece has no loop, looking at the clock is all that it does.
        let piece = self.work(PIECE_US).max(END);
        let row = &mut self.threads[thread];
        let spent = now.since(row.started).get();
        if spent > 0 && spent / 1000 >= u64::from(us) {
            return None;
        }
        row.steps.push_front(Step::Until(us));
        Some(Op::Run(piece))
    }

    pub(super) fn ran(&mut self, thread: usize, now: SimTime) {
        let row = &mut self.threads[thread];
        row.log.row.run += rounded_us(now.since(row.started));
    }

    /// Sleeps until the timer expires, unless it has: then it counts from now on, or goes on as if it had
    /// not been late if it is absolute.
    pub(super) fn timer(
        &mut self,
        thread: usize,
        timer: TimerRef,
        period_us: u32,
        now: SimTime,
    ) -> Option<Op> {
        let is_cumulative = self.config.global.cumulative_slack;
        let row = &mut self.threads[thread];
        let timer = timer_of(&mut self.timers, &mut row.timers, timer);
        let due = timer.next.unwrap_or(row.first) + Nanos::from_micros(period_us.into());
        timer.next = Some(due);
        let log = &mut row.log.row;
        log.c_period += u64::from(period_us);
        log.timers += 1;
        let slack = if now < due {
            rounded_us(due.since(now)).cast_signed()
        } else {
            -rounded_us(now.since(due)).cast_signed()
        };
        log.slack = if is_cumulative { log.slack + slack } else { slack };
        if now < due {
            row.due = due;
            row.steps.push_front(Step::Rang);
            return Some(Op::SleepUntil(due));
        }
        log.missed += 1;
        log.wakeup = 0;
        if !timer.is_absolute {
            timer.next = Some(now);
        }
        None
    }

    pub(super) fn rang(&mut self, thread: usize, now: SimTime) {
        let row = &mut self.threads[thread];
        if now >= row.due {
            row.log.row.wakeup += rounded_us(now.since(row.due));
        }
    }
}
