//! Mutexes, barriers, futexes, and waiting for the ends of tasks.

use simsched_core::ipc::IpcVersion::V6_13;
use simsched_core::ipc::Verdict;
use simsched_core::{BarrierId, FutexId, LockId, Op, Outcome, SemId, TaskId};

use crate::ipc::rig::{BLOCK, DONE, Rig, nobody, plain, sync, write};

const LOCK: Op = Op::Lock(LockId(0));
const UNLOCK: Op = Op::Unlock(LockId(0));
const MEET: Op = Op::Barrier(BarrierId(0));
const FUTEX: FutexId = FutexId(0);

fn rig() -> Rig {
    Rig::new(V6_13)
}

fn child(task: u32) -> Verdict {
    Verdict::Done(Outcome::Child(TaskId(task)))
}

#[test]
fn a_free_mutex_costs_no_wakeup() {
    let mut rig = rig();
    for task in [0, 1, 0] {
        assert_eq!(rig.op(task, LOCK), (DONE, nobody()));
        assert_eq!(rig.op(task, UNLOCK), (DONE, nobody()));
    }
}

#[test]
fn an_unlock_wakes_the_first_sleeper_and_hands_nothing_over() {
    let mut rig = rig();
    assert_eq!(rig.op(0, LOCK).0, DONE);
    for task in [1, 2] {
        assert_eq!(rig.op(task, LOCK), (BLOCK, nobody()));
    }
    assert_eq!(rig.op(0, UNLOCK), (DONE, plain([1])));
    assert_eq!(rig.op(3, LOCK), (DONE, nobody()), "whoever comes by takes it");
    assert_eq!(rig.retry(1, LOCK), (BLOCK, nobody()), "the woken one queues again at the tail");
    assert_eq!(rig.op(3, UNLOCK), (DONE, plain([2])));
    assert_eq!(rig.retry(2, LOCK).0, DONE);
    assert_eq!(rig.op(2, UNLOCK), (DONE, plain([1])));
    assert_eq!(rig.op(2, UNLOCK), (DONE, nobody()), "it is free already");
}

#[test]
fn the_last_at_a_barrier_wakes_all_others_in_the_order_of_arrival() {
    let mut rig = rig();
    for _ in 0..2 {
        assert_eq!(rig.op(4, MEET), (BLOCK, nobody()));
        assert_eq!(rig.op(2, MEET), (BLOCK, nobody()));
        assert_eq!(rig.op(7, MEET), (DONE, plain([4, 2])));
        assert_eq!(rig.retry(2, MEET), (DONE, nobody()));
        assert_eq!(rig.retry(4, MEET), (DONE, nobody()));
    }
    assert_eq!(rig.op(1, Op::Barrier(BarrierId(1))), (DONE, nobody()), "a barrier for one");
}

#[test]
fn a_futex_holds_sleepers_only_while_its_word_has_the_value() {
    let mut rig = rig();
    let wait = |value| Op::FutexWait { futex: FUTEX, value };
    assert_eq!(rig.op(0, wait(1)), (DONE, nobody()), "the word is 0");
    for task in [0, 1, 2] {
        assert_eq!(rig.op(task, wait(0)), (BLOCK, nobody()));
    }
    assert_eq!(rig.op(3, Op::FutexSet { futex: FUTEX, value: 1 }), (DONE, nobody()));
    assert_eq!(rig.op(3, wait(0)), (DONE, nobody()));
    assert_eq!(
        rig.op(3, Op::FutexWake { futex: FUTEX, count: 2, sync: false }),
        (DONE, plain([0, 1]))
    );
    assert_eq!(rig.retry(0, wait(0)), (DONE, nobody()));
    assert_eq!(
        rig.op(3, Op::FutexWake { futex: FUTEX, count: 9, sync: false }),
        (DONE, plain([2]))
    );
    assert_eq!(rig.op(3, Op::FutexWake { futex: FUTEX, count: 9, sync: false }), (DONE, nobody()));
}

/// Tasks 0 to 7 share a process, 8 is in another: a thread's end is a futex wakeup, a process's end
/// a synchronous one.
#[test]
fn an_exit_wakes_who_joins_it() {
    let mut rig = rig();
    rig.ipc.spawned(TaskId(0), TaskId(1));
    rig.ipc.spawned(TaskId(0), TaskId(8));
    assert_eq!(rig.op(0, Op::Join(TaskId(1))), (BLOCK, nobody()));
    assert_eq!(rig.exit(8), nobody());
    assert_eq!(rig.exit(1), plain([0]));
    assert_eq!(rig.retry(0, Op::Join(TaskId(1))), (DONE, nobody()));
    assert_eq!(rig.op(0, Op::Join(TaskId(8))), (DONE, nobody()), "it has ended before");
    assert_eq!(rig.op(2, Op::Join(TaskId(9))), (BLOCK, nobody()));
    assert_eq!(rig.exit(9), sync([2]));
}

#[test]
fn wait_reaps_the_eldest_child_that_has_ended_and_each_once() {
    let mut rig = rig();
    for task in [9, 8, 10, 11] {
        rig.ipc.spawned(TaskId(0), TaskId(task));
    }
    assert_eq!(rig.op(0, Op::WaitAny), (BLOCK, nobody()));
    assert_eq!(rig.exit(10), sync([0]));
    assert_eq!(rig.exit(8), nobody(), "the parent is awake");
    assert_eq!(rig.exit(9), nobody());
    assert_eq!(rig.retry(0, Op::WaitAny), (child(9), nobody()), "the eldest of the three");
    assert_eq!(rig.op(0, Op::Join(TaskId(8))), (DONE, nobody()));
    assert_eq!(rig.op(0, Op::WaitAny), (child(10), nobody()), "8 was waited for");
    assert_eq!(rig.op(0, Op::WaitAny), (BLOCK, nobody()));
    assert_eq!(rig.exit(11), sync([0]));
    assert_eq!(rig.retry(0, Op::WaitAny), (child(11), nobody()));
    assert_eq!(rig.op(0, Op::WaitAny), (DONE, nobody()), "no children: ECHILD");
}

