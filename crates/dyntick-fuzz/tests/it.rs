// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate from outside, in one executable: fuzz targets.

mod corpus;
mod valid;
