/* SPDX-License-Identifier: MIT */
/* Counting bits by the instruction for it, which every host has, without code that is patched at boot. */
#ifndef SIMSCHED_ASM_HWEIGHT_H
#define SIMSCHED_ASM_HWEIGHT_H

#include <linux/types.h>

static __always_inline unsigned long __arch_hweight64(__u64 w)
{
	unsigned long bits;

	asm("popcnt %1, %0" : "=r" (bits) : "r" (w) : "cc");
	return bits;
}

static __always_inline unsigned int __arch_hweight32(unsigned int w)
{
	return __arch_hweight64(w);
}

static __always_inline unsigned int __arch_hweight16(unsigned int w)
{
	return __arch_hweight64(w & 0xffff);
}

static __always_inline unsigned int __arch_hweight8(unsigned int w)
{
	return __arch_hweight64(w & 0xff);
}

#endif
