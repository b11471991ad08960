// SPDX-License-Identifier: GPL-2.0-only
/*
 * The local APIC: which interrupts are pending, their end, sending one to oneself, and its timer.
 * The registers are read and written directly, since the kernel's accessors may be traced and
 * nothing may be traced here. (Intel SDM volume 3, chapter "APIC".)
 */
#include "emulator.h"

#include <linux/errno.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/printk.h>
#include <asm/apicdef.h>
#include <asm/fixmap.h>
#include <asm/irq_vectors.h>
#include <asm/msr-index.h>
#include <asm/tsc.h>

#define DIVIDE_BY_1 0xb

static bool x2apic __ro_after_init;

static __always_inline u32 rdmsr_low(u32 number)
{
	u32 low, high;

	asm volatile("rdmsr" : "=a" (low), "=d" (high) : "c" (number));
	return low;
}

static noinstr u32 lapic_read(u32 reg)
{
	if (!x2apic)
		return *(volatile u32 *)(fix_to_virt(FIX_APIC_BASE) + reg);
	return rdmsr_low(APIC_BASE_MSR + (reg >> 4));
}

static noinstr void lapic_write(u32 reg, u32 value)
{
	if (!x2apic) {
		*(volatile u32 *)(fix_to_virt(FIX_APIC_BASE) + reg) = value;
		return;
	}
	asm volatile("wrmsr" : : "c" (APIC_BASE_MSR + (reg >> 4)), "a" (value), "d" (0) : "memory");
}

/* Whether a vector's bit is set in one of the three registers of 256 bits. */
static noinstr bool is_set(u32 first, unsigned int vector)
{
	return lapic_read(first + (vector / 32) * 16) & (1U << (vector % 32));
}

/* Whether any interrupt is pending. */
noinstr bool em_lapic_pending(void)
{
	unsigned int word;

	/* The first 32 vectors are exceptions. */
	for (word = 1; word < 8; word++)
		if (lapic_read(APIC_IRR + word * 16))
			return true;
	return false;
}

noinstr bool em_lapic_is_level(unsigned int vector)
{
	return vector < LOCAL_TIMER_VECTOR && is_set(APIC_TMR, vector);
}

/* Ends an interrupt; a spurious one is not in service and has no end. */
noinstr void em_lapic_end(unsigned int vector)
{
	if (vector != SPURIOUS_APIC_VECTOR || is_set(APIC_ISR, vector))
		lapic_write(APIC_EOI, 0);
}

noinstr void em_lapic_send_self(unsigned int vector)
{
	while (!x2apic && (lapic_read(APIC_ICR) & APIC_ICR_BUSY))
		cpu_relax();
	lapic_write(APIC_ICR, APIC_DEST_SELF | APIC_DM_FIXED | vector);
}

static noinstr u8 shift_of(u32 divide)
{
	/* Bits 3, 1 and 0 are one number: 0 divides by 2, 6 by 128, 7 by 1. */
	return (((divide & 3) | ((divide >> 1) & 4)) + 1) & 7;
}

/* Notes how the kernel set the timer, before the CPU sleeps. */
noinstr void em_timer_save(struct em_timer *timer)
{
	timer->lvt = lapic_read(APIC_LVTT);
	timer->divide = lapic_read(APIC_TDCR);
	timer->shift = shift_of(timer->divide);
	timer->armed = !(timer->lvt & APIC_LVT_MASKED) && lapic_read(APIC_TMCCT);
	timer->periodic = timer->lvt & APIC_LVT_TIMER_PERIODIC;
}

/* Notes what is left of the kernel's time, after the CPU woke. */
noinstr void em_timer_read(struct em_timer *timer)
{
	timer->left = lapic_read(APIC_TMCCT);
	timer->read_at = rdtsc();
}

/* Makes the timer interrupt after so many cycles, whatever it was set to. */
noinstr void em_timer_arm(u32 cycles)
{
	lapic_write(APIC_LVTT, LOCAL_TIMER_VECTOR);
	lapic_write(APIC_TDCR, DIVIDE_BY_1);
	lapic_write(APIC_TMICT, cycles);
}

/*
 * Gives the kernel its timer back, with what is left now. Returns whether its time is over: the
 * interrupt is then the caller's to send. It never comes early, and late by less than two counts
 * of the kernel's own divisor.
 */
noinstr bool em_timer_restore(struct em_timer *timer)
{
	u64 passed = (rdtsc() - timer->read_at) >> timer->shift;
	u32 left = passed < timer->left ? timer->left - passed : 0;

	lapic_write(APIC_LVTT, timer->lvt);
	lapic_write(APIC_TDCR, timer->divide);
	lapic_write(APIC_TMICT, timer->armed ? left : 0);
	return timer->armed && !left;
}

/*
 * Whether the timer counts cycles of the TSC, one for one, as in virtual time. Both are read around
 * each access of the timer: between any two instructions other CPUs may have their turn.
 */
static bool counts_cycles(void)
{
	const u64 length = 100000;
	u64 before_start, started, before_read, read, counted;
	struct em_timer timer;
	unsigned long flags;

	local_irq_save(flags);
	em_timer_save(&timer);
	em_timer_read(&timer);
	lapic_write(APIC_LVTT, timer.lvt | APIC_LVT_MASKED);
	lapic_write(APIC_TDCR, DIVIDE_BY_1);
	before_start = rdtsc();
	lapic_write(APIC_TMICT, ~0U);
	started = rdtsc();
	while (rdtsc() - started < length)
		cpu_relax();
	before_read = rdtsc();
	counted = ~0U - lapic_read(APIC_TMCCT);
	read = rdtsc();
	if (em_timer_restore(&timer))
		em_lapic_send_self(LOCAL_TIMER_VECTOR);
	local_irq_restore(flags);
	return counted + length / 100 >= before_read - started &&
	       counted <= read - before_start + length / 100;
}

int __init em_lapic_init(bool halts)
{
	u32 mode;

	x2apic = rdmsr_low(MSR_IA32_APICBASE) & X2APIC_ENABLE;
	if (!halts)
		return 0;
	mode = lapic_read(APIC_LVTT) & (APIC_LVT_TIMER_TSCDEADLINE | APIC_LVT_TIMER_PERIODIC);
	if (mode == APIC_LVT_TIMER_PERIODIC) {
		pr_err("wait=halt cannot give a periodic tick its timer back: boot without highres=off and nohz=off, or use wait=spin\n");
		return -ENODEV;
	}
	if (mode == APIC_LVT_TIMER_TSCDEADLINE || !counts_cycles()) {
		pr_err("wait=halt needs a local APIC timer that counts cycles of the TSC, as QEMU's virtual time (-icount) has; use wait=spin\n");
		return -ENODEV;
	}
	return 0;
}
