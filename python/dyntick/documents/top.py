# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

CpuList: TypeAlias = str
"""
A set of CPUs, written as in `taskset -c` and on the kernel's command line: `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.

It takes 1 KiB at most: files of strangers have many of them.
"""


class Fix1(TypedDict):
    """
    Parameters for the kernel's command line, each in place of all of its name; takes a reboot.
    """

    kind: Literal['boot']
    text: str


class Fix2(TypedDict):
    """
    A parameter to take off the kernel's command line; takes a reboot.
    """

    kind: Literal['unboot']
    text: str


class Fix3(TypedDict):
    """
    A shell command, as root; at once, and lost with the next boot.
    """

    kind: Literal['command']
    text: str


class Fix4(TypedDict):
    """
    Anything else, in words: a change of the program that runs, of a cgroup, of the firmware.
    """

    kind: Literal['advice']
    text: str


Fix: TypeAlias = Fix1 | Fix2 | Fix3 | Fix4
"""
One change that a user can make, exact enough to be copied. Upper-case words stand for what only the user can know.
"""


class IdleState(TypedDict):
    """
    An idle state of a CPU.
    """

    above_per_s: float
    """
    The entries that were too deep, per second.
    """
    below_per_s: float
    """
    The entries that were too shallow, per second.
    """
    name: str
    """
    Its name.
    """
    per_s: float
    """
    Entries per second.
    """
    share: float
    """
    The share of the time in the state, from 0 to 1.
    """


class Lost(TypedDict):
    """
    Events that were not counted, or not in full. All 0 means that nothing was lost.
    """

    overrun: int
    """
    Trace events that a full buffer did not keep until they were read (`overrun`, `commit overrun` and `dropped events` of `per_cpu/cpuN/stats` in tracefs).
    """
    recursion: int
    """
    Events that came while their own program ran on the same CPU, which the kernel then skips (`recursion_misses` of `struct bpf_prog_info`).
    """
    undecoded: int
    """
    Trace events whose record is not understood.
    """
    unnamed: int
    """
    Counted, but without their name: a table of the CPU was full (`Key::Unnamed`, and programs without a name).
    """


class Missing(TypedDict):
    """
    Something that cannot be known here.
    """

    needs: str
    """
    Its needs: a capability, a module, a kind of machine.
    """
    what: str
    """
    The name of the counter.
    """


class Power(TypedDict):
    """
    The mean power of a processor package, or of the platform.
    """

    name: str
    """
    The kernel's name: `package-0`, `psys`.
    """
    watts: float
    """
    The power, W.
    """


Role: TypeAlias = Literal['housekeeping', 'isolated', 'nohz-full', 'isolated-nohz-full']
"""
The isolation of a CPU.
"""


TickDependency: TypeAlias = Literal[
    'none', 'posix_timer', 'perf_events', 'sched', 'clock_unstable', 'rcu', 'rcu_exp'
]
"""
The dependency that the `timer:tick_stop` event names. Values as in `include/linux/tick.h`, `enum tick_dep_bits` (6.1 to 7.2).
"""


class Cause(TypedDict):
    """
    A cause of interruptions.
    """

    cause: str | None
    """
    The name of its cause, as in a limit; null for a sum of several.
    """
    fix: Fix | None
    """
    The fix on this kernel.
    """
    is_part: bool
    """
    True if it is a part of the last cause before it that is not.
    """
    mean_ns: float | None
    """
    The mean duration, ns.
    """
    meaning: str | None
    """
    The meaning, in words.
    """
    name: str
    """
    The name, as in a table.
    """
    per_s: float
    """
    The occurrences per second.
    """
    share: float | None
    """
    The share of the time, from 0 to 1; null if it has no duration.
    """


class Cpu(TypedDict):
    """
    One CPU in that interval.
    """

    causes: list[Cause]
    """
    The causes of interruptions, by their time, each followed by its parts. Page faults and user tasks, which are not interruptions, come last: only the user knows which task is to run here.
    """
    cpu: int
    """
    The CPU number.
    """
    idle: float
    """
    The share of idle time, from 0 to 1; without counters, from `/proc/stat`. With counters this, `interrupted`, `user_tasks` and `uncounted` add up to 1.
    """
    idle_states: list[IdleState]
    """
    The idle states, the shallowest first.
    """
    interrupted: float | None
    """
    The share of the time in interruptions, from 0 to 1; null without counters.
    """
    interruptions_per_s: float
    """
    The interruptions per second (`Class::Interruption`); without counters, the interrupts of `/proc/interrupts`.
    """
    local_timer_per_s: float
    """
    The local timer interrupts (LOC) per second: ticks and other timers.
    """
    page_faults_per_s: float | None
    """
    The page faults per second, which are not interruptions; null without counters.
    """
    role: Role
    """
    The isolation of the CPU.
    """
    smis_per_s: float | None
    """
    The system management interrupts per second, if counted.
    """
    steal: float
    """
    The share of the time that the hypervisor took, from 0 to 1.
    """
    tick_kept: TickDependency | None
    """
    The most frequent reason for a kept tick; known only for `nohz_full` CPUs.
    """
    ticks_per_s: float | None
    """
    The ticks per second; null without counters.
    """
    unattributed: float | None
    """
    The share of the time in interruptions whose cause no rule names, from 0 to 1.
    """
    uncounted: float | None
    """
    The share of the time that no counted event accounts for, from 0 to 1; null without counters.
    """
    user_tasks: float | None
    """
    The share of the time in user tasks, dyntick's own included, from 0 to 1; null without counters.
    """


class DyntickTop(TypedDict):
    """
    One interval.
    """

    cpus: list[Cpu]
    """
    The CPUs, by number.
    """
    format: Literal['dyntick-top']
    lost: Lost
    """
    The events of the interval that could not be counted.
    """
    missing: list[Missing]
    """
    The counters that are not available, and what they need.
    """
    offline: CpuList
    """
    The CPUs that were offline meanwhile: their figures do not hold.
    """
    power: list[Power]
    """
    The mean power of each processor package, if measured.
    """
    seconds: float
    """
    The length, s.
    """
    source: str | None
    """
    The source of the counts: `bpf` or `tracefs`; null if nothing was counted.
    """
    source_note: str | None
    """
    A note about counting from trace events: the reason, and the cost.
    """
    version: Literal[2]
