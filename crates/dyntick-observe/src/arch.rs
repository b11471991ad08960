// SPDX-License-Identifier: GPL-2.0-only
//! The counters by which each architecture shows the interrupts that no device sends, a file for each. arm64 names its
//! rows `IPI0`, `IPI1`, …, whose texts are the names (arch/arm64/kernel/smp.c: `show_ipi_list`), and its timer is a row
//! with a number and the name `arch_timer`.

pub mod x86;
