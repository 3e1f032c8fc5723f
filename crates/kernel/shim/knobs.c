/* SPDX-License-Identifier: MIT */
/* The numbers that the files of /sys/kernel/debug/sched set. Compiled without the kernel's headers: a tree has those of its release. */
#include "simsched_kernel.h"
#include "state.h"

#define KNOB(variable) extern unsigned variable __attribute__((weak))
KNOB(sysctl_sched_latency);
KNOB(sysctl_sched_min_granularity);
KNOB(sysctl_sched_idle_min_granularity);
KNOB(sysctl_sched_wakeup_granularity);
KNOB(sysctl_sched_base_slice);
KNOB(sysctl_sched_migration_cost);
KNOB(sysctl_sched_nr_migrate);
KNOB(sysctl_sched_cache_user);
KNOB(llc_aggr_tolerance);
KNOB(llc_epoch_period);
KNOB(llc_epoch_affinity_timeout);
KNOB(llc_imb_pct);
KNOB(llc_overaggr_pct);
extern void sched_cache_active_set(void) __attribute__((weak));

static unsigned *knob(int at, const char **name)
{
	static const char *const names[] = {
		"latency_ns", "min_granularity_ns", "idle_min_granularity_ns", "wakeup_granularity_ns",
		"base_slice_ns", "migration_cost_ns", "nr_migrate", "llc_balancing.enabled",
		"llc_balancing.aggr_tolerance", "llc_balancing.epoch_period", "llc_balancing.epoch_affinity_timeout",
		"llc_balancing.imb_pct", "llc_balancing.overaggr_pct",
	};
	unsigned *const variables[] = {
		&sysctl_sched_latency, &sysctl_sched_min_granularity, &sysctl_sched_idle_min_granularity,
		&sysctl_sched_wakeup_granularity, &sysctl_sched_base_slice, &sysctl_sched_migration_cost,
		&sysctl_sched_nr_migrate, &sysctl_sched_cache_user, &llc_aggr_tolerance, &llc_epoch_period,
		&llc_epoch_affinity_timeout, &llc_imb_pct, &llc_overaggr_pct,
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (variables[i] && !at--) {
			*name = names[i];
			return variables[i];
		}
	}
	return 0;
}

long long simsched_k_knob_at(int i, const char **name)
{
	unsigned *variable = i < 0 ? 0 : knob(i, name);

	return variable ? (long long)*variable : -1;
}

int simsched_k_knob(int i, unsigned value)
{
	const char *name;
	unsigned *variable = i < 0 ? 0 : knob(i, &name);

	if (!variable)
		return -22;
	*variable = value;
	/* Domains, once they are built, say whether it is used. */
	if (variable == &sysctl_sched_cache_user && simsched_cpus)
		sched_cache_active_set();
	return 0;
}
