/* SPDX-License-Identifier: GPL-2.0-only */
/* How the slot of a task's program is found: by the task's name, and whose task it is. */
#pragma once

#include "account.h"

/* How far a program may be from the place where it belongs. */
#define PROGRAM_PROBES 16

/* Where a program's slot belongs: its key is a hash, of which the highest bits are the best. */
INLINE u32 number_of(u64 key)
{
	return (key >> 48) & (PROGRAMS - 1);
}

/* A task's name is two numbers. */
INLINE int is_called(const struct slot *slot, u64 first, u64 second)
{
	const u64 *words = (const u64 *)slot->name;

	return words[0] == first && words[1] == second;
}

/* Gives a slot to a program, if it still has the key `found`. */
INLINE int give(struct row *row, struct slot *slot, u64 found, u64 key, u64 first, u64 second)
{
	u64 *words = (u64 *)slot->name;

	if (exchange(row, slot, found, CHANGING) != found)
		return 0;
	words[0] = first;
	words[1] = second;
	slot->longest = 0;
	barrier();
	slot->key = key;
	return 1;
}

/*
 * The place of a program that is not where it belongs, or not there at all yet. The first slot that is
 * free, or whose program has had nothing added since the reader read it, is given to it.
 */
APART u32 search_program(u64 key, u64 first, u64 second)
{
	struct row *row = own_row();

	if (!row)
		return 0;
	for (u32 probe = 0; probe < PROGRAM_PROBES; probe++) {
		u32 place = FIXED + FOUND + ((number_of(key) + probe) & (PROGRAMS - 1));
		struct slot *slot = &row->slots[place];

		if (slot->key == key && is_called(slot, first, second))
			return place;
	}
	for (u32 probe = 0; probe < PROGRAM_PROBES; probe++) {
		u32 number = (number_of(key) + probe) & (PROGRAMS - 1), place = FIXED + FOUND + number;
		struct slot *slot = &row->slots[place];
		u64 found = slot->key, settled = row->settled[number];

		if (!found || (settled && settled == slot->count))
			return give(row, slot, found, key, first, second) ? place : unnamed(key);
	}
	return unnamed(key);
}

/* Whose task this is. No thread of the kernel is followed: those are started by threads of the kernel. */
INLINE u32 family_of(struct row *row, struct task_struct *task)
{
	if (task->flags & PF_KTHREAD) {
		/* Else the compiler tests it twice. */
		barrier();
		return KERNEL_THREAD;
	}
	if ((u32)task->tgid == observer)
		return OBSERVER;
	if (!row->follows)
		return TASK;
	return is_followed(task->pid) ? COMMAND : TASK;
}

/* Begins a turn of a task, under a name that is two numbers. */
INLINE void begin_turn(struct row *row, u32 thread, u32 family, u64 first, u64 second, u64 now)
{
	u64 key = key_of(family, (first ^ second * MIX) * MIX >> 8);
	u32 place = FIXED + FOUND + number_of(key);
	struct slot *slot = &row->slots[place];

	COMPUTED(slot);
	if (slot->key != key || !is_called(slot, first, second)) {
		place = search_program(key, first, second);
		slot = slot_at(row, place);
	}
	begin_in(slot, row, &row->task, place, thread, now);
}
