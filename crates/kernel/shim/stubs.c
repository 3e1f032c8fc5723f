/* SPDX-License-Identifier: MIT */
/* Counts the calls of functions that nobody defines. The build generates the table of their names and the stubs, which come here with their index. */
#include "state.h"

extern const char *const simsched_stub_names[];
extern const int simsched_stub_count;
static unsigned long long calls[4096];
static signed char listed[4096];

/* Those that may be called, for which 0 is the right answer. */
static const char *const list[] = {
#include "stubs.list"
};

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static int may(int i)
{
	if (!listed[i]) {
		listed[i] = -1;
		for (unsigned k = 0; k < sizeof(list) / sizeof(*list); k++)
			if (same(list[k], simsched_stub_names[i]))
				listed[i] = 1;
	}
	return listed[i] > 0;
}

unsigned long simsched_stub(int i)
{
	if (!calls[i]++ && !may(i))
		simsched_warn(simsched_stub_names[i], 0, "a function was called that nobody defines");
	return 0;
}

int simsched_k_stubs(int i, const char **name, unsigned long long *n, int *allowed)
{
	if (i < 0 || i >= simsched_stub_count)
		return 0;
	*name = simsched_stub_names[i];
	*n = calls[i];
	*allowed = may(i);
	return 1;
}
