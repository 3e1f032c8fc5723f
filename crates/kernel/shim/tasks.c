/* SPDX-License-Identifier: MIT */
/* Tasks, processes and groups: their memory, their ids, how they begin and end. */
#include "rq.h"

/* Process ids that stand for the shim's own tasks; task i has FIRST + i. */
enum { IDLE, STOPPER, BOOT, FIRST = 16 };

struct task_struct init_task;
static struct task_struct **tasks;
static int tasks_len, *spare, spare_len;
static struct task_struct *idle[SIMSCHED_CPUS], *stopper[SIMSCHED_CPUS];

/* mm: null of the process of kernel threads */
struct process { struct signal_struct signal; struct sighand_struct sighand; void *mm; };
static struct process **processes;
static int processes_len;

struct group { struct task_group *tg; struct css_set *css; };
static struct group *groups;
static int groups_len;
#define GROUPS 65536

int simsched_id(struct task_struct *p)
{
	return p->pid >= FIRST ? p->pid - FIRST : p->pid == IDLE ? SIMSCHED_K_IDLE : SIMSCHED_K_STOPPER;
}

struct task_struct *simsched_task(int id)
{
	return (unsigned)id < (unsigned)tasks_len ? tasks[id] : NULL;
}

struct task_struct *simsched_idle(int cpu) { return idle[cpu]; }
struct task_struct *simsched_stopper(int cpu) { return stopper[cpu]; }
void *simsched_group(int group) { return (unsigned)group < (unsigned)groups_len ? groups[group].tg : NULL; }
bool kthread_is_per_cpu(struct task_struct *p) { return p->pid == IDLE || p->pid == STOPPER; }
bool set_kthread_struct(struct task_struct *p) { return true; }

static int process_new(void)
{
	processes[processes_len] = simsched_alloc(sizeof(struct process));
	refcount_set(&processes[processes_len]->sighand.count, 1);
	return processes_len++;
}

/* A number that CPUs share was read or written: those of groups are told. */
void simsched_line(const void *at, int writes)
{
	if (!simsched_class_level)
		return;
	for (int group = 1; group < groups_len; group++) {
		if (at >= (void *)groups[group].tg && at < (void *)(groups[group].tg + 1))
			simsched_event(SIMSCHED_K_LINE, simsched_cpu, group, writes, simsched_now);
	}
}

static int group_add(struct task_group *tg)
{
	static struct cgroup *cgroup;
	struct css_set *css = simsched_alloc(sizeof(*css));

	if (!cgroup)
		cgroup = simsched_alloc(sizeof(*cgroup));
	css->dfl_cgrp = cgroup;
	css->subsys[cpu_cgrp_id] = &tg->css;
	groups[groups_len] = (struct group){ tg, css };
	return groups_len++;
}

/* What a fork copies and what it does not; sched_fork() does the rest. */
struct task_struct *simsched_clone(struct task_struct *parent, int pid, int proc)
{
	struct task_struct *p = simsched_alloc(sizeof(*p));
	bool kernel = pid < FIRST;

	*p = *parent;
	p->pid = p->tgid = pid;
	p->thread_info.flags = 0;
	refcount_set(&p->usage, 2);
	p->flags = kernel ? PF_KTHREAD | PF_NO_SETAFFINITY : PF_FORKNOEXEC;
	p->cpus_ptr = &p->cpus_mask;
	p->user_cpus_ptr = NULL;
	p->task_works = NULL;
	p->wake_q.next = NULL;
	p->mm = NULL;
	p->active_mm = &init_mm;
	p->signal = &processes[proc]->signal;
	p->sighand = &processes[proc]->sighand;
	p->group_leader = p;
	p->real_parent = p->parent = parent;
	p->utime = p->stime = p->gtime = 0;
	p->nvcsw = p->nivcsw = 0;
	memset(&p->pi_lock, 0, sizeof(p->pi_lock));
	spin_lock_init(&p->alloc_lock);
	INIT_LIST_HEAD(&p->tasks);
	INIT_LIST_HEAD(&p->children);
	INIT_LIST_HEAD(&p->sibling);
	INIT_LIST_HEAD(&p->thread_node);
	if (kernel || is_idle_task(parent) || parent->pid == STOPPER) {
		cpumask_copy(&p->cpus_mask, cpu_possible_mask);
		p->nr_cpus_allowed = num_possible_cpus();
	}
	return p;
}

/* The first task, as it is before the scheduler exists. */
static void first_task(void)
{
	struct task_struct *p = &init_task;

	p->prio = p->static_prio = p->normal_prio = MAX_PRIO - 20;
	p->cpus_ptr = &p->cpus_mask;
	cpumask_copy(&p->cpus_mask, cpu_possible_mask);
	p->nr_cpus_allowed = num_possible_cpus();
	p->flags = PF_KTHREAD | PF_IDLE;
	p->active_mm = &init_mm;
	p->sched_task_group = &root_task_group;
	p->signal = &processes[0]->signal;
	p->sighand = &processes[0]->sighand;
	p->cgroups = groups[0].css;
	p->group_leader = p->real_parent = p->parent = p;
	p->rt.time_slice = RR_TIMESLICE;
	refcount_set(&p->usage, 2);
	INIT_LIST_HEAD(&p->se.group_node);
	INIT_LIST_HEAD(&p->rt.run_list);
	INIT_LIST_HEAD(&p->tasks);
	INIT_LIST_HEAD(&p->children);
	INIT_LIST_HEAD(&p->sibling);
	plist_node_init(&p->pushable_tasks, MAX_PRIO);
	RB_CLEAR_NODE(&p->pushable_dl_tasks);
}

