/* SPDX-License-Identifier: MIT */
/* The interface between a host and the library that is built from a kernel tree: plain C types, ids are integers, times are nanoseconds. */
#ifndef SIMSCHED_KERNEL_H
#define SIMSCHED_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

#define SIMSCHED_K_ABI 8
#define SIMSCHED_K_API __attribute__((visibility("default")))

/*
 * Rules for all functions:
 * One library is one machine: create() once, and another copy of the file for another machine.
 * One thread at a time. No call may be made while another one runs.
 * cpu is the CPU that executes the call. The host calls time() before a call when time has passed.
 * Tasks are ids from 0. SIMSCHED_K_IDLE is the idle task of a CPU, SIMSCHED_K_STOPPER its stopper.
 * A function that fails returns a negative error number. After BUG the functions that call the kernel's code return SIMSCHED_K_DEAD.
 * After each call the host reads error(): an empty text means that nothing was wrong.
 */
#define SIMSCHED_K_IDLE (-1)
#define SIMSCHED_K_STOPPER (-2)
#define SIMSCHED_K_DEAD (-1000)

/* One entry for each CPU in core, cluster, llc and node. cluster may be null: then a core is a cluster. */
struct simsched_k_machine {
	int cpus;
	int nodes;
	int smt;              /* threads of a core */
	int reclaim;          /* distance above which nodes are far; 0: 30 */
	int parts;            /* 1: nodes are parts of packages, of which there is no level of domains then */
	const int *core;
	const int *cluster;
	const int *llc;
	const int *node;
	const int *distance;  /* nodes * nodes, 10 on the diagonal */
};

/* What the kernel asked of the rest of the machine during the calls since the last reset(). */
enum simsched_k_event_kind {
	SIMSCHED_K_IPI = 1,          /* cpu gets a reschedule interrupt */
	SIMSCHED_K_CALL = 2,         /* cpu gets an interrupt for its list of calls: calls(cpu) */
	SIMSCHED_K_POLL = 3,         /* cpu is idle and polls: it sees its flag without an interrupt; then calls(cpu), schedule(cpu) */
	SIMSCHED_K_SOFTIRQ = 4,      /* softirq number arg is pending on cpu: softirq(cpu) */
	SIMSCHED_K_STOP = 5,         /* cpu got work for its stopper: schedule(cpu) gives the stopper, then stop(cpu) */
	SIMSCHED_K_TIMER = 6,        /* timer arg was started on cpu for the time when: timer(cpu, arg) */
	SIMSCHED_K_TIMER_CANCEL = 7, /* timer arg was cancelled */
	SIMSCHED_K_MIGRATE = 8,      /* task went from cpu to CPU arg */
	SIMSCHED_K_SWITCH = 9,       /* cpu switched from task to task arg */
	SIMSCHED_K_GONE = 10,        /* task is dead and its id may be used again */
	SIMSCHED_K_TASK_WORK = 11,   /* task has work to do before it returns to user mode: work(cpu) */
	SIMSCHED_K_SLICE = 14,       /* class level: the slice timer of cpu expires in when ns; if arg is 1, so long after the end of schedule() */
	SIMSCHED_K_LINE = 13,        /* class level: the load of group task was read, or written if arg is 1 */
	SIMSCHED_K_ACCOUNTED = 15,   /* class level: cache-aware scheduling has accounted the runtime of a task */
	SIMSCHED_K_BLOCKED = 12,     /* class level: task, whose dequeue was delayed, has left the queue of cpu */
};

struct simsched_k_event {
	int kind;
	int cpu;
	int task;
	int arg;
	unsigned long long when;
};

/* life */
SIMSCHED_K_API int simsched_k_abi(void);
SIMSCHED_K_API const char *simsched_k_release(void);
/*
 * What the library was built of, as a name and a text: "release", and SHA-256 of the "sources" of the scheduler, of the
 * "configuration" of the tree, compiler included, and of the "shim". Null past the last. May be called before create().
 */
