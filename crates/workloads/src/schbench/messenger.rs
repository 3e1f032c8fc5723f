//! A message thread: creates its workers, then wakes whoever waits, or hands out requests.
//!
//! Source: `message_thread()`, `run_msg_thread()` and `run_rps_thread()` of `schbench.c`.

use simsched_core::{Nanos, Op, SimTime, TaskId};

use super::Schbench;
use super::program::{Asked, Shared, Step, WORKER_MASK, us};

/// The most requests that wait for one worker.
const BATCH: u32 = 128;
/// How long a message thread sleeps when that many do.
const FULL: Nanos = Nanos::from_micros(100);
/// A second, in us.
const SECOND: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub(super) struct Messenger {
    at: At,
    nth: u32,
    /// The next that is to be woken.
    next: Option<u32>,
    /// When the stack was taken, or the second began.
    since: SimTime,
    /// The last stack is being woken.
    is_last: bool,
    /// How many were handed out, of this second and since the start.
    handed: u32,
    turn: u32,
}

/// Where it is; a number is that of a worker.
#[derive(Clone, Copy, Debug)]
enum At {
    Begin,
    Create(u32),
    Serve,
    Take,
    Wake,
    Fill(u32),
    Wait,
    Second,
    Request,
    Rest,
    Kick(u32),
    Post(u32),
    Join(u32),
}

impl Messenger {
    pub(super) fn new(nth: u32) -> Messenger {
        Messenger {
            at: At::Begin,
            nth,
            next: None,
            since: SimTime::ZERO,
            is_last: false,
            handed: 0,
            turn: 0,
        }
    }

    pub(super) fn step(&mut self, shared: &mut Shared, asked: Asked) -> Step {
        let workers = shared.options.workers;
        let worker = |nth: u32| asked.task + 1 + nth;
        let own = TaskId(asked.task);
        let (next, step) = match self.at {
            At::Begin if shared.options.worker_cpus.is_some() => {
                (At::Create(0), Step::Call(Op::SetAffinity { task: own, mask: WORKER_MASK }))
            }
            At::Begin => (At::Create(0), Step::Next),
            At::Create(nth) if nth < workers => {
                (At::Create(nth + 1), Step::Call(Op::Spawn(TaskId(worker(nth)))))
            }
            At::Create(_) => {
                let next = if shared.has_rps() { At::Second } else { At::Serve };
                let mask = Schbench::message_mask(self.nth);
                match shared.options.message_cpus {
                    Some(_) => (next, Step::Call(Op::SetAffinity { task: own, mask })),
                    None => (next, Step::Next),
                }
            }
            At::Post(nth) if nth < workers => (At::Join(nth), shared.post(worker(nth))),
            At::Join(nth) => (At::Post(nth + 1), Step::Call(Op::Join(TaskId(worker(nth))))),
            At::Post(_) => (At::Post(workers), Step::Call(Op::Exit)),
            At::Second | At::Request | At::Rest | At::Kick(_) => self.hands_out(shared, asked),
            _ => self.serves(shared, asked),
        };
        self.at = next;
        step
    }

    /// Wakes all that wait, and waits to be posted.
    fn serves(&mut self, shared: &mut Shared, asked: Asked) -> (At, Step) {
        match self.at {
            At::Serve => (At::Take, Step::Call(shared.post.block(asked.task))),
            At::Take => {
                self.next = shared.post.take(self.nth);
                self.since = asked.now;
                (At::Wake, Step::Next)
            }
            At::Wake => match self.next {
                Some(worker) if shared.options.pipe > 0 => {
                    (At::Fill(worker), Step::Call(shared.page(worker)))
                }
                Some(worker) => (At::Wake, self.wakes(shared, worker, self.since)),
                None if shared.stopping && self.is_last => (At::Post(0), Step::Next),
                None if shared.stopping => {
                    self.is_last = true;
                    (At::Take, Step::Next)
                }
                None => (At::Wait, Step::Next),
            },
            At::Fill(worker) => (At::Wake, self.wakes(shared, worker, asked.now)),
            _ => {
                let (op, is_posted) = shared.wait(asked.task);
                (if is_posted { At::Serve } else { At::Wait }, Step::Call(op))
            }
        }
    }

    fn wakes(&mut self, shared: &mut Shared, worker: u32, at: SimTime) -> Step {
        self.next = shared.post.below(worker);
        shared.wake_time[worker as usize] = at;
        shared.post(worker)
    }

    /// Hands out the requests of a second, and sleeps for the rest of it.
    fn hands_out(&mut self, shared: &mut Shared, asked: Asked) -> (At, Step) {
        let workers = shared.options.workers;
        match self.at {
            At::Second => {
                (self.since, self.handed) = (asked.now, 0);
                (At::Request, Step::Next)
            }
            At::Request if self.handed >= shared.rps_each || shared.stopping => {
                (At::Rest, Step::Next)
            }
            At::Request => {
                let worker = asked.task + 1 + self.turn % workers;
                self.handed += 1;
                self.turn = self.turn.wrapping_add(1);
                if shared.pending[worker as usize] > BATCH {
                    return (At::Request, Step::Call(Op::Sleep(FULL)));
                }
                shared.pending[worker as usize] += 1;
                shared.requests[worker as usize] += 1;
                shared.wake_time[worker as usize] = asked.now;
                (At::Request, shared.post(worker))
            }
            At::Kick(nth) if nth < workers => {
                (At::Kick(nth + 1), shared.post(asked.task + 1 + nth))
            }
            At::Kick(_) => (At::Post(0), Step::Next),
            _ => {
                let passed = us(asked.now) - us(self.since);
                match (shared.stopping, SECOND.checked_sub(passed)) {
                    (true, _) => (At::Kick(0), Step::Next),
                    (false, Some(left)) if left > 0 => {
                        (At::Rest, Step::Call(Op::Sleep(Nanos::from_micros(left))))
                    }
                    _ => (At::Second, Step::Next),
                }
            }
        }
    }
}
