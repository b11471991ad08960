# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import NotRequired, TypeAlias

from typing_extensions import TypedDict

CauseId: TypeAlias = str
"""
A cause, with its member where it is a class of many: `workqueue:vmstat_update`.
"""


Chain: TypeAlias = list[str]


CpuList: TypeAlias = str
"""
A set of CPUs, written as in `taskset -c` and on the kernel's command line: `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.

It takes 1 KiB at most: files of strangers have many of them.
"""


class Judged(TypedDict):
    """
    The judgement on one limit.
    """

    cpu: int | None
    """
    The CPU; null for the command.
    """
    culprits: list[str]
    """
    The causes that contribute most, the largest first.
    """
    held: bool | None
    """
    True if the limit was kept; null if the figure was not counted.
    """
    limit: str
    """
    The limit, as it was given.
    """
    most: float
    """
    The most that is allowed: per second, a number, a share (0 to 1) or ns, as the limit says.
    """
    was: float | None
    """
    The figure, in the same unit; null if it was not counted.
    """


class PrintedFix(TypedDict):
    """
    A fix for this machine.
    """

    effect: str
    """
    Its effect and cost, and a remark if it was not tried in a guest.
    """
    setting: str
    """
    The action.
    """


class Share(TypedDict):
    """
    The share of one cause in the latency.
    """

    attributed: bool
    """
    True if the cause names the use of the time; if not, it counts as unattributed.
    """
    cause: CauseId
    """
    The cause: its title and fixes are those of its rule.
    """
    chain: Chain
    """
    The chain of causation, if events show it.
    """
    ns: int
    """
    Its time, ns.
    """


class Span(TypedDict):
    """
    One activity of the CPU.
    """

    at_ns: int
    """
    The begin, ns after the due time.
    """
    cause: CauseId
    """
    The cause.
    """
    ns: int
    """
    The duration, ns.
    """
    text: str
    """
    The name of the activity.
    """


class Story(TypedDict):
    """
    The explanation of a late wake-up.
    """

    causes: list[Share]
    """
    The same by cause, the longest first; the wake-up's own part is the last.
    """
    steps: list[Span]
    """
    The activities of the CPU, without gaps, from the due time to the wake-up.
    """


class SysInfo(TypedDict, closed=True):
    """
    The machine.
    """

    machine: str
    nodename: str
    realtime: int
    """
    1 if the kernel is PREEMPT_RT, else 0.
    """
    release: str
    sysname: str
    version: str


class Thread(TypedDict, closed=True):
    """
    One thread. Latencies are in the unit of `resolution_in_ns`.
    """

    avg: float
    """
    The mean latency.
    """
    cpu: int
    """
    The CPU of the thread, or -1.
    """
    cycles: int
    """
    The number of wake-ups.
    """
    histogram: dict[str, int]
    """
    With `-h` or `-H`: the number of wake-ups with each latency, of those that occurred.
    """
    max: int
    """
    The largest latency.
    """
    min: int
    """
    The smallest latency; 1000000 before the first wake-up.
    """
    node: int
    """
    The memory node of the CPU, or -1 if it is not known.
    """


class Gate(TypedDict):
    """
    The judgement on a measurement.
    """

    held: bool | None
    """
    True if every limit was kept; null if one could not be judged and none was exceeded.
    """
    of: list[Judged]
    """
    Each limit on each CPU.
    """


class LateWakeUp(TypedDict):
    """
    An explained late wake-up.
    """

    cpu: int | None
    """
    The thread's CPU.
    """
    cycle: int
    """
    The number of the wake-up, from 0.
    """
    due_ns: int
    """
    The time at which the thread was due to run, ns of CLOCK_MONOTONIC.
    """
    fixes: list[PrintedFix]
    """
    The fixes of the first cause.
    """
    latency_ns: int
    """
    The delay between them, ns.
    """
    story: Story | None
    """
    The activity of the CPU from the due time on; null if the trace does not have it.
    """
    thread: int
    """
    The number of its thread.
    """
    woke_ns: int
    """
    The time at which it ran, ns of CLOCK_MONOTONIC.
    """


DyntickLatency = TypedDict(
    'DyntickLatency',
    {
        'cmdline:': str,
        'end_time': str,
        'file_version': int,
        'gate': NotRequired[Gate | None],
        'late': NotRequired[list[LateWakeUp] | None],
        'moved': NotRequired[CpuList | None],
        'num_threads': int,
        'resolution_in_ns': int,
        'return_code': int,
        'rt_test_version:': str,
        'start_time': str,
        'sysinfo': SysInfo,
        'thread': dict[str, Thread],
    },
    closed=True,
)
