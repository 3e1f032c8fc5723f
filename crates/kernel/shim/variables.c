/* SPDX-License-Identifier: MIT */
/*
 * Variables that the kernel's code expects from files that are not built. Compiled without the kernel's headers:
 * only names, sizes and first values matter, and the types differ between versions. What is not needed the linker drops.
 */
#define MASK 8 /* words of a mask of 512 CPUs */
#define ZERO(name, bytes) unsigned char name[bytes] __attribute__((aligned(64)))
#define PERCPU(name, bytes) unsigned char name[bytes] __attribute__((aligned(64), section(".data..percpu")))

/* CPUs */
ZERO(__cpu_possible_mask, MASK * 8);
ZERO(__cpu_present_mask, MASK * 8);
ZERO(__cpu_online_mask, MASK * 8);
ZERO(__cpu_active_mask, MASK * 8);
ZERO(__cpu_dying_mask, MASK * 8);
ZERO(__cpu_enabled_mask, MASK * 8);
ZERO(__num_online_cpus, 8);
ZERO(__num_possible_cpus, 8);
unsigned int nr_cpu_ids = 1;
unsigned int total_cpus = 1;
unsigned int setup_max_cpus = 512;
unsigned long cpu_bit_bitmap[65][MASK];
unsigned long cpu_all_bits[MASK] = { [0 ... MASK - 1] = ~0ul };
PERCPU(cpu_number, 8);
PERCPU(cpu_info, 1024);
ZERO(boot_cpu_data, 1024);
unsigned int cpu_khz = 1000000;
unsigned int tsc_khz = 1000000;
ZERO(cpuhp_tasks_frozen, 8);
ZERO(cpu_smt_control, 8);

/* topology */
PERCPU(cpu_sibling_map, MASK * 8);
PERCPU(cpu_core_map, MASK * 8);
PERCPU(cpu_die_map, MASK * 8);
PERCPU(cpu_llc_shared_map, MASK * 8);
PERCPU(cpu_l2c_shared_map, MASK * 8);
PERCPU(cpu_llc_id, 8);
PERCPU(cpu_l2c_id, 8);
int __max_smt_threads = 1;
unsigned int cpu_smt_num_threads = 1;
unsigned int __max_threads_per_core = 1;
unsigned int __max_dies_per_package = 1;
unsigned int __max_logical_packages = 1;
unsigned int __num_threads_per_package = 1;
unsigned int __num_cores_per_package = 1;
unsigned int __num_nodes_per_package = 1;

/* nodes */
PERCPU(numa_node, 8);
ZERO(node_states, 8 * 16);
ZERO(node_to_cpumask_map, 64 * MASK * 8);
ZERO(node_data, 64 * 8);
unsigned int nr_node_ids = 1;
unsigned int nr_online_nodes = 1;
int node_reclaim_distance = 30;

/* capacity and frequency */
PERCPU(cpufreq_pressure, 8);
PERCPU(thermal_pressure, 8);
PERCPU(hw_pressure, 8);
PERCPU(cpuidle_devices, 8);
unsigned long arch_freq_scale __attribute__((aligned(64), section(".data..percpu"))) = 1024;
ZERO(arch_scale_freq_key, 64);

/* processes and memory */
ZERO(init_mm, 16384);
ZERO(init_uts_ns, 4096);
ZERO(kmalloc_caches, 8192);
PERCPU(cpu_tlbstate, 1024);
PERCPU(cpu_tlbstate_shared, 64);
PERCPU(__irq_regs, 8);
PERCPU(__perf_regs, 4096);
ZERO(system_wq, 8);
ZERO(system_percpu_wq, 8);
ZERO(system_unbound_wq, 8);

/* switches that are counters; those of the default hierarchy and of high resolution are on */
int cpu_cgrp_subsys_on_dfl_key[16] __attribute__((aligned(64))) = { 1 };
int hrtimer_highres_enabled_key[16] __attribute__((aligned(64))) = { 1 };
ZERO(cpusets_enabled_key, 64);
ZERO(cpusets_pre_enable_key, 64);
ZERO(perf_sched_events, 64);
ZERO(perf_swevent_enabled, 1024);
unsigned char static_key_initialized = 1;

/* time and state of the system */
unsigned long jiffies = 0xfffedb08;
extern unsigned long jiffies_64 __attribute__((alias("jiffies")));
int system_state;
int timekeeping_suspended;
int oops_in_progress;
int panic_timeout;

/* bounds of sections that are only compared with */
char __sched_text_start[1], __sched_text_end[1], __cpuidle_text_start[1], __cpuidle_text_end[1];
const char hex_asc[] = "0123456789abcdef";
const char hex_asc_upper[] = "0123456789ABCDEF";
