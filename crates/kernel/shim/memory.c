/* SPDX-License-Identifier: MIT */
/* Memory for the kernel's code: the allocators it calls and the per-CPU area. Compiled without the kernel's headers. */
#include <stddef.h>
#include <string.h>
#include "state.h"

#define CHUNK (1ul << 20)
#define STEP 64ul
#define SMALL (128ul << 10) /* blocks up to this size come from chunks and are used again */
#define DYNAMIC (64ul << 10)

extern char __per_cpu_start[], __per_cpu_end[];
unsigned long __per_cpu_offset[SIMSCHED_CPUS];
unsigned long simsched_cpu_offset;
int simsched_cpu;

/* Stands before each block and keeps it aligned to 64 bytes. */
struct block { unsigned long bytes; void *next; char rest[STEP - 16]; };

static struct block *spare[SMALL / STEP + 1];
static char *chunk, *chunk_end;

/* Zeroed memory. */
void *simsched_alloc(unsigned long bytes)
{
	struct block *p;

	bytes = (bytes + sizeof(*p) + STEP - 1) & ~(STEP - 1);
	if (bytes > SMALL) {
		p = simsched_map(bytes);
	} else if (spare[bytes / STEP]) {
		p = spare[bytes / STEP];
		spare[bytes / STEP] = p->next;
		memset(p, 0, bytes);
	} else {
		if (chunk_end - chunk < (long)bytes) {
			chunk = simsched_map(CHUNK);
			chunk_end = chunk + CHUNK;
		}
		p = (struct block *)chunk;
		chunk += bytes;
	}
	p->bytes = bytes;
	return p + 1;
}

void simsched_free(void *at)
{
	struct block *p = (struct block *)at - 1;

	if ((unsigned long)at < 4096 || p->bytes > SMALL)
		return;
	p->next = spare[p->bytes / STEP];
	spare[p->bytes / STEP] = p;
}

static unsigned long percpu_used, percpu_unit;

void simsched_percpu_create(int cpus)
{
	unsigned long size = __per_cpu_end - __per_cpu_start;
	char *area;

	percpu_used = (size + 63) & ~63ul;
	percpu_unit = (percpu_used + DYNAMIC + 4095) & ~4095ul;
	area = simsched_map(percpu_unit * cpus);
	simsched_percpu_base = (unsigned long)area;
	simsched_percpu_unit = percpu_unit;
	simsched_percpu_bytes = percpu_unit * cpus;
	for (int cpu = 0; cpu < cpus; cpu++) {
		memcpy(area + cpu * percpu_unit, __per_cpu_start, size);
		__per_cpu_offset[cpu] = (unsigned long)(area + cpu * percpu_unit) - (unsigned long)__per_cpu_start;
	}
	for (int cpu = cpus; cpu < SIMSCHED_CPUS; cpu++)
		__per_cpu_offset[cpu] = __per_cpu_offset[0];
	simsched_set_cpu(0);
}

/* Per-CPU memory is never given back: only domains and groups ask for it. */
void *pcpu_alloc_noprof(size_t size, size_t align, _Bool reserved, unsigned gfp)
{
	unsigned long at = (percpu_used + align - 1) & ~(align - 1);

	if (at + size > percpu_unit)
		simsched_bug(__FILE__, __LINE__, "out of per-CPU memory");
	percpu_used = at + size;
	return __per_cpu_start + at;
}

void *__alloc_percpu(size_t size, size_t align) { return pcpu_alloc_noprof(size, align, 0, 0); }
void *__alloc_percpu_gfp(size_t size, size_t align, unsigned gfp) { return pcpu_alloc_noprof(size, align, 0, gfp); }
void free_percpu(void *p) { }

/* The allocators by the names of the versions. */
void *__kmalloc(size_t size, unsigned gfp) { return simsched_alloc(size); }
void *__kmalloc_noprof(size_t size, unsigned gfp) { return simsched_alloc(size); }
void *__kmalloc_node(size_t size, unsigned gfp, int node) { return simsched_alloc(size); }
void *__kmalloc_node_noprof(size_t size, unsigned gfp, int node) { return simsched_alloc(size); }
void *kmalloc_trace(void *cache, unsigned gfp, size_t size) { return simsched_alloc(size); }
void *kmalloc_node_trace(void *cache, unsigned gfp, int node, size_t size) { return simsched_alloc(size); }
void *__kmalloc_cache_noprof(void *cache, unsigned gfp, size_t size) { return simsched_alloc(size); }
void *__kmalloc_cache_node_noprof(void *cache, unsigned gfp, int node, size_t size) { return simsched_alloc(size); }
void *kmalloc_large(size_t size, unsigned gfp) { return simsched_alloc(size); }
void *kmalloc_large_node(size_t size, unsigned gfp, int node) { return simsched_alloc(size); }
void *__kmalloc_large_noprof(size_t size, unsigned gfp) { return simsched_alloc(size); }
void kfree(const void *p) { simsched_free((void *)p); }
void kvfree(const void *p) { simsched_free((void *)p); }

/* A cache is the size of its objects. */
static void *cache_new(unsigned size)
{
	unsigned *cache = simsched_alloc(sizeof(*cache));

	*cache = size;
	return cache;
}

void *kmem_cache_create(const char *name, unsigned size, unsigned align, unsigned flags, void *ctor) { return cache_new(size); }
void *__kmem_cache_create_args(const char *name, unsigned size, void *args, unsigned flags) { return cache_new(size); }
void *kmem_cache_alloc(unsigned *cache, unsigned gfp) { return simsched_alloc(*cache); }
void *kmem_cache_alloc_noprof(unsigned *cache, unsigned gfp) { return simsched_alloc(*cache); }
void *kmem_cache_alloc_node(unsigned *cache, unsigned gfp, int node) { return simsched_alloc(*cache); }
void *kmem_cache_alloc_node_noprof(unsigned *cache, unsigned gfp, int node) { return simsched_alloc(*cache); }
void kmem_cache_free(void *cache, void *p) { simsched_free(p); }

unsigned long long simsched_k_mem(void) { return simsched_mapped; }
