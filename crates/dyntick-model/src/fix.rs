// SPDX-License-Identifier: GPL-2.0-only
//! The remedies for a cause, and the holes that each machine fills in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// One change that a user can make, exact enough to be copied. Upper-case words stand for what only the
/// user can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "kind", content = "text")]
pub enum Fix<T = String> {
    /// Parameters for the kernel's command line, each in place of all of its name; takes a reboot.
    Boot(T),
    /// A parameter to take off the kernel's command line; takes a reboot.
    Unboot(T),
    /// A shell command, as root; at once, and lost with the next boot.
    Command(T),
    /// Anything else, in words: a change of the program that runs, of a cgroup, of the firmware.
    Advice(T),
}

/// A fix as a rule has it: what differs between machines is a [`Hole`].
pub type Template = Fix<&'static str>;

impl<T> Fix<T> {
    /// Returns the same change with another text.
    fn with<U>(&self, text: impl FnOnce(&T) -> U) -> Fix<U> {
        match self {
            Fix::Boot(parameters) => Fix::Boot(text(parameters)),
            Fix::Unboot(parameter) => Fix::Unboot(text(parameter)),
            Fix::Command(command) => Fix::Command(text(command)),
            Fix::Advice(words) => Fix::Advice(text(words)),
        }
    }
}

impl Template {
    /// The fix for one machine. A hole of which `known` has nothing gets its upper-case word.
    pub fn fill(&self, known: impl Fn(Hole) -> Option<String>) -> Fix {
        self.with(|text| {
            Hole::ALL.iter().fold((*text).to_owned(), |text, hole| {
                if text.contains(hole.mark()) {
                    text.replace(hole.mark(), &known(*hole).unwrap_or_else(|| hole.word().to_owned()))
                } else {
                    text
                }
            })
        })
    }

    /// Says if it has this hole.
    pub fn has(&self, hole: Hole) -> bool {
        let (Fix::Boot(text) | Fix::Unboot(text) | Fix::Command(text) | Fix::Advice(text)) = self;
        text.contains(hole.mark())
    }

    /// The fix for no machine: each hole has its upper-case word.
    pub fn unfilled(&self) -> Fix {
        self.fill(|_| None)
    }
}

impl<T: Display> Display for Fix<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Fix::Boot(parameters) => write!(f, "boot with {parameters}"),
            Fix::Unboot(parameter) => write!(f, "boot without {parameter}"),
            Fix::Command(text) | Fix::Advice(text) => text.fmt(f),
        }
    }
}

/// A value that a fix needs from a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hole {
    /// The CPU that is interrupted.
    Cpu,
    /// All CPUs that shall be quiet, as a list: a boot parameter has to name them together.
    Quiet,
    /// The other CPUs, as a list.
    Housekeeping,
    /// The same CPUs as a mask.
    Mask,
    /// The interrupt line.
    Irq,
    /// The other task.
    Task,
    /// The CPU quota of a control group: the value that removes it, and its file.
    Quota,
}

impl Hole {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Cpu, Self::Quiet, Self::Housekeeping, Self::Mask, Self::Irq, Self::Task, Self::Quota];

    /// The mark of the hole in a template.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Cpu => "{cpu}",
            Self::Quiet => "{quiet}",
            Self::Housekeeping => "{housekeeping}",
            Self::Mask => "{mask}",
            Self::Irq => "{irq}",
            Self::Task => "{task}",
            Self::Quota => "{quota}",
        }
    }

    /// The text for a user if the value is not known.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cpu | Self::Quiet => "N",
            Self::Housekeeping => "HOUSEKEEPING-CPUS",
            Self::Mask => "MASK",
            Self::Irq => "IRQ",
            Self::Task => "PID",
            Self::Quota => "max > /sys/fs/cgroup/GROUP/cpu.max",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_and_the_rest_is_named() {
        let template = Fix::Command("taskset -pc {housekeeping} {task}; echo {mask} > /x/cpu{cpu}");
        let known = |hole| match hole {
            Hole::Housekeeping => Some("0-2,4".to_owned()),
            Hole::Cpu => Some("3".to_owned()),
            _ => None,
        };
        assert_eq!(template.fill(known).to_string(), "taskset -pc 0-2,4 PID; echo MASK > /x/cpu3");
        assert_eq!(template.unfilled().to_string(), "taskset -pc HOUSEKEEPING-CPUS PID; echo MASK > /x/cpuN");
    }

    #[test]
    fn a_fix_says_how_it_is_made() {
        assert_eq!(Fix::Boot("nohz_full=3").to_string(), "boot with nohz_full=3");
        assert_eq!(Fix::Unboot("idle=poll").to_string(), "boot without idle=poll");
        assert_eq!(Fix::Command("echo 0 > /x").to_string(), "echo 0 > /x");
    }
}
