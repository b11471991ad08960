// SPDX-License-Identifier: GPL-2.0-only
//! Measures wake-up latency in the way of cyclictest.
//!
//! A measuring thread sleeps until a time; the latency is the delay until it runs. Its loop allocates nothing, takes no
//! lock and writes only to its own memory, which it has touched before. This program's other threads stay off the
//! measured CPUs.
//!
//! ```no_run
//! use dyntick_latency::{Plan, Running, ThreadPlan};
//! let thread = ThreadPlan { cpu: Some(3), priority: 95, interval_ns: 1_000_000 };
//! let plan = Plan { loops: Some(1000), ..Plan::of(vec![thread]) };
//! let running = Running::start(plan)?;
//! while !running.ended() {
//!     running.wait(None);
//! }
//! let counts = running.finish()?;
//! println!("at most {} ns", counts.threads[0].max());
//! # Ok::<(), dyntick_latency::LatencyError>(())
//! ```

mod clock;
mod counts;
mod error;
mod late;
mod mark;
mod measure;
mod placement;
mod plan;
mod power;
mod realtime;
pub mod resolution;
mod running;
mod signals;
mod smi;
mod timer;

pub use clock::{now_ns, stamp};
pub use counts::Counts;
pub use error::LatencyError;
pub use late::{Late, Lates, Recent};
pub use measure::Shared;
pub use placement::{allowed, node_of, online};
pub use plan::{Align, Clock, Plan, Policy, Sleep, ThreadPlan};
pub use power::{PowerLimit, hold};
pub use running::{Running, Wake};
