/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
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

int simsched_kp_exiting(int id)
{
	struct task_struct *p = simsched_task(id);

	if (!p)
		return -ESRCH;
	p->flags |= PF_EXITING;
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
		.avg_idle = rq->avg_idle,
		.nr_running = rq->nr_running,
		.curr = simsched_k_curr(cpu),
	};
	return 0;
}
