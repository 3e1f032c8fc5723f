/* SPDX-License-Identifier: MIT */
/* The tree's build_utility.c, and what needs its static functions. */
#include "kernel/sched/build_utility.c"
#include "state.h"

/* The host's clock is exact, so the filter of clock.c stays off. */
void simsched_clock_stable(void)
{
	static_branch_enable(&sched_clock_running);
	static_branch_enable(&__sched_clock_stable);
}

/* Where nodes are parts of packages, x86 has no level of the package: that of the node follows those of the caches. */
void simsched_without_package(void)
{
	for (struct sched_domain_topology_level *tl = default_topology; tl->mask; tl++)
		if (!strcmp(tl->name, "DIE") || !strcmp(tl->name, "PKG"))
			tl->mask = NULL;
}

int simsched_k_feature_at(int i, const char **name)
{
	if (i < 0 || i >= __SCHED_FEAT_NR)
		return -1;
	*name = sched_feat_names[i];
	return !!(sysctl_sched_features & 1ul << i);
}

int simsched_set_feature(char *name)
{
	return sched_feat_set(name);
}
