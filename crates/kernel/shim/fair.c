/* SPDX-License-Identifier: MIT */
/* The tree's fair.c, with counts of what it looks at: the macros stand after all headers that it includes. */
#include "rq.h"
#include <linux/jump_label.h>

/* In which function of the tree a macro stands; functions have one of two names. */
#define IN(name) (!__builtin_strcmp(__func__, name))
#define IN_LOAD_BALANCE (IN("load_balance") || IN("sched_balance_rq"))
#define IN_QUEUES (IN("find_busiest_queue") || IN("sched_balance_find_src_rq"))
#define IN_GROUP (IN("find_idlest_group_cpu") || IN("sched_balance_find_dst_group_cpu"))
/* From 7.2 on two of the three ask choose_idle_cpu(), and so does who looks at one CPU before a search. */
#define IN_SEARCH                                                                    \
	(IN("select_idle_core") || IN("select_idle_smt") || IN("__select_idle_cpu") || \
	 (simsched_searches && IN("choose_idle_cpu")))

static __always_inline struct rq *simsched_cpu_rq(int cpu)
{
	simsched_touch(cpu);
	return &per_cpu(runqueues, cpu);
}

/* A pass sums up groups, and looks for the busiest queue then: the next sum is one of its own. */
#undef cpu_rq
#define cpu_rq(cpu) ({                                                               \
	int simsched_it = (cpu);                                                     \
	if (IN("update_sg_lb_stats") || IN_QUEUES)                                   \
		simsched_at_sum(simsched_it, IN("update_sg_lb_stats"));              \
	if (IN("update_sg_wakeup_stats") || IN_GROUP || IN("task_cache_work"))       \
		simsched_looks(simsched_it, !IN("update_sg_wakeup_stats"));          \
	simsched_groups -= IN("update_sg_wakeup_stats");                             \
	simsched_affine |= IN("wake_affine_weight");                                 \
	simsched_cpu_rq(simsched_it); })
#define available_idle_cpu(cpu) ({                                                   \
	int simsched_it = (cpu);                                                     \
	simsched_counts.idle_checks++;                                               \
	if (IN_SEARCH)                                                               \
		simsched_looks(simsched_it, 0);                                      \
	simsched_affine |= IN("wake_affine_idle");                                   \
	available_idle_cpu(simsched_it); })
/* The loop over a group asks for its CPUs once more than there are. */
#define sched_group_span(group) (simsched_groups += IN("update_sg_wakeup_stats"), sched_group_span(group))
/* The domain that a pass balances, or that a search begins with. */
#define sched_domain_span(sd)                                                        \
	(IN_LOAD_BALANCE ? simsched_at_domain(sd) : (void)0,                         \
	 simsched_searches |= IN("select_idle_cpu") || IN("select_idle_smt"), sched_domain_span(sd))
/* Whether it balances for one more idle CPU is asked once for each. */
#define idle_cpu(cpu)                                                                                            \
	(IN("_nohz_idle_balance") && !__builtin_strcmp(#cpu, "balance_cpu") ? simsched_at_one(cpu) : (void)0, \
	 idle_cpu(cpu))
/* Locks at which nothing is waited for. */
#define raw_spin_rq_lock(rq) (simsched_lock_at_once(1), raw_spin_rq_lock(rq), simsched_lock_at_once(0))
#define _raw_spin_rq_lock_irqsave(rq) ({                                             \
	unsigned long simsched_flags;                                                \
	simsched_lock_at_once(1);                                                    \
	simsched_flags = _raw_spin_rq_lock_irqsave(rq);                              \
	simsched_lock_at_once(0);                                                    \
	simsched_flags; })
/* From 7.3 on an active balance takes it by a guard. */
#undef class_raw_spin_rq_lock_irqsave_constructor
#define class_raw_spin_rq_lock_irqsave_constructor(rq) ({                            \
	class_raw_spin_rq_lock_irqsave_t simsched_guard;                             \
	simsched_lock_at_once(1);                                                    \
	simsched_guard = class_raw_spin_rq_lock_irqsave_constructor(rq);             \
	simsched_lock_at_once(0);                                                    \
	simsched_guard; })
#define rq_unlock(rq, rf)                                                                                        \
	(rq_unlock(rq, rf), IN("attach_tasks") || IN("attach_one_task") ? simsched_at_acted() : (void)0)
