/* SPDX-License-Identifier: MIT */
/* There is no interrupt flag: the host is the interrupt controller, and nothing interrupts a call. */
#ifndef SIMSCHED_ASM_IRQFLAGS_H
#define SIMSCHED_ASM_IRQFLAGS_H

#ifndef __ASSEMBLY__

#include <linux/types.h>
#include <asm/processor-flags.h>
#include <asm/nospec-branch.h>

static __always_inline unsigned long native_save_fl(void) { return X86_EFLAGS_IF; }
static __always_inline void native_irq_disable(void) { }
static __always_inline void native_irq_enable(void) { }
static __always_inline void native_safe_halt(void) { }
static __always_inline void native_halt(void) { }
static __always_inline unsigned long native_local_irq_save(void) { return X86_EFLAGS_IF; }
static __always_inline void native_local_irq_restore(unsigned long flags) { }

static __always_inline void arch_safe_halt(void) { }
static __always_inline void halt(void) { }
static __always_inline unsigned long arch_local_save_flags(void) { return X86_EFLAGS_IF; }
static __always_inline void arch_local_irq_disable(void) { barrier(); }
static __always_inline void arch_local_irq_enable(void) { barrier(); }
static __always_inline unsigned long arch_local_irq_save(void) { barrier(); return X86_EFLAGS_IF; }
static __always_inline void arch_local_irq_restore(unsigned long flags) { barrier(); }
static __always_inline int arch_irqs_disabled_flags(unsigned long flags) { return 0; }
static __always_inline int arch_irqs_disabled(void) { return 0; }

#endif
#endif
