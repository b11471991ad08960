// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entering an emulated state: halt, be woken, wait until the state is left, and only then let the
 * kernel have its interrupt.
 *
 * All of this runs with interrupts off but for the HLT itself, and while it runs the CPU's
 * interrupts go to stubs that only note them (idt.c). They are sent again at the end, so that the
 * kernel takes them where it turns interrupts on: the time from the wake-up to its first
 * instruction is the exit latency, whatever woke it.
 */
#include "emulator.h"

#include <linux/irqflags.h>
#include <linux/timekeeping.h>
#include <asm/irq_vectors.h>
#include <asm/tsc.h>

/*
 * With wait=halt the timer ends the sleep so many cycles early; what is left to do is done in
 * them, and the rest is spun to the cycle.
 */
#define TAIL 700

/* The shortest time that is worth a sleep. */
#define SHORTEST 200

/* Instructions from the last reading of the clock to the return of em_enter(). */
#define RETURN_CYCLES 20

static __always_inline void let_interrupts_wake(void)
{
	asm volatile("sti; hlt; cli" : : : "memory");
}

/* Spins for exactly so many instructions beside its own few: a nanosecond each in virtual time. */
static __always_inline void spin_instructions(u64 count)
{
	asm volatile("test $1, %b0\n\t"
		     "jz 1f\n\t"
		     "nop\n"
		     "1:\tshr %0\n\t"
		     "jz 3f\n"
		     "2:\tdec %0\n\t"
		     "jnz 2b\n"
		     "3:"
		     : "+r" (count) : : "cc");
}

/* Sends what the stubs noted again, to this CPU. */
static noinstr void replay(struct em_cpu *cpu)
{
	unsigned int word;

	for (word = 0; word < 4; word++) {
		while (cpu->pending[word]) {
			unsigned int bit = __builtin_ctzll(cpu->pending[word]);

			cpu->pending[word] &= cpu->pending[word] - 1;
			em_lapic_send_self(word * 64 + bit);
		}
	}
}

/* Waits on the wall clock; other interrupts stay pending by themselves. */
static noinstr void wait_spinning(struct em_cpu *cpu, u64 until)
{
	while ((s64)(until - rdtsc()) > 0)
		cpu_relax();
	em_idt_kernels();
	replay(cpu);
}

/* Waits in virtual time, which an emulator skips while all CPUs are halted. */
static noinstr void wait_halted(struct em_cpu *cpu, u64 until)
{
	const u64 timer_bit = 1ULL << (LOCAL_TIMER_VECTOR % 64);
	u64 *timer_word = &cpu->pending[LOCAL_TIMER_VECTOR / 64];
	bool due = *timer_word & timer_bit;
	s64 left;

	em_timer_read(&cpu->timer);
	while ((left = until - TAIL - rdtsc()) > SHORTEST) {
		em_timer_arm(left);
		let_interrupts_wake();
	}
	/* The vector may have been noted for our own time. */
	*timer_word &= ~timer_bit;
	if (em_timer_restore(&cpu->timer) || due)
		*timer_word |= timer_bit;
	em_idt_kernels();
	replay(cpu);
}

/* One sleep. */
struct sleep {
	u64 begin;		/* cycles */
	u64 until;		/* cycles */
	u64 entered;		/* ns of CLOCK_MONOTONIC */
	u8 state;
	u8 package;
	bool during_entry;
};

static noinstr void record(struct em_cpu *cpu, const struct sleep *sleep, s64 next_timer)
{
	struct em_record *record;

	if (cpu->recorded == em_record_limit) {
		cpu->lost++;
		return;
	}
	record = &cpu->records[cpu->recorded];
	record->entered = sleep->entered;
	record->woken = sleep->entered + em_ns(cpu->woken - sleep->begin);
	record->ready = sleep->entered + em_ns(sleep->until - sleep->begin);
	record->next_timer = next_timer;
	record->state = sleep->state;
	record->vector = cpu->vector;
	record->package = sleep->package;
	record->flags = sleep->during_entry ? EM_RECORD_DURING_ENTRY : 0;
	record->zero = 0;
	/* A reader must not see what is not written. */
	smp_store_release(&cpu->recorded, cpu->recorded + 1);
}

