/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Counting bits by arithmetic, without code that is patched at boot. */
#ifndef SIMSCHED_ASM_HWEIGHT_H
#define SIMSCHED_ASM_HWEIGHT_H

#include <linux/types.h>

static __always_inline unsigned long __arch_hweight64(__u64 w)
{
	w -= (w >> 1) & 0x5555555555555555ul;
	w = (w & 0x3333333333333333ul) + ((w >> 2) & 0x3333333333333333ul);
	w = (w + (w >> 4)) & 0x0f0f0f0f0f0f0f0ful;
	return (w * 0x0101010101010101ul) >> 56;
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
