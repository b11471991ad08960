/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that the runner shares with dyntick: the same as in `layout.rs` and `outcome.rs`. */
#ifndef DYNTICK_PROTOCOL_H
#define DYNTICK_PROTOCOL_H

#define DYNTICK_MAGIC 0x33796c7065527464ULL
/* A sleep is cut at most so often; after that the last choice holds. */
#define DYNTICK_MOST_CUTS 64

struct dyntick_state {
	s64 exit_latency_ns, target_residency_ns, leaving_ns;
	u32 flags, unused;
	char name[16];
};

/* Of a CPU, for all of its decisions. */
struct dyntick_setting {
	u32 latency_us; /* the limit that was in force */
	u16 disabled; /* one bit for each state */
	u16 unused;
};

#define DYNTICK_MOST_CPUS 8192

struct dyntick_input {
	u64 magic, records;
	u32 states, unused;
	u64 poll_limit_ns, tick_ns;
	struct dyntick_state state[10];
};

#define DYNTICK_SETTINGS_AT 4096
#define DYNTICK_RECORDS_AT (DYNTICK_SETTINGS_AT + DYNTICK_MOST_CPUS * sizeof(struct dyntick_setting))

enum {
	DYNTICK_STOPPED = 1, /* the tick was stopped before the choice */
	DYNTICK_GOT_TICK = 2, /* the tick's handler ran at the end of the sleep */
	DYNTICK_WAS_OFF = 4, /* the tick was stopped while the CPU slept */
	DYNTICK_ENDS = 8, /* the sleep ends before anything happens on another CPU */
	DYNTICK_END = 16, /* no decision: the end of the CPU's last one, whose sleep went on meanwhile */
	DYNTICK_TICK_ASSUMED = 32, /* no event shows the tick; not for the runner */
	DYNTICK_LONG = 64, /* the four times do not fit: they are in the next record */
};

#define DYNTICK_NO_TIMER U32_MAX
#define DYNTICK_NO_STATE 15
#define DYNTICK_NO_WAKER 0x3fff

/* A decision with all that no choice changes, so that scoring one takes a few instructions; half of a cache line. */
struct dyntick_record {
	u64 select_ns; /* begin of the idle period, or of this iteration of it */
	u32 idle_ns; /* from there to the wake-up event, without the time to leave the state */
	u32 residency_ns; /* as the kernel counted it, in the state that was chosen then */
	u32 sleep_length_ns, delta_tick_ns;
	u64 misses : 20; /* two bits for each state: too deep, too shallow */
	u64 reach : 4; /* the states whose target residency is no longer than the sleep */
	u64 chosen : 4; /* the recorded state */
	u64 flags : 8;
	u64 cpu : 13;
	u64 waker : 14; /* the CPU that woke this one */
};

/* The times of a decision as they are. */
struct dyntick_times {
	u64 idle_ns, residency_ns;
	s64 sleep_length_ns, delta_tick_ns;
};

/* A part of a sleep that was cut, the last one too. */
struct dyntick_part {
	u64 duration_ns;
	u32 decision;
	u8 state;
	u8 flags;
	u16 unused;
};

/* A choice is a state with these flags; the rest is of parts. */
enum {
	DYNTICK_STOP_TICK = 16, /* the governor let the tick be stopped */
	DYNTICK_ASKED = 32, /* it asked for the sleep length */
	DYNTICK_WAS_CUT = 64, /* the sleep has several parts, and this is the last choice */
};
enum {
	DYNTICK_CUT = 1, /* the part ended before the wake-up */
	DYNTICK_RIGHT = 2, /* the last part is in the state of the oracle */
	DYNTICK_GOES_ON = 4, /* the governor would have stopped a tick that ended the recorded sleep */
	DYNTICK_SAME = 8, /* the last part is in the recorded state */
};

/* The counts of sleeps that were not cut, by state and verdict. */
enum {
	DYNTICK_MISS = 3,
	DYNTICK_VERDICT_RIGHT = 4,
	DYNTICK_VERDICT_SAME = 8,
	DYNTICK_VERDICT_GOES_ON = 16,
	DYNTICK_VERDICTS = 32,
};

struct dyntick_output {
	volatile u64 decision; /* the one that is being made, from 1 */
	u64 parts, failure, value;
	u64 counts[10][DYNTICK_VERDICTS];
};

enum { DYNTICK_NOT_REGISTERED = 1, DYNTICK_NOT_ENABLED, DYNTICK_BAD_STATE, DYNTICK_LOOP, DYNTICK_NO_SELECT };

#define DYNTICK_OUTPUT_BYTES 4096

#endif
