# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict


class Agreement(TypedDict):
    """
    Equal choices.
    """

    of: int
    """
    Sleeps whose recorded state is known.
    """
    same: int
    """
    Sleeps with the recorded state.
    """


class Assumed(TypedDict):
    """
    The numbers of decisions with an input that no event shows.
    """

    decisions: int
    """
    All decisions.
    """
    next_tick: int
    """
    The time of the next tick: half a tick later.
    """
    tick: int
    """
    The tick before the choice: running.
    """
    timer: int
    """
    The next timer without the tick: a timer that ran later, or none.
    """


class Between(TypedDict):
    """
    The least and the most of a figure.
    """

    least: float
    """
    The least.
    """
    most: float
    """
    The most.
    """


class Bounds(TypedDict):
    """
    The figures under all assumptions about timers that no event shows.
    """

    energy: Between | None
    """
    The energy, J.
    """
    mean_latency_ns: Between
    """
    The mean wake-up latency, ns.
    """
    same: Between | None
    """
    Sleeps with the recorded state.
    """
    too_deep: Between
    """
    Sleeps that were too short for their state.
    """
    too_shallow: Between
    """
    Sleeps that were long enough for the next deeper state.
    """


class DifferentChoice(TypedDict):
    """
    A sleep for which two governors chose another state.
    """

    at_ns: int
    """
    The time of the choice, ns on the trace's clock.
    """
    cpu: int
    """
    The CPU.
    """
    decision: int
    """
    The number of the decision in it, from 1.
    """
    file: str
    """
    The file.
    """
    first: str
    """
    The state that the first governor chose.
    """
    idle_ns: int
    """
    The time from the choice to the wake-up, ns.
    """
    next_timer_ns: int | None
    """
    The time to the next timer, ns; null for none.
    """
    oracle: str
    """
    The state of the oracle.
    """
    other: str
    """
    The state that this one chose.
    """
    wake: str
    """
    The cause of the wake-up.
    """


class DifferentReason(TypedDict):
    """
    Differences with one reason.
    """

    reason: str
    """
    The reason, in words.
    """
    sleeps: int
    """
    The number of sleeps.
    """


class DifferentWake(TypedDict):
    """
    Differences with one cause of the wake-up.
    """

    first: str
    """
    The state that the first governor chose.
    """
    first_right: int
    """
    The number of these for which the first governor's state was the oracle's.
    """
    other: str
    """
    The state that this one chose.
    """
    other_right: int
    """
    The number for which this one's was.
    """
    sleeps: int
    """
    The number of sleeps.
    """
    wake: str
    """
    The cause, e.g. `timer hrtimer_wakeup`.
    """


class IdleState(TypedDict):
    """
    An idle state.
    """

    exit_latency_ns: int
    """
    The exit latency, ns.
    """
    name: str
    """
    Its name.
    """
    target_residency_ns: int
    """
    The target residency, ns.
    """


class Joules(TypedDict):
    """
    An energy, J.
    """

    high: float
    """
    With all powers at their high end.
    """
    low: float
    """
    With all powers at their low end.
    """
    value: float
    """
    With the machine's powers.
    """


Kind: TypeAlias = Literal['governor', 'recorded', 'oracle', 'static']
"""
The kind of a row.
"""


class Latency(TypedDict):
    """
    Quantiles of a latency.
    """

    max_ns: int
    """
    The longest, ns.
    """
    mean_ns: float
    """
    The mean, ns.
    """
    p50_ns: int
    """
    The median, ns.
    """
    p99_ns: int
    """
    The 99th percentile, ns.
    """


class Scored(TypedDict):
    """
    The score of a governor, modelled.
    """

    agreement: Agreement | None
    """
    The agreement with the recorded choices; null if these were of other states.
    """
    bounds: Bounds | None
    """
    The figures with the earliest and with the latest timers that the trace allows; null if they are all known.
    """
    choices: int
    """
    The choices: more than sleeps if a tick or the limit of polling ended some.
    """
    energy: Joules | None
    """
    The modelled energy, J, with the range that follows from the ranges of the powers; null without a machine.
    """
    kind: Kind
    """
    Its kind.
    """
    latency: Latency
    """
    The modelled wake-up latency: the time to leave the state at the end of each sleep.
    """
    limit_ns: int | None
    """
    The latency limit (PM QoS) in addition to the recorded ones, ns; null for none.
    """
    name: str
    """
    Its name as it was asked for.
    """
    origin: str
    """
    The exact source, e.g. a package with its version; empty for a file.
    """
    right: int
    """
    Sleeps in the state of the oracle.
    """
    sleeps: int
    """
    The recorded sleeps.
    """
    states: list[int]
    """
    The choices of each state.
    """
    too_deep: int
    """
    Sleeps that were too short for their state, as the kernel's counter `above`.
    """
    too_shallow: int
    """
    Sleeps that were long enough for the next deeper state, as the kernel's counter `below`.
    """
    would_go_on: int
    """
    Sleeps that a tick ended which the governor would have stopped: its sleep would have gone on.
    """


class Difference(TypedDict):
    """
    The differences of a governor from the first one.
    """

    first: list[DifferentChoice]
    """
    The first of them (`--first`).
    """
    limit_ns: int | None
    """
    The latency limit of both, ns; null for none.
    """
    name: str
    """
    The governor.
    """
    reasons: list[DifferentReason]
    """
    The differences of the recorded choices by their reasons; empty for governors.
    """
    sleeps: int
    """
    The sleeps with another state.
    """
    wakes: list[DifferentWake]
    """
    The differences by what woke the CPU, the most frequent first.
    """


class DyntickReplay(TypedDict):
    """
    Governors on recorded idle periods.
    """

    assumed: Assumed
    """
    The numbers of inputs of decisions that no event shows.
    """
    differences: list[Difference]
    """
    The differences of each governor from the first one, within the same latency limit; last those of the recorded choices, `recorded`, if they are known.
    """
    feedback: bool
    """
    True if a choice delayed what followed it (`--feedback`); governors have no energy then.
    """
    files: list[str]
    """
    The records.
    """
    format: Literal['dyntick-replay']
    machine: str | None
    """
    The machine whose idle states and powers were used; null for the recorded states, without powers.
    """
    notes: list[str]
    """
    Remarks, in words.
    """
    recorded_governor: str
    """
    The governor of the recorded kernel; empty if it is not known.
    """
    results: list[Scored]
    """
    The governors in the order of the command line, each with all latency limits; then `recorded`, `oracle` and the best static limit.
    """
    states: list[IdleState]
    """
    The idle states, the shallowest first.
    """
    version: Literal[1]
