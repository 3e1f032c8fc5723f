/* SPDX-License-Identifier: MIT */
/* The level of the scheduling class, what concerns a task: the choice of a CPU, the way into a queue and out of it, preemption by it. */
#include "rq.h"
#include "class.h"
#include "kernel/sched/pelt.h"

extern void post_init_entity_util_avg(struct task_struct *p);

/* This pair has one of its two names. */
extern void wakeup_preempt(struct rq *rq, struct task_struct *p, int flags) __attribute__((weak));
extern void check_preempt_curr(struct rq *rq, struct task_struct *p, int flags) __attribute__((weak));

int simsched_class_level;

/* Tasks that went to another CPU between the choice of a CPU and the enqueue. */
static bool migrated[SIMSCHED_TASKS];

int simsched_kp_clock(int cpu, unsigned long long clock, unsigned long long clock_task, unsigned long long ticks)
{
	struct rq *rq = cpu_rq(cpu);
	u64 delta = clock_task > rq->clock_task ? clock_task - rq->clock_task : 0;
	bool moved = clock != rq->clock;
	u64 irq;

	simsched_class_level = 1;
	simsched_k_time(clock, ticks);
	irq = clock - rq->clock;
	rq->clock = clock;
	rq->clock_task += delta;
	rq->clock_update_flags |= RQCF_UPDATED;
	irq = moved && irq > delta ? irq - delta : 0;
	if (irq && sched_feat(NONTASK_CAPACITY))
		update_irq_load_avg(rq, irq);
	/* Interrupts may have taken all the time: an idle CPU notes its clock all the same. */
	if (moved || delta)
		update_rq_clock_pelt(rq, delta);
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
	/* The host asks for no choice where there is none. */
	if (!p->on_rq && READ_ONCE(p->__state) == TASK_INTERRUPTIBLE)
		WRITE_ONCE(p->__state, TASK_WAKING);
	if (!p->se.sum_exec_runtime && !p->on_rq && !p->se.avg.last_update_time)
		__set_task_cpu(p, to);
	else
		set_task_cpu(p, to);
	migrated[id] = true;
	return 0;
}

int simsched_kp_enqueue(int cpu, int id, int why, int from)
{
	struct task_struct *p = simsched_task(id);
	int before, flags = ENQUEUE_NOCLOCK;
	struct rq_flags rf;
	struct rq *rq;

	SIMSCHED_ENTER(cpu);
	before = simsched_k_resched(cpu);
	if (!p || task_cpu(p) != cpu)
		return -EINVAL;
	rq = take(cpu, &rf);
	simsched_from = from;
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
	simsched_from = -1;
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
		simsched_core_schedule_begins(rq);
		WRITE_ONCE(p->__state, why == SIMSCHED_KP_EXIT ? TASK_DEAD : TASK_INTERRUPTIBLE);
		simsched_core_block(rq, p, why == SIMSCHED_KP_EXIT);
	}
	rq_unlock(rq, &rf);
	return DELAYED(p);
}

int simsched_kp_preempt(int cpu, int id, int how)
{
	struct task_struct *p = simsched_task(id);
	int before, flags = WF_TTWU;
	struct rq_flags rf;
	struct rq *rq;

	SIMSCHED_ENTER(cpu);
	before = simsched_k_resched(cpu);
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

/* Newer trees do this where the idle task is put. */
extern void update_rq_avg_idle(struct rq *rq) __attribute__((weak));

/* An idle time of the CPU is over: a sample of the mean, which is bounded by what balancing at idle may cost. */
int simsched_kp_woken(int cpu, int id)
{
	struct rq *rq = cpu_rq(cpu);
	unsigned long long bound = rq->max_idle_balance_cost << 1;

	if (update_rq_avg_idle || !rq->idle_stamp)
		return 0;
	update_avg(&rq->avg_idle, rq->clock - rq->idle_stamp);
	if (rq->avg_idle > bound)
		rq->avg_idle = bound;
	rq->idle_stamp = 0;
#ifdef SIMSCHED_HAS_WAKE_IDLE
	rq->wake_avg_idle = rq->avg_idle >> 1;
	rq->wake_stamp = jiffies;
#endif
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

/* The host moves a task that runs or is queued where it may not. */
int simsched_kp_affinity(int id, const unsigned long *mask, int words)
{
	struct task_struct *p = simsched_task(id);

	if (!p)
		return -ESRCH;
	cpumask_clear(&p->cpus_mask);
	memcpy(&p->cpus_mask, mask, min_t(int, words * 8, sizeof(p->cpus_mask)));
	cpumask_and(&p->cpus_mask, &p->cpus_mask, cpu_possible_mask);
	p->nr_cpus_allowed = cpumask_weight(&p->cpus_mask);
	return p->nr_cpus_allowed ? 0 : -EINVAL;
}
