// SPDX-License-Identifier: GPL-2.0-only
//! The laboratory: studies, kernels, guest images, virtual machines and the guest agent.

pub mod agent;
pub mod apt;
pub mod budget;
pub mod build;
pub mod cache;
pub mod compare;
pub mod doctor;
pub mod effects;
mod elf_tables;
pub mod emulator;
pub mod figures;
pub mod guest;
pub mod hash;
pub mod idle;
pub mod image;
pub mod kernels;
pub mod lab;
pub mod latency;
pub mod machine;
pub mod metrics;
pub mod observations;
mod opened;
mod order;
pub mod perturb;
pub mod printed;
pub mod profiles;
pub mod programs;
pub mod qemu;
mod remove;
mod room;
pub mod running;
pub mod seal;
pub mod store;
pub mod study;
