//! A worker: reports, waits, sleeps, takes the lock of its CPU, multiplies.
//!
//! Source: `worker_thread()`, `msg_and_wait()`, `do_work()` and `lock_this_cpu()` of `schbench.c`.

use simsched_core::{Nanos, Op, Outcome, SimTime, Stream, TaskId};
use simsched_topology::CpuId;

use super::program::{Asked, BEGIN, DONE, Shared, Step, us};
use super::{LINE, LOOK, WORD};

#[derive(Clone, Debug)]
pub(super) struct Worker {
    at: At,
    messenger: u32,
    stack: u32,
    /// When it began to run, and when the request began.
    start: Option<SimTime>,
    begun: SimTime,
    /// The end of its last request.
    ended: u64,
    /// Requests that it has taken and not done.
    requests: u32,
    /// Whose lock it holds, or wants.
    cpu: CpuId,
    /// Multiplications that are left, with its own matrices and with the shared ones.
    left: [u32; 2],
}

#[derive(Clone, Copy, Debug)]
enum At {
    Top,
    Block,
    Post,
    Posted,
    Wait,
    Woken,
    Request,
    Sleep,
    Slept,
    Ask,
    TryLock,
    Spin,
    Check,
    Shared,
    Multiply,
    Done,
    Count,
}

impl Worker {
    pub(super) fn new(messenger: u32, stack: u32) -> Worker {
        Worker {
            at: At::Top,
            messenger,
            stack,
            start: None,
            begun: SimTime::ZERO,
            ended: 0,
            requests: 0,
            cpu: CpuId(0),
            left: [0; 2],
        }
    }

    pub(super) fn step(&mut self, shared: &mut Shared, stream: &mut Stream, asked: Asked) -> Step {
        let (next, step) = match self.at {
            At::Top | At::Block | At::Post | At::Posted | At::Wait | At::Woken => {
                self.reports(shared, asked)
            }
            At::Ask | At::TryLock | At::Spin | At::Check => self.locks(shared, asked),
            At::Shared | At::Multiply => self.multiplies(shared, stream, asked),
            At::Request | At::Sleep | At::Slept | At::Done | At::Count => {
                self.does_request(shared, stream, asked)
            }
        };
        self.at = next;
        step
    }

    /// Tells its message thread that it waits, and waits until it is posted.
    fn reports(&mut self, shared: &mut Shared, Asked { task, now, .. }: Asked) -> (At, Step) {
        let own = task as usize;
        match self.at {
            At::Top if shared.stopping => (At::Top, Step::Call(Op::Exit)),
            At::Top => {
                self.start.get_or_insert(now);
                match shared.options.pipe {
                    0 => (At::Block, Step::Next),
                    _ => (At::Block, Step::Call(shared.page(self.messenger))),
                }
            }
            At::Block => {
                let op = shared.post.block(task);
                shared.wake_time[own] = now;
                if !shared.has_rps() {
                    shared.post.push(self.stack, task);
                    return (At::Post, Step::Call(op));
                }
                shared.pending[own] = 0;
                self.requests = std::mem::take(&mut shared.requests[own]);
                match self.requests {
                    0 => (At::Post, Step::Call(op)),
                    _ => (At::Request, Step::Call(shared.post.run(task))),
                }
            }
            At::Post => (At::Posted, shared.post(self.messenger)),
            // Nobody would wake it any more.
            At::Posted if shared.stopping => (At::Woken, Step::Next),
            At::Posted | At::Wait => {
                let (op, is_posted) = shared.wait(task);
                (if is_posted { At::Woken } else { At::Wait }, Step::Call(op))
            }
            _ => {
                let latency = us(now).saturating_sub(us(shared.wake_time[own]));
                if latency > 0 {
                    shared.wakeups.add(latency);
                }
                if shared.has_rps() {
                    return (At::Top, Step::Next);
                }
                self.requests = 1;
                (At::Request, Step::Next)
            }
        }
    }

    /// The beginning of a request and its sleep, and its end.
    fn does_request(
        &mut self,
        shared: &mut Shared,
        stream: &mut Stream,
        Asked { now, .. }: Asked,
    ) -> (At, Step) {
        let options = &shared.options;
        match self.at {
            At::Request => {
                self.begun = now;
                (if options.pipe > 0 { At::Done } else { At::Sleep }, Step::Call(Op::Mark(BEGIN)))
            }
            At::Sleep if options.sleep == Nanos::ZERO => (At::Slept, Step::Next),
            At::Sleep => {
                let sleep = match shared.sleep {
                    Some(dist) => dist.sample(options.sleep, stream),
                    None => options.sleep,
                };
                (At::Slept, Step::Call(Op::Sleep(sleep)))
            }
            At::Slept => {
                let matrices = options.matrices();
                self.left = [matrices.private_ops, matrices.shared_ops];
                if options.calibrate {
                    self.begun = now;
                }
                (if options.skip_locking { At::Shared } else { At::Ask }, Step::Next)
            }
            At::Done => (At::Count, Step::Call(Op::Mark(DONE))),
            _ => {
                let start = self.start.unwrap_or_default();
                let ended = us(now) - us(start);
                shared.loop_time += ended - std::mem::replace(&mut self.ended, ended);
                shared.loops += 1;
                let latency = us(now) - us(self.begun);
                if latency > 0 {
                    shared.latencies.add(latency);
                }
                self.requests -= 1;
                (if self.requests > 0 { At::Request } else { At::Top }, Step::Next)
            }
        }
    }

    /// Takes the lock of the CPU where it runs; if it has moved meanwhile, that of the other.
    fn locks(&mut self, shared: &mut Shared, Asked { last, .. }: Asked) -> (At, Step) {
        match (self.at, last) {
            (At::Ask, _) => (At::TryLock, Step::Call(Op::GetCpu)),
            (At::Check, Outcome::Cpu(cpu)) if cpu != self.cpu => {
                *shared.lock(self.cpu) = false;
                (At::Ask, Step::Next)
            }
            (At::Check, _) => (At::Shared, Step::Next),
            (_, last) => {
                if let Outcome::Cpu(cpu) = last {
                    self.cpu = cpu;
                }
                if std::mem::replace(shared.lock(self.cpu), true) {
                    return (At::Spin, Step::Call(Op::Run(LOOK)));
                }
                (At::Check, Step::Call(Op::GetCpu))
            }
        }
    }

    /// One multiplication after the other, first with the shared matrices; then it lets go of the lock.
    fn multiplies(
        &mut self,
        shared: &mut Shared,
        stream: &mut Stream,
        Asked { task, .. }: Asked,
    ) -> (At, Step) {
        let [private, common] = self.left;
        let which = usize::from(common > 0);
        if private + common == 0 {
            if !shared.options.skip_locking {
                *shared.lock(self.cpu) = false;
            }
            return (At::Done, Step::Next);
        }
        if let At::Shared = self.at
            && common > 0
        {
            // Its product was last stored by another worker, line by line.
            let rows = u64::from(shared.options.matrices().shared);
            let lines = u32::try_from(rows * rows * WORD / LINE).unwrap_or(u32::MAX);
            if let Some(from) = shared.sharer.replace(task).filter(|from| *from != task) {
                return (At::Multiply, Step::Call(Op::Fetch { from: TaskId(from), lines }));
            }
        }
        self.left[which] -= 1;
        let length = match shared.work {
            Some(dist) => dist.sample(shared.operation[which], stream),
            None => shared.operation[which],
        };
        (At::Shared, Step::Call(Op::Run(length)))
    }
}
