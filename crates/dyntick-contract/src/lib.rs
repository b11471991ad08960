// SPDX-License-Identifier: GPL-2.0-only
//! Everything that dyntick prints as JSON: the types, the names and versions of their formats, and their schemas.
//!
//! A program that reads dyntick's output needs this crate and no terminal. Each type is filled here if plain values
//! suffice, and by its verb if it needs a running system.

mod adviser;
pub mod compare;
pub mod isolate;
pub mod labels;
pub mod latency;
pub mod stat;
pub mod top;

pub use adviser::Adviser;
