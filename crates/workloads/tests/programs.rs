//! Programs: loops, operands, random lengths, and what the builder refuses.

use crate::common::run;
use simsched_core::ipc::IpcVersion;
use simsched_core::{
    FutexId, MaskId, Nanos, Op, Outcome, PipeId, ProcId, SchedPolicy, Seed, SimTime, SocketSpec,
    TaskId, Workload,
};
use simsched_topology::{CpuId, CpuSet};
use simsched_workloads::{Body, Builder, ClockId, Dist, Operand, Programs, StackId, When};

const US: Dist = Dist::Constant(Nanos::from_micros(1));

/// A workload of one task that runs `write`, over three pipes and one futex word.
fn single(write: impl FnOnce(&mut Body<'_>)) -> Result<Programs, String> {
    let mut b = Builder::new();
    b.pipes(3);
    b.futexes(1);
    let proc = b.process("p");
    let program = b.program("only", write);
    b.start("only", proc, program, [1, 0]);
    b.build(Seed(7)).map_err(|error| error.to_string())
}

fn ops(programs: &mut Programs, count: usize) -> Vec<Op> {
    let next = |_| programs.next_op(TaskId(0), SimTime::ZERO, Outcome::Done);
    (0..count).map(next).collect()
}

fn write_to(pipe: u32) -> Op {
    Op::Write { pipe: PipeId(pipe), bytes: 1 }
}

#[test]
fn nested_loops_count_their_turns_and_start_anew() {
    let mut programs = single(|p| {
        p.repeat(2, |p, outer| {
            p.write(Operand::fixed(0).plus(outer), 1);
            p.repeat(2, |p, inner| p.write(Operand::arg(0).plus(inner), 1));
        });
    })
    .unwrap();
    let expected = [0, 1, 2, 1, 1, 2].map(write_to);
    assert_eq!(ops(&mut programs, 6), expected);
    assert_eq!(ops(&mut programs, 2), [Op::Exit, Op::Exit], "the end is the end");
}

#[test]
fn an_endless_loop_goes_on() {
    let mut programs = single(|p| p.forever(|p| p.run(US))).unwrap();
    assert_eq!(ops(&mut programs, 100), [Op::Run(Nanos(1000)); 100]);
}

#[test]
fn a_program_can_be_read() {
    let programs = single(|p| {
        p.repeat(2, |p, nth| p.write(Operand::arg(0).plus_each(nth, 1), 1));
        p.futex_wait(FutexId(0), 7);
    })
    .unwrap();
    let text = "   0 write pipe arg0+count0, 1 B\n   1 repeat from 0, 2 times\n   \
                2 wait futex 0 while 7\n   3 exit\n";
    assert_eq!(programs.to_string(), text);
}

fn check_refused(message: &str, write: impl FnOnce(&mut Body<'_>)) {
    assert_eq!(single(write).err().as_deref(), Some(message));
}

#[test]
fn what_cannot_run_is_refused() {
    check_refused("program `only`: there is no pipe 3: 3 are declared", |p| {
        p.write(PipeId(3), 1);
    });
    check_refused("program `only`: there is no pipe 3: 3 are declared", |p| {
        p.repeat(3, |p, nth| p.write(Operand::arg(0).plus(nth), 1));
    });
    check_refused("program `only`: there is no pipe 4: 3 are declared", |p| {
        p.repeat(3, |p, nth| p.write(Operand::fixed(0).plus_each(nth, 2), 1));
    });
    check_refused("program `only`: there is no task 1: 1 are declared", |p| p.spawn(TaskId(1)));
    check_refused("program `only`: a loop has no turn", |p| p.repeat(0, |p, _| p.run(US)));
    check_refused("program `only`: a loop has no instruction that takes time", |p| {
        p.forever(|p| p.futex_set(FutexId(0), 1));
    });
    check_refused("program `only`: loops are nested too deep", |p| {
        p.repeat(2, |p, _| {
            p.repeat(2, |p, _| p.repeat(2, |p, _| p.repeat(2, |p, _| p.run(US))));
        });
    });
    check_refused("program `only`: there is no clock 0: 0 are declared", |p| p.clock(ClockId(0)));
    check_refused("program `only`: there is no clock 2: 0 are declared", |p| {
        p.sleep_until(When::after(ClockId(2), Nanos(5)));
    });
    check_refused("program `only`: a piece takes no time", |p| {
        p.run_until(When::after(ClockId(0), Nanos(5)), Dist::Constant(Nanos::ZERO));
    });
    check_refused("program `only`: there is no stack 0: 0 are declared", |p| {
        p.push_arg(0, StackId(0));
    });
    check_refused("program `only`: there is no mask 0: 0 are declared", |p| {
        p.set_affinity(TaskId(0), MaskId(0));
    });
    check_refused("program `only`: there is no mark 0: 0 are declared", |p| {
        p.mark(Operand::fixed(0));
    });
    check_refused("program `only`: there is no futex word 1: 1 are declared", |p| {
        p.when_futex(FutexId(1), 0, |p| p.run(US));
    });
    check_refused("program `only`: it moves no byte", |p| p.read_full(PipeId(0), 0));
    check_refused("program `only`: there is no thread of process 7", |p| p.exec_mmap(ProcId(7)));
    check_refused("program `distribution`: the range 2 ns to 1 ns is empty", |p| {
        p.run(Dist::Uniform(Nanos(2), Nanos(1)));
    });
    let none = Builder::new().build(Seed(1)).err().map(|error| error.to_string());
    assert_eq!(none.as_deref(), Some("program ``: no task runs at the start"));
}

/// Each thread draws from a stream of its own: another thread changes none of its lengths.
#[test]
fn a_thread_draws_the_same_lengths_whatever_the_others_do() {
    let build = |threads, seed| {
        let mut b = Builder::new();
        let proc = b.process("p");
        let program =
            b.program("random", |p| p.forever(|p| p.sleep(Dist::Exponential(Nanos(500)))));
        for _ in 0..threads {
            b.start("t", proc, program, [0, 0]);
        }
        b.build(Seed(seed)).unwrap()
    };
    let alone = ops(&mut build(1, 1), 20);
    let mut two = build(2, 1);
    let mut other = Vec::new();
    let mut first = Vec::new();
    for _ in 0..20 {
        other.push(two.next_op(TaskId(1), SimTime::ZERO, Outcome::Done));
        first.extend(ops(&mut two, 1));
    }
    assert_eq!(first, alone);
    assert_ne!(other, alone);
    assert_ne!(ops(&mut build(1, 2), 20), alone, "another seed, other lengths");
}

#[test]
fn a_task_has_the_nice_value_and_policy_it_was_given() {
    let mut b = Builder::new();
    let proc = b.process("p");
    let program = b.program("idle", |p| p.sched_yield());
    let task = b.start("t", proc, program, [0, 0]);
    b.schedule(task, 5, SchedPolicy::Batch);
    let setup = b.build(Seed(1)).unwrap().setup();
    assert_eq!((setup.tasks[0].nice, setup.tasks[0].policy), (5, SchedPolicy::Batch));
}

/// The ops of a task that is asked at these instants, in ns.
fn ops_at(programs: &mut Programs, task: u32, instants: &[u64]) -> Vec<Op> {
    let next = |at: &u64| programs.next_op(TaskId(task), SimTime(*at), Outcome::Done);
    instants.iter().map(next).collect()
}

#[test]
fn a_deadline_is_an_instant_and_no_cpu_time() {
    let mut b = Builder::new();
    let (proc, clock) = (b.process("p"), b.clock());
    let program = b.program("hog", |p| {
        p.clock(clock);
        p.run_until(When::after(clock, Nanos(100)), Dist::Constant(Nanos(40)));
    });
    b.start("hog", proc, program, [0, 0]);
    let mut programs = b.build(Seed(1)).unwrap();
    let piece = Op::Run(Nanos(40));
    // It begins at 7; a long time passes in its second piece; at 107 it is over.
    let ops = ops_at(&mut programs, 0, &[7, 47, 106, 107]);
    assert_eq!(ops, [piece, piece, piece, Op::Exit]);
}

#[test]
fn a_grid_counts_from_a_noted_instant_by_argument_and_turn() {
    let mut b = Builder::new();
    let (proc, clock) = (b.process("p"), b.clock());
    let noting = b.program("noting", |p| {
        p.clock(clock);
        p.run(US);
    });
    let sleeping = b.program("sleeping", |p| {
        p.repeat(2, |p, turn| {
            let grid = When::after(clock, Nanos(1_000)).plus_arg(1, Nanos(10));
            p.sleep_until(grid.plus_turns(turn, Nanos(300)));
        });
    });
    b.start("noting", proc, noting, [0, 0]);
    b.start("sleeping", proc, sleeping, [9, 3]);
    let mut programs = b.build(Seed(1)).unwrap();
    ops_at(&mut programs, 0, &[50]);
    let until = |ns| Op::SleepUntil(SimTime(ns));
    assert_eq!(ops_at(&mut programs, 1, &[60, 2_000]), [until(1_080), until(1_380)]);
    let text = programs.to_string();
    assert!(text.contains("note clock 0\n") && text.contains("sleep until 0\n"), "{text}");
}

/// Whoever takes a stack gets all, the last that came first; who comes meanwhile waits for the next
/// time.
#[test]
fn a_stack_is_taken_as_a_whole() {
    let mut b = Builder::new();
    let proc = b.process("p");
    let (first, futexes) = (b.stacks(2, 4), b.futexes(4));
    let taking = b.program("taking", |p| {
        p.forever(|p| {
            p.each(StackId(first.0 + 1), |p, item| {
                p.futex_wake(Operand::from(futexes).plus(item), 1);
            });
            p.run(US);
        });
    });
    let pushing = b.program("pushing", |p| {
        p.forever(|p| {
            p.push_arg(0, Operand::arg(1));
            p.sched_yield();
        });
    });
    b.start("taking", proc, taking, [0, 0]);
    for item in 0..4 {
        b.start("pushing", proc, pushing, [item, 1]);
    }
    let mut programs = b.build(Seed(1)).unwrap();
    let mut next = |task| programs.next_op(TaskId(task), SimTime::ZERO, Outcome::Done);
    let (wake, pause) = (
        |futex| Op::FutexWake { futex: FutexId(futex), count: 1, sync: false },
        Op::Run(Nanos(1000)),
    );
    assert_eq!(next(0), pause, "nobody is there");
    for task in [1, 3, 3, 4] {
        assert_eq!(next(task), Op::Yield);
    }
    assert_eq!(next(0), wake(3));
    next(2);
    next(4);
    assert_eq!([next(0), next(0), next(0)], [wake(2), wake(0), pause], "each is there once");
    assert_eq!([next(0), next(0), next(0)], [wake(3), wake(1), pause]);
}

#[test]
fn a_futex_word_is_looked_at_without_a_system_call() {
    let mut programs = single(|p| {
        p.when_futex(FutexId(0), 1, |p| p.run(US));
        p.futex_set(FutexId(0), 1);
        p.when_futex(FutexId(0), 1, |p| p.sched_yield());
        p.when_futex(FutexId(0), 0, |p| p.run(US));
    })
    .unwrap();
    let set = Op::FutexSet { futex: FutexId(0), value: 1 };
    assert_eq!(ops(&mut programs, 3), [set, Op::Yield, Op::Exit]);
}

#[test]
fn a_task_is_confined_to_what_was_declared() {
    let mut b = Builder::new();
    let proc = b.process("p");
    let masks = [CpuSet::single(CpuId(2)), CpuSet::first_n(4)];
    let [here, all] = masks.map(|mask| b.mask(mask));
    let program = b.program("p", |p| p.set_affinity(Operand::arg(0), all));
    b.start_on(CpuId(3), "free", proc, program, [1, 0]);
    let pinned = b.start("pinned", proc, program, [0, 0]);
    b.allow(pinned, here);
    let mut programs = b.build(Seed(1)).unwrap();
    let setup = programs.setup();
    assert_eq!(setup.masks, masks);
    assert_eq!([setup.tasks[0].allowed, setup.tasks[1].allowed], [None, Some(masks[0])]);
    assert_eq!(ops(&mut programs, 1), [Op::SetAffinity { task: TaskId(1), mask: all }]);
}

/// Every instruction once, between two tasks: a request over a socket, a mutex, a barrier, a
/// futex, and a join.
#[test]
fn every_object_serves_a_small_program() {
    let mut b = Builder::new();
    let proc = b.process("p");
    let pair = b.sockets(1, SocketSpec::Unix { sndbuf_bytes: 212_992, overhead_bytes: 668 });
    let (pipe, lock, meet, futex) = (b.pipes(1), b.locks(1), b.barrier(2), b.futexes(1));
    let child = TaskId(1);
    let parent = b.program("parent", |p| {
        p.spawn(child);
        p.poll_socket(pair);
        p.recv_full(pair, 300);
        p.lock(lock);
        p.run(US);
        p.unlock(lock);
        p.barrier(meet);
        p.futex_set(futex, 1);
        p.futex_wake(futex, 1);
        p.write(pipe, 10);
        p.join(child);
    });
    let worker = b.program("worker", |p| {
        p.repeat(3, |p, _| p.send(pair.peer(), 100));
        p.lock(lock);
        p.unlock(lock);
        p.barrier(meet);
        p.futex_wait(futex, 0);
        p.nice(3);
        p.poll_pipe(pipe);
        p.read(pipe, 100);
        p.sleep(US);
    });
    b.start("parent", proc, parent, [0, 0]);
    b.thread("worker", proc, worker, [0, 0]);
    for turn in 0..2 {
        let mut programs = b.clone().build(Seed(1)).unwrap();
        let ran = run(&mut programs, IpcVersion::V6_13, |ready| turn % ready);
        assert_eq!(ran.stuck, Vec::<String>::new());
        assert_eq!((ran.written, ran.read), (310, 310));
    }
}
