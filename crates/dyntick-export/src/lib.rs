// SPDX-License-Identifier: GPL-2.0-only
//! The counts of `dyntick-count` as metrics for Prometheus: the totals since an exporter started, their text, and the
//! server that Prometheus scrapes.
//!
//! ```
//! use dyntick_export::{Format, Totals, text};
//! let totals = Totals::new("0.1.0");
//! assert!(text(&totals, Format::OpenMetrics)?.ends_with("# EOF\n"));
//! # Ok::<(), std::fmt::Error>(())
//! ```

mod cause;
pub mod http;
mod text;
mod totals;

pub use cause::{Cause, MOST_DEVICES};
pub use text::{Format, text};
pub use totals::{CpuTotals, IdleTotals, Own, Sum, Totals};

#[cfg(test)]
mod tests;
