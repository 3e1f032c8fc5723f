//! `Sleepers`: who sleeps on which wait queue, and for what.
//!
//! A task sleeps on one queue at a time, so the links of all queues are one row per task: to queue
//! and to wake allocate nothing.
//!
//! The rules are those of the kernel's wait queues (`kernel/sched/wait.c`, Linux 6.1):
//! - who sleeps exclusively queues at the tail, all others at the head, so that the newest of
//!   them comes first (`prepare_to_wait_exclusive`, `prepare_to_wait`, `add_wait_queue`);
//! - an entry leaves the queue when it is woken (`autoremove_wake_function`), so two wakeups reach
//!   two sleepers; a task that finds its condition false again queues anew, an exclusive one at
//!   the tail behind all others (`prepare_to_wait_event` in the loop of `___wait_event`);
//! - a poller keeps its place until its `poll` ends (`pollwake`, `poll_freewait`); while it is
//!   awake already, further wakeups pass it by.

use std::fmt;

use super::{Verdict, Wakes};
use crate::ids::TaskId;
use crate::workload::Outcome;

/// No task: the end of a queue.
const NIL: u32 = u32::MAX;

/// What a task sleeps for; the number beside it in its row says on which object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitFor {
    /// It does not sleep.
    Awake,
    PipeData,
    PipeRoom,
    PipePoll,
    SocketData,
    SocketRoom,
    SocketPoll,
    Lock,
    SemRead,
    SemWrite,
    Barrier,
    Futex,
    Exit,
    AnyChild,
}

impl WaitFor {
    #[inline]
    fn is_poll(self) -> bool {
        matches!(self, WaitFor::PipePoll | WaitFor::SocketPoll)
    }
}

/// Who polls, and for what.
pub(super) struct Poller {
    pub(super) task: TaskId,
    pub(super) retry: bool,
    pub(super) wait_for: WaitFor,
    pub(super) object: u32,
}

/// Whether the waker is about to sleep (`WF_SYNC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    Yes,
    No,
}

/// A wait queue: its first and its last sleeper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    head: u32,
    tail: u32,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { head: NIL, tail: NIL }
    }
}

impl Queue {
    /// Whether nobody is queued.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Who is at the head.
    #[inline]
    pub(super) fn first(&self) -> Option<TaskId> {
        (self.head != NIL).then_some(TaskId(self.head))
    }
}

/// One row for each task.
#[derive(Clone, Copy, Debug)]
struct Row {
    prev: u32,
    next: u32,
    /// The number of the object on which the task sleeps.
    object: u32,
    /// What is left of the transfer that the task is in the middle of, in bytes.
    left: u32,
    wait_for: WaitFor,
    /// A poller that was woken and still has its place in the queue.
    woken: bool,
}

/// The wait rows of all tasks.
#[derive(Clone, Debug)]
pub(super) struct Sleepers {
    rows: Vec<Row>,
}

impl Sleepers {
    /// Nobody sleeps.
    pub(super) fn new(nr_tasks: usize) -> Sleepers {
        let awake = Row {
            prev: NIL,
            next: NIL,
            object: 0,
            left: 0,
            wait_for: WaitFor::Awake,
            woken: false,
        };
        Sleepers { rows: vec![awake; nr_tasks] }
    }

    /// How many tasks were declared.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Queues `task` behind all others (an exclusive sleeper, or a waiter of a futex).
    pub(super) fn push_back(
        &mut self,
        queue: &mut Queue,
        task: TaskId,
        wait_for: WaitFor,
        object: u32,
    ) {
        self.fall_asleep(task, wait_for, object, queue.tail, NIL);
        match queue.tail {
            NIL => queue.head = task.0,
            last => self.rows[last as usize].next = task.0,
        }
        queue.tail = task.0;
    }

    /// Queues `task` behind all others, unless something else than this queue has woken it: then it keeps
    /// its place (`prepare_to_wait_event()`).
    pub(super) fn queue_again(
        &mut self,
        queue: &mut Queue,
        task: TaskId,
        wait_for: WaitFor,
        object: u32,
    ) {
        if !self.waits_for(task, wait_for) {
            self.push_back(queue, task, wait_for, object);
        }
    }

