// SPDX-License-Identifier: GPL-2.0-only
//! The words that every other crate of dyntick speaks. Pure values: no I/O, no clock.

pub mod boot;
mod clock;
mod cmdline;
mod cpulist;
mod dialect;
pub mod digits;
mod event;
mod fix;
mod idle;
mod idle_reading;
mod interrupt;
pub mod isolation;
mod kconfig;
pub mod kernel_name;
mod maps;
pub mod parameters;
pub mod recipe;
mod role;
mod settings;
pub mod shipped;
mod signal;
pub mod text;
mod tick;
pub mod units;
mod version;

pub use clock::{Clock, NANOS_PER_SEC};
pub use cmdline::{CommandLine, cpus_of};
pub use cpulist::{CpuList, CpuListError};
pub use dialect::{Architecture, Dialect, Flag, Masks, UnknownFlag};
pub use event::{Event, EventKind, Softirq, Symbol, Within};
pub use fix::{Fix, Hole, Template};
pub use idle::{Basis, Exit, IdleState, IdleTable, Machine, MeasuredExit, PackageState, Power, Quantile};
pub use idle_reading::{CountedState, IdleSnapshot, LatencyLimits, Reading, StateReading};
pub use interrupt::Interrupt;
pub use isolation::{Isolation, Outcome, Reader};
pub use kconfig::{GOVERNORS, KernelConfig};
pub use kernel_name::{Spec, SpecError};
pub use maps::{Hashing, Map, Set};
pub use recipe::Recipe;
pub use role::{Role, TICK_KICK};
pub use settings::Settings;
pub use signal::signal_name;
pub use tick::{TICK_FUNCTIONS, TickDependency, UnknownDependency, function_of};
pub use version::{KernelVersion, KernelVersionError};