#[test]
fn what_a_task_waits_for_is_said_in_words() {
    let mut rig = rig();
    rig.ipc.spawned(TaskId(0), TaskId(1));
    assert_eq!(rig.op(5, LOCK).0, DONE);
    let cases = [
        (0, Op::WaitAny, "any of its children to exit"),
        (2, Op::Join(TaskId(7)), "task 7 to exit"),
        (3, LOCK, "lock 0 to be free, which task 5 holds"),
        (4, MEET, "the others at barrier 0"),
        (6, Op::FutexWait { futex: FUTEX, value: 0 }, "a wakeup on futex 0"),
        (8, write(65_537), "pipe 0 to have room"),
    ];
    for (task, op, text) in cases {
        assert_eq!(rig.blocked_on(task), "");
        assert_eq!(rig.op(task, op).0, BLOCK);
        assert_eq!(rig.blocked_on(task), text);
    }
    assert_eq!(rig.exit(7), plain([2]));
    assert_eq!(rig.blocked_on(2), "", "it is awake");
}

const READ_SEM: Op = Op::DownRead(SemId(0));
const TRY_READ_SEM: Op = Op::DownReadTrylock(SemId(0));
const WRITE_SEM: Op = Op::DownWrite(SemId(0));
const READ_OVER: Op = Op::UpRead { sem: SemId(0), held: 0 };
const WRITE_OVER: Op = Op::UpWrite { sem: SemId(0), held: 0 };

#[test]
fn readers_share_a_semaphore_until_a_writer_waits() {
    let mut rig = rig();
    for task in [0, 1] {
        assert_eq!(rig.op(task, READ_SEM), (DONE, nobody()));
    }
    assert_eq!(rig.op(2, WRITE_SEM), (BLOCK, nobody()));
    assert_eq!(rig.op(3, READ_SEM), (BLOCK, nobody()), "behind the writer");
    assert_eq!(rig.op(0, READ_OVER), (DONE, nobody()));
    assert_eq!(rig.op(1, READ_OVER), (DONE, plain([2])), "the last reader wakes the first");
    assert_eq!(rig.retry(2, WRITE_SEM), (DONE, nobody()));
    assert_eq!(rig.op(2, WRITE_OVER), (DONE, plain([3])));
    assert_eq!(rig.retry(3, READ_SEM), (DONE, nobody()));
}

/// `down_read_trylock()`: readers have it together, and nobody gets it who would have to wait; it never sleeps.
#[test]
fn a_trylock_fails_at_a_writer_who_has_it_or_waits() {
    let busy = Verdict::Done(Outcome::Busy);
    let mut rig = rig();
    assert_eq!(rig.op(0, TRY_READ_SEM), (DONE, nobody()), "it is free");
    assert_eq!(rig.op(1, TRY_READ_SEM), (DONE, nobody()), "with another reader");
    assert_eq!(rig.op(2, WRITE_SEM), (BLOCK, nobody()));
    assert_eq!(rig.op(3, TRY_READ_SEM), (busy, nobody()), "a writer waits");
    assert_eq!(rig.op(0, READ_OVER), (DONE, nobody()));
    assert_eq!(rig.op(1, READ_OVER), (DONE, plain([2])), "both had it");
    assert_eq!(rig.retry(2, WRITE_SEM), (DONE, nobody()));
    assert_eq!(rig.op(3, TRY_READ_SEM), (busy, nobody()), "a writer has it");
    assert_eq!(rig.op(2, WRITE_OVER), (DONE, nobody()), "who tried does not wait");
    assert_eq!(rig.op(3, TRY_READ_SEM), (DONE, nobody()));
}

#[test]
fn a_woken_writer_can_lose_and_keeps_its_place() {
    let mut rig = rig();
    assert_eq!(rig.op(0, WRITE_SEM).0, DONE);
    for task in [1, 2] {
        assert_eq!(rig.op(task, WRITE_SEM), (BLOCK, nobody()));
    }
    assert_eq!(rig.op(0, WRITE_OVER), (DONE, plain([1])));
    assert_eq!(rig.op(3, WRITE_SEM), (DONE, nobody()), "whoever comes by takes it");
    assert_eq!(rig.retry(1, WRITE_SEM), (BLOCK, nobody()));
    assert_eq!(rig.op(3, WRITE_OVER), (DONE, plain([1])), "it is still the first");
}

#[test]
fn woken_readers_have_a_semaphore_and_those_behind_a_writer_too() {
    let mut rig = rig();
    assert_eq!(rig.op(0, WRITE_SEM).0, DONE);
    for (task, op) in [(1, READ_SEM), (2, WRITE_SEM), (3, READ_SEM)] {
        assert_eq!(rig.op(task, op), (BLOCK, nobody()));
    }
    assert_eq!(rig.op(0, WRITE_OVER), (DONE, plain([1, 3])));
    assert_eq!(rig.op(4, WRITE_SEM), (BLOCK, nobody()), "readers have it before they run");
    for task in [1, 3] {
        assert_eq!(rig.retry(task, READ_SEM), (DONE, nobody()));
    }
    assert_eq!(rig.op(1, READ_OVER), (DONE, nobody()));
    assert_eq!(rig.op(3, READ_OVER), (DONE, plain([2])));
}
