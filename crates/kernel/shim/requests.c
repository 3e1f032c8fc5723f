/* SPDX-License-Identifier: MIT */
/* The calls of the host that concern one task: wakeups, priority, affinity. */
#include "rq.h"

int simsched_k_wake_new(int cpu, int id)
{
	SIMSCHED_ENTER(cpu);
	if (!simsched_task(id))
		return -ESRCH;
	wake_up_new_task(simsched_task(id));
	return 1;
}

int simsched_k_wake(int cpu, int id, int how)
{
	unsigned offset = how & SIMSCHED_K_IRQ ? HARDIRQ_OFFSET : 0;
	int woken;

	SIMSCHED_ENTER(cpu);
	if (!simsched_task(id))
		return -ESRCH;
	__preempt_count_add(offset);
	woken = simsched_core_wake(simsched_task(id), how & SIMSCHED_K_SYNC);
	__preempt_count_sub(offset);
	return woken;
}

int simsched_k_nice(int cpu, int id, int nice)
{
	SIMSCHED_ENTER(cpu);
	if (!simsched_task(id))
		return -ESRCH;
	set_user_nice(simsched_task(id), nice);
	return 0;
}

/* A mask that a stopper gives to a task which runs where it may not. */
struct order { int id; struct cpumask mask; };

static int change_affinity(void *data)
{
	struct order *order = data;
	struct task_struct *p = simsched_task(order->id);

	if (p)
		set_cpus_allowed_ptr(p, &order->mask);
	simsched_free(order);
	return 0;
}

int simsched_k_affinity(int cpu, int id, const unsigned long *mask, int words)
{
	struct task_struct *p;
	struct order *order;

	SIMSCHED_ENTER(cpu);
	p = simsched_task(id);
	if (!p)
		return -ESRCH;
	order = simsched_alloc(sizeof(*order));
	order->id = id;
	memcpy(&order->mask, mask, min_t(int, words * 8, sizeof(order->mask)));
	cpumask_and(&order->mask, &order->mask, cpu_possible_mask);
	if (cpumask_empty(&order->mask)) {
		simsched_free(order);
		return -EINVAL;
	}
	if (p->on_cpu && !cpumask_test_cpu(task_cpu(p), &order->mask)) {
		stop_one_cpu_nowait(task_cpu(p), change_affinity, order, NULL);
		return 1;
	}
	change_affinity(order);
	return 0;
}
