/* SPDX-License-Identifier: MIT */
/* The preemption count is kept, and reaching zero never causes a switch: the host decides when schedule() is called. */
#ifndef SIMSCHED_ASM_PREEMPT_H
#define SIMSCHED_ASM_PREEMPT_H

#include <asm/percpu.h>
#include <asm/current.h>
#include <linux/thread_info.h>
#include <linux/static_call_types.h>

DECLARE_PER_CPU(int, simsched_preempt);

#define PREEMPT_NEED_RESCHED 0x80000000
#define PREEMPT_ENABLED 0
#define init_task_preempt_count(p) do { } while (0)
#define init_idle_preempt_count(p, cpu) do { } while (0)

static __always_inline int preempt_count(void)
{
	return raw_cpu_read(simsched_preempt);
}

static __always_inline void preempt_count_set(int count)
{
	raw_cpu_write(simsched_preempt, count);
}

static __always_inline void __preempt_count_add(int n)
{
	*raw_cpu_ptr(&simsched_preempt) += n;
}

static __always_inline void __preempt_count_sub(int n)
{
	*raw_cpu_ptr(&simsched_preempt) -= n;
}

static __always_inline int __preempt_count_add_return(int n)
{
	__preempt_count_add(n);
	return preempt_count();
}

static __always_inline int __preempt_count_sub_return(int n)
{
	__preempt_count_sub(n);
	return preempt_count();
}

static __always_inline bool __preempt_count_dec_and_test(void)
{
	__preempt_count_sub(1);
	return false;
}

static __always_inline void set_preempt_need_resched(void) { }
static __always_inline void clear_preempt_need_resched(void) { }

static __always_inline bool test_preempt_need_resched(void)
{
	return false;
}

static __always_inline bool should_resched(int offset)
{
	return false;
}

#ifdef CONFIG_PREEMPTION
extern asmlinkage void preempt_schedule(void);
extern asmlinkage void preempt_schedule_notrace(void);
#define __preempt_schedule() do { } while (0)
#define __preempt_schedule_notrace() do { } while (0)
#endif

#endif
