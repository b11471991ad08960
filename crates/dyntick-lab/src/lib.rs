// SPDX-License-Identifier: GPL-2.0-only
//! The laboratory: cases run in virtual machines, their runs, and the figures that these yield.

pub mod doctor;
pub mod emulator;
pub mod error;
pub mod execute;
pub mod expected;
pub mod figures;
pub mod idle;
pub mod image;
mod ingest;
pub mod judgement;
pub mod lab;
pub mod latency;
pub mod lookup;
mod names;
pub mod observations;
pub mod plan;
pub mod printed;
pub mod profiles;
pub mod qemu;
pub mod running;
pub mod seal;
pub mod shared;
pub mod sides;
pub mod store;
pub mod study;
pub mod tried;
