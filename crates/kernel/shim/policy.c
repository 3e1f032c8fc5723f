/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The tree's build_policy.c, and what needs its static functions. */
#include "kernel/sched/build_policy.c"
