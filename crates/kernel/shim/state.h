/* SPDX-License-Identifier: MIT */
/* What the files of the shim share. It is read with and without the kernel's headers, so it uses plain C types only. */
#ifndef SIMSCHED_STATE_H
#define SIMSCHED_STATE_H

#include "simsched_kernel.h"

#define SIMSCHED_CPUS 512
#define SIMSCHED_TASKS (1 << 20)

struct task_struct;

/* libc.c */
extern void *simsched_map(unsigned long bytes);
extern void simsched_unmap_all(void);
extern unsigned long long simsched_mapped;
extern void simsched_warn(const char *file, int line, const char *format, ...);
extern void simsched_bug(const char *file, int line, const char *what) __attribute__((noreturn));
extern void simsched_fail(const char *text);
extern int simsched_dead;
extern void *simsched_jump[8];

/* Begins each function that the host calls: BUG comes back to here. */
#define SIMSCHED_ENTER(cpu)                              \
	do {                                             \
		if (simsched_dead)                       \
			return SIMSCHED_K_DEAD;          \
		if (__builtin_setjmp(simsched_jump))     \
			return SIMSCHED_K_DEAD;          \
		simsched_set_cpu(cpu);                   \
		if (simsched_rcu_waits && !simsched_suspended)                  \
			simsched_run_rcu();              \
	} while (0)

/* memory.c */
extern void *simsched_alloc(unsigned long bytes);
extern void simsched_free(void *p);
extern void simsched_percpu_create(int cpus);
extern unsigned long __per_cpu_offset[];
extern unsigned long simsched_cpu_offset;
extern int simsched_cpu;
static inline void simsched_set_cpu(int cpu)
{
	simsched_cpu = cpu;
	simsched_cpu_offset = __per_cpu_offset[cpu];
}

/* events.c */
extern void simsched_event(int kind, int cpu, int task, int arg, unsigned long long when);
extern unsigned long long simsched_now;
extern int simsched_cpus;
extern struct simsched_k_counts simsched_counts;
extern unsigned simsched_epoch, simsched_touch_mark[], simsched_lock_mark[];
extern void simsched_first_touch(int cpu);
extern void simsched_first_lock(int cpu);
extern void simsched_looks(int cpu, int once);
extern int simsched_random(int cpu, unsigned *number);
extern int simsched_groups, simsched_affine, simsched_searches;

/* suspend.c */
extern int simsched_in_slot, simsched_suspended;
extern void simsched_abandon(void) __attribute__((noreturn));
extern void simsched_before_lock(int cpu);
extern void simsched_after_lock(int cpu, unsigned *lock);
extern void simsched_relax(void);
extern void simsched_at_look(int cpu);
extern void simsched_at_clock(void);
extern void simsched_at_switch(void);
extern void simsched_at_sum(int cpu, int sums);
extern void simsched_at_one(int cpu);
extern void simsched_at_domain(void *domain);
extern void simsched_at_acted(void);
extern void simsched_lock_at_once(int at_once);

static inline __attribute__((always_inline)) void simsched_touch(int cpu)
{
	if (simsched_in_slot)
		simsched_at_look(cpu);
	simsched_counts.runqueues++;
	if (simsched_touch_mark[cpu] != simsched_epoch)
		simsched_first_touch(cpu);
}

/* locks.c: where the lock of a runqueue lies in the per-CPU area of its CPU */
extern unsigned long simsched_percpu_base, simsched_percpu_unit, simsched_percpu_bytes, simsched_rq_lock;

/* tasks.c */
extern int simsched_id(struct task_struct *p);
extern struct task_struct *simsched_task(int id);
extern struct task_struct *simsched_clone(struct task_struct *parent, int pid, int proc);
extern void simsched_tasks_create(void);
extern void simsched_tasks_boot(void);
extern void *simsched_css(int group);
extern void simsched_exiting(struct task_struct *p);

/* mm.c */
extern void *simsched_mm_new(void);
extern void simsched_mm_enter(struct task_struct *p, void *mm);
extern void simsched_mm_leave(struct task_struct *p);
extern int simsched_mm_prefers(void *mm);

extern struct task_struct *simsched_idle(int cpu);
extern struct task_struct *simsched_stopper(int cpu);
extern void *simsched_group(int group);

/* timers.c */
struct hrtimer;
extern int simsched_from;
extern void simsched_slice_timer(struct hrtimer *timer);
extern void simsched_slice_after_schedule(struct hrtimer *timer, unsigned long long delay);

/* class.c: the host asks at the level of the class, and has stoppers of its own */
extern int simsched_class_level;
extern void simsched_blocked(struct task_struct *p);

/* remote.c */
extern int simsched_rcu_waits;
extern void simsched_run_rcu(void);
extern void simsched_migrated(struct task_struct *p, int to);
extern void simsched_polled(int cpu);

/* functions of the wrappers around the tree's files */
extern void simsched_core_boot(void);
extern int simsched_core_schedule(int how);
extern void simsched_clock_stable(void);
extern void simsched_without_package(void);
extern void simsched_core_seed(unsigned long long seed);
extern int simsched_set_feature(char *name);
extern void simsched_line(const void *at, int writes);
extern void simsched_core_fork(struct task_struct *p, int group, int policy);
extern int simsched_core_wake(struct task_struct *p, int sync);
extern int simsched_fair_newidle(void *rq, void *rf);
extern int simsched_fair_look(void *domain, unsigned long *mask, int words);
extern void simsched_fair_up(void);
extern void simsched_fair_age(int cpu);
extern void simsched_fair_weigh(int cpu);
extern int simsched_core_select(struct task_struct *p, int cpu, int flags);
extern void simsched_core_schedule_begins(void *rq);
extern void simsched_core_schedule_ends(void *rq);
extern void simsched_core_start_slice(int cpu, int from);
extern void simsched_core_block(void *rq, struct task_struct *p, int dead);
extern void simsched_core_requeue(void *rq, struct task_struct *p);
extern int simsched_core_bandwidth(void *group, unsigned long long quota, unsigned long long period);

/* text.c */
extern void simsched_seed_random(unsigned long long seed);

#endif
