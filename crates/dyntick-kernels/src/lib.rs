// SPDX-License-Identifier: GPL-2.0-only
//! What a guest boots: kernels that are found, fetched or built, and the image that starts with them; and the
//! cache that keeps what took long.

pub mod apt;
pub mod build;
pub mod cache;
mod elf_tables;
pub mod find;
pub mod hash;
pub mod image;
pub mod programs;
pub mod remove;
