/* SPDX-License-Identifier: MIT */
/* Per-CPU data lies in no address space of its own. */
#ifndef SIMSCHED_ASM_PERCPU_TYPES_H
#define SIMSCHED_ASM_PERCPU_TYPES_H

#define __percpu_seg_override

#if __has_include(<asm-generic/percpu_types.h>)
#include <asm-generic/percpu_types.h>
#endif

#endif
