// SPDX-License-Identifier: GPL-2.0-only
//! The host under dyntick: files that users and strangers name.

mod input;
mod output;

pub use input::{InputError, open_regular, read_named, read_regular};
pub use output::{is_standard_output, write_named};
