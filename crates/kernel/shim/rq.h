/* SPDX-License-Identifier: MIT */
/* The scheduler's own header, after the headers that it takes for granted in some version. */
#ifndef SIMSCHED_RQ_H
#define SIMSCHED_RQ_H

#include <linux/sched.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>
#include <linux/sched/init.h>
#include <linux/sched/isolation.h>
#include <linux/sched/nohz.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/cgroup.h>
#include <linux/cpuidle.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include "kernel/sched/sched.h"
#include "state.h"

/* Trees that have extensible scheduling have delayed dequeues, deadlines and a mean vruntime. */
#if __has_include(<linux/sched/ext.h>)
#define DELAYED(p) ((p)->on_rq && (p)->se.sched_delayed)
#define DEADLINE(p) ((p)->se.deadline)
#define MEAN_VRUNTIME(cfs) avg_vruntime(cfs)
#else
#define DELAYED(p) 0
#define DEADLINE(p) 0
#define MEAN_VRUNTIME(cfs) ((cfs)->min_vruntime)
#endif

#ifndef ENQUEUE_INITIAL
#define ENQUEUE_INITIAL 0
#endif

#endif