SIMSCHED_K_API const char *simsched_k_built_of(int i, const char **name);
SIMSCHED_K_API int simsched_k_create(const struct simsched_k_machine *machine, unsigned long long seed);
SIMSCHED_K_API void simsched_k_destroy(void);
SIMSCHED_K_API int simsched_k_seed(unsigned long long seed);
SIMSCHED_K_API int simsched_k_time(unsigned long long now, unsigned long long ticks);
SIMSCHED_K_API const char *simsched_k_error(void);
SIMSCHED_K_API void simsched_k_error_clear(void);
SIMSCHED_K_API unsigned long long simsched_k_mem(void);
/* The stub of index i: its name and how often it was called; 0 past the last one. listed: it may be called. */
SIMSCHED_K_API int simsched_k_stubs(int i, const char **name, unsigned long long *calls, int *listed);
/* As the file sched/features takes it: "NAME" or "NO_NAME". */
SIMSCHED_K_API int simsched_k_feature(const char *name);
/* The name of feature i, and whether it is on; -1 past the last. May be called before create(). */
SIMSCHED_K_API int simsched_k_feature_at(int i, const char **name);
/*
 * The numbers that the files of /sys/kernel/debug/sched set: the name and the value of number i; -1 past the last. Before
 * create() the value is that of a machine of one CPU; some depend on how many there are.
 */
SIMSCHED_K_API long long simsched_k_knob_at(int i, const char **name);
SIMSCHED_K_API int simsched_k_knob(int i, unsigned value);
SIMSCHED_K_API int simsched_k_hz(void);

/* tasks */
/* A process, whose threads share memory. Process 0, of kernel threads, is there from the start, and has none. */
SIMSCHED_K_API int simsched_k_proc_new(void);
/*
 * A child of the task that runs on cpu, in process proc (0, or from proc_new), not yet awake. Returns its id. group: 0 is the root.
 * policy: SCHED_NORMAL, SCHED_BATCH or SCHED_IDLE, by the numbers of <linux/sched.h>.
 */
SIMSCHED_K_API int simsched_k_fork(int cpu, int proc, int nice, int group, int policy);
SIMSCHED_K_API int simsched_k_wake_new(int cpu, int task);
/* how: SIMSCHED_K_SYNC, SIMSCHED_K_IRQ (from an interrupt handler). Returns 1 if the task was woken, 0 if it was awake. */
#define SIMSCHED_K_SYNC 1
#define SIMSCHED_K_IRQ 2
SIMSCHED_K_API int simsched_k_wake(int cpu, int task, int how);
/* mask: words of 64 CPUs. A task that runs on a forbidden CPU is moved by a stopper (event STOP). */
SIMSCHED_K_API int simsched_k_affinity(int cpu, int task, const unsigned long *mask, int words);
SIMSCHED_K_API int simsched_k_nice(int cpu, int task, int nice);
SIMSCHED_K_API int simsched_k_yield(int cpu);
/* The running task will sleep: its state is set before schedule() is called, and a wakeup in between is not lost. */
SIMSCHED_K_API int simsched_k_lay_down(int cpu);

/* groups */
SIMSCHED_K_API int simsched_k_group_new(int parent);
SIMSCHED_K_API int simsched_k_group_weight(int group, unsigned long long weight);
SIMSCHED_K_API int simsched_k_group_bandwidth(int group, unsigned long long quota, unsigned long long period);

