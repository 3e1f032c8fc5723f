/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The level of the scheduling class: the host does the wakeup, schedule() and the switch, and asks the fair class. */
#include "rq.h"
#include "kernel/sched/pelt.h"

extern void post_init_entity_util_avg(struct task_struct *p);

/* Each of these pairs has one of its two names. */
extern void wakeup_preempt(struct rq *rq, struct task_struct *p, int flags) __attribute__((weak));
extern void check_preempt_curr(struct rq *rq, struct task_struct *p, int flags) __attribute__((weak));
extern void sched_balance_trigger(struct rq *rq) __attribute__((weak));
extern void trigger_load_balance(struct rq *rq) __attribute__((weak));

/* Trees that have extensible scheduling have delayed dequeues, and no estimate of idle time for wakeups. */
#if __has_include(<linux/sched/ext.h>)
#define DELAYED(p) ((p)->se.sched_delayed)
#define HALVE_WAKE_IDLE(rq) do { } while (0)
#else
#define DELAYED(p) 0
#define HALVE_WAKE_IDLE(rq) do { (rq)->wake_stamp = jiffies; (rq)->wake_avg_idle = (rq)->avg_idle / 2; } while (0)
#endif

/* Tasks that went to another CPU between the choice of a CPU and the enqueue. */
static bool migrated[SIMSCHED_TASKS];

/* The host has set the clock of the queue, so it counts as up to date. */
static struct rq *take(int cpu, struct rq_flags *rf)
{
	struct rq *rq = cpu_rq(cpu);

	rq_lock(rq, rf);
	rq->clock_update_flags |= RQCF_UPDATED;
	return rq;
}

static int answer(int cpu, int before)
{
	int after = simsched_k_resched(cpu);

	return after > before ? after : 0;
}

int simsched_kp_clock(int cpu, unsigned long long clock, unsigned long long clock_task, unsigned long long ticks)
{
	struct rq *rq = cpu_rq(cpu);
	u64 delta = clock_task - rq->clock_task;

	simsched_k_time(clock, ticks);
	rq->clock = clock;
	if (clock_task > rq->clock_task) {
		rq->clock_task = clock_task;
		update_rq_clock_pelt(rq, delta);
	}
	return 0;
}

int simsched_kp_select(int cpu, int id, int flags)
{
	struct task_struct *p = simsched_task(id);
	unsigned offset = flags & SIMSCHED_KP_IRQ ? HARDIRQ_OFFSET : 0;
	int to;

	SIMSCHED_ENTER(cpu);
	if (!p)
		return -ESRCH;
	if (flags & SIMSCHED_KP_FORK) {
		WRITE_ONCE(p->__state, TASK_RUNNING);
		p->recent_used_cpu = task_cpu(p);
	} else if (!(flags & SIMSCHED_KP_EXEC)) {
		WRITE_ONCE(p->__state, TASK_WAKING);
	}
	__preempt_count_add(offset);
	to = simsched_core_select(p, task_cpu(p), flags & SIMSCHED_KP_FORK ? WF_FORK : flags & SIMSCHED_KP_EXEC ? WF_EXEC :
				  WF_TTWU | (flags & SIMSCHED_KP_SYNC ? WF_SYNC : 0));
	__preempt_count_sub(offset);
	return to;
}

int simsched_kp_migrate(int cpu, int id, int to)
{
	struct task_struct *p = simsched_task(id);

	SIMSCHED_ENTER(cpu);
	if (!p)
		return -ESRCH;
	if (!p->se.sum_exec_runtime && !p->on_rq && !p->se.avg.last_update_time)
		__set_task_cpu(p, to);
	else
		set_task_cpu(p, to);
	migrated[id] = true;
	return 0;
}

#ifndef ENQUEUE_INITIAL
#define ENQUEUE_INITIAL 0
#endif

int simsched_kp_enqueue(int cpu, int id, int why)
{
	struct task_struct *p = simsched_task(id);
	int before = simsched_k_resched(cpu), flags = ENQUEUE_NOCLOCK;
	struct rq_flags rf;
	struct rq *rq;

	SIMSCHED_ENTER(cpu);
	if (!p || task_cpu(p) != cpu)
		return -EINVAL;
	rq = take(cpu, &rf);
	switch (why) {
	case SIMSCHED_KP_WAKEUP:
		flags |= ENQUEUE_WAKEUP | (migrated[id] ? ENQUEUE_MIGRATED : 0);
		break;
	case SIMSCHED_KP_NEW:
		post_init_entity_util_avg(p);
		flags |= ENQUEUE_INITIAL;
		break;
	}
	if (why == SIMSCHED_KP_DELAYED)
		simsched_core_requeue(rq, p);
	else
		activate_task(rq, p, flags);
	migrated[id] = false;
	WRITE_ONCE(p->__state, TASK_RUNNING);
	rq_unlock(rq, &rf);
	return answer(cpu, before);
}

