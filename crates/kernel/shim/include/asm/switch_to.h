/* SPDX-License-Identifier: MIT */
/* The switch changes the running task of the CPU and returns at once. */
#ifndef SIMSCHED_ASM_SWITCH_TO_H
#define SIMSCHED_ASM_SWITCH_TO_H

#include <linux/sched/task_stack.h>

struct task_struct;
extern struct task_struct *simsched_switch_to(struct task_struct *prev, struct task_struct *next);
#define switch_to(prev, next, last) ((last) = simsched_switch_to((prev), (next)))

#endif