/* CPU */
#define SIMSCHED_K_PREEMPT 0  /* it stays runnable */
#define SIMSCHED_K_SLEEP 1    /* lay_down() and schedule() in one */
#define SIMSCHED_K_EXIT 2     /* it dies */
#define SIMSCHED_K_FROM_IDLE 3 /* the idle task calls schedule() */
#define SIMSCHED_K_AS_IS 4    /* schedule() after lay_down(): it sleeps if nothing woke it since */
/* Returns the task that runs now. */
SIMSCHED_K_API int simsched_k_schedule(int cpu, int how);
SIMSCHED_K_API int simsched_k_tick(int cpu);
SIMSCHED_K_API int simsched_k_softirq(int cpu);
SIMSCHED_K_API int simsched_k_calls(int cpu);
/* The stopper that runs on cpu does one work. Returns how many are left; at 0 the host calls schedule(cpu, SIMSCHED_K_SLEEP). */
SIMSCHED_K_API int simsched_k_stop(int cpu);
/* A timer expires. Returns 0 if it was cancelled or put off since. */
SIMSCHED_K_API int simsched_k_timer(int cpu, int timer);
/* The running task does its task work. Returns how many there were. */
SIMSCHED_K_API int simsched_k_work(int cpu);
/* The idle loop begins. polls: the CPU polls its flag. tickless: the tick is stopped. */
SIMSCHED_K_API int simsched_k_idle_enter(int cpu, int polls, int tickless);
SIMSCHED_K_API int simsched_k_idle_exit(int cpu);

/* read */
/* 0 no, 1 lazy, 2 now */
SIMSCHED_K_API int simsched_k_resched(int cpu);
SIMSCHED_K_API int simsched_k_curr(int cpu);
SIMSCHED_K_API int simsched_k_nr(int cpu);
SIMSCHED_K_API int simsched_k_task_cpu(int task);
/* 0 not queued, 1 queued, 2 moving, 3 queued with a delayed dequeue */
SIMSCHED_K_API int simsched_k_on_rq(int task);
SIMSCHED_K_API unsigned long long simsched_k_runtime(int task);
SIMSCHED_K_API long long simsched_k_vruntime(int task);
/* util_avg of the fair runqueue of cpu. */
SIMSCHED_K_API unsigned long simsched_k_util(int cpu);
/* Domain of the given level above cpu: its name, how many CPUs, its flags; 0 past the last. */
SIMSCHED_K_API int simsched_k_domain(int cpu, int level, const char **name, unsigned *flags, int *groups);

/* what happened */
SIMSCHED_K_API int simsched_k_events(const struct simsched_k_event **first);
/* CPUs whose runqueues fair.c looked at, and whose runqueue locks were taken, since the last reset(): each once, in the order of the first time. */
SIMSCHED_K_API int simsched_k_touched(const int **cpus);
SIMSCHED_K_API int simsched_k_locked(const int **cpus);
struct simsched_k_counts {
	unsigned long long runqueues;    /* looks at a runqueue, repeated ones too */
	unsigned long long idle_checks;  /* available_idle_cpu() */
	unsigned long long locks;        /* of runqueues */
	unsigned long long clocks;       /* sched_clock_cpu() in fair.c */
	unsigned long long shared_adds;  /* atomic additions to a long, as to the load of a group */
	unsigned long long shared_reads; /* atomic reads of a long */
};
SIMSCHED_K_API const struct simsched_k_counts *simsched_k_counts(void);
/* Forgets events, touched and locked CPUs and counts. */
SIMSCHED_K_API void simsched_k_reset(void);

/*
 * Calls during which time passes. start() runs a call on a stack of its own (slot 0 to 2047) until it ends or is suspended,
 * resume() goes on with it. Both return SIMSCHED_K_DONE or where it waits. Between, the host may make other calls,
 * but on a CPU whose call is suspended only what an interrupt would do. A call that is not started so and meets a lock
 * of a suspended one is an error (BUG). Tasks and groups that a suspended call may look at must stay.
 */
