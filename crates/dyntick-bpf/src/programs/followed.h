/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads that are followed: those that the reader named, and those that they started. */
#pragma once

#include "kernel.h"

/* A bit for each thread by its number. */
struct {
	u32 (*type)[2]; /* BPF_MAP_TYPE_ARRAY */
	u32 (*key_size)[sizeof(u32)];
	u32 (*value_size)[sizeof(u64)];
	u32 (*max_entries)[MAX_THREADS / 64];
	u32 (*map_flags)[1 << 10]; /* BPF_F_MMAPABLE */
} followed SECTION(".maps");

/* The word with a thread's bit. */
INLINE u64 *followed_word(u32 thread)
{
	u32 word = thread / 64;

	return map_lookup(&followed, &word);
}

INLINE u64 followed_bit(u32 thread)
{
	return 1ull << (thread & 63);
}

INLINE int is_followed(u32 thread)
{
	u64 *word = followed_word(thread);

	return word && *word & followed_bit(thread);
}

/* Who belongs to whom: runs on every CPU. Numbers of threads that ended are given again. */
SECTION("tp_btf/sched_process_fork")
int sched_process_fork(u64 *args)
{
	u32 parent = ((struct task_struct *)args[0])->pid;
	u32 child = ((struct task_struct *)args[1])->pid;
	u64 *of_parent = followed_word(parent), *of_child = followed_word(child);
	u64 is_followed, is_to_be;

	if (!of_parent || !of_child)
		return 0;
	is_followed = *of_child & followed_bit(child);
	is_to_be = *of_parent & followed_bit(parent) ? followed_bit(child) : 0;
	/* Nobody else changes the bit of a thread that is being started; before 5.12 addition alone is atomic. */
	if (is_followed != is_to_be)
		__sync_fetch_and_add(of_child, is_to_be - is_followed);
	return 0;
}
