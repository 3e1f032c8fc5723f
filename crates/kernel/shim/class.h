/* SPDX-License-Identifier: MIT */
/* What the files of the class level share. */
#ifndef SIMSCHED_CLASS_H
#define SIMSCHED_CLASS_H

#include "rq.h"

/* The host has set the clock of the queue, so it counts as up to date. */
static inline struct rq *take(int cpu, struct rq_flags *rf)
{
	struct rq *rq = cpu_rq(cpu);

	simsched_lock_at_once(1);
	rq_lock(rq, rf);
	simsched_lock_at_once(0);
	rq->clock_update_flags |= RQCF_UPDATED;
	return rq;
}

static inline int answer(int cpu, int before)
{
	int after = simsched_k_resched(cpu);

	return after > before ? after : 0;
}

#endif
