// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate from outside, in one executable: study files.

mod figures_page;
mod keys;
mod schema;