#define SIMSCHED_K_DONE 0
#define SIMSCHED_K_WAITS_LOCK 1    /* before the lock of the runqueue of slot_cpu(), with no other one held */
#define SIMSCHED_K_WAITS_CLOCK 2   /* before fair.c reads the clock */
#define SIMSCHED_K_WAITS_LOOK 3    /* before fair.c looks at the runqueue of slot_cpu(), each so many looks, with no lock of a runqueue held */
#define SIMSCHED_K_WAITS_SWITCH 4  /* in the switch, with the runqueue locked */
#define SIMSCHED_K_WAITS_SPIN 5    /* it spins until another suspended call goes on */
#define SIMSCHED_K_WAITS_PASS 6    /* AT_PASS: before a pass reads what look() names */
#define SIMSCHED_K_WAITS_ACTED 7 /* AT_PASS: it has attached tasks to a runqueue, whose lock is free again, or called a stopper */
/* Where to suspend: bits; look_every 0: never at looks. SPIN is always on. */
#define SIMSCHED_K_AT_LOCK 1
#define SIMSCHED_K_AT_CLOCK 2
#define SIMSCHED_K_AT_SWITCH 4
/*
 * Where a pass of the load balancer would let time pass: PASS, ACTED. Then AT_LOCK leaves out the locks at which nothing
 * is waited for: of its own runqueue at the end of a balance before idle, and of that whose stopper it calls.
 */
#define SIMSCHED_K_AT_PASS 8
SIMSCHED_K_API int simsched_k_suspend_at(unsigned where, int look_every);
/* a and b are the arguments after cpu of the function of the same name. */
enum simsched_k_op {
	SIMSCHED_K_OP_SCHEDULE = 1, SIMSCHED_K_OP_WAKE, SIMSCHED_K_OP_WAKE_NEW, SIMSCHED_K_OP_TICK, SIMSCHED_K_OP_SOFTIRQ,
	SIMSCHED_K_OP_CALLS, SIMSCHED_K_OP_STOP, SIMSCHED_K_OP_TIMER, SIMSCHED_K_OP_WORK, SIMSCHED_K_OP_IDLE_ENTER,
	SIMSCHED_K_OP_NICE, SIMSCHED_K_OP_PICK, SIMSCHED_K_OP_SELECT, SIMSCHED_K_OP_NEWIDLE,
};
SIMSCHED_K_API int simsched_k_start(int slot, int op, int cpu, long a, long b);
SIMSCHED_K_API int simsched_k_resume(int slot);
SIMSCHED_K_API int simsched_k_slot_cpu(int slot);
/* What the function returned, once start() or resume() said SIMSCHED_K_DONE. */
SIMSCHED_K_API long simsched_k_result(int slot);

/*
 * The level of the scheduling class: the host has its own wakeup, schedule() and switch, and asks the fair class.
 * A library is used either so or by the calls above, not by both, except for create(), fork(), groups and reading.
 * clock() comes before each call that belongs to cpu. Functions that may ask for a reschedule return 0 no, 1 lazy, 2 now,
 * and 0 if the flag was set before.
 */
SIMSCHED_K_API int simsched_kp_clock(int cpu, unsigned long long clock, unsigned long long clock_task, unsigned long long ticks);
/* The CPU for a task: cpu is the one that runs the waker. Flags: */
#define SIMSCHED_KP_FORK 1
#define SIMSCHED_KP_EXEC 2
#define SIMSCHED_KP_SYNC 4
#define SIMSCHED_KP_IRQ 8      /* the waker is an interrupt handler */
SIMSCHED_K_API int simsched_kp_select(int cpu, int task, int flags);
/* The task, which is not queued, belongs to CPU to from now on. */
SIMSCHED_K_API int simsched_kp_migrate(int cpu, int task, int to);
#define SIMSCHED_KP_WAKEUP 0
#define SIMSCHED_KP_NEW 1      /* first time */
#define SIMSCHED_KP_MOVED 2    /* after a dequeue with SIMSCHED_KP_MOVED */
#define SIMSCHED_KP_DELAYED 3  /* it was woken while its dequeue was delayed */
/* from: the CPU that makes the call. */
SIMSCHED_K_API int simsched_kp_enqueue(int cpu, int task, int why, int from);
#define SIMSCHED_KP_SLEEP 0
#define SIMSCHED_KP_EXIT 1
/* Returns 1 if the dequeue is delayed, else 0. */
SIMSCHED_K_API int simsched_kp_dequeue(int cpu, int task, int why);
/*
 * Puts the running task of cpu and takes the next one, which runs from now on.
 * SIMSCHED_K_IDLE: there is none, and nothing has changed; idle() follows. newidle: balance before that.
 */
