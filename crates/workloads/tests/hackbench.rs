//! hackbench: what each task does, in order, and that all messages arrive.

use crate::common::run;
use proptest::prelude::*;
use simsched_core::ipc::IpcVersion;
use simsched_core::{
    MarkId, Op, Outcome, PipeId, ProcId, Seed, SimTime, SocketId, Start, TaskId, Workload,
};
use simsched_workloads::hackbench::{Channel, Hackbench, Mode, THREADS_OVER_PIPES};

const SMALL: Hackbench = Hackbench { groups: 1, fds: 2, loops: 2, ..THREADS_OVER_PIPES };

/// All ops of one task, whose transfers end with as many bytes as they ask for.
fn ops_of(hackbench: Hackbench, task: u32) -> Vec<Op> {
    let mut programs = hackbench.build(Seed(1)).expect("a small one");
    let mut last = Outcome::Started;
    let mut ops = Vec::new();
    while ops.last() != Some(&Op::Exit) {
        let op = programs.next_op(TaskId(task), SimTime::ZERO, last);
        last = match op {
            Op::Read { bytes, .. } | Op::Recv { bytes, .. } => Outcome::Bytes(bytes),
            _ => Outcome::Done,
        };
        ops.push(op);
    }
    ops
}

fn write(pipe: u32, bytes: u32) -> Op {
    Op::Write { pipe: PipeId(pipe), bytes }
}

fn read(pipe: u32, bytes: u32) -> Op {
    Op::Read { pipe: PipeId(pipe), bytes }
}

fn send(socket: u32, bytes: u32) -> Op {
    Op::Send { socket: SocketId(socket), bytes }
}

fn recv(socket: u32, bytes: u32) -> Op {
    Op::Recv { socket: SocketId(socket), bytes }
}

/// One group of two: main is task 0, the receivers are 1 and 2, the senders 3 and 4. Pipe 0 is
/// ready, pipe 1 is wake, 2 and 3 carry the messages: two rounds over two channels.
#[test]
fn threads_over_pipes_do_what_the_program_does() {
    let poll = Op::PollPipe(PipeId(1));
    let sender =
        vec![write(0, 1), poll, write(2, 100), write(3, 100), write(2, 100), write(3, 100)];
    for task in [3, 4] {
        assert_eq!(ops_of(SMALL, task), [sender.clone(), vec![Op::Exit]].concat());
    }
    for (task, channel) in [(1, 2), (2, 3)] {
        let mut receiver = vec![write(0, 1), poll];
        receiver.extend([read(channel, 100); 4]);
        receiver.push(Op::Exit);
        assert_eq!(ops_of(SMALL, task), receiver);
    }
    let tasks = [1, 2, 3, 4].map(TaskId);
    let main = [
        tasks.map(Op::Spawn).to_vec(),
        vec![read(0, 1); 4],
        vec![Op::Mark(MarkId(0)), write(1, 1)],
        tasks.map(Op::Join).to_vec(),
        vec![Op::Mark(MarkId(1)), Op::Exit],
    ];
    assert_eq!(ops_of(SMALL, 0), main.concat());
}

/// Pair 0 is ready (ends 0 and 1), pair 1 is wake (2 and 3), and the channels are 4 and 5, 6 and
/// 7: the even end is read, the odd one written.
#[test]
fn processes_over_sockets_do_what_the_program_does() {
    let small = Hackbench { mode: Mode::Processes, channel: Channel::Socket, ..SMALL };
    let poll = Op::PollSocket(SocketId(2));
    let sender = [send(1, 1), poll, send(5, 100), send(7, 100), send(5, 100), send(7, 100)];
    for task in [3, 4] {
        assert_eq!(ops_of(small, task), [&sender[..], &[Op::Exit]].concat());
    }
    for (task, end) in [(1, 4), (2, 6)] {
        let receiver = [&[send(1, 1), poll][..], &[recv(end, 100); 4], &[Op::Exit]].concat();
        assert_eq!(ops_of(small, task), receiver);
    }
    let main = [
        [1, 2, 3, 4].map(TaskId).map(Op::Spawn).to_vec(),
        vec![recv(0, 1); 4],
        vec![Op::Mark(MarkId(0)), send(3, 1)],
        vec![Op::WaitAny; 4],
        vec![Op::Mark(MarkId(1)), Op::Exit],
    ];
    assert_eq!(ops_of(small, 0), main.concat());
}

