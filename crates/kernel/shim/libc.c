/* SPDX-License-Identifier: MIT */
/*
 * The side of the shim that uses the C library: memory from the system, texts of errors, the way out of BUG.
 * Compiled without the kernel's headers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stddef.h>
#include <sys/mman.h>
#include "state.h"

#define ERRORS 8192
#define MAPS 65536

static char errors[ERRORS];
static int errors_len;
int simsched_dead;
void *simsched_jump[8];
unsigned long long simsched_mapped;

static struct { void *at; size_t bytes; } *maps;
static int maps_len;

void *simsched_map(unsigned long bytes)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	bytes = (bytes + 4095) & ~4095ul;
	if (!maps)
		maps = mmap(NULL, MAPS * sizeof(*maps), prot, flags, -1, 0);
	void *p = mmap(NULL, bytes, prot, flags, -1, 0);
	if (p == MAP_FAILED || maps_len == MAPS)
		simsched_bug(__FILE__, __LINE__, "out of memory");
	maps[maps_len].at = p;
	maps[maps_len++].bytes = bytes;
	simsched_mapped += bytes;
	return p;
}

void simsched_unmap_all(void)
{
	while (maps_len) {
		maps_len--;
		munmap(maps[maps_len].at, maps[maps_len].bytes);
	}
	if (maps)
		munmap(maps, MAPS * sizeof(*maps));
	maps = NULL;
	simsched_mapped = 0;
	simsched_dead = 1;
}

static void add(const char *format, va_list args)
{
	if (errors_len < ERRORS - 1) {
		int n = vsnprintf(errors + errors_len, ERRORS - errors_len, format, args);
		if (n > 0)
			errors_len += n;
		if (errors_len > ERRORS - 1)
			errors_len = ERRORS - 1;
	}
}

static void addf(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(format, args);
	va_end(args);
}

void simsched_warn(const char *file, int line, const char *format, ...)
{
	va_list args;

	addf("WARN at %s:%d: ", file, line);
	va_start(args, format);
	add(format, args);
	va_end(args);
	addf("\n");
}

void simsched_bug(const char *file, int line, const char *what)
{
	addf("BUG at %s:%d: %s\n", file, line, what);
	simsched_dead = 1;
	if (simsched_in_slot)
		simsched_abandon();
	__builtin_longjmp(simsched_jump, 1);
}

void simsched_fail(const char *text)
{
	addf("%s\n", text);
}

const char *simsched_k_error(void)
{
	return errors;
}

void simsched_k_error_clear(void)
{
	errors_len = 0;
	errors[0] = 0;
}

/* The kernel's texts: what it prints is an error only if it says so by WARN or BUG. */
int _printk(const char *format, ...)
{
	return 0;
}

int snprintf(char *buffer, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(buffer, size, format, args);
	va_end(args);
	return n;
}

int scnprintf(char *buffer, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(buffer, size, format, args);
	va_end(args);
	return n < (int)size ? n : size ? (int)size - 1 : 0;
}

int sprintf(char *buffer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsprintf(buffer, format, args);
	va_end(args);
	return n;
}