int simsched_kp_dequeue(int cpu, int id, int why)
{
	struct task_struct *p = simsched_task(id);
	struct rq_flags rf;
	struct rq *rq;

	SIMSCHED_ENTER(cpu);
	if (!p || task_cpu(p) != cpu || !p->on_rq)
		return -EINVAL;
	rq = take(cpu, &rf);
	if (why == SIMSCHED_KP_MOVED) {
		deactivate_task(rq, p, DEQUEUE_NOCLOCK);
	} else {
		WRITE_ONCE(p->__state, why == SIMSCHED_KP_EXIT ? TASK_DEAD : TASK_INTERRUPTIBLE);
		simsched_core_block(rq, p, why == SIMSCHED_KP_EXIT);
	}
	rq_unlock(rq, &rf);
	return p->on_rq && DELAYED(p);
}

static void run(int cpu, struct rq *rq, struct task_struct *prev, struct task_struct *next)
{
	clear_tsk_need_resched(prev);
	rcu_assign_pointer(rq->curr, next);
	if (next != prev) {
		WRITE_ONCE(prev->on_cpu, 0);
		WRITE_ONCE(next->on_cpu, 1);
	}
	raw_cpu_write(simsched_current, next);
}

int simsched_kp_pick(int cpu, int newidle)
{
	struct rq_flags rf;
	struct rq *rq;
	struct task_struct *prev, *next;

	SIMSCHED_ENTER(cpu);
	prev = current;
	rq = take(cpu, &rf);
	do {
		next = pick_next_task_fair(rq, prev, newidle ? &rf : NULL);
	} while (next == RETRY_TASK);
	if (next)
		run(cpu, rq, prev, next);
	rq_unlock(rq, &rf);
	return next ? simsched_id(next) : SIMSCHED_K_IDLE;
}

int simsched_kp_idle(int cpu)
{
	struct rq_flags rf;
	struct rq *rq;
	struct task_struct *prev;

	SIMSCHED_ENTER(cpu);
	prev = current;
	rq = take(cpu, &rf);
	put_prev_task(rq, prev);
	run(cpu, rq, prev, rq->idle);
	set_next_task(rq, rq->idle);
	rq_unlock(rq, &rf);
	return 0;
}

int simsched_kp_dead(int cpu, int id)
{
	struct task_struct *p = simsched_task(id);

	SIMSCHED_ENTER(cpu);
	if (!p || p->on_rq || p->on_cpu)
		return -EINVAL;
	if (p->sched_class->task_dead)
		p->sched_class->task_dead(p);
	put_task_struct_rcu_user(p);
	return 0;
}

int simsched_kp_preempt(int cpu, int id, int how)
{
	struct task_struct *p = simsched_task(id);
	int before = simsched_k_resched(cpu), flags = WF_TTWU;
	struct rq_flags rf;
	struct rq *rq;

	SIMSCHED_ENTER(cpu);
	if (!p)
		return -ESRCH;
	if (how & SIMSCHED_KP_FORK)
		flags = WF_FORK;
	else if (how & SIMSCHED_KP_SYNC)
		flags |= WF_SYNC;
	rq = take(cpu, &rf);
	if (wakeup_preempt)
		wakeup_preempt(rq, p, flags);
	else
		check_preempt_curr(rq, p, flags);
	rq_unlock(rq, &rf);
	return answer(cpu, before);
}

int simsched_kp_woken(int cpu, int id)
{
	struct rq *rq = cpu_rq(cpu);
	u64 most = 2 * rq->max_idle_balance_cost;
	s64 diff;

	if (!rq->idle_stamp)
		return 0;
	diff = rq->clock - rq->idle_stamp - rq->avg_idle;
	rq->avg_idle += diff / 8;
	rq->avg_idle = min(rq->avg_idle, most);
	HALVE_WAKE_IDLE(rq);
	rq->idle_stamp = 0;
	return 0;
}

int simsched_kp_tick(int cpu)
{
	int before = simsched_k_resched(cpu);
	struct rq_flags rf;
	struct rq *rq;

	SIMSCHED_ENTER(cpu);
	rq = take(cpu, &rf);
	current->sched_class->task_tick(rq, current, 0);
	rq_unlock(rq, &rf);
	return answer(cpu, before);
}

int simsched_kp_trigger(int cpu)
{
	struct rq *rq = cpu_rq(cpu);

	SIMSCHED_ENTER(cpu);
	rq->idle_balance = idle_cpu(cpu);
	if (sched_balance_trigger)
		sched_balance_trigger(rq);
	else
		trigger_load_balance(rq);
	return 0;
}

int simsched_kp_yield(int cpu)
{
	struct rq_flags rf;
	struct rq *rq;

	SIMSCHED_ENTER(cpu);
	rq = take(cpu, &rf);
	current->sched_class->yield_task(rq);
	rq_unlock(rq, &rf);
	return 0;
}

int simsched_kp_nice(int cpu, int id, int nice)
{
	struct task_struct *p = simsched_task(id);
	int before;

	SIMSCHED_ENTER(cpu);
	if (!p)
		return -ESRCH;
	before = simsched_k_resched(task_cpu(p));
	set_user_nice(p, nice);
	return answer(task_cpu(p), before);
}
