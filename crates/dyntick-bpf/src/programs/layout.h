/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the counts are: one row for each CPU that is counted, in an array that the reader maps into
 * its memory. Only the CPU itself writes to its row (but for what says otherwise), so nothing needs a lock,
 * and no lookup needs a call. Counts only grow. The numbers in capitals come from layout.rs.
 *
 * A row has slots of three sorts: those with a fixed meaning; those that are found by the key of what they
 * count, a kernel function or a device, of which there are as many as the kernel has; and those of programs,
 * which are found by a task's name, of which there is no end. A program's slot may be given to another
 * program when the reader has read all that it will ever say of the first: it then writes the slot's count
 * to `settled`, and as long as the two are equal nothing has been added since.
 */
#pragma once

#include "cpus.h"
#include "followed.h"

/* What one cause did. */
struct slot {
	u64 key; /* family in the highest byte; 0 for a slot that is free or fixed */
	u64 count; /* of a program's slot: also of those that had it before */
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

/* A work item whose kworker was switched out. */
struct paused {
	u64 began;
	u64 ran; /* until now, without the interrupts within */
	u64 what;
	u64 runtime; /* of its kworker, which has run nowhere else as long as this is the same */
	u32 slot;
	u32 thread;
};

struct row {
	u64 stolen; /* total time in interrupts and softirqs */
	u64 hrtimers; /* how many expired in this interrupt */
	u64 details_lost; /* how many found no room in the ring */
	u64 claiming; /* whether a slot is being given to a key */
	u64 follows; /* written by the reader: whether any threads are followed */
	u64 since; /* written by the reader: from when on each task switch is seen, if there was none yet */
	u64 stolen_since; /* written by the reader: `stolen` at that time */
	u64 busy; /* written by the reader: whether a task ran at that time, and not the idle task */
	struct open vector;
	struct open device;
	struct open call;
	struct open hrtimer[2]; /* in an interrupt, in a softirq */
	struct open timer;
	struct open task;
	struct open work; /* since its kworker was switched to */
	u64 work_began;
	u64 work_ran; /* before `work` */
	u64 worker; /* the thread */
	u64 works; /* how many work items have begun and not ended: `pauses`, and one in `work` */
	u64 pauses; /* how many there are */
	struct paused paused[PAUSED]; /* by the thread's number; of two at one place the later is kept */
	struct open softirq[16];
	struct slot slots[FIXED + FOUND + PROGRAMS];
	u64 settled[PROGRAMS]; /* written by the reader */
};

/* One that took long. */
struct detail {
	u64 start;
	u64 ns; /* without the interrupts within */
	u32 cpu;
	u32 slot;
	u64 key;    /* the slot's at that time */
	u32 thread; /* that was interrupted; of a turn, whose it was */
	u32 unused;
	char comm[NAME];
};

/* Where the function of the tick's timer is. */
const volatile u64 tick_function = 0;
/* What takes longer is told one by one, ns. With this value nothing does, and the verifier leaves that out. */
const volatile u64 details_over = ~0ull;
/* The process that reads. */
const volatile u32 observer = 0;
/* Whether task switches are counted. */
const volatile u32 sees_switches = 0;

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

/* This CPU's row; none if it is not counted. */
INLINE struct row *own_row(void)
{
	return in_row_of(this_cpu(), &rows);
}
