/* SPDX-License-Identifier: MIT */
/* The calls of the host that concern one CPU, and what it may read. */
#include <linux/utsname.h>
#include <generated/utsrelease.h>
#include "identity.h" /* written by what builds the library */
#include "rq.h"

int simsched_k_abi(void) { return SIMSCHED_K_ABI; }
const char *simsched_k_release(void) { return UTS_RELEASE; }
int simsched_k_hz(void) { return HZ; }

const char *simsched_k_built_of(int i, const char **name)
{
	static const char *const all[][2] = {
		{ "release", UTS_RELEASE },
		{ "sources", SIMSCHED_SOURCES },
		{ "configuration", SIMSCHED_CONFIGURATION },
		{ "shim", SIMSCHED_SHIM },
	};

	if (i < 0 || i >= (int)ARRAY_SIZE(all))
		return NULL;
	*name = all[i][0];
	return all[i][1];
}

int simsched_k_lay_down(int cpu)
{
	SIMSCHED_ENTER(cpu);
	WRITE_ONCE(current->__state, TASK_INTERRUPTIBLE);
	return 0;
}

int simsched_k_schedule(int cpu, int how)
{
	SIMSCHED_ENTER(cpu);
	return simsched_core_schedule(how);
}

int simsched_k_yield(int cpu)
{
	struct rq *rq;
	struct rq_flags rf;

	SIMSCHED_ENTER(cpu);
	rq = this_rq_lock_irq(&rf);
	current->sched_class->yield_task(rq);
	rq_unlock_irq(rq, &rf);
	return simsched_core_schedule(SIMSCHED_K_AS_IS);
}

/* The tick has one of these two names. */
extern void sched_tick(void) __attribute__((weak));
extern void scheduler_tick(void) __attribute__((weak));

int simsched_k_tick(int cpu)
{
	SIMSCHED_ENTER(cpu);
	__preempt_count_add(HARDIRQ_OFFSET);
	if (sched_tick)
		sched_tick();
	else
		scheduler_tick();
	__preempt_count_sub(HARDIRQ_OFFSET);
	return simsched_k_resched(cpu);
}

int simsched_k_idle_enter(int cpu, int polls, int tickless)
{
	SIMSCHED_ENTER(cpu);
	if (!is_idle_task(current))
		return -EINVAL;
	nohz_run_idle_balance(cpu);
	if (polls)
		set_tsk_thread_flag(current, TIF_POLLING_NRFLAG);
	if (tickless)
		nohz_balance_enter_idle(cpu);
	return simsched_k_resched(cpu);
}

int simsched_k_idle_exit(int cpu)
{
	SIMSCHED_ENTER(cpu);
	if (!is_idle_task(current))
		return -EINVAL;
	clear_tsk_thread_flag(current, TIF_POLLING_NRFLAG);
	return 0;
}

int simsched_k_feature(const char *name)
{
	char text[64];

	SIMSCHED_ENTER(0);
	strscpy(text, name, sizeof(text));
	return simsched_set_feature(text);
}

int simsched_k_resched(int cpu)
{
	struct task_struct *p = per_cpu(simsched_current, cpu);

	if (test_tsk_thread_flag(p, TIF_NEED_RESCHED))
		return 2;
#ifdef TIF_NEED_RESCHED_LAZY
	if (test_tsk_thread_flag(p, TIF_NEED_RESCHED_LAZY))
		return 1;
#endif
	return 0;
}

int simsched_k_curr(int cpu) { return simsched_id(per_cpu(simsched_current, cpu)); }
int simsched_k_nr(int cpu) { return cpu_rq(cpu)->nr_running; }
unsigned long simsched_k_util(int cpu) { return cpu_rq(cpu)->cfs.avg.util_avg; }

int simsched_k_task_cpu(int id)
{
	struct task_struct *p = simsched_task(id);

	return p ? task_cpu(p) : -ESRCH;
}

int simsched_k_on_rq(int id)
{
	struct task_struct *p = simsched_task(id);

	if (!p)
		return -ESRCH;
	return DELAYED(p) ? 3 : p->on_rq;
}

unsigned long long simsched_k_runtime(int id)
{
	struct task_struct *p = simsched_task(id);

	return p ? p->se.sum_exec_runtime : 0;
}

long long simsched_k_vruntime(int id)
{
	struct task_struct *p = simsched_task(id);

	return p ? p->se.vruntime : 0;
}

int simsched_k_domain(int cpu, int level, const char **name, unsigned *flags, int *groups)
{
	struct sched_domain *sd = rcu_dereference_raw(cpu_rq(cpu)->sd);
	struct sched_group *sg;

	while (sd && level--)
		sd = rcu_dereference_raw(sd->parent);
	if (!sd)
		return 0;
#ifdef CONFIG_SCHED_DEBUG
	*name = sd->name;
#else
	*name = "";
#endif
	*flags = sd->flags;
	*groups = 0;
	sg = sd->groups;
	do {
		++*groups;
		sg = sg->next;
	} while (sg != sd->groups);
	return sd->span_weight;
}
