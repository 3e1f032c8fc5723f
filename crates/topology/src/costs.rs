//! `OsCosts`: what the kernel's paths cost on a machine, in nanoseconds, one field for each item.

macro_rules! costs {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What the kernel's paths cost on a machine, in nanoseconds.
        ///
        /// The items are those of "costs a simulator must charge" and of what programs with pipes,
        /// sockets, futexes and forks need. The values come from a price list (`topologies/costs/`)
        /// and from the machine's own file, each with its range and source; none stands in code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct OsCosts {
            $($(#[$doc])* pub $name: u32,)*
        }

        impl OsCosts {
            /// The names of all items, in the order of the fields.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The costs with every item found by name.
            ///
            /// # Errors
            ///
            /// The first error of `price`.
            pub fn try_from_fn<E>(mut price: impl FnMut(&'static str) -> Result<u32, E>) -> Result<Self, E> {
                Ok(Self { $($name: price(stringify!($name))?,)* })
            }

            /// All costs zero: a machine whose kernel is free.
            #[must_use]
            pub const fn free() -> Self {
                Self { $($name: 0,)* }
            }

            /// Every item with its name, in the order of the fields.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }

            /// The item of this name, to read or to change.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut u32> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

costs! {
    /// A context switch to a task of another process: pick, switch of address space, accounting.
    context_switch_process,
    /// A context switch to a task of the same process.
    context_switch_thread,
    /// A context switch to the idle task.
    context_switch_idle,
    /// A context switch from the idle task.
    context_switch_from_idle,
    /// From the switch to the idle task to the idle state.
    idle_entry,
    /// From the dequeue of a task that falls asleep to the instant from which its runqueue counts it no
    /// more; a part of `dequeue` and `pick`.
    dequeue_count,
    /// From the end of an interrupt that finds the idle task to `schedule()`.
    irq_leave,
    /// The same on top in the idle loop, to which a CPU has not come that is interrupted right behind the
    /// switch.
    idle_leave,
    /// What the first way back to user space takes longer after a switch.
    switch_return,
    /// From setting the sleep state to the dequeue; a wakeup in this window finds the task still queued.
    sleep_entry,
    /// From the dequeue, or the entry of one who stays queued, to the switch: leaving the runqueue, and
    /// the choice of the next task.
    pick,
    /// The dequeue of a task that sleeps or has ended, with its load.
    dequeue,
    /// Each level of task groups above the root, per enqueue, dequeue or pick.
    group_level,
    /// The bookkeeping of one wakeup, paid by the waker.
    wakeup,
    /// The affine decision of a wakeup, paid by the waker.
    wake_affine,
    /// The same where that is not asked: the CPU is looked at that it would name.
    wake_select,
    /// What a search for an idle CPU takes beside the looks at the CPUs.
    wake_scan,
    /// From the choice of a CPU to the lock of its runqueue, where the waker queues the wakee itself.
    wake_lock,
    /// What it still does behind that.
    wake_tail,
    /// Moving a wakee to another CPU than its last (`set_task_cpu()`), before it is queued there; paid
    /// by the waker.
    set_task_cpu,
    /// Reading the idle state of one CPU of the same core or L2 in a scan.
    scan_same_core,
    /// Reading the idle state of one CPU behind the same LLC.
    scan_same_llc,
    /// Reading the idle state of one CPU behind another LLC of the same socket.
    scan_same_node,
    /// Reading the idle state of one CPU of another socket.
    scan_cross_socket,
    /// Summing up one group of CPUs in the search for the CPU of a new task or program, beside its CPUs.
    idlest_group,
    /// What looking at a CPU in that search takes beside the price of a scan.
    idlest_cpu,
    /// Locking the runqueue of another CPU behind the same LLC and enqueueing there.
    remote_enqueue_same_llc,
    /// Locking the runqueue of a CPU of another socket and enqueueing there.
    remote_enqueue_cross_socket,
    /// Putting a wakee on another CPU's wake list instead of its runqueue.
    handoff,
    /// Queueing a wakee on a runqueue and deciding about preemption; paid by the waker, or by the
    /// target of a hand-off.
    activate,
    /// What follows when the wakee is queued: writing the event of the wakeup, where events are traced.
    /// Paid by who has queued it.
    wakeup_event,
    /// Sending an inter-processor interrupt, paid by the sender.
    ipi_send,
    /// What the sender still does when it is sent.
    ipi_return,
    /// From the end of the send to the handler, within a socket.
    ipi_same_socket,
    /// From the end of the send to the handler, across sockets.
    ipi_cross_socket,
    /// The handler of an inter-processor interrupt, paid by the target.
    ipi_handler,
    /// Interrupts between CPUs arrive at multiples of this; 0 or 1 on all real machines, the quantum of
    /// a simulated one.
    ipi_grid,
    /// The quantum of a simulated machine whose CPUs take turns, in the order of their numbers: a CPU sees
    /// what those before it have done in all of the same quantum, and what those behind it have done up
    /// to its beginning; who spins looks once in each of its turns; and interrupts between CPUs arrive
    /// when one begins. All turns end earlier where a timer expires, and the next ones begin there. 0 or 1 where
    /// CPUs run side by side.
    turn,
    /// How long a polling idle CPU takes to see a line written behind its LLC: one line transfer.
    poll_notice_same_llc,
    /// How long a polling idle CPU takes to see a line written in another socket.
    poll_notice_cross,
    /// One tick at the root group.
    tick,
    /// Setting the tick again where it was stopped, when the CPU leaves its idle loop.
    tick_restart,
    /// The same on top where the tick's timer was set to the next timer of the wheel and is taken back
    /// first (`hrtimer_cancel()` sets the clock to what is next then).
    tick_forward,
    /// What an interrupt that finds the tick stopped takes longer where no CPU has had the last tick:
    /// jiffies and the clock (`tick_do_update_jiffies64()`).
    jiffies,
    /// Each level of task groups above the root, per tick.
    tick_group_level,
    /// What of these paths a profile shows in one call of `update_load_avg()`, without what it waits for
    /// the group's line; accounted under its name where there are task groups, and not paid a second time.
    update_load_avg,
    /// The same of one call of `update_cfs_group()` for the entity of a group.
    update_cfs_group,
    /// The slack that a normal task's timers have.
    timer_slack,
    /// The handler of a timer that wakes a task, paid by the CPU where it expires.
    timer_handler,
    /// Entry into and exit from the kernel.
    syscall,
    /// Writing or reading a pipe, under its mutex, beside the copy of the bytes.
    pipe_copy,
    /// What a read of a pipe does before it is at the pipe's mutex, on top of the system call.
    pipe_read_entry,
    /// The same for a write.
    pipe_write_entry,
    /// What a write takes longer that begins a page, under the mutex. This item and the next ones up to
    /// `mutex_spin` count on machines whose CPUs take turns (`turn`).
    pipe_new_page,
    /// The same on top where the page has to be allocated.
    pipe_alloc_page,
    /// What a read takes longer that empties a page, under the mutex.
    pipe_old_page,
    /// The same on top where the page is freed, since the pipe keeps another one already.
    pipe_free_page,
    /// A read or write looks for somebody who sleeps at the pipe, and finds nobody.
    pipe_wake,
    /// From the unlocking of a pipe that is not ready to the last look before the sleep.
    pipe_wait,
    /// From the look behind a sleep to the mutex.
    pipe_relock,
    /// From a pipe's mutex that is taken to the first look of a spinner.
    mutex_spin,
    /// From that look which finds it free to the pipe.
    mutex_spun,
    /// Taking a mutex that is free and has sleepers takes longer, since the quick way asks for a word of
    /// zero.
    mutex_slow,
    /// Unlocking a mutex whose first sleeper is awake already.
    mutex_wake,
    /// What a read of a pipe still does after it has woken the other side, up to user space; paid
    /// before the next op.
    pipe_read_tail,
    /// The same for a write.
    pipe_write_tail,
    /// Sending up to 100 bytes on a local socket, on top of the system call: a buffer is allocated,
    /// filled and queued.
    unix_send,
    /// What a send still does after it has woken the receiver, up to user space; paid before the next op.
    unix_send_tail,
    /// Receiving up to 100 bytes from a local socket where there are any, on top of the system call, until
    /// the buffer is no longer accounted to the sender.
    unix_recv,
    /// The same as `unix_send_tail` for a receive: the buffer is freed.
    unix_recv_tail,
    /// Finding a local socket empty, on top of the system call, up to the sleep.
    unix_look,
    /// Sending a datagram of up to 100 bytes over loopback, on top of the system call: with what the
    /// softirq does to receive it, which runs on the sender's CPU.
    udp_send,
    /// Receiving a datagram, on top of the system call.
    udp_recv,
    /// Sending up to 100 bytes on a TCP connection over loopback, as `udp_send`.
    tcp_send,
    /// Receiving from a TCP connection, on top of the system call.
    tcp_recv,
    /// Copying each further KiB between user memory and the kernel.
    copy_per_kib,
    /// A woken sleeper looks at its condition again.
    recheck,
    /// A futex wait or wake, on top of the system call: of a wake, up to its first wakeup.
    futex,
    /// What a futex wake takes behind its last wakeup; a wait takes it besides `futex`.
    futex_tail,
    /// What a futex wake takes besides the system call if nobody waits.
    futex_none,
    /// What a futex wait takes besides the system call up to its look at the word; a part of `futex` and
    /// `futex_tail`.
    futex_look,
    /// What a futex wait that was woken takes back to user space, beside `recheck` and the switch.
    futex_woken,
    /// What an event of the kernel's tracer takes more that finds the page of its CPU full; 0 where nothing is traced.
    trace_page,
    /// Taking or leaving an uncontended lock in user space.
    lock,
    /// Creating a thread, paid by the parent.
    thread_create,
    /// Forking a process, paid by the parent.
    process_create,
    /// The end of a thread that leaves others in its process, up to the wakeup of who joins it.
    thread_exit,
    /// What it does after that, up to its last `schedule()`.
    thread_exit_tail,
    /// The end of the last thread of a process, and with it of the address space, up to the wakeup of
    /// the parent.
    process_exit,
    /// What it does after that, up to its last `schedule()`.
    process_exit_tail,
    /// The stopper thread that pushes a running task away (active balance, exec).
    stopper,
    /// Taking one task off a runqueue in load balance, with the lock held.
    detach_task,
    /// Putting one task on a runqueue in load balance, with the lock held.
    attach_task,
    /// Load balance: reading the statistics of one CPU whose runqueue was last written behind the same LLC,
    /// and locking it.
    balance_cpu_same_llc,
    /// Load balance: the same where it was written elsewhere in the same socket. What this is more than
    /// behind the same LLC is a transfer, and takes as long whatever the clock.
    balance_cpu_same_socket,
    /// Load balance: the same where it was written in another socket.
    balance_cpu_cross_socket,
    /// Load balance: summing up one group.
    balance_group,
    /// Load balance: each search for the busiest group of a domain, beside its CPUs and groups.
    balance_domain,
    /// Load balance: an attempt to balance a domain that this CPU is not to balance (`should_we_balance()`), all in all.
    balance_skip,
    /// An atomic operation on a line that this core alone holds.
    line_hit,
    /// A load from a line of which this core holds a copy.
    line_read_hit,
    /// Reading a line that nobody has modified since others read it, in percent of a transfer.
    line_read_shared_pct,
    /// How often, in percent, a contended line goes to a waiter near its owner before its turn.
    line_handoff_pct,
    /// Requests for one line beyond which its home's queue overflows; 0 where none does.
    line_queue,
    /// How much slower all transfers of a socket are at twice that many requests, in percent.
    line_queue_penalty_pct,
    /// Moving a line to the other socket when its memory is there, in percent of moving one whose
    /// memory is at the old owner.
    line_home_reader_pct,
    /// Lines of a runqueue that move with its lock when another core takes it.
    rq_lines,
    /// Lines of a wakee that move to a waker who hands it over, from where it ran last.
    wakee_lines,
    /// Lines of the target that move to such a waker: the list, the runqueue, the idle task's flags.
    handoff_lines,
    /// Lines that move from the waker to the target when that takes the wakee from its list.
    handoff_taken_lines,
    /// How long a runqueue is locked by who queues a task there or chooses the next one.
    rq_lock_hold,
    /// Looking at a CPU in a scan, in percent of the transfer of a line, beside the instructions.
    scan_lines_pct,
    /// Lines of a pipe that each op on it changes: the mutex with `rd_wait`, and the `pipe_buffer`.
    pipe_state_lines,
    /// Lines of a pipe that all ops read, and that change where a page begins or ends: `head` and `tail`,
    /// `tmp_page` and `bufs`.
    pipe_page_lines,
    /// Lines of a socket that move to who uses it after another core, and of the buffers that its other side gave back.
    socket_state_lines,
    /// Lines of an open file that threads share: its count moves to who uses it.
    file_lines,
    /// Lines of a socket's message that move from the core that wrote it to the one that reads it,
    /// beside its bytes.
    message_lines,
    /// How many of these transfers go on at once, in percent of one.
    message_overlap_pct,
    /// Cache lines that a task touches whenever it runs, and leaves modified: stack, task struct.
    private_lines,
    /// How many transfers of modified lines go on at once between cores behind one LLC, in percent.
    dirty_overlap_near_pct,
    /// The same between LLCs and sockets.
    dirty_overlap_far_pct,
    /// Filling a line from the LLC, in picoseconds, independent accesses.
    fill_llc_ps,
    /// Filling a line from the memory of the own node, in picoseconds.
    fill_dram_local_ps,
    /// Filling a line from the memory of another socket, in picoseconds.
    fill_dram_remote_ps,
    /// Cache lines that a core has under way at once when it goes through memory: what waits in front
    /// of controllers that are fully used.
    memory_lines,
    /// The way of a task to the work that it does when it returns to user mode, where there is some: from the end of
    /// the interrupt or system call to the call (`exit_to_user_mode_loop()`, `task_work_run()`).
    task_work,
    /// A timer of the scheduler is started outside `schedule()`, by the CPU on which it expires: that of a slice where a
    /// task is queued on a busy CPU (`hrtick_start()`, or `__hrtick_start()` where another CPU has queued it).
    hrtimer_start,
    /// Such a timer is started, or moved, at the end of `schedule()` (`hrtick_schedule_exit()`).
    hrtimer_start_deferred,
    /// What of [`timer_handler`](OsCosts::timer_handler) is behind the function of the timer (`hrtimer_wakeup()`,
    /// `hrtick()`): the next timer is set, and the interrupt ends.
    hrtimer_rearm,
    /// Cache-aware scheduling: one CPU of an occupancy scan.
    occupancy_scan_cpu,
    /// Cache-aware scheduling: accounting on the running CPU, each time.
    cache_aware_account,
}

/// An idle state of the CPUs, from shallow to deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// The name that cpuidle shows, such as `C1E`.
    pub name: String,
    /// The exit latency in nanoseconds as the firmware or driver advertises it: what the governor believes.
    pub exit_ns: u32,
    /// The exit latency in nanoseconds as measured, or the advertised one: what a wakeup pays.
    pub measured_exit_ns: u32,
    /// The shortest stay in nanoseconds for which the governor picks the state.
    pub residency_ns: u32,
    /// Whether the idle CPU watches its flag (a polling loop, or MWAIT), so that a wakeup sends no IPI.
    pub polling: bool,
    /// Whether the contents of L1 and L2 are lost.
    pub loses_l1_l2: bool,
}
