/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The tree's fair.c, with counts of what it looks at: the macros stand after all headers that it includes. */
#include "rq.h"
#include <linux/jump_label.h>

static __always_inline struct rq *simsched_cpu_rq(int cpu)
{
	simsched_touch(cpu);
	return &per_cpu(runqueues, cpu);
}

#undef cpu_rq
#define cpu_rq(cpu) simsched_cpu_rq(cpu)
#define available_idle_cpu(cpu) (simsched_counts.idle_checks++, available_idle_cpu(cpu))
#define sched_clock_cpu(cpu) (simsched_at_clock(), simsched_counts.clocks++, sched_clock_cpu(cpu))
#define atomic_long_add(n, v) (simsched_counts.shared_adds++, atomic_long_add(n, v))
#define atomic_long_read(v) (simsched_counts.shared_reads++, atomic_long_read(v))

/* The balancing of a CPU that becomes idle has one of two names. */
#define newidle_balance sched_balance_newidle
/* So has the ageing of averages. */
#define update_blocked_averages sched_balance_update_blocked_averages

#include "kernel/sched/fair.c"

int simsched_fair_newidle(void *rq, void *rf)
{
	return sched_balance_newidle(rq, rf);
}

void simsched_fair_age(int cpu)
{
	sched_balance_update_blocked_averages(cpu);
}

void simsched_fair_weigh(int cpu)
{
	update_cfs_rq_h_load(&cpu_rq(cpu)->cfs);
}
