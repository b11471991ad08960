// SPDX-License-Identifier: GPL-2.0-only
//! Kernels that guests boot: found, fetched or built; and the cache that keeps what took long.

pub mod apt;
pub mod build;
pub mod cache;
pub mod elf_tables;
pub mod find;
pub mod hash;
pub mod programs;
pub mod remove;
