/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The tree's build_utility.c, and what needs its static functions. */
#include "kernel/sched/build_utility.c"
#include "state.h"

/* The host's clock is exact, so the filter of clock.c stays off. */
void simsched_clock_stable(void)
{
	static_branch_enable(&sched_clock_running);
	static_branch_enable(&__sched_clock_stable);
}

int simsched_set_feature(char *name)
{
	return sched_feat_set(name);
}
