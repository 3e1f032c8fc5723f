/* SPDX-License-Identifier: MIT */
/* The level of the scheduling class, what concerns a CPU: which task is next, the tick, balancing. */
#include "rq.h"
#include "class.h"

/* This pair has one of its two names. */
extern void sched_balance_trigger(struct rq *rq) __attribute__((weak));
extern void trigger_load_balance(struct rq *rq) __attribute__((weak));

/* Trees have one of these. The first puts the task that ran, too; the second balances before it finds none. */
extern struct task_struct *pick_next_task_fair(struct rq *rq, struct task_struct *prev, struct rq_flags *rf) __attribute__((weak));
extern struct task_struct *simsched_fair_pick(struct rq *rq, struct task_struct *prev, struct rq_flags *rf);

static void run(int cpu, struct rq *rq, struct task_struct *prev, struct task_struct *next)
{
	clear_tsk_need_resched(prev);
	rcu_assign_pointer(rq->curr, next);
	if (next != prev) {
		WRITE_ONCE(prev->on_cpu, 0);
		WRITE_ONCE(next->on_cpu, 1);
	}
#ifdef SIMSCHED_HAS_NEXT_CLASS
	rq->next_class = next->sched_class;
#endif
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
	simsched_core_schedule_begins(rq);
	do {
		if (pick_next_task_fair)
			next = pick_next_task_fair(rq, prev, newidle ? &rf : NULL);
		else
			next = simsched_fair_pick(rq, prev, newidle ? &rf : NULL);
	} while (next == RETRY_TASK);
	if (next) {
		run(cpu, rq, prev, next);
		simsched_core_schedule_ends(rq);
	}
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
	/* The idle task is not put where nobody has come: its CPU stays idle. */
	if (prev != rq->idle)
		put_prev_task(rq, prev);
	run(cpu, rq, prev, rq->idle);
	set_next_task(rq, rq->idle);
	simsched_core_schedule_ends(rq);
	rq_unlock(rq, &rf);
	return 0;
}

int simsched_kp_stopper(int cpu)
{
	struct rq_flags rf;
	struct rq *rq;
	struct task_struct *prev;

	SIMSCHED_ENTER(cpu);
	prev = current;
	rq = take(cpu, &rf);
	put_prev_task(rq, prev);
	run(cpu, rq, prev, simsched_stopper(cpu));
	set_next_task(rq, simsched_stopper(cpu));
	simsched_core_schedule_ends(rq);
	rq_unlock(rq, &rf);
	return 0;
}

int simsched_kp_age(int cpu)
{
	SIMSCHED_ENTER(cpu);
	simsched_fair_age(cpu);
	return 0;
}

int simsched_kp_weigh(int cpu)
{
	SIMSCHED_ENTER(cpu);
	simsched_fair_weigh(cpu);
	return 0;
}

int simsched_kp_tick(int cpu)
{
	int before;
	struct rq_flags rf;
	struct rq *rq;

	SIMSCHED_ENTER(cpu);
	before = simsched_k_resched(cpu);
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

int simsched_kp_up(void)
{
	SIMSCHED_ENTER(0);
	simsched_fair_up();
	return 0;
}

int simsched_kp_tick_stopped(int cpu)
{
	SIMSCHED_ENTER(cpu);
	nohz_balance_enter_idle(cpu);
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

/* The running task, which has left its queue or not, stays the current one. */
int simsched_kp_newidle(int cpu)
{
	struct rq_flags rf;
	struct rq *rq;
	int pulled;

	SIMSCHED_ENTER(cpu);
	rq = take(cpu, &rf);
	pulled = simsched_fair_newidle(rq, &rf);
	rq_unlock(rq, &rf);
	return pulled != 0;
}
