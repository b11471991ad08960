/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What interrupts enter while a CPU sleeps in an emulated state: each notes its vector and the
 * time, and goes back to behind the HLT with interrupts off. Nothing of the kernel has run then.
 */
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

#define EM_STUB_BYTES 16
#define EM_FIRST_VECTOR 32

	.section .noinstr.text, "ax"

	.balign EM_STUB_BYTES
SYM_CODE_START(em_stubs)
	vector = EM_FIRST_VECTOR
	.rept 256 - EM_FIRST_VECTOR
	UNWIND_HINT_IRET_REGS
0 :
	ENDBR
	.byte 0x68			/* push imm32, whatever the vector */
	.long vector
	jmp	em_stub_common
	.fill	0b + EM_STUB_BYTES - ., 1, 0xcc
	vector = vector + 1
	.endr
SYM_CODE_END(em_stubs)

SYM_CODE_START_LOCAL(em_stub_common)
	UNWIND_HINT_IRET_REGS offset=8
	pushq	%rax
	pushq	%rdx
	rdtsc
	pushq	%rcx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	UNWIND_HINT_IRET_REGS offset=80
	cld
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	%rax, %rsi
	movl	72(%rsp), %edi
	call	em_interrupt
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rcx
	popq	%rdx
	popq	%rax
	addq	$8, %rsp
	UNWIND_HINT_IRET_REGS
	andq	$~X86_EFLAGS_IF, 16(%rsp)
	iretq
SYM_CODE_END(em_stub_common)
