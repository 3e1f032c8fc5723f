/* SPDX-License-Identifier: MIT */
/*
 * Calls on stacks of their own: such a call is suspended where the kernel would spend time or wait, and the host goes on
 * with it later. Compiled without the kernel's headers.
 */
#include <stddef.h>
#include "state.h"

#define SLOTS 2048
#define STACK (64ul << 10)
#define HELD 8

struct slot {
	void *sp;             /* of the suspended call */
	char *stack;
	int op, cpu, waits_for, why, looked;
	long a, b, result;
	unsigned *held[HELD]; /* locks of runqueues that it took; some may be free again */
	int held_len;
	void *domain;         /* that a pass balances */
	int sums, one, at_once;
};

static struct slot slots[SLOTS];
static void *host_sp;
static struct slot *running;
static unsigned mask;
static int look_every;
static struct slot *owner[SIMSCHED_CPUS];
int simsched_in_slot, simsched_suspended;

/* Saves the registers that a function must keep, and continues on another stack. */
extern void simsched_jump_stack(void **save, void *load);
__asm__(".text\n.globl simsched_jump_stack\n.hidden simsched_jump_stack\n.type simsched_jump_stack,@function\n"
	"simsched_jump_stack:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static void leave(int why, int waits_for)
{
	struct slot *me = running;

	me->why = why;
	me->waits_for = waits_for;
	running = NULL;
	simsched_in_slot = 0;
	simsched_jump_stack(&me->sp, host_sp);
	running = me;
	simsched_in_slot = 1;
	simsched_set_cpu(me->cpu);
}

/* After BUG in a suspended kind of call: it never goes on. */
void simsched_abandon(void)
{
	leave(SIMSCHED_K_DEAD, 0);
	__builtin_unreachable();
}

static int holds(struct slot *me)
{
	int n = 0;

	for (int i = 0; i < me->held_len; i++) {
		unsigned cpu = ((unsigned long)me->held[i] - simsched_percpu_base) / simsched_percpu_unit;

		if (*me->held[i] && owner[cpu] == me)
			me->held[n++] = me->held[i];
	}
	me->held_len = n;
	return n;
}

/* Before the lock of a runqueue is taken. */
void simsched_before_lock(int cpu)
{
	if (mask & SIMSCHED_K_AT_PASS && running->at_once)
		return;
	if (mask & SIMSCHED_K_AT_LOCK && !holds(running))
		leave(SIMSCHED_K_WAITS_LOCK, cpu);
}

void simsched_after_lock(int cpu, unsigned *lock)
{
	holds(running);
	if (running->held_len == HELD)
		simsched_bug(__FILE__, __LINE__, "too many locks of runqueues are held");
	running->held[running->held_len++] = lock;
	owner[cpu] = running;
}

/* A lock is held by a suspended call, or a loop waits for another CPU. */
void simsched_relax(void)
{
	if (!running)
		simsched_bug(__FILE__, __LINE__, "a call waits for one that is suspended");
	leave(SIMSCHED_K_WAITS_SPIN, running->cpu);
}

void simsched_at_look(int cpu)
{
	if (!look_every || holds(running))
		return;
	if (++running->looked >= look_every) {
		running->looked = 0;
		leave(SIMSCHED_K_WAITS_LOOK, cpu);
	}
}

/* A group's load is written at most once in a millisecond, by a clock that is read under the lock of a runqueue. */
void simsched_at_clock(void)
{
	if (simsched_in_slot && mask & SIMSCHED_K_AT_CLOCK && !holds(running))
		leave(SIMSCHED_K_WAITS_CLOCK, running->cpu);
}

void simsched_at_switch(void)
{
	if (simsched_in_slot && mask & SIMSCHED_K_AT_SWITCH)
		leave(SIMSCHED_K_WAITS_SWITCH, running->cpu);
}

/* sums: a group is summed up; else its queues are compared. */
void simsched_at_sum(int cpu, int sums)
{
	int begins = sums && running && !running->sums;

	if (!running)
		return;
	running->sums = sums;
	if (begins && mask & SIMSCHED_K_AT_PASS) {
		running->one = 0;
		leave(SIMSCHED_K_WAITS_PASS, cpu);
	}
}

void simsched_at_one(int cpu)
{
	if (!running || !(mask & SIMSCHED_K_AT_PASS))
		return;
	running->one = 1;
	leave(SIMSCHED_K_WAITS_PASS, cpu);
}

void simsched_at_domain(void *domain)
{
	if (!running)
		return;
	running->domain = domain;
	running->sums = 0;
}

void simsched_at_acted(void)
{
	if (running && mask & SIMSCHED_K_AT_PASS)
		leave(SIMSCHED_K_WAITS_ACTED, running->cpu);
}

void simsched_lock_at_once(int at_once)
{
	if (running)
		running->at_once = at_once;
}

int simsched_kp_look(int slot, unsigned long *mask, int words)
{
	struct slot *s = &slots[slot];

	if (s->one || !s->domain)
		return 0;
	simsched_set_cpu(s->cpu);
	return simsched_fair_look(s->domain, mask, words);
}

static long call(struct slot *s)
{
	switch (s->op) {
	case SIMSCHED_K_OP_SCHEDULE: return simsched_k_schedule(s->cpu, s->a);
	case SIMSCHED_K_OP_WAKE: return simsched_k_wake(s->cpu, s->a, s->b);
	case SIMSCHED_K_OP_WAKE_NEW: return simsched_k_wake_new(s->cpu, s->a);
	case SIMSCHED_K_OP_TICK: return simsched_k_tick(s->cpu);
	case SIMSCHED_K_OP_SOFTIRQ: return simsched_k_softirq(s->cpu);
	case SIMSCHED_K_OP_CALLS: return simsched_k_calls(s->cpu);
	case SIMSCHED_K_OP_STOP: return simsched_k_stop(s->cpu);
	case SIMSCHED_K_OP_TIMER: return simsched_k_timer(s->cpu, s->a);
	case SIMSCHED_K_OP_WORK: return simsched_k_work(s->cpu);
	case SIMSCHED_K_OP_IDLE_ENTER: return simsched_k_idle_enter(s->cpu, s->a, s->b);
	case SIMSCHED_K_OP_NICE: return simsched_k_nice(s->cpu, s->a, s->b);
	case SIMSCHED_K_OP_PICK: return simsched_kp_pick(s->cpu, s->a);
	case SIMSCHED_K_OP_NEWIDLE: return simsched_kp_newidle(s->cpu);
	case SIMSCHED_K_OP_SELECT: return simsched_kp_select(s->cpu, s->a, s->b);
	}
	return -22;
}

static void begin(void)
{
	running->result = call(running);
	leave(SIMSCHED_K_DONE, running->cpu);
	__builtin_unreachable();
}

static int go(struct slot *s)
{
	running = s;
	simsched_in_slot = 1;
	simsched_set_cpu(s->cpu);
	simsched_jump_stack(&host_sp, s->sp);
	if (s->why == SIMSCHED_K_DONE || s->why == SIMSCHED_K_DEAD) {
		s->sp = NULL;
		simsched_suspended--;
	}
	return s->why;
}

int simsched_k_suspend_at(unsigned where, int every)
{
	mask = where;
	look_every = every;
	return 0;
}

int simsched_k_start(int slot, int op, int cpu, long a, long b)
{
	struct slot *s = &slots[slot];
	void **top;

	if (simsched_dead)
		return SIMSCHED_K_DEAD;
	if (slot < 0 || slot >= SLOTS || s->sp || running)
		return -16;
	if (!s->stack) {
		if (__builtin_setjmp(simsched_jump))
			return SIMSCHED_K_DEAD;
		s->stack = simsched_map(STACK);
	}
	*s = (struct slot){ .stack = s->stack, .op = op, .cpu = cpu, .a = a, .b = b };
	/* As simsched_jump_stack() left it: six registers and the place to return to, with the stack aligned as after a call. */
	top = (void **)(s->stack + STACK - 16);
	*--top = NULL;
	*--top = begin;
	top -= 6;
	s->sp = top;
	simsched_suspended++;
	return go(s);
}

int simsched_k_resume(int slot)
{
	if (simsched_dead)
		return SIMSCHED_K_DEAD;
	if (slot < 0 || slot >= SLOTS || !slots[slot].sp || running)
		return -22;
	return go(&slots[slot]);
}

int simsched_k_slot_cpu(int slot) { return slots[slot].waits_for; }
long simsched_k_result(int slot) { return slots[slot].result; }
