/* SPDX-License-Identifier: MIT */
/* The level of the scheduling class: the host's state that the kernel's functions look at, and what the host may read. */
#include "rq.h"

int simsched_kp_pending(int cpu, int pending)
{
	cpu_rq(cpu)->ttwu_pending = pending;
	return 0;
}

int simsched_kp_flag(int cpu, int level)
{
	struct task_struct *p = per_cpu(simsched_current, cpu);

	clear_tsk_need_resched(p);
#ifdef TIF_NEED_RESCHED_LAZY
	if (level == 1)
		set_tsk_thread_flag(p, TIF_NEED_RESCHED_LAZY);
#endif
	if (level == 2)
		set_tsk_need_resched(p);
	return 0;
}

int simsched_kp_polls(int cpu, int polls)
{
	struct task_struct *p = simsched_idle(cpu);

	if (polls)
		set_tsk_thread_flag(p, TIF_POLLING_NRFLAG);
	else
		clear_tsk_thread_flag(p, TIF_POLLING_NRFLAG);
	return 0;
}

int simsched_kp_on_cpu(int id, int on_cpu)
{
	struct task_struct *p = simsched_task(id);

	if (!p)
		return -ESRCH;
	WRITE_ONCE(p->on_cpu, on_cpu);
	return 0;
}

int simsched_kp_exiting(int id)
{
	struct task_struct *p = simsched_task(id);

	if (!p)
		return -ESRCH;
	simsched_exiting(p);
	return 0;
}

int simsched_kp_count(int cpu, int by)
{
	/* As the kernel counts them: two on one CPU are an overload of the machine. */
	if (by > 0)
		add_nr_running(cpu_rq(cpu), by);
	if (by < 0)
		sub_nr_running(cpu_rq(cpu), -by);
	return 0;
}

int simsched_kp_leaving(int cpu, int by)
{
	/* Not somebody who comes: one that has left on its own is no overload for that. */
	cpu_rq(cpu)->nr_running += by;
	return 0;
}

int simsched_kp_idle_since(int cpu, unsigned long long clock)
{
	cpu_rq(cpu)->idle_stamp = clock;
	return 0;
}

int simsched_kp_flips(int cpu, int id, unsigned flips, unsigned long long ticks)
{
	struct task_struct *p = id == SIMSCHED_K_IDLE ? simsched_idle(cpu) : simsched_task(id);

	if (!p)
		return -ESRCH;
	p->wakee_flips = flips;
	p->wakee_flip_decay_ts = INITIAL_JIFFIES + ticks;
	return 0;
}

/* Of a state only the exit latency is ever read. */
static struct cpuidle_state idle_states[SIMSCHED_CPUS];

int simsched_kp_idle_state(int cpu, int exit_latency)
{
	idle_states[cpu].exit_latency = exit_latency;
	idle_set_state(cpu_rq(cpu), exit_latency < 0 ? NULL : &idle_states[cpu]);
	return 0;
}

int simsched_kp_idle_scan(int cpu, int nr)
{
	struct sched_domain_shared *shared = rcu_dereference(per_cpu(sd_llc_shared, cpu));

	if (shared)
		shared->nr_idle_scan = nr;
	return 0;
}

int simsched_kp_imbalance(int cpu, int level, int imbalance)
{
	struct sched_domain *sd = rcu_dereference_raw(cpu_rq(cpu)->sd);

	while (sd && level--)
		sd = rcu_dereference_raw(sd->parent);
	if (!sd)
		return -EINVAL;
	sd->groups->sgc->imbalance = imbalance;
	return 0;
}

int simsched_kp_asleep(int cpu, int id)
{
	struct task_struct *p = simsched_task(id);
	struct cfs_rq *cfs = &cpu_rq(cpu)->cfs;

	if (!p)
		return -ESRCH;
	memset(&p->se.avg, 0, sizeof(p->se.avg));
	p->se.avg.last_update_time = cfs->avg.last_update_time;
	p->se.vruntime = MEAN_VRUNTIME(cfs);
	WRITE_ONCE(p->__state, TASK_INTERRUPTIBLE);
	return 0;
}

int simsched_kp_span(int cpu, int level, unsigned long *mask, int words)
{
	struct sched_domain *sd = rcu_dereference_raw(cpu_rq(cpu)->sd);

	while (sd && level--)
		sd = rcu_dereference_raw(sd->parent);
	if (!sd)
		return -ENOENT;
	memcpy(mask, sched_domain_span(sd), min_t(unsigned long, words * 8, cpumask_size()));
	return 0;
}

int simsched_kp_task(int id, struct simsched_kp_task_state *state)
{
	struct task_struct *p = simsched_task(id);

	if (!p)
		return -ESRCH;
	*state = (struct simsched_kp_task_state){
		.vruntime = p->se.vruntime,
		.deadline = DEADLINE(p),
		.runtime = p->se.sum_exec_runtime,
		.util_avg = p->se.avg.util_avg,
		.load_avg = p->se.avg.load_avg,
		.runnable_avg = p->se.avg.runnable_avg,
		.cpu = task_cpu(p),
		.on_rq = p->on_rq,
		.delayed = DELAYED(p),
		.wakee_flips = p->wakee_flips,
	};
	return 0;
}

int simsched_kp_cpu(int cpu, struct simsched_kp_cpu_state *state)
{
	struct rq *rq = cpu_rq(cpu);

	*state = (struct simsched_kp_cpu_state){
		.mean_vruntime = MEAN_VRUNTIME(&rq->cfs),
		.util_avg = rq->cfs.avg.util_avg,
		.load_avg = rq->cfs.avg.load_avg,
		.runnable_avg = rq->cfs.avg.runnable_avg,
		.h_load = rq->cfs.h_load,
		.avg_idle = rq->avg_idle,
		.nr_running = rq->nr_running,
		.curr = simsched_k_curr(cpu),
	};
	return 0;
}
