// SPDX-License-Identifier: GPL-2.0-only
//! The formats of JSON output, in one list: name, version, verb and type. The output itself contains its
//! name and version. The version increases if a key is removed or changes its meaning; new keys may be added at any
//! time. `latency --json` is cyclictest's format with one more key, and SARIF is unchanged.

use crate::{compare, failure, idle, isolate, lab, latency, replay, schemas, stat, top};
use schemars::Schema;
use serde::Serialize;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The name, which is the key `format` of its objects.
    pub name: &'static str,
    /// The version, which is the key `version` of its objects.
    pub version: u32,
    /// The verb that prints it.
    pub verb: &'static str,
}

/// The schemas of files that users write, with their descriptions: generated from the keys that the reader knows.
pub const FILES: [(&str, &str); 2] = [("dyntick-study", "study files"), ("dyntick-machine", "machine files")];

/// A value that a verb prints as JSON: an object.
pub trait Printed: Serialize {
    /// The format of the value.
    const FORMAT: Format;
}

/// Declares the formats: the serialised type, the format's name and version, and the verb. Formats of other tools with
/// keys of dyntick come last: their objects do not name their format.
macro_rules! formats {
    (
        dyntick { $($value:ty => $name:literal $version:literal $verb:literal,)* }
        other_tools { $($other:ty => $other_name:literal $other_version:literal $other_verb:literal,)* }
    ) => {
        $(impl Printed for $value {
            const FORMAT: Format = Format { name: $name, version: $version, verb: $verb };
        })*

        /// All formats, in the order of the book's table.
        pub const ALL: &[Format] = &[
            $(<$value as Printed>::FORMAT,)*
            $(Format { name: $other_name, version: $other_version, verb: $other_verb },)*
        ];

        /// The JSON Schema of a format, by its name: generated from its type. The binary has the texts of
        /// `docs/src/schemas/`, since this code takes over a megabyte more.
        pub fn schema(name: &str) -> Option<Schema> {
            match name {
                $($name => Some(schemas::of::<$value>($name, $version)),)*
                $($other_name => Some(schemas::of_other_tool::<$other>(name)),)*
                _ => None,
            }
        }
    };
}

formats! {
    dyntick {
        dyntick_check::Report => "dyntick-check" 2 "check",
        stat::Printed => "dyntick-stat" 2 "stat",
        top::Sample => "dyntick-top" 2 "top",
        crate::explain::Explanation<'_> => "dyntick-explain" 2 "explain",
        dyntick_record::Cost => "dyntick-record-cost" 1 "record --cost",
        replay::Replay => "dyntick-replay" 1 "replay",
        isolate::Report => "dyntick-isolate" 2 "isolate",
        isolate::Planned<'_> => "dyntick-isolate-changes" 1 "isolate --dry-run",
        dyntick_isolate::Restored => "dyntick-isolate-restored" 1 "isolate --restore",
        idle::Idle => "dyntick-idle" 1 "idle",
        compare::Printed => "dyntick-compare" 2 "compare",
        lab::Judged<'_> => "dyntick-lab-run" 1 "lab run, lab report",
        lab::Tried => "dyntick-lab-try" 1 "lab try",
        lab::Bisected => "dyntick-lab-bisect" 1 "lab bisect",
        lab::Planned => "dyntick-lab-plan" 1 "lab plan",
        lab::Profile<'_> => "dyntick-lab-profile" 1 "lab profile",
        lab::Profiles<'_> => "dyntick-lab-profiles" 1 "lab profile A B",
        lab::Bench<'_> => "dyntick-lab-bench" 1 "lab bench",
        lab::Kernels<'_> => "dyntick-lab-kernels" 1 "lab kernels",
        lab::KernelsDiff<'_> => "dyntick-lab-kernels-diff" 2 "lab kernels diff",
        lab::Builds => "dyntick-lab-build" 1 "lab build",
        lab::CacheContents => "dyntick-lab-cache" 1 "lab cache",
        lab::Machines => "dyntick-lab-machines" 1 "lab machines",
        lab::Studies => "dyntick-lab-studies" 1 "lab studies",
        dyntick_model::Machine => "dyntick-lab-machine" 1 "lab machines NAME",
        lab::Doctor<'_> => "dyntick-lab-doctor" 1 "lab doctor",
        failure::Failure => "dyntick-failure" 1 "any verb",
    }
    other_tools {
        latency::Layout => "dyntick-latency" 1 "latency",
    }
}

/// A printed value: an object whose first keys name its format.
#[derive(Serialize)]
struct Named<'a, T: Serialize> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    value: &'a T,
}

/// Adds the name and the version of its format to a value.
pub fn named<T: Printed>(value: &T) -> impl Serialize {
    Named { format: T::FORMAT.name, version: T::FORMAT.version, value }
}
