// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupt table that is in force while a CPU sleeps in an emulated state. Interrupts go to
 * our stubs; exceptions, NMIs and machine checks go where the kernel wants them.
 */
#include "emulator.h"

#include <linux/module.h>
#include <linux/vmalloc.h>
#include <asm/desc.h>
#include <asm/segment.h>

#define FIRST_VECTOR 32
#define STUB_BYTES 16

extern const u8 em_stubs[];

/* The time from the interrupt to the stub's RDTSC, in instructions: cycles of virtual time. */
#define STUB_CYCLES 5

static gate_desc *table;
static struct desc_ptr ours, kernels;

/* Called by the stubs, interrupts off. */
asmlinkage void em_interrupt(u32 vector, u64 now);

noinstr void em_interrupt(u32 vector, u64 now)
{
	struct em_cpu *cpu = this_cpu_ptr(&em_cpus);

	if (!cpu->awake) {
		cpu->awake = true;
		cpu->woken = now - STUB_CYCLES;
		cpu->vector = vector;
	}
	/* A level-triggered interrupt is still asserted and comes again by itself after its end. */
	if (!em_lapic_is_level(vector))
		cpu->pending[vector / 64] |= 1ULL << (vector % 64);
	em_lapic_end(vector);
}

static void point_to(gate_desc *gate, unsigned long address)
{
	memset(gate, 0, sizeof(*gate));
	gate->offset_low = (u16)address;
	gate->offset_middle = (u16)(address >> 16);
	gate->offset_high = (u32)(address >> 32);
	gate->segment = __KERNEL_CS;
	gate->bits.type = GATE_INTERRUPT;
	gate->bits.p = 1;
}

int em_idt_init(void)
{
	unsigned int vector;

	store_idt(&kernels);
	if (kernels.size != IDT_ENTRIES * sizeof(gate_desc) - 1)
		return -EINVAL;
	table = vmalloc(IDT_ENTRIES * sizeof(gate_desc));
	if (!table)
		return -ENOMEM;
	memcpy(table, (void *)kernels.address, IDT_ENTRIES * sizeof(gate_desc));
	for (vector = FIRST_VECTOR; vector < IDT_ENTRIES; vector++)
		point_to(&table[vector], (unsigned long)em_stubs + (vector - FIRST_VECTOR) * STUB_BYTES);
	ours.size = kernels.size;
	ours.address = (unsigned long)table;
	return 0;
}

void em_idt_exit(void)
{
	vfree(table);
}

noinstr void em_idt_ours(void)
{
	asm volatile("lidt %0" : : "m" (ours) : "memory");
}

noinstr void em_idt_kernels(void)
{
	asm volatile("lidt %0" : : "m" (kernels) : "memory");
}
