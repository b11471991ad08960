// SPDX-License-Identifier: GPL-2.0-only
//! From a stream of executed blocks to spans and instruction counts per kernel function. Pure: no
//! files, no clock.

pub mod stream;
