/* SPDX-License-Identifier: MIT */
/* The running task is a plain per-CPU variable. */
#ifndef SIMSCHED_ASM_CURRENT_H
#define SIMSCHED_ASM_CURRENT_H

#ifndef __ASSEMBLY__

#include <linux/compiler.h>
#include <linux/cache.h>
#include <asm/percpu.h>

struct task_struct;

/* Some versions keep these three in one structure, and other headers read them there. */
struct pcpu_hot {
	int cpu_number;
	unsigned short softirq_pending;
	unsigned long top_of_stack;
};
DECLARE_PER_CPU(struct pcpu_hot, pcpu_hot);
#define const_pcpu_hot pcpu_hot
DECLARE_PER_CPU(struct task_struct *, simsched_current);

static __always_inline struct task_struct *get_current(void)
{
	return raw_cpu_read(simsched_current);
}
#define current get_current()

#endif
#endif
