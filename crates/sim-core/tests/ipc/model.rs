//! Pipes and sockets against obvious models, under random tasks.

use std::collections::VecDeque;

use proptest::prelude::*;
use simsched_core::ipc::{IpcVersion, Verdict};
use simsched_core::{Op, Outcome, PipeId, SocketId};

use crate::ipc::rig::{BLOCK, DONE, Rig, Woken, bytes, read, recv, send, write};

/// What a model of an object can do.
trait Model {
    fn attempt(&mut self, task: u32, op: Op, retry: bool) -> (Verdict, Woken);
}

/// A pipe as a list of pages: how far each is written and read.
#[derive(Default)]
struct SlowPipe {
    is_6_14: bool,
    pages: VecDeque<(u32, u32)>,
    /// Pollers from the oldest on, and whether each is awake.
    pollers: Vec<(u32, bool)>,
    readers: VecDeque<u32>,
    writers: VecDeque<u32>,
    was_polled: bool,
    rest: [u32; 16],
}

impl SlowPipe {
    fn wake_reader(&mut self, woken: &mut Woken) {
        for (task, is_awake) in self.pollers.iter_mut().rev() {
            if !std::mem::replace(is_awake, true) {
                woken.push((*task, true));
            }
        }
        woken.extend(self.readers.pop_front().map(|task| (task, true)));
    }

    fn wake_writer(&mut self, woken: &mut Woken) {
        woken.extend(self.writers.pop_front().map(|task| (task, true)));
    }

    fn write(&mut self, task: u32, size: u32, retry: bool, woken: &mut Woken) -> Verdict {
        let was_empty = self.pages.is_empty();
        let mut rest = if retry { self.rest[task as usize] } else { size };
        if !retry
            && let Some((written, _)) = self.pages.back_mut()
            && *written + rest % 4096 <= 4096
        {
            *written += rest % 4096;
            rest -= rest % 4096;
        }
        while rest > 0 && self.pages.len() < 16 {
            self.pages.push_back((rest.min(4096), 0));
            rest -= rest.min(4096);
        }
        self.rest[task as usize] = rest;
        if was_empty || (rest == 0 && self.was_polled) {
            self.wake_reader(woken);
        }
        if rest > 0 {
            self.writers.push_back(task);
            return BLOCK;
        }
        if retry && self.pages.len() < 16 {
            self.wake_writer(woken);
        }
        DONE
    }

    fn read(&mut self, task: u32, size: u32, retry: bool, woken: &mut Woken) -> Verdict {
        let pages = self.pages.len();
        let mut got = 0;
        while got < size
            && let Some((written, was_read)) = self.pages.front_mut()
        {
            got += 1;
            *was_read += 1;
            if was_read == written {
                self.pages.pop_front();
            }
        }
        if got == 0 {
            self.readers.push_back(task);
            return BLOCK;
        }
        if pages == 16 && !(self.is_6_14 && self.pages.len() == 16) {
            self.wake_writer(woken);
        }
        if retry && !self.pages.is_empty() {
            self.wake_reader(woken);
        }
        bytes(got)
    }

    fn poll(&mut self, task: u32) -> Verdict {
        self.was_polled = true;
        if !self.pages.is_empty() {
            self.pollers.retain(|(poller, _)| *poller != task);
            return DONE;
        }
        match self.pollers.iter_mut().find(|(poller, _)| *poller == task) {
            Some((_, is_awake)) => *is_awake = false,
            None => self.pollers.push((task, false)),
        }
        BLOCK
    }
}

impl Model for SlowPipe {
    fn attempt(&mut self, task: u32, op: Op, retry: bool) -> (Verdict, Woken) {
        let mut woken = Woken::new();
        let verdict = match op {
            Op::Write { bytes, .. } => self.write(task, bytes, retry, &mut woken),
            Op::Read { bytes, .. } => self.read(task, bytes, retry, &mut woken),
            _ => self.poll(task),
        };
        (verdict, woken)
    }
}

/// One direction of a socket pair, from end 1 to end 0, as a list of messages.
#[derive(Default)]
struct SlowSocket {
    /// What is left of each message, and what it is accounted at.
    messages: VecDeque<(u32, u32)>,
    senders: Vec<u32>,
    receivers: Vec<u32>,
}

impl SlowSocket {
    fn outstanding(&self) -> u32 {
        self.messages.iter().map(|(_, account)| account).sum()
    }
}

