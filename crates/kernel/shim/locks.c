/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Spin locks on one thread: taking a free lock succeeds, taking a held one is an error. Compiled without the kernel's headers. */
#include "state.h"

unsigned long simsched_percpu_base, simsched_percpu_unit, simsched_percpu_bytes, simsched_rq_lock;

/* Which CPU's runqueue a lock belongs to is told by its address. */
static inline __attribute__((always_inline)) void count(unsigned *lock)
{
	unsigned long at = (unsigned long)lock - simsched_percpu_base;

	if (at < simsched_percpu_bytes) {
		unsigned cpu = at / simsched_percpu_unit;

		if (at - cpu * simsched_percpu_unit == simsched_rq_lock) {
			simsched_counts.locks++;
			if (simsched_lock_mark[cpu] != simsched_epoch)
				simsched_first_lock(cpu);
		}
	}
}

/* The first four bytes of each lock are its word; the unlock that the kernel inlines writes 0 to the first byte. */
static inline __attribute__((always_inline)) void take(unsigned *lock)
{
	if (__builtin_expect(*lock != 0, 0))
		simsched_bug(__FILE__, __LINE__, "a lock is taken twice");
	*lock = 1;
	count(lock);
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