    /// `task` does not wait any more: takes it off the queue if nothing there has woken it
    /// (`finish_wait()`).
    pub(super) fn finish_wait(&mut self, queue: &mut Queue, task: TaskId, wait_for: WaitFor) {
        if self.waits_for(task, wait_for) {
            self.unlink(queue, task.0);
        }
    }

    /// Queues `task` before all others (a sleeper that is not exclusive, or a poller).
    pub(super) fn push_front(
        &mut self,
        queue: &mut Queue,
        task: TaskId,
        wait_for: WaitFor,
        object: u32,
    ) {
        self.fall_asleep(task, wait_for, object, NIL, queue.head);
        match queue.head {
            NIL => queue.tail = task.0,
            first => self.rows[first as usize].prev = task.0,
        }
        queue.head = task.0;
    }

    /// Puts a task to sleep that is in no queue: something else knows where to find it.
    pub(super) fn sleep(&mut self, task: TaskId, wait_for: WaitFor, object: u32) {
        self.fall_asleep(task, wait_for, object, NIL, NIL);
    }

    /// Polls: done when `ready`, and else asleep as the newest, or on a retry in the old place.
    pub(super) fn poll(&mut self, queue: &mut Queue, ready: bool, poller: Poller) -> Verdict {
        let Poller { task, retry, wait_for, object } = poller;
        match (ready, retry) {
            (true, false) => {}
            (true, true) => self.unlink(queue, task.0),
            (false, false) => self.push_front(queue, task, wait_for, object),
            (false, true) => self.rows[task.idx()].woken = false,
        }
        if ready { Verdict::Done(Outcome::Done) } else { Verdict::Block }
    }

    /// Wakes `task`, which sleeps in no queue.
    pub(super) fn wake(&mut self, task: TaskId, sync: Sync, wakes: &mut Wakes) {
        self.rows[task.idx()].wait_for = WaitFor::Awake;
        wakes.push(task, sync);
    }

    /// Wakes the sleeper at the head; false if there is none.
    pub(super) fn wake_first(&mut self, queue: &mut Queue, sync: Sync, wakes: &mut Wakes) -> bool {
        if queue.is_empty() {
            return false;
        }
        let task = queue.head;
        self.unlink(queue, task);
        wakes.push(TaskId(task), sync);
        true
    }

    /// Wakes all from the head on.
    pub(super) fn wake_all(&mut self, queue: &mut Queue, sync: Sync, wakes: &mut Wakes) {
        while self.wake_first(queue, sync, wakes) {}
    }

    /// Wakes all who wait for this, from the head on, and leaves the others in their places.
    pub(super) fn wake_all_waiting_for(
        &mut self,
        queue: &mut Queue,
        wait_for: WaitFor,
        wakes: &mut Wakes,
    ) {
        let mut task = queue.head;
        while task != NIL {
            let row = self.rows[task as usize];
            if row.wait_for == wait_for {
                self.unlink(queue, task);
                wakes.push(TaskId(task), Sync::No);
            }
            task = row.next;
        }
    }

    /// Whether `task` sleeps for this.
    pub(super) fn waits_for(&self, task: TaskId, wait_for: WaitFor) -> bool {
        self.rows[task.idx()].wait_for == wait_for
    }

    /// Wakes all pollers from the head on and then the first exclusive sleeper, which is what
    /// `wake_up_interruptible_sync_poll` does on the queues of a pipe.
    #[inline]
    pub(super) fn wake_one_exclusive(&mut self, queue: &mut Queue, wakes: &mut Wakes) {
        let mut task = queue.head;
        while task != NIL {
            let Row { next, wait_for, .. } = self.rows[task as usize];
            if !wait_for.is_poll() {
                self.unlink(queue, task);
                wakes.push(TaskId(task), Sync::Yes);
                return;
            }
            self.wake_poller(task, Sync::Yes, wakes);
            task = next;
        }
    }

