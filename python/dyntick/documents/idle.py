# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

CauseId: TypeAlias = str
"""
A cause, with its member where it is a class of many: `workqueue:vmstat_update`.
"""


Chain: TypeAlias = list[str]


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


class LengthClass(TypedDict):
    """
    The sleeps of similar length.
    """

    below_ns: int | None
    """
    The length at which the next class begins, ns; null for the last class.
    """
    from_ns: int
    """
    The least length, ns.
    """
    sleeps: int
    """
    The sleeps of these lengths.
    """
    states: list[int]
    """
    The sleeps among them that the governor chose each state for, by the number of the state.
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


WokenBy: TypeAlias = Literal[
    'timer', 'device', 'other-cpu', 'interrupt', 'flag', 'unknown'
]
"""
The kind of event that ended a sleep.
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


class Woken(TypedDict):
    """
    The sleeps that one thing ended.
    """

    by: WokenBy
    """
    The kind of event that came first after the sleep.
    """
    cause: CauseId | None
    """
    The cause of that interruption, as `dyntick explain` names it; null if there is none.
    """
    chain: Chain
    """
    Its chain of causation, from origin to interruption, the first of those that differ only in numbers of tasks.
    """
    sleeps: int
    """
    The sleeps that it ended.
    """
    title: str
    """
    It in words.
    """
    too_deep: int | None
    """
    The sleeps among them that were shorter than the target residency while a shallower state was enabled; null if the states are not known.
    """
    total_ns: int
    """
    Their duration, ns.
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
    The idle driver; null if it is not known.
    """
    files: list[str]
    """
    The files that were read; empty for this machine.
    """
    format: Literal['dyntick-idle']
    governor: str | None
    """
    The idle governor; null if it is not known.
    """
    judged: Judged
    """
    The sums, and the judgement.
    """
    lengths: list[LengthClass]
    """
    The lengths of the sleeps of all CPUs, in classes that begin where a deeper state begins to pay; empty if counters were read.
    """
    limits: LatencyLimits | None
    """
    The limits of exit latencies that were in force at the end, or at the begin of a record; null for dumps, and if they cannot be read.
    """
    of_interval: bool
    """
    True if the counts are means of an interval of turbostat; `seconds` is then its length, null if it is not known.
    """
    seconds: float | None
    """
    The length of the measurement or of the trace, s; null for dumps, which do not have the time.
    """
    since_boot: bool
    """
    True if the counters are those since the boot.
    """
    traced: str | None
    """
    The kind of a file that has each sleep, in words; null if counters were read.
    """
    version: Literal[1]
    woken: list[Woken]
    """
    The ends of the sleeps by what woke the CPU, the most frequent first; empty if counters were read.
    """
