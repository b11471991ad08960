// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times each call of one function of the kernel. The object is loaded once for each function, and of its
 * programs one pair is attached: fentry with fexit, or kprobe with kretprobe.
 *
 * A call that is open is known by where it is on the kernel's stacks: while it is, no other call has that
 * address, whether it nests, sleeps, comes in an interrupt or ends on another CPU. Neither the CPU nor the
 * task would do: a function may be interrupted by itself, and a task may sleep in it while others enter.
 */
#include "cpus.h"

/* The calls that ended on one CPU. Only this CPU writes to it. */
struct calls {
	u64 began;    /* how many began here */
	u64 ended;
	u64 ns;       /* total duration of those that ended */
	u64 shortest; /* 0 for none */
	u64 longest;
	u64 no_room;  /* began here, and the table of open calls had no room */
	u64 unpaired; /* ended here, and their begin was not seen */
	u64 octaves[OCTAVES];
};

struct {
	u32 (*type)[2]; /* BPF_MAP_TYPE_ARRAY */
	u32 (*key_size)[sizeof(u32)];
	u32 (*value_size)[sizeof(struct calls)];
	u32 (*max_entries)[1]; /* set when it is loaded */
	u32 (*map_flags)[1 << 10]; /* BPF_F_MMAPABLE */
} calls SECTION(".maps");

/*
 * A call that has begun. One whose end is never seen (the function does not return) stays, until another
 * call at the same address takes its place.
 */
struct open {
	u64 frame; /* 0 for a free one */
	u64 start;
};

struct table {
	struct open open[OPEN_CALLS];
};

struct {
	u32 (*type)[2]; /* BPF_MAP_TYPE_ARRAY: a lookup of the only element is a constant */
	u32 (*key_size)[sizeof(u32)];
	u32 (*value_size)[sizeof(struct table)];
	u32 (*max_entries)[1];
} open_calls SECTION(".maps");

/* How far a call may be from the place where it belongs. */
#define PROBES 8

INLINE struct calls *own_calls(void)
{
	return in_row_of(this_cpu(), &calls);
}

INLINE struct table *open_table(void)
{
	u32 only = 0;

	return map_lookup(&open_calls, &only);
}

/* Stacks are aligned to more than a word, so the lowest bits say nothing. */
INLINE u32 place_of(u64 frame)
{
	return (frame * 0x9e3779b97f4a7c15ull) >> 40;
}

/* The call at this address, or a free place for it, which is then its own; none where there is no room. */
INLINE struct open *claim(struct table *table, u64 frame)
{
	struct open *vacant = 0;
	u32 first = place_of(frame);

	for (u32 probe = 0; probe < PROBES; probe++) {
		struct open *open = &table->open[(first + probe) & (OPEN_CALLS - 1)];

		if (open->frame == frame)
			return open;
		if (!vacant && !open->frame)
			vacant = open;
	}
	/* Another CPU may be faster: then there is one more call without room, which is counted. */
	if (vacant && !__sync_val_compare_and_swap(&vacant->frame, 0, frame))
		return vacant;
	return 0;
}

INLINE struct open *found(struct table *table, u64 frame)
{
	u32 first = place_of(frame);

	for (u32 probe = 0; probe < PROBES; probe++) {
		struct open *open = &table->open[(first + probe) & (OPEN_CALLS - 1)];

		if (open->frame == frame)
			return open;
	}
	return 0;
}

/* The binary logarithm, 0 for 0. */
INLINE u32 octave_of(u64 ns)
{
	u32 octave = 0;

	if (ns >> 32) {
		octave += 32;
		ns >>= 32;
	}
	if (ns >> 16) {
		octave += 16;
		ns >>= 16;
	}
	if (ns >> 8) {
		octave += 8;
		ns >>= 8;
	}
	if (ns >> 4) {
		octave += 4;
		ns >>= 4;
	}
	if (ns >> 2) {
		octave += 2;
		ns >>= 2;
	}
	octave += ns >> 1 ? 1 : 0;
	return octave < OCTAVES ? octave : OCTAVES - 1;
}

INLINE int begins(u64 frame)
{
	struct calls *calls = own_calls();
	struct table *table = open_table();
	struct open *open;

	if (!calls || !table)
		return 0;
	open = claim(table, frame);
	if (!open) {
		calls->no_room++;
		return 0;
	}
	calls->began++;
	/* Last, so that little of this program is in the figure. */
	open->start = now_ns();
	return 0;
}

INLINE int ends(u64 frame)
{
	u64 now = now_ns();
	struct calls *calls = own_calls();
	struct table *table = open_table();
	struct open *open;
	u32 octave;
	u64 ns;

	if (!table)
		return 0;
	open = found(table, frame);
	if (!open) {
		if (calls)
			calls->unpaired++;
		return 0;
	}
	ns = now - open->start;
	open->frame = 0;
	/* It moved to a CPU that is not measured. */
	if (!calls)
		return 0;
	octave = octave_of(ns);
	calls->ended++;
	calls->ns += ns;
	if (!calls->shortest || ns < calls->shortest)
		calls->shortest = ns;
	if (ns > calls->longest)
		calls->longest = ns;
	if (octave < OCTAVES)
		calls->octaves[octave]++;
	return 0;
}

/* Both programs are called by one trampoline, with the same place on its stack for the arguments. */
SECTION("fentry/any")
int call_entry(u64 *args)
{
	return begins(number(args));
}

SECTION("fexit/any")
int call_exit(u64 *args)
{
	return ends(number(args));
}

/* Registers as the kernel saves them on x86-64 (arch/x86/include/asm/ptrace.h). */
struct registers {
	u64 others[19];
	u64 sp;
	u64 ss;
};

/* At a function's first instruction the stack pointer is where its return address is. */
SECTION("kprobe/any")
int call_probed(struct registers *registers)
{
	return begins(registers->sp);
}

/*
 * The trampoline of return probes saves the registers below the place where that address was
 * (arch_rethook_trampoline).
 */
SECTION("kretprobe/any")
int call_returned(struct registers *registers)
{
	return ends(number(registers + 1));
}
