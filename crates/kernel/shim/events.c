/* SPDX-License-Identifier: MIT */
/* The buffer of events that the host reads after each call. Compiled without the kernel's headers. */
#include "state.h"

static struct simsched_k_event *events;
static int events_len, events_room;
unsigned long long simsched_now;
int simsched_cpus;

struct simsched_k_counts simsched_counts;
unsigned simsched_epoch = 1, simsched_touch_mark[SIMSCHED_CPUS], simsched_lock_mark[SIMSCHED_CPUS];
static int touched[SIMSCHED_CPUS], touched_len, locked[SIMSCHED_CPUS], locked_len;

void simsched_first_touch(int cpu)
{
	simsched_touch_mark[cpu] = simsched_epoch;
	touched[touched_len++] = cpu;
}

void simsched_first_lock(int cpu)
{
	simsched_lock_mark[cpu] = simsched_epoch;
	locked[locked_len++] = cpu;
}

/* A search looks at each CPU a few times at most. */
static int looked[4 * SIMSCHED_CPUS], looked_len;
int simsched_groups, simsched_affine, simsched_searches;

/* once: where a function looks at a CPU twice in a row, that is one look. */
void simsched_looks(int cpu, int once)
{
	static int last = -1;
	int again = once && last == cpu;

	last = once ? cpu : -1;
	if (!again && looked_len < 4 * SIMSCHED_CPUS)
		looked[looked_len++] = cpu;
}

static unsigned randoms[SIMSCHED_CPUS][SIMSCHED_KP_RANDOMS], drawn[SIMSCHED_CPUS], given[SIMSCHED_CPUS];

int simsched_kp_randoms(int cpu) { return given[cpu] - drawn[cpu]; }

int simsched_kp_random(int cpu, unsigned number)
{
	if (given[cpu] - drawn[cpu] < SIMSCHED_KP_RANDOMS)
		randoms[cpu][given[cpu]++ % SIMSCHED_KP_RANDOMS] = number;
	return given[cpu] - drawn[cpu];
}

int simsched_random(int cpu, unsigned *number)
{
	if (given[cpu] == drawn[cpu])
		return 0;
	*number = randoms[cpu][drawn[cpu]++ % SIMSCHED_KP_RANDOMS];
	return 1;
}

int simsched_kp_looked(const int **cpus, int *groups, int *affine)
{
	*cpus = looked;
	*groups = simsched_groups;
	*affine = simsched_affine;
	return looked_len;
}

int simsched_k_touched(const int **cpus)
{
	*cpus = touched;
	return touched_len;
}

int simsched_k_locked(const int **cpus)
{
	*cpus = locked;
	return locked_len;
}

const struct simsched_k_counts *simsched_k_counts(void) { return &simsched_counts; }

void simsched_event(int kind, int cpu, int task, int arg, unsigned long long when)
{
	if (events_len == events_room) {
		int room = events_room ? 2 * events_room : 1024;
		struct simsched_k_event *more = simsched_map(room * sizeof(*more));

		for (int i = 0; i < events_len; i++)
			more[i] = events[i];
		events = more;
		events_room = room;
	}
	events[events_len++] = (struct simsched_k_event){ kind, cpu, task, arg, when };
}

int simsched_k_events(const struct simsched_k_event **first)
{
	*first = events;
	return events_len;
}

void simsched_k_reset(void)
{
	events_len = 0;
	touched_len = locked_len = looked_len = simsched_groups = simsched_affine = 0;
	simsched_searches = 0;
	simsched_epoch++;
	simsched_counts = (struct simsched_k_counts){ 0 };
}
