/* SPDX-License-Identifier: GPL-2.0-only */
/* How a slot is found, and how something is added to it. */
#pragma once

#include "layout.h"

/* How far a key may be from the place where it belongs. */
#define PROBES 8

/* The key of a slot that is being given to another one. */
#define CHANGING ~0ull

/* The place in the row's slots for what found no slot of its own. */
#define unnamed(key) (UNNAMED + (u32)((key) >> 56))

#define key_of(family, what) (((u64)(family) << 56) | ((u64)(what) & 0x00ffffffffffffff))

INLINE struct slot *slot_at(struct row *row, u32 place)
{
	/* The mask is larger than the slots are many, so the verifier wants both. */
	if (place >= FIXED + FOUND + PROGRAMS)
		place = 0;
	return &row->slots[place];
}

/*
 * Compares a slot's key and exchanges it; returns what was found. An interrupt may come between: what it claims
 * meanwhile it does not get, and it ends before this goes on. The kernel's own exchange is there since 5.12 only.
 */
INLINE u64 exchange(struct row *row, struct slot *slot, u64 from, u64 to)
{
	u64 found = CHANGING;

	if (row->claiming)
		return found;
	row->claiming = 1;
	barrier();
	found = slot->key;
	if (found == from)
		slot->key = to;
	barrier();
	row->claiming = 0;
	return found;
}

/* The place of a key that is not where it belongs, or not there at all yet. */
APART u32 search(u64 key, u32 first)
{
	struct row *row = own_row();

	if (!row)
		return 0;
	for (u32 probe = 0; probe < PROBES; probe++) {
		u32 place = FIXED + ((first + probe) & (FOUND - 1));
		u64 found = row->slots[place].key;

		if (!found)
			found = exchange(row, &row->slots[place], 0, key);
		if (!found || found == key)
			return place;
	}
	return unnamed(key);
}

/* The place of the slot that counts this key. */
INLINE u32 place_of(struct row *row, u64 key)
{
	u32 first = (key * MIX) >> 48;
	u32 place = FIXED + (first & (FOUND - 1));

	if (row->slots[place].key == key)
		return place;
	return search(key, first);
}

/* How many bits a number has. */
static const u8 bits[256] = {
	[1] = 1, [2 ... 3] = 2, [4 ... 7] = 3, [8 ... 15] = 4,
	[16 ... 31] = 5, [32 ... 63] = 6, [64 ... 127] = 7, [128 ... 255] = 8,
};

/* The bucket of a duration: its binary logarithm, from FIRST_BUCKET_BITS on. */
INLINE u32 bucket_of(u64 ns)
{
	u64 rest = ns >> FIRST_BUCKET_BITS;

	if (rest < 1 << 8)
		return bits[rest];
	if (rest < 1 << 16)
		return 8 + bits[rest >> 8];
	return rest < 1 << 24 ? 16 + bits[rest >> 16] : BUCKETS - 1;
}

/* Adds a duration to a slot, of which so much was added to its time before. */
INLINE void took_at_last(struct slot *slot, u64 ns, u64 added)
{
	u32 bucket = bucket_of(ns);

	COMPUTED(slot);
	slot->ns += ns - added;
	if (ns > slot->longest)
		slot->longest = ns;
	/* Last, as it tells the reader that all of this one is there. */
	barrier();
	if (bucket < BUCKETS)
		slot->histogram[bucket]++;
}

/* Adds a duration to a slot. */
INLINE void took(struct slot *slot, u64 ns)
{
	took_at_last(slot, ns, 0);
}

/* Begins something; `slot` is the one at `place`. */
INLINE void begin_in(struct slot *slot, struct row *row, struct open *open, u32 place, u64 what, u64 now)
{
	slot->count++;
	open->slot = place;
	open->what = what;
	open->stolen = row->stolen;
	open->start = now;
	/* Else the compiler makes one store of several, by an address that each has to compute. */
	barrier();
}

INLINE void begin(struct row *row, struct open *open, u32 place, u64 what)
{
	begin_in(slot_at(row, place), row, open, place, what, now_ns());
}

/* Tells of one that took long. An idle task's turns are long. */
APART int tell(u32 slot, u64 start, u64 ns)
{
	struct row *row = own_row();
	struct detail detail = { .start = start, .ns = ns, .slot = slot };

	if (!row || slot == IDLE)
		return 0;
	detail.cpu = this_cpu();
	detail.key = slot_at(row, slot)->key;
	detail.thread = (u32)this_process_and_thread();
	this_comm(detail.comm, sizeof(detail.comm));
	if (ring_output(&details, &detail, sizeof(detail), RING_NO_WAKEUP))
		row->details_lost++;
	return 0;
}

/* How long what was begun has lasted, without the interrupts within. */
INLINE u64 lasted(struct row *row, struct open *open, u64 now)
{
	s64 ns = now - open->start - row->stolen + open->stolen;

	return ns < 0 ? 0 : ns;
}

/*
 * Ends what was begun; its duration without the interrupts within, 0 if its begin was not seen. An interrupt that
 * comes after `now` was read, as one may at the end of a softirq, has been added to `stolen` too, and may have taken
 * longer than all of what ends.
 */
INLINE u64 end_at(struct row *row, struct open *open, u64 now)
{
	u64 start = open->start, ns;

	if (!start || open->slot >= FIXED + FOUND + PROGRAMS)
		return 0;
	ns = lasted(row, open, now);
	open->start = 0;
	took(&row->slots[open->slot], ns);
	if (ns > details_over)
		tell(open->slot, start, ns);
	return ns;
}

INLINE u64 end(struct row *row, struct open *open)
{
	return open->start ? end_at(row, open, now_ns()) : 0;
}
