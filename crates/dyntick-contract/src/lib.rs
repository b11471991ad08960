// SPDX-License-Identifier: GPL-2.0-only
//! Everything that dyntick prints as JSON: the types, the names and versions of their formats, and their schemas.
//!
//! A program that reads dyntick's output needs this crate and no terminal. Each type is filled here if plain values
//! suffice, and by its verb if it needs a running system.
//!
//! ```
//! let format = dyntick_contract::ALL.iter().find(|format| format.verb == "compare").unwrap();
//! assert_eq!((format.name, format.version), ("dyntick-compare", 2));
//! ```

mod adviser;
pub mod ci;
pub mod compare;
pub mod explain;
mod failure;
mod formats;
pub mod gate;
pub mod idle;
pub mod isolate;
pub mod lab;
pub mod labels;
pub mod latency;
pub mod replay;
mod schemas;
pub mod stat;
#[cfg(test)]
mod tests;
pub mod top;

pub use adviser::Adviser;
pub use failure::{Failure, FailureKind};
pub use formats::{ALL, FILES, Format, Printed, named, schema};
