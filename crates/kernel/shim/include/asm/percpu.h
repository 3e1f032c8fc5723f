/* SPDX-License-Identifier: MIT */
/* Per-CPU data without a segment register: the offset of the running CPU is one global variable. */
#ifndef SIMSCHED_ASM_PERCPU_H
#define SIMSCHED_ASM_PERCPU_H

#ifndef __ASSEMBLY__

#include <linux/build_bug.h>
#include <linux/stringify.h>
#include <asm/asm.h>

#include <asm/percpu_types.h>
#define __percpu_prefix ""

extern unsigned long simsched_cpu_offset;
#define __my_cpu_offset simsched_cpu_offset

#include <asm-generic/percpu.h>

/* Names that the tree's own version adds to the generic ones. */
#define this_cpu_read_stable(pcp) raw_cpu_read(pcp)
#define this_cpu_read_const(pcp) (*raw_cpu_ptr(&(pcp)))
#define raw_cpu_read_long(pcp) raw_cpu_read(pcp)
#define x86_this_cpu_test_bit(nr, var) \
	((raw_cpu_ptr((unsigned long __percpu *)&(var))[(nr) / 64] >> ((nr) % 64)) & 1)

#define init_per_cpu_var(var) init_per_cpu__##var
#define DECLARE_INIT_PER_CPU(var) extern typeof(var) init_per_cpu_var(var)

/* There is no early boot: the early maps are never used. */
#define DECLARE_EARLY_PER_CPU(type, name) \
	DECLARE_PER_CPU(type, name);      \
	extern type *name##_early_ptr;    \
	extern type name##_early_map[]
#define DECLARE_EARLY_PER_CPU_READ_MOSTLY(type, name) \
	DECLARE_PER_CPU_READ_MOSTLY(type, name);      \
	extern type *name##_early_ptr;                \
	extern type name##_early_map[]
#define early_per_cpu_ptr(name) (name##_early_ptr)
#define early_per_cpu_map(name, i) (name##_early_map[i])
#define early_per_cpu(name, cpu) per_cpu(name, cpu)

#endif
#endif
