/* SPDX-License-Identifier: MIT */
/* The memory of a process, as cache-aware scheduling knows it, in trees that have that: where its threads have run. */
#include "rq.h"

#ifdef CONFIG_SCHED_CACHE
void *simsched_mm_new(void)
{
	struct mm_struct *mm = simsched_alloc(sizeof(*mm));

	mm_init_sched(mm, alloc_percpu(struct sched_cache_time));
	return mm;
}

/* Tasks have no memory otherwise: nothing of it is mapped. */
void simsched_mm_enter(struct task_struct *p, void *mm)
{
	p->mm = mm;
	sched_cache_fork(p);
	p->mm = NULL;
}

void simsched_mm_leave(struct task_struct *p) { sched_cache_exit_mm(p); }

int simsched_mm_prefers(void *mm) { return ((struct mm_struct *)mm)->sched_cache_grp->cpu; }
#else
void *simsched_mm_new(void) { return NULL; }
void simsched_mm_enter(struct task_struct *p, void *mm) { }
void simsched_mm_leave(struct task_struct *p) { }
int simsched_mm_prefers(void *mm) { return -1; }
#endif