void simsched_tasks_create(void)
{
	tasks = simsched_map(SIMSCHED_TASKS * sizeof(*tasks));
	spare = simsched_map(SIMSCHED_TASKS * sizeof(*spare));
	processes = simsched_map(SIMSCHED_TASKS * sizeof(*processes));
	groups = simsched_map(GROUPS * sizeof(*groups));
	process_new();
	group_add(&root_task_group);
	first_task();
	idle[0] = &init_task;
	raw_cpu_write(simsched_current, &init_task);
}

/* The idle tasks of the other CPUs, the stoppers, and a task that stands for the one that boots. */
void simsched_tasks_boot(void)
{
	struct task_struct *boot = simsched_clone(&init_task, BOOT, 0);

	for (int cpu = 1; cpu < simsched_cpus; cpu++) {
		idle[cpu] = simsched_clone(&init_task, IDLE, 0);
		idle[cpu]->cgroups = groups[0].css;
		simsched_core_fork(idle[cpu], 0, SCHED_NORMAL);
		init_idle(idle[cpu], cpu);
		idle[cpu]->flags |= PF_IDLE;
		per_cpu(simsched_current, cpu) = idle[cpu];
	}
	simsched_core_fork(boot, 0, SCHED_NORMAL);
	WRITE_ONCE(boot->__state, TASK_RUNNING);
	raw_cpu_write(simsched_current, boot);
	sched_init_smp();
	raw_cpu_write(simsched_current, &init_task);
	for (int cpu = 0; cpu < simsched_cpus; cpu++) {
		struct task_struct *p = simsched_clone(&init_task, STOPPER, 0);

		stopper[cpu] = p;
		simsched_core_fork(p, 0, SCHED_NORMAL);
		WRITE_ONCE(p->__state, TASK_INTERRUPTIBLE);
		cpumask_copy(&p->cpus_mask, cpumask_of(cpu));
		p->nr_cpus_allowed = 1;
		__set_task_cpu(p, cpu);
		sched_set_stop_task(cpu, p);
	}
}

/* Nobody's last wakee has the address of p, which is used again: a task that is born there is another one. */
static void forget_wakee(const struct task_struct *p)
{
	for (int id = 0; id < tasks_len; id++) {
		if (tasks[id] && tasks[id]->last_wakee == p)
			tasks[id]->last_wakee = NULL;
	}
	for (int cpu = 0; cpu < simsched_cpus; cpu++) {
		if (idle[cpu]->last_wakee == p)
			idle[cpu]->last_wakee = NULL;
	}
}

/* The last reference to a dead task. */
void put_task_struct_rcu_user(struct task_struct *p)
{
	int id = simsched_id(p);

	if (id < 0)
		return;
	spare[spare_len++] = id;
	tasks[id] = NULL;
	simsched_event(SIMSCHED_K_GONE, simsched_cpu, id, 0, simsched_now);
	forget_wakee(p);
	simsched_free(p);
}

int simsched_k_proc_new(void)
{
	int proc;

	SIMSCHED_ENTER(0);
	if (processes_len == SIMSCHED_TASKS)
		return -ENOMEM;
	proc = process_new();
	processes[proc]->mm = simsched_mm_new();
	return proc;
}

/* It has left its memory, and is a thread of its process no longer. */
void simsched_exiting(struct task_struct *p)
{
	if (p->flags & PF_EXITING)
		return;
	p->flags |= PF_EXITING;
	simsched_mm_leave(p);
	p->signal->nr_threads--;
}

int simsched_kp_prefers(int proc)
{
	return proc > 0 && proc < processes_len ? simsched_mm_prefers(processes[proc]->mm) : -1;
}

int simsched_k_fork(int cpu, int proc, int nice, int group, int policy)
{
	struct task_struct *p;
	int id;

	SIMSCHED_ENTER(cpu);
	if ((unsigned)proc >= processes_len || (unsigned)group >= groups_len || nice < MIN_NICE || nice > MAX_NICE)
		return -EINVAL;
	if (policy != SCHED_NORMAL && policy != SCHED_BATCH && policy != SCHED_IDLE)
		return -EINVAL;
	if (!spare_len && tasks_len == SIMSCHED_TASKS)
		return -ENOMEM;
	id = spare_len ? spare[--spare_len] : tasks_len++;
	p = simsched_clone(current, FIRST + id, proc);
	p->cgroups = groups[group].css;
	p->static_prio = NICE_TO_PRIO(nice);
	tasks[id] = p;
	simsched_core_fork(p, group, policy);
	p->signal->nr_threads++;
	if (processes[proc]->mm)
		simsched_mm_enter(p, processes[proc]->mm);
	p->recent_used_cpu = cpu;
	return id;
}

void *simsched_css(int group) { return groups[group].css; }

int simsched_k_group_new(int parent)
{
	struct task_group *tg;

	SIMSCHED_ENTER(0);
	if (!simsched_group(parent) || groups_len == GROUPS)
		return -EINVAL;
	tg = sched_create_group(simsched_group(parent));
	sched_online_group(tg, simsched_group(parent));
	return group_add(tg);
}

int simsched_k_group_weight(int group, unsigned long long weight)
{
	SIMSCHED_ENTER(0);
	if (!simsched_group(group))
		return -EINVAL;
	return sched_group_set_shares(simsched_group(group), scale_load(weight));
}

int simsched_k_group_bandwidth(int group, unsigned long long quota, unsigned long long period)
{
	SIMSCHED_ENTER(0);
	if (!simsched_group(group))
		return -EINVAL;
	return simsched_core_bandwidth(simsched_group(group), quota, period);
}
