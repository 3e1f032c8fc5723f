/* SPDX-License-Identifier: MIT */
/* The tree's core.c, and what needs its static functions. */
/* The tree's core.c has these functions itself; headers that come before it must not. */
#define INSTANTIATE_EXPORTED_MIGRATE_DISABLE
#include <linux/sched.h>
#include <linux/mm.h>
#include <trace/events/sched.h>
#include "state.h"

#define trace_sched_migrate_task(p, cpu) simsched_migrated(p, cpu)
#define trace_sched_wake_idle_without_ipi(cpu) simsched_polled(cpu)

#include "kernel/sched/core.c"

/* Brings up the scheduler on all CPUs, as the boot of a machine does. */
void simsched_core_boot(void)
{
	simsched_rq_lock = (unsigned long)__rq_lockp(cpu_rq(0)) - simsched_percpu_base;
	sched_init();
	system_state = SYSTEM_SCHEDULING;
	for (int cpu = 0; cpu < simsched_cpus; cpu++) {
		simsched_set_cpu(cpu);
		if (cpu)
			raw_cpu_write(simsched_current, &init_task);
		sched_cpu_starting(cpu);
		sched_cpu_activate(cpu);
	}
	simsched_set_cpu(0);
	for (int cpu = 0; cpu < simsched_cpus; cpu++)
		simsched_slice_timer(&cpu_rq(cpu)->hrtick_timer);
	simsched_tasks_boot();
	system_state = SYSTEM_RUNNING;
}

void simsched_core_seed(unsigned long long seed)
{
	for (int cpu = 0; cpu < simsched_cpus; cpu++)
		prandom_seed_state(per_cpu_ptr(&sched_rnd_state, cpu), seed + 0x9e3779b97f4a7c15ull * (cpu + 1));
}

static void move_to(struct task_struct *p, struct task_group *tg)
{
	p->sched_task_group = tg;
	set_task_rq(p, smp_processor_id());
}

/*
 * What starts without a parent is forked by the idle task, which no machine does: it stands for somebody of the group, in
 * whose queue task_fork_fair() places the child.
 */
void simsched_core_fork(struct task_struct *p, int group, int policy)
{
	struct kernel_clone_args args = { .cset = simsched_css(group) };
	bool stands_for = is_idle_task(current);

	if (stands_for)
		move_to(current, simsched_group(group));
	p->prio = p->normal_prio = p->static_prio;
	p->policy = policy;
	set_load_weight(p, false);
	sched_fork(0, p);
	p->prio = p->normal_prio;
	sched_cgroup_fork(p, &args);
	if (stands_for)
		move_to(current, simsched_group(0));
	sched_post_fork(p);
}

int simsched_core_wake(struct task_struct *p, int sync)
{
	return try_to_wake_up(p, TASK_NORMAL, sync ? WF_SYNC : 0);
}

/* The flags are passed by value in some versions and by address in others. */
int simsched_core_select(struct task_struct *p, int cpu, int flags)
{
	int (*select)(struct task_struct *, int, void *) = (void *)select_task_rq;

	if (__builtin_types_compatible_p(typeof(&select_task_rq), int (*)(struct task_struct *, int, int)))
		return select(p, cpu, (void *)(long)flags);
	return select(p, cpu, &flags);
}

/*
 * The slice timer of a CPU, where the host has its own schedule(). Newer trees arm it at the end of schedule(), older ones
 * stop it at its beginning.
 */
static bool scheduling[SIMSCHED_CPUS];

void simsched_core_schedule_begins(void *of)
{
	struct rq *rq = of;

	if (scheduling[cpu_of(rq)])
		return;
	scheduling[cpu_of(rq)] = true;
#ifdef SIMSCHED_HAS_HRTICK_EXIT
	hrtick_schedule_enter(rq);
#else
	if (sched_feat(HRTICK))
		hrtick_clear(rq);
#endif
}

void simsched_core_schedule_ends(void *of)
{
	struct rq *rq = of;
#ifdef SIMSCHED_HAS_HRTICK_EXIT
	bool starts = rq->hrtick_sched & HRTICK_SCHED_START;
#endif

	scheduling[cpu_of(rq)] = false;
#ifdef SIMSCHED_HAS_HRTICK_EXIT
	/* The host arms the timer: when schedule() is over is known there. A request of another CPU is older then. */
	if (starts) {
		simsched_slice_after_schedule(&rq->hrtick_timer, rq->hrtick_delay);
		rq->hrtick_time = rq->hrtick_timer.node.expires;
	} else {
		hrtick_schedule_exit(rq);
	}
	rq->hrtick_sched = 0;
#endif
}

/* A task was queued on cpu by another one, which asks for the start of the timer there. */
void simsched_core_start_slice(int cpu, int from)
{
	simsched_set_cpu(from);
	smp_call_function_single_async(cpu, &cpu_rq(cpu)->hrtick_csd);
	simsched_set_cpu(cpu);
}

int simsched_kp_slices(void) { return sched_feat(HRTICK) != 0; }

/* Newer trees are given the state of the task, others flags. */
void simsched_core_block(void *rq, struct task_struct *p, int dead)
{
#ifdef DEQUEUE_SPECIAL
	if (__builtin_types_compatible_p(typeof(&block_task), void (*)(struct rq *, struct task_struct *, unsigned long)))
		block_task(rq, p, READ_ONCE(p->__state));
	else
		block_task(rq, p, DEQUEUE_NOCLOCK | (dead ? DEQUEUE_SPECIAL : 0));
#else
	deactivate_task(rq, p, DEQUEUE_SLEEP | DEQUEUE_NOCLOCK);
#endif
}

void simsched_core_requeue(void *rq, struct task_struct *p)
{
#ifdef ENQUEUE_DELAYED
	enqueue_task(rq, p, ENQUEUE_NOCLOCK | ENQUEUE_DELAYED);
#endif
}

int simsched_core_bandwidth(void *group, unsigned long long quota, unsigned long long period)
{
	return tg_set_cfs_bandwidth(group, period, quota ? quota : RUNTIME_INF, 0);
}

#ifndef SM_IDLE
#define SM_IDLE SM_NONE
#endif

/*
 * Where preemption is counted, __schedule() wants to be called with it disabled once, and what follows a switch wants the
 * lock of the runqueue counted on top: simsched_switch_to() does that, since locks are not counted here.
 */
int simsched_core_schedule(int how)
{
	int count = preempt_count();

	switch (how) {
	case SIMSCHED_K_EXIT:
		simsched_exiting(current);
		WRITE_ONCE(current->__state, TASK_DEAD);
		break;
	case SIMSCHED_K_SLEEP:
		WRITE_ONCE(current->__state, TASK_INTERRUPTIBLE);
		break;
	}
	preempt_count_set(PREEMPT_DISABLE_OFFSET);
	__schedule(how == SIMSCHED_K_PREEMPT ? SM_PREEMPT : how == SIMSCHED_K_FROM_IDLE ? SM_IDLE : SM_NONE);
	preempt_count_set(count);
	return simsched_id(current);
}
