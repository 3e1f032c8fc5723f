/* SPDX-License-Identifier: MIT */
/* Small functions that the kernel's code expects: memory, names, random numbers. Compiled without the kernel's headers. */
#include <stddef.h>
#include <errno.h>
#include "state.h"

void *memset(void *to, int value, size_t n)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(value) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	char *a = to;
	const char *b = from;

	if (a <= b || a >= b + n)
		return memcpy(to, from, n);
	while (n--)
		a[n] = b[n];
	return to;
}

int match_string(const char *const *array, size_t n, const char *string)
{
	for (size_t i = 0; i < n && array[i]; i++) {
		const char *a = array[i], *b = string;

		while (*a && *a == *b)
			a++, b++;
		if (*a == *b)
			return i;
	}
	return -EINVAL;
}

static unsigned long long random_state;

void simsched_seed_random(unsigned long long seed)
{
	random_state = seed;
}

static unsigned long long next_random(void)
{
	unsigned long long z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

unsigned __get_random_u32_below(unsigned ceiling)
{
	return (next_random() >> 32) * ceiling >> 32;
}

unsigned get_random_u32(void)
{
	return next_random() >> 32;
}

/* All CPUs are equal. */
unsigned long arch_scale_cpu_capacity(int cpu)
{
	return 1024;
}
