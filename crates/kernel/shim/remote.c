/* SPDX-License-Identifier: MIT */
/* What one CPU asks of another, and what it puts off: interrupts, lists of calls, softirqs, stoppers, RCU. */
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/interrupt.h>
#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/stop_machine.h>
#include <linux/task_work.h>
#include <asm/smp.h>
#include <asm/switch_to.h>
#include "kernel/sched/smp.h"
#include "state.h"

DEFINE_PER_CPU(struct task_struct *, simsched_current);
DEFINE_PER_CPU(int, simsched_preempt);
DEFINE_PER_CPU(struct pcpu_hot, pcpu_hot);

struct task_struct *simsched_switch_to(struct task_struct *prev, struct task_struct *next)
{
	simsched_at_switch();
	raw_cpu_write(simsched_current, next);
	preempt_count_set(2 * PREEMPT_DISABLE_OFFSET);
	simsched_event(SIMSCHED_K_SWITCH, simsched_cpu, simsched_id(prev), simsched_id(next), simsched_now);
	return prev;
}

void simsched_migrated(struct task_struct *p, int to)
{
	simsched_event(SIMSCHED_K_MIGRATE, task_cpu(p), simsched_id(p), to, simsched_now);
}

void simsched_blocked(struct task_struct *p)
{
	if (simsched_class_level)
		simsched_event(SIMSCHED_K_BLOCKED, task_cpu(p), simsched_id(p), 0, simsched_now);
}

void simsched_polled(int cpu)
{
	simsched_event(SIMSCHED_K_POLL, cpu, SIMSCHED_K_IDLE, 0, simsched_now);
}

/* interrupts */
static void send_reschedule(int cpu)
{
	simsched_event(SIMSCHED_K_IPI, cpu, SIMSCHED_K_IDLE, 0, simsched_now);
}

static void send_call(int cpu)
{
	simsched_event(SIMSCHED_K_CALL, cpu, SIMSCHED_K_IDLE, 0, simsched_now);
}

struct smp_ops smp_ops = { .smp_send_reschedule = send_reschedule, .send_call_func_single_ipi = send_call };

void native_smp_send_reschedule(int cpu) { send_reschedule(cpu); }

/* lists of calls */
static struct llist_head calls[SIMSCHED_CPUS];

/* The kernel has one of these two: the first sends by itself, the second says whether to send. */
extern void send_call_function_single_ipi(int cpu) __attribute__((weak));
extern bool call_function_single_prep_ipi(int cpu) __attribute__((weak));

void __smp_call_single_queue(int cpu, struct llist_node *node)
{
	if (!llist_add(node, &calls[cpu]))
		return;
	if (send_call_function_single_ipi)
		send_call_function_single_ipi(cpu);
	else if (call_function_single_prep_ipi(cpu))
		send_call(cpu);
}

int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	if (csd->node.u_flags & CSD_FLAG_LOCK)
		return -EBUSY;
	if (cpu == simsched_cpu) {
		csd->func(csd->info);
		return 0;
	}
	csd->node.u_flags = CSD_FLAG_LOCK;
	__smp_call_single_queue(cpu, &csd->node.llist);
	return 0;
}

/* Calls come first, then all wakeups at once, both in the order of their arrival. */
int simsched_k_calls(int cpu)
{
	struct llist_node *at, *next, *wakeups = NULL, **end = &wakeups;
	int n = 0;

	SIMSCHED_ENTER(cpu);
	__preempt_count_add(HARDIRQ_OFFSET);
	for (at = llist_reverse_order(llist_del_all(&calls[cpu])); at; at = next, n++) {
		call_single_data_t *csd = llist_entry(at, call_single_data_t, node.llist);

		next = at->next;
		if ((csd->node.u_flags & CSD_FLAG_TYPE_MASK) == CSD_TYPE_TTWU) {
			*end = at;
			end = &at->next;
		} else {
			csd->node.u_flags &= ~CSD_FLAG_LOCK;
			csd->func(csd->info);
		}
	}
	*end = NULL;
	if (wakeups)
		sched_ttwu_pending(wakeups);
	__preempt_count_sub(HARDIRQ_OFFSET);
	return n;
}

/* softirqs */
static void (*actions[NR_SOFTIRQS])(void *);
static unsigned pending[SIMSCHED_CPUS];

/* The argument of the action depends on the version; none uses it. */
void simsched_open_softirq(int nr, void *action) asm("open_softirq");
void simsched_open_softirq(int nr, void *action)
{
	actions[nr] = action;
}

