/* SPDX-License-Identifier: MIT */
/* WARN and BUG are calls into the shim, which keeps the message; BUG does not return. */
#ifndef SIMSCHED_ASM_BUG_H
#define SIMSCHED_ASM_BUG_H

#define ASM_UD2 ".byte 0x0f, 0x0b"
#define CUT_HERE ""

#ifndef __ASSEMBLY__

#include <linux/compiler.h>
#include <linux/stringify.h>
#include <linux/instrumentation.h>
#if __has_include(<linux/objtool.h>)
#include <linux/objtool.h>
#endif

extern void simsched_bug(const char *file, int line, const char *what) __attribute__((noreturn));
extern void simsched_warn(const char *file, int line, const char *format, ...);

#define HAVE_ARCH_BUG
#define HAVE_ARCH_BUG_ON
#define HAVE_ARCH_WARN_ON
#define BUG() simsched_bug(__FILE__, __LINE__, "BUG")
#define BUG_ON(condition) \
	do { if (unlikely(condition)) simsched_bug(__FILE__, __LINE__, "BUG_ON(" #condition ")"); } while (0)

#define WARN(condition, ...) ({                                        \
	int simsched_hit = !!(condition);                              \
	if (unlikely(simsched_hit))                                    \
		simsched_warn(__FILE__, __LINE__, __VA_ARGS__);        \
	unlikely(simsched_hit);                                        \
})
#define WARN_ONCE(condition, ...) ({                                   \
	static _Bool simsched_seen;                                    \
	int simsched_hit = !!(condition);                              \
	if (unlikely(simsched_hit && !simsched_seen)) {                \
		simsched_seen = 1;                                     \
		simsched_warn(__FILE__, __LINE__, __VA_ARGS__);        \
	}                                                              \
	unlikely(simsched_hit);                                        \
})
#define WARN_ON(condition) WARN(condition, "%s", #condition)
#define WARN_ON_ONCE(condition) WARN_ONCE(condition, "%s", #condition)
#define WARN_ON_SMP(condition) WARN_ON(condition)
#define WARN_TAINT(condition, taint, ...) WARN(condition, __VA_ARGS__)
#define WARN_TAINT_ONCE(condition, taint, ...) WARN_ONCE(condition, __VA_ARGS__)
#define __WARN() simsched_warn(__FILE__, __LINE__, "WARN")
#define __WARN_printf(taint, ...) simsched_warn(__FILE__, __LINE__, __VA_ARGS__)

struct warn_args;
struct pt_regs;
#if __has_include(<linux/once_lite.h>)
#include <linux/once_lite.h>
#endif
#if __has_include(<linux/panic.h>)
#include <linux/panic.h>
#endif
#include <linux/printk.h>

#endif
#endif
