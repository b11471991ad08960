// SPDX-License-Identifier: GPL-2.0-only
//! The events by which each architecture shows the interrupts that no device sends, a file for each.
//!
//! To add an architecture, add a file with the same functions as `x86`, and let `events::of_interrupts` and
//! `events::by_name_alone` ask it too. The names of events differ between architectures, so that a decoder needs not
//! know which one made a trace.
//!
//! arm64 has no event for each source. Its IPIs are `ipi:ipi_entry` and `ipi:ipi_exit`, whose field `reason` is the
//! address of a text such as `Rescheduling interrupts` (arch/arm64/kernel/smp.c: `ipi_types`; tracefs lists addresses
//! and texts in `printk_formats`): recording keeps that list in [`Metadata`](crate::Metadata), and the table is from
//! text to source. Its timer is `irq:irq_handler_entry` with the name `arch_timer`: the reader of that event makes it
//! an `InterruptEntry` of [`Interrupt::Timer`](dyntick_model::Interrupt::Timer).

pub mod x86;
