# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

Basis: TypeAlias = Literal['measured', 'estimated']
"""
The origin of a figure.
"""


Exit: TypeAlias = Literal['table', 'measured', 'distribution']
"""
The duration of an emulated exit. The kernel uses the table's latency in any case.
"""


class Power(TypedDict):
    """
    A power, W, with the range in which it is believed to lie.
    """

    basis: Basis
    """
    The origin.
    """
    high: float
    """
    The most that is believed possible; not below `watts`.
    """
    low: float
    """
    The least that is believed possible; not above `watts`.
    """
    remark: str
    """
    The way of an estimate, or a remark on a measurement.
    """
    source: str
    """
    The source: a key of `Machine::sources`.
    """
    watts: float
    """
    The value to reckon with.
    """


class Quantile(TypedDict):
    """
    One point of a distribution: the share of all values that are not above this one. Between two points it is linear.
    """

    millionths: int
    """
    The share of all values, in millionths.
    """
    ns: int
    """
    The value, ns.
    """


class MeasuredExit(TypedDict):
    """
    Published measurements of a state's exit latency, ns, in addition to the kernel's value.
    """

    exit_latency_ns: int
    """
    The median, or what was published instead of one.
    """
    quantiles: NotRequired[list[Quantile]]
    """
    The distribution of the exits, from the shortest to the longest; empty if it is not known.
    """
    remark: str
    """
    The method of measurement.
    """
    source: str
    """
    The source: a key of `Machine::sources`.
    """


class PackageState(TypedDict):
    """
    A state of what the cores of a package share, entered when all of them are idle deeply enough.
    """

    core_exit_latency_ns: int
    """
    The same time for a CPU that leaves the state `needs` while the package is not in this state, ns.
    """
    exit_latency_ns: int
    """
    The time from the wake-up event to the first instruction of a CPU that wakes the package out of it, ns.
    """
    name: str
    """
    Its name: `PC6`.
    """
    needs: int
    """
    The shallowest state, by its place in `IdleTable::states`, that every CPU must be in.
    """
    power: Power
    """
    The power of the shared parts, W, while it lasts.
    """
    source: str
    """
    The source of the latencies: a key of `Machine::sources`.
    """


class IdleState(TypedDict):
    """
    An idle state, as the kernel's `struct cpuidle_state` has it, with its power.
    """

    description: str
    """
    The description, at most 31 bytes, e.g. `MWAIT 0x01`.
    """
    entry_ns: int
    """
    From the decision to being in the state, ns; 0 where it is not known. A wake-up during it must wait for its end.
    """
    exit_latency_ns: int
    """
    The time from the wake-up event to the first instruction, ns, as the kernel knows it.
    """
    irq_enable: bool
    """
    The interrupt that wakes is taken before the driver returns, so that its handler counts as sleep (`CPUIDLE_FLAG_IRQ_ENABLE` of intel_idle).
    """
    measured: MeasuredExit | None
    """
    Published measurements.
    """
    name: str
    """
    The kernel's name, at most 15 bytes: `C1E`.
    """
    off: bool
    """
    It is disabled until it is enabled in sysfs (`CPUIDLE_FLAG_OFF`).
    """
    polling: bool
    """
    The CPU spins and waits for no interrupt (`CPUIDLE_FLAG_POLLING`).
    """
    power: Power
    """
    The power of one core in it, W, without the shared parts of a package.
    """
    source: str
    """
    The source of the latencies: a key of `Machine::sources`.
    """
    target_residency_ns: int
    """
    The shortest idle time for which it is worth being entered, entering included, ns.
    """
    tlb_flushed: bool
    """
    The TLB does not survive it (`CPUIDLE_FLAG_TLB_FLUSHED`).
    """
    unusable: bool
    """
    The driver does not let it be chosen (`CPUIDLE_FLAG_UNUSABLE`).
    """


class IdleTable(TypedDict):
    """
    The idle states of a machine, from the shallowest to the deepest.
    """

    exit: Exit
    """
    The duration of exits if this table is emulated.
    """
    package_states: list[PackageState]
    """
    The states of a package, from the shallowest to the deepest.
    """
    pre_wake: bool
    """
    True if a CPU is woken ahead of its own timer, by the length of its exit, where this table is emulated.
    """
    states: list[IdleState]
    """
    The states of a CPU, at most `IdleTable::MOST_STATES`, as in sysfs: `state0` first.
    """


class Machine(TypedDict):
    """
    A machine whose idle states can be emulated and whose energy can be modelled.
    """

    active: Power
    """
    The power of one core that executes instructions, W, without the shared parts.
    """
    cores: int
    """
    Cores of a package: what `Machine::uncore` is shared by.
    """
    description: str
    """
    A remark.
    """
    idle: IdleTable
    """
    Its idle states.
    """
    name: str
    """
    A short name: its file's, without the ending.
    """
    sources: dict[str, str]
    """
    The publications that the figures are from, by the key that figures name them by.
    """
    title: str
    """
    The name.
    """
    uncore: Power
    """
    The power of the shared parts of a package, W, while no package state is entered.
    """


class DyntickLabMachines(TypedDict):
    """
    The machines that come with dyntick.
    """

    format: Literal['dyntick-lab-machines']
    machines: list[Machine]
    """
    Each of them.
    """
    version: Literal[1]
