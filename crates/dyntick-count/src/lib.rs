// SPDX-License-Identifier: GPL-2.0-only
//! Counts what interrupts CPUs, while a command runs or until something else ends it, and says where the time of these
//! CPUs went. Nothing here is text for users: what a row is called is for who prints it.
//!
//! ```no_run
//! use dyntick_count::{Session, per_cpu};
//! use dyntick_observe::live::{Choice, Kind, Wanted};
//! let cpus = "3".parse()?;
//! let wanted = Wanted { cpus, kinds: Kind::ALL.into(), details_over_ns: None, longest_idle_exit_ns: None };
//! let mut session = Session::open(&wanted, Choice::Auto)?;
//! let mut running = session.start(&["./app".to_owned()], &[], None)?;
//! let end = running.wait(None);
//! for cpu in per_cpu(&running.finish(end)?) {
//!     let share = cpu.time.share(cpu.time.interruptions_ns);
//!     println!("CPU {}: {} interruptions, {share} of the time", cpu.cpus, cpu.interruptions());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calls;
mod causes;
mod command;
mod command_time;
mod error;
mod groups;
mod longest;
mod measured;
pub mod missing;
mod rows;
mod session;
mod time;

pub use calls::TimedCalls;
pub use causes::{cause, may_be_the_fair_server, rule};
pub use command::{Asker, End, Finished, Watch, start};
pub use command_time::CommandTime;
pub use error::CountError;
pub use groups::{Class, CountedAs, Group, Part, What};
pub use longest::Longest;
pub use measured::{CountedBy, Measured};
pub use rows::{CpuCounts, GroupRows, Row, per_cpu, together};
pub use session::{Running, Session};
pub use time::CpuTime;