void __raise_softirq_irqoff(unsigned int nr)
{
	if (pending[simsched_cpu] & 1u << nr)
		return;
	pending[simsched_cpu] |= 1u << nr;
	simsched_event(SIMSCHED_K_SOFTIRQ, simsched_cpu, SIMSCHED_K_IDLE, nr, simsched_now);
}

void raise_softirq_irqoff(unsigned int nr) { __raise_softirq_irqoff(nr); }
void raise_softirq(unsigned int nr) { __raise_softirq_irqoff(nr); }

int simsched_k_softirq(int cpu)
{
	unsigned mine;
	int n = 0;

	SIMSCHED_ENTER(cpu);
	mine = pending[cpu];
	pending[cpu] = 0;
	__preempt_count_add(SOFTIRQ_OFFSET);
	for (int nr = 0; nr < NR_SOFTIRQS; nr++)
		if (mine & 1u << nr && actions[nr]) {
			actions[nr](NULL);
			n++;
		}
	__preempt_count_sub(SOFTIRQ_OFFSET);
	return n;
}

/* stoppers */
#define WORKS 128
static struct { cpu_stop_fn_t fn; void *arg; } works[SIMSCHED_CPUS][WORKS];
static unsigned works_first[SIMSCHED_CPUS], works_end[SIMSCHED_CPUS];

/* Some trees are answered whether it was queued, which it always is, and some are not. */
asm(".globl stop_one_cpu_nowait\n.hidden stop_one_cpu_nowait\n.set stop_one_cpu_nowait, simsched_stop_one_cpu_nowait");
bool simsched_stop_one_cpu_nowait(unsigned int cpu, cpu_stop_fn_t fn, void *arg, struct cpu_stop_work *buffer)
{
	unsigned at = works_end[cpu]++ % WORKS;

	if (works_end[cpu] - works_first[cpu] > WORKS)
		simsched_bug(__FILE__, __LINE__, "too much work for a stopper");
	works[cpu][at].fn = fn;
	works[cpu][at].arg = arg;
	simsched_event(SIMSCHED_K_STOP, cpu, SIMSCHED_K_STOPPER, 0, simsched_now);
	if (!simsched_class_level)
		wake_up_process(simsched_stopper(cpu));
	simsched_at_acted();
	return true;
}

int stop_one_cpu(unsigned int cpu, cpu_stop_fn_t fn, void *arg)
{
	simsched_bug(__FILE__, __LINE__, "stop_one_cpu() would wait");
}

int stop_two_cpus(unsigned int a, unsigned int b, cpu_stop_fn_t fn, void *arg)
{
	simsched_bug(__FILE__, __LINE__, "stop_two_cpus() would wait");
}

int simsched_k_stop(int cpu)
{
	SIMSCHED_ENTER(cpu);
	if (!simsched_class_level && current != simsched_stopper(cpu))
		return -EINVAL;
	if (works_first[cpu] != works_end[cpu]) {
		unsigned at = works_first[cpu]++ % WORKS;

		preempt_disable();
		works[cpu][at].fn(works[cpu][at].arg);
		preempt_enable();
	}
	return works_end[cpu] - works_first[cpu];
}

/* task work */
int task_work_add(struct task_struct *p, struct callback_head *work, enum task_work_notify_mode mode)
{
	work->next = p->task_works;
	p->task_works = work;
	simsched_event(SIMSCHED_K_TASK_WORK, task_cpu(p), simsched_id(p), 0, simsched_now);
	return 0;
}

int simsched_k_work(int cpu)
{
	struct callback_head *work, *next;
	int n = 0;

	SIMSCHED_ENTER(cpu);
	for (work = xchg(&current->task_works, NULL); work; work = next, n++) {
		next = work->next;
		work->func(work);
	}
	return n;
}

/* RCU: what waits is done before the next call of the host. */
static struct callback_head *rcu;
int simsched_rcu_waits;

void call_rcu(struct rcu_head *head, rcu_callback_t func)
{
	head->func = func;
	head->next = rcu;
	rcu = head;
	simsched_rcu_waits = 1;
}

void simsched_run_rcu(void)
{
	struct callback_head *head = rcu, *next;

	rcu = NULL;
	simsched_rcu_waits = 0;
	for (; head; head = next) {
		next = head->next;
		head->func(head);
	}
}