/* A dequeue that was delayed. */
#define __block_task(rq, p) (simsched_blocked(p), __block_task(rq, p))
#define sched_clock_cpu(cpu) (simsched_at_clock(), simsched_counts.clocks++, sched_clock_cpu(cpu))
/* What cache-aware scheduling accounts has a price of its own (7.2 and later). */
static int simsched_accounts;
#define sched_cache_enabled() ({                                                     \
	bool simsched_on = sched_cache_enabled();                                    \
	simsched_accounts = simsched_on && IN("account_mm_sched");                   \
	simsched_on; })
/* Not for tasks of other classes and of the kernel: for others the number of the CPU is asked for first. */
#define cpu_of(rq) ({                                                                \
	if (IN("account_mm_sched") && simsched_accounts) {                           \
		simsched_accounts = 0;                                               \
		simsched_event(SIMSCHED_K_ACCOUNTED, simsched_cpu, 0, 0, 0);         \
	}                                                                            \
	cpu_of(rq); })
#define atomic_long_add(n, v) (simsched_counts.shared_adds++, simsched_line(v, 1), atomic_long_add(n, v))
#define atomic_long_read(v) (simsched_counts.shared_reads++, simsched_line(v, 0), atomic_long_read(v))

/* Random numbers are the host's. */
static u32 simsched_rng(void)
{
	unsigned number;

	return simsched_random(simsched_cpu, &number) ? number : sched_rng();
}
#define sched_rng() simsched_rng()

/* The balancing of a CPU that becomes idle has one of two names. */
#define newidle_balance sched_balance_newidle
/* So has the ageing of averages. */
#define update_blocked_averages sched_balance_update_blocked_averages

#include "kernel/sched/fair.c"

int simsched_fair_newidle(void *rq, void *rf)
{
	return sched_balance_newidle(rq, rf);
}

/* A balance before idle does nothing while wakeups are on the list of the CPU. */
struct task_struct *simsched_fair_pick(struct rq *rq, struct task_struct *prev, struct rq_flags *rf)
{
#ifdef SIMSCHED_HAS_PICK_TASK
	int pending = rq->ttwu_pending;
	struct rq_flags none = {};
	struct task_struct *next;

	if (!rf)
		rq->ttwu_pending = 1;
	next = pick_task_fair(rq, rf ? rf : &none);
	if (!rf)
		rq->ttwu_pending = pending;
	if (next && next != RETRY_TASK)
		put_prev_set_next_task(rq, prev, next);
	return next;
#else
	return NULL;
#endif
}

/* The CPUs that a pass is about to sum up, which has just asked for their domain. */
int simsched_fair_look(void *domain, unsigned long *mask, int words)
{
	struct sched_domain *sd = domain;
	struct sched_group *sg = sd->groups;
	int groups = 0;

	memcpy(mask, this_cpu_cpumask_var_ptr(load_balance_mask), min_t(unsigned long, words * 8, cpumask_size()));
	do {
		groups++;
		sg = sg->next;
	} while (sg != sd->groups);
	return groups;
}

void simsched_fair_up(void)
{
	for (int cpu = 0; cpu < simsched_cpus; cpu++) {
		struct sched_domain *sd = rcu_dereference_raw(cpu_rq(cpu)->sd);

		for (; sd; sd = rcu_dereference_raw(sd->parent)) {
			struct sched_group *sg = sd->groups;

			sd->balance_interval = sd->max_interval;
			sd->last_balance = jiffies - msecs_to_jiffies(sd->max_interval);
			sd->nr_balance_failed = 0;
			sd->max_newidle_lb_cost = 0;
			sd->last_decay_max_lb_cost = jiffies;
#ifdef SIMSCHED_HAS_NEWIDLE_STAMP
			sd->newidle_stamp = sched_clock();
#endif
			do {
				sg->sgc->next_update = jiffies;
				sg = sg->next;
			} while (sg != sd->groups);
		}
		cpu_rq(cpu)->next_balance = cpu_rq(cpu)->last_blocked_load_update_tick = jiffies;
		if (rcu_dereference_raw(per_cpu(sd_llc_shared, cpu)))
			per_cpu(sd_llc_shared, cpu)->nr_idle_scan = per_cpu(sd_llc_size, cpu);
	}
	nohz.next_balance = nohz.next_blocked = jiffies;
}

void simsched_fair_age(int cpu)
{
	sched_balance_update_blocked_averages(cpu);
}

/* A balance weighs the tasks of the list from its end, each in the queue of its group. */
void simsched_fair_weigh(int cpu)
{
	struct rq *rq = cpu_rq(cpu);

	if (list_empty(&rq->cfs_tasks))
		update_cfs_rq_h_load(&rq->cfs);
	else
		update_cfs_rq_h_load(task_cfs_rq(list_last_entry(&rq->cfs_tasks, struct task_struct, se.group_node)));
}
