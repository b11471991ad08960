/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the counts are: one row for each CPU that is counted, in an array that the reader maps into
 * its memory. Only the CPU itself writes to its row, so nothing needs a lock, and no lookup needs a
 * call. The numbers in capitals come from layout.rs.
 */
#pragma once

#include "cpus.h"

/* What one cause did. */
struct slot {
	u64 key; /* family in the highest byte; 0 for a slot that is free or fixed */
	u64 count;
	u64 ns; /* total duration, without the interrupts within */
	u64 longest;
	char name[NAME];
	u64 histogram[BUCKETS];
};

/* Something that has begun and not ended. */
struct open {
	u64 start;
	u64 stolen; /* the row's at that time */
	u64 what;   /* which timer, task or function */
	u32 slot;
	u32 unused;
};

struct row {
	u64 stolen; /* total time in interrupts and softirqs */
	u64 hrtimers; /* how many expired in this interrupt */
	u64 details_lost; /* how many found no room in the ring */
	struct open vector;
	struct open device;
	struct open call;
	struct open hrtimer[2]; /* in an interrupt, in a softirq */
	struct open timer;
	struct open task;
	struct open work;
	struct open softirq[16];
	struct slot slots[FIXED + FOUND];
};

/* One that took long. */
struct detail {
	u64 start;
	u64 ns; /* without the interrupts within */
	u32 cpu;
	u32 slot;
	u32 thread; /* that was interrupted; of a turn, whose it was */
	u32 unused;
	char comm[NAME];
};

/* Where the function of the tick's timer is. */
const volatile u64 tick_function = 0;
/* What takes longer is told one by one, ns. With this value nothing does, and the verifier leaves that out. */
const volatile u64 details_over = ~0ull;

struct {
	u32 (*type)[2]; /* BPF_MAP_TYPE_ARRAY */
	u32 (*key_size)[sizeof(u32)];
	u32 (*value_size)[sizeof(struct row)];
	u32 (*max_entries)[1]; /* set when it is loaded */
	u32 (*map_flags)[1 << 10]; /* BPF_F_MMAPABLE */
} rows SECTION(".maps");

struct {
	u32 (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	u32 (*max_entries)[4096]; /* bytes; set when it is loaded */
} details SECTION(".maps");

/* Threads that the reader named, and those that they started. Key 0 counts those that found no room. */
struct {
	u32 (*type)[1]; /* BPF_MAP_TYPE_HASH */
	u32 (*key_size)[sizeof(u32)];
	u32 (*value_size)[sizeof(u64)];
	u32 (*max_entries)[1 << 16];
	u32 (*map_flags)[1 << 0]; /* BPF_F_NO_PREALLOC: costs nothing where nobody is followed */
} followed SECTION(".maps");

/* This CPU's row; none if it is not counted. */
INLINE struct row *own_row(void)
{
	u32 row = row_number();

	if (row == NOT_COUNTED)
		return 0;
	return map_lookup(&rows, &row);
}
