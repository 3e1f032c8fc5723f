/* SPDX-License-Identifier: MIT */
/* The tree's build_policy.c, and what needs its static functions. */
#include "kernel/sched/build_policy.c"
