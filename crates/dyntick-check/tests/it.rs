// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate from outside, in one executable: rules of check.

mod boot;
mod fixes_page;
mod good;
mod kernels;
mod lexer;
mod machines;
mod programs;
mod rules;
mod script;