/// Group 1 of two with two pairs each: tasks 5, 6 receive and 7, 8 send, over pipes 4 and 5.
#[test]
fn each_group_has_its_own_channels() {
    let two = Hackbench { groups: 2, loops: 1, ..SMALL };
    assert!(ops_of(two, 6).contains(&read(5, 100)));
    for task in [7, 8] {
        assert_eq!(ops_of(two, task)[2..4], [write(4, 100), write(5, 100)]);
    }
    let sockets = Hackbench { channel: Channel::Socket, ..two };
    assert!(ops_of(sockets, 6).contains(&recv(10, 100)));
    assert_eq!(ops_of(sockets, 8)[2..4], [send(9, 100), send(11, 100)]);
}

#[test]
fn threads_share_a_process_and_processes_have_one_each() {
    let procs = |mode| -> Vec<ProcId> {
        let setup = Hackbench { mode, ..SMALL }.build(Seed(1)).unwrap().setup();
        assert_eq!(setup.procs.len(), if mode == Mode::Threads { 1 } else { 5 });
        setup.tasks.iter().map(|task| task.proc).collect()
    };
    assert_eq!(procs(Mode::Threads), [ProcId(0); 5]);
    assert_eq!(procs(Mode::Processes), [0, 1, 2, 3, 4].map(ProcId));
}

#[test]
fn setup_declares_all_and_only_main_runs_at_the_start() {
    let setup = Hackbench::default().build(Seed(1)).unwrap().setup();
    assert_eq!((setup.tasks.len(), setup.pipes, setup.sockets.len()), (401, 0, 202));
    assert_eq!(setup.marks, ["start", "stop"]);
    assert!(setup.tasks.iter().all(|task| task.name == "hackbench" && task.nice == 0));
    assert!(setup.tasks[1..].iter().all(|task| task.start == Start::Spawned));
    assert_ne!(setup.tasks[0].start, Start::Spawned);
    let setup = THREADS_OVER_PIPES.build(Seed(1)).unwrap().setup();
    assert_eq!((setup.tasks.len(), setup.pipes, setup.sockets.len()), (401, 202, 0));
}

/// A receiver that gets less than it asks for reads again for the rest.
#[test]
fn a_short_read_is_followed_by_another() {
    let mut programs = SMALL.build(Seed(1)).unwrap();
    let mut next = |last| programs.next_op(TaskId(1), SimTime::ZERO, last);
    assert_eq!(next(Outcome::Started), write(0, 1));
    assert_eq!(next(Outcome::Done), Op::PollPipe(PipeId(1)));
    assert_eq!(next(Outcome::Done), read(2, 100));
    assert_eq!(next(Outcome::Bytes(30)), read(2, 70));
    assert_eq!(next(Outcome::Bytes(69)), read(2, 1));
    assert_eq!(next(Outcome::Bytes(1)), read(2, 100));
}

/// A million workers: their rows, their programs and their setup are made in a moment.
#[test]
fn a_million_threads_fit() {
    let many = Hackbench { groups: 1 << 10, fds: 1 << 9, ..THREADS_OVER_PIPES };
    assert_eq!(many.workers(), 1 << 20);
    let programs = many.build(Seed(1)).unwrap();
    assert_eq!(programs.nr_threads(), (1 << 20) + 1);
    assert!(programs.code().len() < 40, "the threads share their programs");
    let more = Hackbench { groups: 1 << 12, ..many };
    let message = more.build(Seed(1)).unwrap_err().to_string();
    assert_eq!(message, "workers: 4194304 are more than the 1048576 that a run can hold");
}

