// SPDX-License-Identifier: GPL-2.0-only
//! Every reader of untrusted files, given any bytes. A reader must end, within
//! little memory, with a value or an error; what is shown of it must be fit for a terminal.
//!
//! [`TARGETS`] has one function for each reader; `corpus/TARGET/` has small valid inputs and whatever once
//! broke it. `cargo test -p dyntick-fuzz` runs each file of the corpus, and some thousand changed ones, in
//! seconds. To search for longer, with coverage to guide it (needs a nightly Rust and `cargo install cargo-fuzz`):
//!
//! ```sh
//! scripts/fuzz record 600     # the target and the seconds; without either, all targets, 60 s each
//! ```
//!
//! which is, without the limits on time and memory that it sets,
//!
//! ```sh
//! cd crates/dyntick-fuzz
//! DYNTICK_FUZZ_TARGET=record cargo +nightly fuzz run reader corpus/record -- -max_total_time=600
//! ```
//!
//! A new reader: a function in `targets/`, a line in [`TARGETS`], a folder with a valid input in `corpus/`. An input
//! that broke something goes into the corpus with the fix, under a name that says what it was.

mod pieces;
mod targets;

pub use pieces::Pieces;

/// A reader: its name, and what gives it bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All readers.
pub const TARGETS: &[Target] = &[
    ("bundle", targets::archives::bundle),
    ("command-line", targets::texts::command_line),
    ("counters", targets::texts::counters),
    ("cpulist", targets::texts::cpulist),
    ("cyclictest", targets::texts::cyclictest),
    ("dot-config", targets::texts::dot_config),
    ("event-formats", targets::trace::event_formats),
    ("guest-archive", targets::lab::guest_archive),
    ("http-request", targets::texts::http_request),
    ("kallsyms", targets::texts::kallsyms),
    ("machine", targets::lab::machine),
    ("mails", targets::texts::mails),
    ("other-tools", targets::tools::other_tools),
    ("perf-data", targets::foreign::perf_data),
    ("profile-stream", targets::trace::profile_stream),
    ("qperf", targets::texts::qperf),
    ("record", targets::archives::record),
    ("ring-pages", targets::trace::ring_pages),
    ("snapshot", targets::check::snapshot),
    ("stored-run", targets::lab::stored_run),
    ("study", targets::lab::study),
    ("trace-dat", targets::foreign::trace_dat),
    ("trace-text", targets::foreign::trace_text),
];

/// Gives these bytes to the reader of this name.
///
/// # Panics
/// If there is no such reader, or the reader does what none may.
pub fn run(target: &str, bytes: &[u8]) {
    let Some((_, reader)) = TARGETS.iter().find(|(name, _)| *name == target) else {
        let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
        panic!("no target '{target}'; there are {}", names.join(", "));
    };
    reader(bytes);
}
