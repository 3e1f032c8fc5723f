/* SPDX-License-Identifier: MIT */
/* The machine: masks of CPUs and nodes, what the topology code asks of the architecture, and the creation of the library's state. */
#include <linux/nodemask.h>
#include <linux/topology.h>
#include <linux/jump_label.h>
#include <asm/smp.h>
#include "rq.h"

extern unsigned long simsched_bits[65][SIMSCHED_CPUS / 64] asm("cpu_bit_bitmap");
extern int simsched_smt_threads asm("cpu_smt_num_threads");
extern int simsched_core_threads asm("__max_threads_per_core");
extern int simsched_percpu_number asm("cpu_number");
static struct cpumask llc[SIMSCHED_CPUS], cluster[SIMSCHED_CPUS];
static int distances[64 * 64];
static int nodes;

const struct cpumask *cpu_coregroup_mask(int cpu) { return &llc[cpu]; }
const struct cpumask *cpu_clustergroup_mask(int cpu) { return &cluster[cpu]; }
int __node_distance(int a, int b) { return a < nodes && b < nodes ? distances[a * nodes + b] : 0; }
bool node_is_toptier(int node) { return true; }

static void alike(struct cpumask *mask, const struct simsched_k_machine *m, const int *of, int cpu)
{
	for (int other = 0; other < m->cpus; other++)
		if (of[other] == of[cpu])
			cpumask_set_cpu(other, mask);
}

static void fill(const struct simsched_k_machine *m)
{
	for (int bit = 0; bit < 64; bit++)
		simsched_bits[bit + 1][0] = 1ul << bit;
	nr_cpu_ids = m->cpus;
	nr_node_ids = nr_online_nodes = nodes = m->nodes;
	node_reclaim_distance = m->reclaim ? m->reclaim : 30;
	if (m->parts)
		simsched_without_package();
	simsched_smt_threads = simsched_core_threads = __max_smt_threads = m->smt;
	atomic_set(&__num_online_cpus, m->cpus);
	for (int i = 0; i < m->nodes * m->nodes; i++)
		distances[i] = m->distance[i];
	for (int node = 0; node < m->nodes; node++)
		for (int state = 0; state < NR_NODE_STATES; state++)
			node_set_state(node, state);
	for (int cpu = 0; cpu < m->cpus; cpu++) {
		cpumask_set_cpu(cpu, (struct cpumask *)cpu_possible_mask);
		cpumask_set_cpu(cpu, (struct cpumask *)cpu_present_mask);
		cpumask_set_cpu(cpu, (struct cpumask *)cpu_online_mask);
		cpumask_set_cpu(cpu, node_to_cpumask_map[m->node[cpu]]);
		per_cpu(numa_node, cpu) = m->node[cpu];
		per_cpu(pcpu_hot, cpu).cpu_number = cpu;
		*SHIFT_PERCPU_PTR(&simsched_percpu_number, __per_cpu_offset[cpu]) = cpu;
		alike(per_cpu(cpu_sibling_map, cpu), m, m->core, cpu);
		alike(per_cpu(cpu_core_map, cpu), m, m->node, cpu);
		alike(per_cpu(cpu_die_map, cpu), m, m->node, cpu);
		alike(&llc[cpu], m, m->llc, cpu);
		alike(&cluster[cpu], m, m->cluster ? m->cluster : m->core, cpu);
	}
	cpumask_set_cpu(0, (struct cpumask *)cpu_active_mask);
}

static int usable(const struct simsched_k_machine *m)
{
	if (m->cpus < 1 || m->cpus > SIMSCHED_CPUS || m->nodes < 1 || m->nodes > MAX_NUMNODES || m->nodes > 64)
		return 0;
	for (int cpu = 0; cpu < m->cpus; cpu++)
		if (m->node[cpu] < 0 || m->node[cpu] >= m->nodes)
			return 0;
	return 1;
}

int simsched_k_create(const struct simsched_k_machine *m, unsigned long long seed)
{
	if (simsched_dead || __builtin_setjmp(simsched_jump))
		return SIMSCHED_K_DEAD;
	if (simsched_cpus || !usable(m))
		return -EINVAL;
	simsched_cpus = m->cpus;
	simsched_percpu_create(m->cpus);
	fill(m);
	simsched_tasks_create();
	simsched_clock_stable();
	simsched_core_boot();
	simsched_core_seed(seed);
	simsched_seed_random(seed);
	simsched_k_reset();
	return 0;
}

int simsched_k_seed(unsigned long long seed)
{
	SIMSCHED_ENTER(0);
	simsched_core_seed(seed);
	simsched_seed_random(seed);
	return 0;
}

/* The jiffies of a booted machine, of which ticks have passed since time 0. */
int simsched_k_time(unsigned long long now, unsigned long long ticks)
{
	simsched_now = now;
	*(unsigned long *)&jiffies = INITIAL_JIFFIES + ticks;
	return 0;
}

void simsched_k_destroy(void)
{
	simsched_unmap_all();
}