/// Draws tasks by a generator of its own, so that a failure can be shrunk.
fn chooser(mut state: u64) -> impl FnMut(usize) -> usize {
    move |ready| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % ready
    }
}

fn any_hackbench() -> impl Strategy<Value = Hackbench> {
    let mode = prop_oneof![Just(Mode::Threads), Just(Mode::Processes)];
    let channel = prop_oneof![Just(Channel::Pipe), Just(Channel::Socket)];
    let bytes = prop_oneof![3 => Just(100u32), 2 => 1..6000u32, 1 => 60_000..100_000u32];
    (1..3u32, 1..5u32, 1..60u32, bytes, mode, channel).prop_map(
        |(groups, fds, loops, bytes, mode, channel)| Hackbench {
            groups,
            fds,
            loops,
            bytes,
            mode,
            channel,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Invariant 1: whatever the order in which tasks run, each ends and all messages arrive; and
    /// no message is written before the first mark or read after the second.
    #[test]
    fn invariant_1_all_messages_arrive_under_any_interleaving(
        hackbench in any_hackbench(),
        seed: u64,
        is_6_14: bool,
    ) {
        let version = if is_6_14 { IpcVersion::V6_14 } else { IpcVersion::V6_13 };
        let mut programs = hackbench.build(Seed(1)).unwrap();
        let ran = run(&mut programs, version, chooser(seed));
        prop_assert_eq!(&ran.stuck, &Vec::<String>::new());
        let signals = hackbench.workers() + 1;
        let bytes = hackbench.messages() * u64::from(hackbench.bytes);
        prop_assert_eq!(ran.written, bytes + signals);
        prop_assert_eq!(ran.read, bytes + signals - 1, "the byte that wakes all is never read");
        let exits = ran.log.iter().filter(|(_, op)| *op == Op::Exit).count() as u64;
        prop_assert_eq!(exits, hackbench.workers() + 1);
        let at = |op| ran.log.iter().position(|(_, o)| *o == op).unwrap();
        let (start, stop) = (at(Op::Mark(MarkId(0))), at(Op::Mark(MarkId(1))));
        let spawns = ran.log[start..].iter().filter(|(_, op)| matches!(op, Op::Spawn(_))).count();
        prop_assert_eq!(spawns, 0, "the time excludes the setup");
        prop_assert_eq!(ran.log[stop + 1..].to_vec(), vec![(0, Op::Exit)]);
        let is_message = |op: &Op| match op {
            Op::Write { pipe, .. } | Op::Read { pipe, .. } => pipe.0 > 1,
            Op::Send { socket, .. } | Op::Recv { socket, .. } => socket.0 > 3,
            _ => false,
        };
        prop_assert!(!ran.log[..start].iter().any(|(_, op)| is_message(op)));
    }
}

/// Ten rounds of four senders and four receivers where each task runs until it sleeps: the counts
/// are those of the formula, messages = groups * fds * fds * loops.
#[test]
fn messages_are_counted_as_the_program_sends_them() {
    let hackbench = Hackbench { groups: 3, fds: 4, loops: 10, ..THREADS_OVER_PIPES };
    assert_eq!((hackbench.messages(), hackbench.workers()), (480, 24));
    let mut programs = hackbench.build(Seed(1)).unwrap();
    let ran = run(&mut programs, IpcVersion::V6_13, crate::common::in_turn);
    let count = |is: fn(&Op) -> bool| ran.log.iter().filter(|(_, op)| is(op)).count();
    assert_eq!(count(|op| matches!(op, Op::Write { bytes: 100, .. })), 480);
    assert_eq!(count(|op| matches!(op, Op::Read { bytes: 100, .. })), 480);
}
