/* SPDX-License-Identifier: MIT */
/* High-resolution timers and clocks: the host keeps the time and says when a timer expires. */
#include <linux/hrtimer.h>
#include <linux/sched/clock.h>
#include <linux/preempt.h>
#include "state.h"

#define TIMERS 65536

static struct hrtimer *timers[TIMERS];
static int timers_len = 1;

notrace ktime_t ktime_get(void) { return simsched_now; }
notrace unsigned long long sched_clock(void) { return simsched_now; }
notrace unsigned long long sched_clock_noinstr(void) { return simsched_now; }

/* Newer trees ask a function for the time and call the state by another name; the newest have the bases in a header of their own. */
#if __has_include(<linux/hrtimer_bases.h>)
#include <linux/hrtimer_bases.h>
#endif
#ifdef SIMSCHED_TIMER_IS_QUEUED
#define QUEUED is_queued
static struct hrtimer_clock_base base;
ktime_t hrtimer_cb_get_time(const struct hrtimer *timer) { return simsched_now; }
#else
#define QUEUED state
/* Older trees ask here whether timers are of high resolution. */
static struct hrtimer_cpu_base of_cpu = { .hres_active = 1 };
static struct hrtimer_clock_base base = { .cpu_base = &of_cpu, .get_time = ktime_get };
#endif

/* The number of a timer lies in the first word of its tree node, which nothing else uses here. */
static int number(struct hrtimer *timer)
{
	unsigned long *at = (unsigned long *)&timer->node.node;

	if (!*at || *at >= TIMERS || timers[*at] != timer) {
		if (timers_len == TIMERS)
			simsched_bug(__FILE__, __LINE__, "too many timers");
		*at = timers_len;
		timers[timers_len++] = timer;
	}
	return *at;
}

/* The slice timers of the CPUs are the first ones. */
void simsched_slice_timer(struct hrtimer *timer) { number(timer); }

/* The CPU that makes the call, where that is not the one whose queue it changes. */
int simsched_from = -1;

static void begin(struct hrtimer *timer)
{
	timer->QUEUED = 1;
	if (simsched_class_level && number(timer) == simsched_cpu + 1)
		simsched_event(SIMSCHED_K_SLICE, simsched_cpu, 0, 0, timer->node.expires - simsched_now);
	else
		simsched_event(SIMSCHED_K_TIMER, simsched_cpu, SIMSCHED_K_IDLE, number(timer), timer->node.expires);
}

void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode)
{
	*timer = (struct hrtimer){ .base = &base };
}

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock, enum hrtimer_mode mode)
{
	*timer = (struct hrtimer){ .base = &base };
	*(void **)&timer->function = function;
}

void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t at, u64 range, const enum hrtimer_mode mode)
{
	if (mode & HRTIMER_MODE_REL)
		at += simsched_now;
	if (simsched_from >= 0 && simsched_from != simsched_cpu && number(timer) == simsched_cpu + 1) {
		simsched_core_start_slice(simsched_cpu, simsched_from);
		return;
	}
	timer->_softexpires = at;
	timer->node.expires = at + range;
	begin(timer);
}

int hrtimer_try_to_cancel(struct hrtimer *timer)
{
	if (!timer->QUEUED)
		return 0;
	timer->QUEUED = 0;
	simsched_event(SIMSCHED_K_TIMER_CANCEL, simsched_cpu, SIMSCHED_K_IDLE, number(timer), simsched_now);
	return 1;
}

int hrtimer_cancel(struct hrtimer *timer) { return hrtimer_try_to_cancel(timer); }
bool hrtimer_active(const struct hrtimer *timer) { return timer->QUEUED; }

u64 hrtimer_forward(struct hrtimer *timer, ktime_t now, ktime_t interval)
{
	u64 n;

	if (now < timer->node.expires || interval <= 0)
		return 0;
	n = (now - timer->node.expires) / interval + 1;
	timer->node.expires += n * interval;
	timer->_softexpires += n * interval;
	return n;
}

/* The slice of the task that is picked ends so long after the end of schedule(). */
void simsched_slice_after_schedule(struct hrtimer *timer, unsigned long long delay)
{
	timer->_softexpires = timer->node.expires = simsched_now + delay;
	timer->QUEUED = 1;
	simsched_event(SIMSCHED_K_SLICE, simsched_cpu, 0, 1, delay);
}

/* The host says when: at the level of the class, the end of schedule() is known to it only. */
int simsched_kp_slice(int cpu)
{
	SIMSCHED_ENTER(cpu);
	if (timers[cpu + 1]->node.expires > simsched_now)
		timers[cpu + 1]->node.expires = simsched_now;
	return simsched_k_timer(cpu, cpu + 1);
}

int simsched_k_timer(int cpu, int i)
{
	struct hrtimer *timer;

	SIMSCHED_ENTER(cpu);
	if (i <= 0 || i >= timers_len)
		return -EINVAL;
	timer = timers[i];
	if (!timer->QUEUED || timer->node.expires > simsched_now)
		return 0;
	timer->QUEUED = 0;
	__preempt_count_add(HARDIRQ_OFFSET);
	if (timer->function(timer) == HRTIMER_RESTART && !timer->QUEUED)
		begin(timer);
	__preempt_count_sub(HARDIRQ_OFFSET);
	return 1;
}
