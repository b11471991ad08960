/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory that the runner shares with dyntick: the same as in `layout.rs`. */
#ifndef DYNTICK_PROTOCOL_H
#define DYNTICK_PROTOCOL_H

#define DYNTICK_MAGIC 0x32796c7065527464ULL
/* A sleep is cut at most so often; after that the last choice holds. */
#define DYNTICK_MOST_CUTS 64

struct dyntick_state {
	s64 exit_latency_ns, target_residency_ns, leaving_ns;
	u32 flags, unused;
	char name[16];
};

struct dyntick_input {
	u64 magic, decisions, steps;
	u32 states, unused;
	u64 poll_limit_ns;
	struct dyntick_state state[10];
};

enum {
	DYNTICK_STOPPED = 1, /* the tick was stopped before the choice */
	DYNTICK_GOT_TICK = 2, /* the tick's handler ran at the end of the sleep */
	DYNTICK_WAS_OFF = 4, /* the tick was stopped while the CPU slept */
};

struct dyntick_decision {
	u64 select_ns; /* begin of the idle period, or of this iteration of it */
	u64 wake_ns; /* the wake-up event, without the time to leave the state */
	u64 residency_ns; /* as the kernel counted it, in the state that was chosen then */
	s64 sleep_length_ns, delta_tick_ns;
	s64 latency_ns; /* the limit that was in force */
	u32 cpu, iowaiters;
	u16 disabled; /* one bit for each state */
	u8 chosen; /* the recorded state; 255 for none */
	u8 flags;
	u32 utilisation;
};

struct dyntick_part {
	u64 select_ns;
	u32 decision;
	u8 state;
	u8 flags; /* the governor let the tick be stopped; it asked for the sleep length; the part ended by a cut */
	u16 unused;
};

enum { DYNTICK_STOP_TICK = 1, DYNTICK_ASKED = 2, DYNTICK_CUT = 4 };

struct dyntick_output {
	volatile u64 decision; /* the one that is being made, from 1 */
	volatile u64 parts;
	u64 failure, value;
};

enum { DYNTICK_NOT_REGISTERED = 1, DYNTICK_NOT_ENABLED, DYNTICK_BAD_STATE, DYNTICK_LOOP, DYNTICK_NO_SELECT };

#define DYNTICK_INPUT_BYTES 4096
#define DYNTICK_OUTPUT_BYTES 4096

#endif