impl Model for SlowSocket {
    fn attempt(&mut self, task: u32, op: Op, _: bool) -> (Verdict, Woken) {
        let mut woken = Woken::new();
        match op {
            Op::Send { bytes, .. } => {
                if self.outstanding() >= 212_992 {
                    self.senders.push(task);
                    return (BLOCK, woken);
                }
                self.messages.push_back((bytes, bytes + 668));
                woken.extend(self.receivers.drain(..).rev().map(|task| (task, true)));
                (DONE, woken)
            }
            Op::Recv { bytes: size, .. } => {
                let mut got = 0;
                while got < size
                    && let Some((left, _)) = self.messages.front_mut()
                {
                    got += 1;
                    *left -= 1;
                    if *left == 0 {
                        self.messages.pop_front();
                        if self.outstanding() * 4 <= 212_992 {
                            woken.extend(self.senders.drain(..).rev().map(|task| (task, true)));
                        }
                    }
                }
                if got == 0 {
                    self.receivers.push(task);
                    return (BLOCK, woken);
                }
                (bytes(got), woken)
            }
            _ => unreachable!("only these are drawn"),
        }
    }
}

/// Where a task is: it may start an op, sleeps in one, or was woken in one.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Free,
    Asleep(Op),
    Woken(Op),
}

/// What the calls moved, in bytes.
#[derive(Default)]
struct Moved {
    written: u64,
    read: u64,
    /// The calls to write that have not ended: who, and how much in all.
    unfinished: Vec<(u32, u32)>,
}

/// Lets tasks make the drawn calls, on the object and on its model: each answer is the same, and
/// only sleepers are woken.
fn check(rig: &mut Rig, model: &mut impl Model, calls: &[(u32, Op)]) -> Moved {
    let mut tasks = [At::Free; 16];
    let mut moved = Moved::default();
    for &(task, drawn) in calls {
        let (op, retry) = match tasks[task as usize] {
            At::Free => (drawn, false),
            At::Woken(op) => (op, true),
            At::Asleep(_) => continue,
        };
        let answer = if retry { rig.retry(task, op) } else { rig.op(task, op) };
        assert_eq!(answer, model.attempt(task, op, retry));
        let (verdict, woken) = answer;
        tasks[task as usize] = if verdict == BLOCK { At::Asleep(op) } else { At::Free };
        assert_eq!(rig.blocked_on(task).is_empty(), verdict != BLOCK);
        for (wakee, _) in woken {
            let At::Asleep(op) = tasks[wakee as usize] else { panic!("{wakee} does not sleep") };
            tasks[wakee as usize] = At::Woken(op);
        }
        match (op, verdict) {
            (Op::Write { bytes, .. } | Op::Send { bytes, .. }, DONE) => {
                moved.written += u64::from(bytes);
            }
            (_, Verdict::Done(Outcome::Bytes(bytes))) => moved.read += u64::from(bytes),
            _ => {}
        }
    }
    for (task, at) in (0..).zip(tasks) {
        if let At::Asleep(Op::Write { bytes, .. }) | At::Woken(Op::Write { bytes, .. }) = at {
            moved.unfinished.push((task, bytes));
        }
    }
    moved
}

/// Sizes around the page and the message of 100 bytes.
fn size() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(100u32), 2 => 1..300u32, 2 => 2000..5000u32, 1 => 1..90_000u32]
}

fn pipe_calls() -> impl Strategy<Value = Vec<(u32, Op)>> {
    let op = prop_oneof![
        10 => size().prop_map(write),
        10 => size().prop_map(read),
        1 => Just(Op::PollPipe(PipeId(0))),
    ];
    prop::collection::vec((0..8u32, op), 1..600)
}

fn socket_calls() -> impl Strategy<Value = Vec<(u32, Op)>> {
    let op = prop_oneof![3 => (1..20_000u32).prop_map(send), 2 => (1..20_000u32).prop_map(recv)];
    prop::collection::vec((0..6u32, op), 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_pipe_is_a_list_of_pages(calls in pipe_calls(), is_6_14: bool) {
        let version = if is_6_14 { IpcVersion::V6_14 } else { IpcVersion::V6_13 };
        let mut rig = Rig::new(version);
        let mut model = SlowPipe { is_6_14, ..SlowPipe::default() };
        let moved = check(&mut rig, &mut model, &calls);
        let begun = moved.unfinished.iter().map(|(task, all)| all - model.rest[*task as usize]);
        let written = moved.written + u64::from(begun.sum::<u32>());
        prop_assert_eq!(u64::from(rig.ipc.pipe_bytes(PipeId(0))), written - moved.read);
    }

    #[test]
    fn a_socket_is_a_list_of_messages(calls in socket_calls()) {
        let mut rig = Rig::new(IpcVersion::V6_13);
        let moved = check(&mut rig, &mut SlowSocket::default(), &calls);
        prop_assert_eq!(rig.ipc.socket_bytes(SocketId(0)), moved.written - moved.read);
    }
}