    /// Wakes all who sleep on an end of a socket, since there is data or its end.
    pub(super) fn wake_for_data(&mut self, queue: &mut Queue, sync: Sync, wakes: &mut Wakes) {
        let mut task = queue.head;
        while task != NIL {
            let Row { next, wait_for, .. } = self.rows[task as usize];
            if wait_for.is_poll() {
                self.wake_poller(task, sync, wakes);
            } else {
                self.unlink(queue, task);
                wakes.push(TaskId(task), sync);
            }
            task = next;
        }
    }

    /// Wakes all who sleep on an end of a socket, since there is room; but not the pollers, who
    /// wait for data and look at the event (`pollwake`).
    pub(super) fn wake_for_room(&mut self, queue: &mut Queue, sync: Sync, wakes: &mut Wakes) {
        let mut task = queue.head;
        while task != NIL {
            let Row { next, wait_for, .. } = self.rows[task as usize];
            if !wait_for.is_poll() {
                self.unlink(queue, task);
                wakes.push(TaskId(task), sync);
            }
            task = next;
        }
    }

    /// What is left of the transfer that `task` is in the middle of.
    #[inline]
    pub(super) fn left(&self, task: TaskId) -> u32 {
        self.rows[task.idx()].left
    }

    /// Remembers what is left of a transfer.
    #[inline]
    pub(super) fn set_left(&mut self, task: TaskId, bytes: u32) {
        self.rows[task.idx()].left = bytes;
    }

    /// What `task` sleeps for; `None` if it is awake.
    pub(super) fn blocked_on(&self, task: TaskId) -> Option<BlockedOn> {
        let row = &self.rows[task.idx()];
        let asleep = row.wait_for != WaitFor::Awake && !row.woken;
        asleep.then_some(BlockedOn { wait_for: row.wait_for, object: row.object })
    }

    fn fall_asleep(&mut self, task: TaskId, wait_for: WaitFor, object: u32, prev: u32, next: u32) {
        let row = &mut self.rows[task.idx()];
        debug_assert!(row.wait_for == WaitFor::Awake, "{task} sleeps on one queue at a time");
        *row = Row { prev, next, object, left: row.left, wait_for, woken: false };
    }

    fn wake_poller(&mut self, task: u32, sync: Sync, wakes: &mut Wakes) {
        let row = &mut self.rows[task as usize];
        if !row.woken {
            row.woken = true;
            wakes.push(TaskId(task), sync);
        }
    }

    fn unlink(&mut self, queue: &mut Queue, task: u32) {
        let row = &mut self.rows[task as usize];
        row.wait_for = WaitFor::Awake;
        row.woken = false;
        let (prev, next) = (row.prev, row.next);
        match prev {
            NIL => queue.head = next,
            prev => self.rows[prev as usize].next = next,
        }
        match next {
            NIL => queue.tail = prev,
            next => self.rows[next as usize].prev = prev,
        }
    }
}

/// What a sleeping task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockedOn {
    pub(super) wait_for: WaitFor,
    pub(super) object: u32,
}

impl fmt::Display for BlockedOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.object;
        match self.wait_for {
            WaitFor::Awake => write!(f, "nothing"),
            WaitFor::PipeData => write!(f, "pipe {id} to have data"),
            WaitFor::PipeRoom => write!(f, "pipe {id} to have room"),
            WaitFor::PipePoll => write!(f, "pipe {id} to have data (poll)"),
            WaitFor::SocketData => write!(f, "socket {id} to have data"),
            WaitFor::SocketRoom => write!(f, "socket {id} to have room to send"),
            WaitFor::SocketPoll => write!(f, "socket {id} to have data (poll)"),
            WaitFor::Lock => write!(f, "lock {id} to be free"),
            WaitFor::SemRead => write!(f, "semaphore {id} to read"),
            WaitFor::SemWrite => write!(f, "semaphore {id} to write"),
            WaitFor::Barrier => write!(f, "the others at barrier {id}"),
            WaitFor::Futex => write!(f, "a wakeup on futex {id}"),
            WaitFor::Exit => write!(f, "task {id} to exit"),
            WaitFor::AnyChild => write!(f, "any of its children to exit"),
        }
    }
}