SIMSCHED_K_API int simsched_kp_pick(int cpu, int newidle);
SIMSCHED_K_API int simsched_kp_idle(int cpu);
/* Puts the running task of cpu, whose stopper runs from now on, until pick() or idle(). */
SIMSCHED_K_API int simsched_kp_stopper(int cpu);
/* The averages of the queues of cpu are brought to its clock, as a pass does before it looks at them. */
SIMSCHED_K_API int simsched_kp_age(int cpu);
/* Balancing before cpu becomes idle, apart from pick(). Returns 1 if there is something to pick now. */
SIMSCHED_K_API int simsched_kp_newidle(int cpu);
/* The load that the queues of cpu stand for is noted, once in a jiffy, as whoever weighs a task of theirs does. */
SIMSCHED_K_API int simsched_kp_weigh(int cpu);
/* A dead task that was switched out is forgotten. */
SIMSCHED_K_API int simsched_kp_dead(int cpu, int task);
/* Does the task that was just enqueued on cpu preempt the one that runs there? how: SIMSCHED_KP_FORK, SIMSCHED_KP_SYNC. */
SIMSCHED_K_API int simsched_kp_preempt(int cpu, int task, int how);
/* The end of a wakeup on cpu: how long it was idle. */
SIMSCHED_K_API int simsched_kp_woken(int cpu, int task);
SIMSCHED_K_API int simsched_kp_tick(int cpu);
/*
 * The slice timer of cpu (hrtick): events SLICE, and TIMER_CANCEL with cpu + 1 as the number of the timer. Another CPU
 * starts it by event CALL. slices() says whether it is in use; slice(): it expires.
 */
SIMSCHED_K_API int simsched_kp_slices(void);
SIMSCHED_K_API int simsched_kp_slice(int cpu);
/* What the tick asks of the balancer: event SOFTIRQ, event CALL. */
SIMSCHED_K_API int simsched_kp_trigger(int cpu);
SIMSCHED_K_API int simsched_kp_yield(int cpu);
SIMSCHED_K_API int simsched_kp_nice(int cpu, int task, int nice);
/*
 * Balance passes at this level are softirq(), idle_enter(), calls(), stop() and newidle(), best as suspended calls.
 * They move tasks by themselves: events MIGRATE. stop() runs the work of event STOP; the library's own stopper stays asleep.
 */
/*
 * What a call waits for at SIMSCHED_K_WAITS_PASS. Returns how many groups are summed up, and puts their CPUs into mask, of
 * so many words of 64; 0: it reads the runqueue of slot_cpu() only.
 */
SIMSCHED_K_API int simsched_kp_look(int slot, unsigned long *mask, int words);
/*
 * The CPUs at which select() or the task work work() has looked since the last reset(), each time that it did; how many groups it has summed up,
 * and whether it has compared the waker's CPU with the previous one. Returns how many looks that were.
 */
SIMSCHED_K_API int simsched_kp_looked(const int **cpus, int *groups, int *affine);
/*
 * The machine has been up and idle for long: balances of domains have found nothing, so that their intervals are the longest,
 * and the next one of an idle CPU is due.
 */
SIMSCHED_K_API int simsched_kp_up(void);
/*
 * The next random number of the balances before idle of cpu. Returns how many wait there now, and does nothing else if that
 * are SIMSCHED_KP_RANDOMS already. Where none waits, the library draws one itself.
 */
