/* SPDX-License-Identifier: MIT */
/* A loop that waits for another CPU gives the time back to the host. */
#ifndef SIMSCHED_ASM_VDSO_PROCESSOR_H
#define SIMSCHED_ASM_VDSO_PROCESSOR_H

#ifndef __ASSEMBLY__
extern void simsched_relax(void);
static __always_inline void native_pause(void) { }
static __always_inline void rep_nop(void) { simsched_relax(); }
static __always_inline void cpu_relax(void) { simsched_relax(); }
struct getcpu_cache;
#endif

#endif