/* Sleeps until something wakes this CPU; returns in which cycle. */
static noinstr u64 sleep_until_woken(struct em_cpu *cpu)
{
	cpu->awake = false;
	cpu->vector = 0;
	em_idt_ours();
	let_interrupts_wake();
	/* After an NMI or a machine check no stub has run. */
	if (!cpu->awake) {
		cpu->awake = true;
		cpu->woken = rdtsc();
	}
	return cpu->woken;
}

/* Farther than any timer, and near enough to be compared with. */
#define NEVER (1ULL << 62)

/* When the core begins to wake by itself, so that it is awake when its timer is due. */
static noinstr u64 wakes_itself(const struct cpuidle_device *dev, const struct sleep *sleep, u64 exit)
{
	s64 ahead = dev->next_hrtimer - sleep->entered;

	if (!em_prewake || dev->next_hrtimer == KTIME_MAX || ahead < 0)
		return sleep->begin + NEVER;
	return sleep->begin + em_cycles(ahead) - exit;
}

/* Lets the kernel have its interrupts now, as the states of intel_idle do that have CPUIDLE_FLAG_IRQ_ENABLE. */
static __always_inline void let_interrupts_in(void)
{
	asm volatile("sti; nop; cli" : : : "memory");
}

/* Sleeps, and waits until the state is left. */
static noinstr void sleep_and_exit(struct em_cpu *cpu, const struct cpuidle_device *dev, struct sleep *sleep)
{
	const struct em_state *state = &em_states[sleep->state];
	u64 asleep = sleep->begin + state->entry;
	u64 woken, exit, begin;

	if (cpu->records || em_prewake)
		sleep->entered = ktime_get_mono_fast_ns();
	em_package_enter(cpu->package, state->package, asleep);
	woken = sleep_until_woken(cpu);
	exit = em_exit_cycles(cpu, state);

	sleep->during_entry = (s64)(woken - asleep) < 0;
	if (sleep->during_entry)
		woken = asleep;
	begin = wakes_itself(dev, sleep, exit);
	if ((s64)(begin - asleep) < 0)
		begin = asleep;
	sleep->package = em_package_leave(cpu->package, state->package, woken, &begin);
	sleep->until = begin + exit;
	if ((s64)(sleep->until - woken) < 0)
		sleep->until = woken;
	if (em_halts && !cpu->timer.periodic)
		wait_halted(cpu, sleep->until);
	else
		wait_spinning(cpu, sleep->until);
}

/* Returns at the moment until which the exit takes, to the cycle in virtual time. */
static noinstr void finish(struct em_cpu *cpu, u64 until)
{
	u64 now = rdtsc() + RETURN_CYCLES;

	if ((s64)(until - now) >= 0) {
		if (em_halts)
			spin_instructions(until - now);
	} else if (now - until > cpu->overrun) {
		cpu->overrun = now - until;
	}
}

noinstr int em_enter(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	struct em_cpu *cpu = this_cpu_ptr(&em_cpus);
	struct em_count *count = &cpu->count[index];
	struct sleep sleep = { .begin = rdtsc(), .state = index };

	/* Before the pending interrupts are looked at: a timer in its last count is one of them then. */
	if (em_halts)
		em_timer_save(&cpu->timer);
	if (em_lapic_pending()) {
		count->not_entered++;
	} else {
		sleep_and_exit(cpu, dev, &sleep);
		if (cpu->records)
			record(cpu, &sleep, dev->next_hrtimer);
		count->entries++;
		count->cycles += sleep.until - sleep.begin;
		count->during_entry += sleep.during_entry;
		finish(cpu, sleep.until);
	}
	if (em_states[index].irq_enable)
		let_interrupts_in();
	return index;
}