#define SIMSCHED_KP_RANDOMS 16
SIMSCHED_K_API int simsched_kp_random(int cpu, unsigned number);
SIMSCHED_K_API int simsched_kp_randoms(int cpu);
/* The tick of cpu, which is idle, has been stopped. */
SIMSCHED_K_API int simsched_kp_tick_stopped(int cpu);
/* The CPUs of the domain of the given level above cpu, into so many words of 64; negative past the last. */
SIMSCHED_K_API int simsched_kp_span(int cpu, int level, unsigned long *mask, int words);
/* Mirrors of the host's state. */
SIMSCHED_K_API int simsched_kp_affinity(int task, const unsigned long *mask, int words);
SIMSCHED_K_API int simsched_kp_pending(int cpu, int pending);  /* wakeups are on the list of cpu */
SIMSCHED_K_API int simsched_kp_flag(int cpu, int level);       /* the reschedule flag of the running task: 0, 1, 2 */
SIMSCHED_K_API int simsched_kp_polls(int cpu, int polls);      /* the idle task of cpu polls */
/* It is on a CPU, as who was put there is until the switch away from it is over; pick(), idle() and stopper() clear that. */
SIMSCHED_K_API int simsched_kp_on_cpu(int task, int on_cpu);
SIMSCHED_K_API int simsched_kp_exiting(int task);              /* it dies: a wakeup by it is not synchronous */
/* by: the stopper of cpu counts from now on (1), or no longer (-1), beside the tasks that are queued. */
SIMSCHED_K_API int simsched_kp_count(int cpu, int by);
/* by: likewise, who has left and is counted still. */
SIMSCHED_K_API int simsched_kp_leaving(int cpu, int by);
/* Since when cpu has had nothing to run, on its clock; 0: it has, or had when last asked. A balance before idle sets it. */
SIMSCHED_K_API int simsched_kp_idle_since(int cpu, unsigned long long clock);
/* How often task, or the idle task of cpu, has changed whom it wakes, and the tick in which that was halved last. */
SIMSCHED_K_API int simsched_kp_flips(int cpu, int task, unsigned flips, unsigned long long ticks);
/* The idle state of cpu: its exit latency in us, -1: it is in none, or none is known. */
SIMSCHED_K_API int simsched_kp_idle_state(int cpu, int exit_latency);
/* How many CPUs a search for an idle one may look at behind the LLC of cpu, as the last pass has left it (SIS_UTIL). */
SIMSCHED_K_API int simsched_kp_idle_scan(int cpu, int nr);
/* Whether affinity has kept the group of cpu, in the domain of this level above it, from balancing, as the last pass has left it. */
SIMSCHED_K_API int simsched_kp_imbalance(int cpu, int level, int imbalance);
/* A task from fork(), which was never queued, has slept on cpu for so long that its averages are nothing. */
SIMSCHED_K_API int simsched_kp_asleep(int cpu, int task);
/* The CPU whose LLC the process prefers (cache-aware scheduling); -1: it prefers none, or the tree has none of that. */
SIMSCHED_K_API int simsched_kp_prefers(int proc);
struct simsched_kp_task_state {
	long long vruntime;
	long long deadline;      /* 0 where the kernel has none */
	unsigned long long runtime;
	unsigned long util_avg, load_avg, runnable_avg;
	int cpu, on_rq, delayed;
	unsigned wakee_flips;    /* how often it has changed whom it wakes */
};
struct simsched_kp_cpu_state {
	long long mean_vruntime; /* the weighted mean where the kernel keeps one, else min_vruntime */
	unsigned long util_avg, load_avg, runnable_avg;
	unsigned long h_load;    /* as noted when a task of it was weighed first in a jiffy */
	unsigned long long avg_idle;
	int nr_running, curr;
};
SIMSCHED_K_API int simsched_kp_task(int task, struct simsched_kp_task_state *state);
SIMSCHED_K_API int simsched_kp_cpu(int cpu, struct simsched_kp_cpu_state *state);

#ifdef __cplusplus
}
#endif
#endif
