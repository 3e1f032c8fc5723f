/* SPDX-License-Identifier: MIT */
/* Spin locks on one thread: taking a free lock succeeds, taking a held one is an error. Compiled without the kernel's headers. */
#include "state.h"

unsigned long simsched_percpu_base, simsched_percpu_unit, simsched_percpu_bytes, simsched_rq_lock;

/* The CPU whose runqueue a lock belongs to is told by its address; -1: it is another lock. */
static inline __attribute__((always_inline)) int cpu_of(unsigned *lock)
{
	unsigned long at = (unsigned long)lock - simsched_percpu_base;
	unsigned cpu;

	if (at >= simsched_percpu_bytes)
		return -1;
	cpu = at / simsched_percpu_unit;
	return at - cpu * simsched_percpu_unit == simsched_rq_lock ? (int)cpu : -1;
}

/* The first four bytes of each lock are its word; the unlock that the kernel inlines writes 0 to the first byte. */
static inline __attribute__((always_inline)) void take(unsigned *lock)
{
	int cpu = cpu_of(lock);

	if (simsched_in_slot && cpu >= 0)
		simsched_before_lock(cpu);
	while (__builtin_expect(*(volatile unsigned *)lock != 0, 0)) {
		if (!simsched_in_slot)
			simsched_bug(__FILE__, __LINE__, simsched_suspended ? "a lock is held by a suspended call" : "a lock is taken twice");
		simsched_relax();
	}
	*lock = 1;
	if (cpu < 0)
		return;
	simsched_counts.locks++;
	if (simsched_lock_mark[cpu] != simsched_epoch)
		simsched_first_lock(cpu);
	if (simsched_in_slot)
		simsched_after_lock(cpu, lock);
}

void _raw_spin_lock(unsigned *lock) { take(lock); }
void _raw_spin_lock_bh(unsigned *lock) { take(lock); }
void _raw_spin_lock_irq(unsigned *lock) { take(lock); }
unsigned long _raw_spin_lock_irqsave(unsigned *lock) { take(lock); return 0; }
int _raw_spin_trylock(unsigned *lock)
{
	if (*lock)
		return 0;
	take(lock);
	return 1;
}
int _raw_spin_trylock_bh(unsigned *lock) { return _raw_spin_trylock(lock); }
void _raw_spin_unlock(unsigned *lock) { *lock = 0; }
void _raw_spin_unlock_bh(unsigned *lock) { *lock = 0; }
void _raw_spin_unlock_irq(unsigned *lock) { *lock = 0; }
void _raw_spin_unlock_irqrestore(unsigned *lock, unsigned long flags) { *lock = 0; }
void queued_spin_lock_slowpath(unsigned *lock, unsigned value)
{
	simsched_bug(__FILE__, __LINE__, "a lock is waited for");
}
int in_lock_functions(unsigned long address) { return 0; }
