/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the C-state emulator share. */
#ifndef CSTATE_EMULATOR_H
#define CSTATE_EMULATOR_H

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuidle.h>
#include <linux/percpu.h>
#include <linux/types.h>

/* Package states: 0 is none, so that a level is also "how many are allowed". */
#define EM_PACKAGE_LEVELS 4

/* Room for the points of a distribution of exits. */
#define EM_QUANTILES 16

/* So many of all exits, in shares of 2^32, take no longer than this. */
struct em_quantile {
	u64 share;
	u64 cycles;
};

/* One idle state, times in cycles of the TSC. */
struct em_state {
	u64 entry;		/* from the decision to sleep until it sleeps */
	u64 exit;		/* from the wake-up to the first instruction */
	unsigned int package;	/* deepest package state that it allows */
	bool irq_enable;	/* interrupts are taken before the driver returns */
	unsigned int quantiles;	/* that exits are drawn from; 0: all take `exit` */
	struct em_quantile quantile[EM_QUANTILES];
};

/* What is counted of one state on one CPU. */
struct em_count {
	u64 entries;
	u64 cycles;		/* from the decision to sleep to the first instruction */
	u64 during_entry;	/* woken before it had finished entering */
	u64 not_entered;	/* an interrupt was pending already */
};

/* One sleep, as debugfs gives it; times are ns of CLOCK_MONOTONIC. */
struct em_record {
	u64 entered;		/* the driver was asked to enter the state */
	u64 woken;		/* the interrupt came */
	u64 ready;		/* the kernel's next instruction */
	s64 next_timer;		/* what the CPU's own timer was set to */
	u8 state;
	u8 vector;		/* 0: not by an interrupt (NMI, machine check) */
	u8 package;		/* the package state that had to be left, 0 if none */
	u8 flags;		/* EM_RECORD_* */
	u32 zero;
};

#define EM_RECORD_DURING_ENTRY 1

/* Local APIC timer, as the kernel left it. */
struct em_timer {
	u32 lvt;
	u32 divide;
	u32 left;		/* counts */
	u64 read_at;		/* cycles */
	u8 shift;		/* cycles of a count, as a power of two */
	bool armed;
	bool periodic;		/* it cannot be set to what is left and go on as it was */
};

struct em_cpu {
	/* Written by the stubs. */
	u64 pending[4];		/* vectors that are to be replayed */
	u64 woken;
	u8 vector;
	bool awake;

	struct em_timer timer;
	u64 random;		/* the state of the generator that exits are drawn by */
	u64 overrun;		/* longest time by which an exit was late, cycles */
	struct em_count count[CPUIDLE_STATE_MAX];
	struct em_record *records;
	u32 recorded;
	u64 lost;
	struct em_package *package;
};

DECLARE_PER_CPU(struct em_cpu, em_cpus);

/* table.c */
extern struct em_state em_states[CPUIDLE_STATE_MAX];
int em_parse_states(struct cpuidle_driver *drv, const char *text);

/* main.c */
extern bool em_halts;
extern bool em_prewake;
u64 em_cycles(u64 ns);
u64 em_ns(u64 cycles);

/* exit.c */
int em_parse_quantiles(struct em_state *state, char *rest);
void em_exit_init(void);
u64 em_exit_cycles(struct em_cpu *cpu, const struct em_state *state);

/* idle.c */
int em_enter(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index);

/* idt.c: the interrupt table that is in force while a CPU sleeps. */
int em_idt_init(void);
void em_idt_exit(void);
void em_idt_ours(void);
void em_idt_kernels(void);

/* lapic.c: the local APIC, in whichever of its two modes. */
int em_lapic_init(bool halts);
bool em_lapic_pending(void);
bool em_lapic_is_level(unsigned int vector);
void em_lapic_end(unsigned int vector);
void em_lapic_send_self(unsigned int vector);
void em_timer_save(struct em_timer *timer);
void em_timer_read(struct em_timer *timer);
void em_timer_arm(u32 cycles);
bool em_timer_restore(struct em_timer *timer);

/* package.c */
struct em_package;
int em_parse_packages(const struct cpuidle_driver *drv, const char *levels, const char *cpus);
void em_packages_free(void);
void em_package_add_cpu(unsigned int cpu);
void em_package_remove_cpu(unsigned int cpu);
void em_package_enter(struct em_package *package, unsigned int level, u64 asleep);
unsigned int em_package_leave(struct em_package *package, unsigned int level, u64 woken, u64 *begin);
struct seq_file;
void em_packages_show(struct seq_file *file);

/* facts.c: what debugfs tells. */
extern u32 em_record_limit;
int em_facts_init(const struct cpuidle_driver *drv, u32 records);
void em_facts_exit(void);

#endif
