# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict


class LatencyLimits(TypedDict):
    """
    The limits for the exit latency of idle states (PM QoS) at one moment.
    """

    held_by: list[str]
    """
    The commands of the processes that hold it, or a looser one, by opening `/dev/cpu_dma_latency`.
    """
    of_all_us: int | None
    """
    The limit of all CPUs, µs; none if no process requests one.
    """
    of_cpus_us: dict[str, int]
    """
    The limits of single CPUs (`pm_qos_resume_latency_us`), µs; only CPUs that have one.
    """


Ruling: TypeAlias = Literal[
    'none-entered', 'unknown', 'too-few', 'too-deep', 'too-shallow', 'right'
]
"""
The judgement of the choices of an idle governor.
"""


class StateUse(TypedDict):
    """
    The use of an idle state of a CPU. What the counters do not have is null.
    """

    disabled: bool | None
    """
    True if it is disabled.
    """
    entries: int
    """
    The sleeps in it that ended.
    """
    exit_latency_us: int | None
    """
    The exit latency that the kernel knows, µs.
    """
    name: str
    """
    The name, as `C6`.
    """
    rejected: int | None
    """
    The entries that the driver or the hardware refused.
    """
    target_residency_us: int | None
    """
    The target residency: a shorter sleep does not pay, µs.
    """
    time_us: int | None
    """
    Their duration, µs.
    """
    too_deep: int | None
    """
    The sleeps that were shorter than the target residency while a shallower state was enabled (`above`).
    """
    too_shallow: int | None
    """
    The sleeps that were long enough for a deeper enabled state (`below`).
    """


class CpuUse(TypedDict):
    """
    The use of the idle states of a CPU, the shallowest first.
    """

    cpu: int
    """
    The CPU.
    """
    states: list[StateUse]
    """
    Its states.
    """


class Judged(TypedDict):
    """
    The sums over states and CPUs, and the judgement of them.
    """

    entries: int
    """
    The sleeps that ended.
    """
    exits_us: int | None
    """
    The time that the exits of too deep sleeps took at most, µs: their number times the exit latency of their state, which is the kernel's worst case. Null without counters or latencies.
    """
    ruling: Ruling
    """
    The judgement.
    """
    too_deep: int | None
    """
    The sleeps in a state that was too deep; null if the kernel does not count them.
    """
    too_shallow: int | None
    """
    The sleeps in a state that was too shallow.
    """


class DyntickIdle(TypedDict):
    """
    The use of idle states, and whether it was right.
    """

    cpus: list[CpuUse]
    """
    The use of each CPU's states.
    """
    driver: str | None
    """
    The idle driver of this machine.
    """
    files: list[str]
    """
    The dumps that were read; empty for this machine.
    """
    format: Literal['dyntick-idle']
    governor: str | None
    """
    The idle governor of this machine.
    """
    judged: Judged
    """
    The sums, and the judgement.
    """
    limits: LatencyLimits | None
    """
    The limits of exit latencies that were in force at the end; null for dumps, and if they cannot be read.
    """
    seconds: float | None
    """
    The length of the measurement, s; null for dumps, which do not have the time.
    """
    since_boot: bool
    """
    True if the counters are those since the boot.
    """
    version: Literal[1]
