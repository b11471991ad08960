// SPDX-License-Identifier: GPL-2.0-only
//! The keys of machine files, each declared once, as those of studies.

use super::Value::{Decimal, Duration, Inner, Number, Quantiles, Sources, Switch, Tables, Text, Word};
use super::{Key, Table};

/// A machine's file.
pub static MACHINE: Table = Table::new(
    "machine",
    &[&[
        Key::required("title", Text, "what it is called"),
        Key::optional("description", Text, "what must be known of it"),
        Key::required("cores", Number(1, 1024), "cores of a package"),
        Key::required(
            "sources",
            Sources,
            "the publications that the figures are from, by the keys that figures name them by",
        ),
        Key::required(
            "active",
            Inner(&POWER),
            "a core that executes instructions, without what the cores share",
        ),
        Key::required(
            "uncore",
            Inner(&POWER),
            "what the cores of a package share, while no package state is entered",
        ),
        Key::required("state", Tables(&STATE), "the idle states, from the shallowest to the deepest"),
        Key::optional(
            "package-state",
            Tables(&PACKAGE_STATE),
            "states of the package, from the shallowest to the deepest",
        ),
    ]],
);

/// A power.
pub static POWER: Table = Table::new(
    "power",
    &[&[
        Key::required("watts", Decimal, "the power, W"),
        Key::optional("low", Decimal, "the lower end of the range in which it is believed to be, W"),
        Key::optional("high", Decimal, "the upper end, W"),
        Key::required(
            "basis",
            Word(&["measured", "estimated"]),
            "an estimate needs `low`, `high` and `remark`",
        ),
        Key::required("source", Text, "a key of `[sources]`"),
        Key::optional("remark", Text, "how it was made, and what it rests on"),
    ]],
);

/// `[[state]]`.
pub static STATE: Table = Table::new(
    "state",
    &[&[
        Key::required("name", Text, "the kernel's name, at most 15 bytes"),
        Key::optional("description", Text, "at most 31 bytes"),
        Key::required(
            "exit-latency",
            Duration,
            "from the wake-up event to the first instruction, the worst case",
        ),
        Key::required("target-residency", Duration, "how long the state must last to be worth entering"),
        Key::optional("entry", Duration, "how long entering takes, and a wake-up in between must wait"),
        Key::optional("polling", Switch, "the CPU spins (`CPUIDLE_FLAG_POLLING`); only the first state can"),
        Key::optional("tlb-flushed", Switch, "the TLB is flushed (`CPUIDLE_FLAG_TLB_FLUSHED`)"),
        Key::optional(
            "irq-enable",
            Switch,
            "the interrupt is taken before the driver returns, so that its handler counts as sleep \
        (`CPUIDLE_FLAG_IRQ_ENABLE` of intel_idle)",
        ),
        Key::optional("unusable", Switch, "the driver keeps it from being chosen (`CPUIDLE_FLAG_UNUSABLE`)"),
        Key::optional("off", Switch, "disabled until it is enabled in sysfs (`CPUIDLE_FLAG_OFF`)"),
        Key::optional(
            "residency-below-latency",
            Switch,
            "the source really says that the target residency is below the exit \
        latency, as Arm's reference firmware does",
        ),
        Key::required("power", Inner(&POWER), "one core in it, without what the cores share"),
        Key::optional("measured", Inner(&MEASURED), "what others measured"),
        Key::required("source", Text, "a key of `[sources]`"),
    ]],
);

/// `[state.measured]`.
pub static MEASURED: Table = Table::new(
    "measured",
    &[&[
        Key::required("exit-latency", Duration, "the median of the exit"),
        Key::optional(
            "quantiles",
            Quantiles,
            "points `[PERCENT, \"TIME\"]` of its distribution, from 0 to 100 percent",
        ),
        Key::required("source", Text, "a key of `[sources]`"),
        Key::required("remark", Text, "what was measured, and how"),
    ]],
);

/// `[[package-state]]`.
pub static PACKAGE_STATE: Table = Table::new(
    "package-state",
    &[&[
        Key::required("name", Text, "the kernel's name, at most 15 bytes"),
        Key::required("needs", Text, "the idle state that all cores must be in, or in a deeper one"),
        Key::required("exit-latency", Duration, "from the wake-up event to the first instruction"),
        Key::required("core-exit-latency", Duration, "the part of it that is the core's own"),
        Key::required("power", Inner(&POWER), "what the cores share, in it"),
        Key::required("source", Text, "a key of `[sources]`"),
    ]],
);
