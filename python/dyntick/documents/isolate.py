# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict


class Bar(TypedDict):
    """
    The bar above which a loss is worth a change: either of its limits is enough.
    """

    longest_ns: int
    """
    The length of one piece, ns.
    """
    share: float
    """
    A share of the time, 0 to 1.
    """


class By(TypedDict):
    """
    A task that ended waits or had the CPU.
    """

    by: str
    """
    The task, or how many tasks of one name, or `an interrupt`.
    """
    count: int
    """
    The number.
    """
    ns: int
    """
    The time, ns.
    """


class Cause(TypedDict):
    """
    A cause, over all CPUs.
    """

    chain: list[str]
    """
    The steps from the origin to the interruption.
    """
    count: int
    """
    Interruptions, page faults and time slices of other user tasks.
    """
    id: str
    """
    The cause.
    """
    interruptions: int
    """
    Interruptions among them.
    """
    longest_ns: int
    """
    The longest, ns.
    """
    ticks: int
    """
    Ticks among those.
    """
    title: str
    """
    Its title.
    """
    total_ns: int
    """
    Time in them, ns.
    """


CauseId: TypeAlias = str
"""
A cause, with its member where it is a class of many: `workqueue:vmstat_update`.
"""


Chain: TypeAlias = list[str]


Clock: TypeAlias = Literal['virtual', 'wall']
"""
The clock of a run. A figure of one clock is never compared with a figure of the other.
"""


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


class Left(TypedDict):
    """
    A control group for which a command left its partition.
    """

    group: str
    """
    The group, as `/proc/PID/cgroup` has it.
    """
    quota: str | None
    """
    The CPU quota that limits it there, in words; null if there is none.
    """


class Loss(TypedDict):
    """
    The time that one kind of event took.
    """

    count: int
    """
    The number of pieces.
    """
    fix: Fix | None
    """
    The best fix; null if none is known.
    """
    longest_ns: int | None
    """
    The longest piece, ns.
    """
    ns: int | None
    """
    The time, ns; null if only the number is known.
    """
    share: float
    """
    The time as a share, 0 to 1: of the time that the command's threads did not sleep, else of the CPUs' time.
    """
    tick: bool
    """
    True for the periodic tick.
    """
    what: str
    """
    The kind, in words.
    """


class Mover(TypedDict):
    """
    The one that moved a thread to another CPU.
    """

    by: str
    """
    The task, or `an interrupt` for the kernel's load balancing.
    """
    count: int
    """
    The number of moves.
    """


class Part(TypedDict):
    """
    A part of the time.
    """

    by: list[By]
    """
    The tasks that ended the waits or had the CPU, the longest first, at most 8.
    """
    count: int
    """
    The number of its pieces.
    """
    explanation: str
    """
    The mechanism; may be empty.
    """
    fixes: list[Fix]
    """
    The fixes, the most effective first.
    """
    function: str | None
    """
    The function of the kernel in which the threads slept; null for other parts, and if it is not known.
    """
    longest_ns: int | None
    """
    The longest piece, ns; null if the time is.
    """
    lost: bool
    """
    True if the threads wanted to go on and could not.
    """
    ns: int | None
    """
    The time, ns; null for page faults whose ends were not recorded, and for probes. It is then in `ran`.
    """
    own: bool
    """
    True if that is mostly one of these threads.
    """
    part: str
    """
    Its name: ran, fault, reclaim, interrupted, preempted, real-time-limit, quota, nothing-ran, moved, waking-up, stopped, traced, blocked, kept, timer-slack, probe, slept or unseen.
    """
    task: str | None
    """
    The name of the task or program that had the CPU; null for other parts.
    """
    title: str
    """
    A title, for a reader new to the subject.
    """


Row: TypeAlias = int


class Restored(TypedDict):
    """
    The result of restoring.
    """

    already: int
    """
    The number of settings that were unchanged.
    """
    failed: list[tuple[str, str]]
    """
    The settings that could not be restored, each with the reason. The journal stays.
    """
    gone: int
    """
    The number of objects that are gone: a thread that has ended, an interrupt that was freed.
    """
    notes: list[str]
    """
    Problems of the journal that did not stop the restoration.
    """
    released: int
    """
    The number of processes of the command that had not ended, and are no longer isolated.
    """
    restored: int
    """
    The number of restored settings.
    """
    theirs: list[tuple[str, str]]
    """
    The settings that another program has changed meanwhile, and that were left: each with its value.
    """


class Softirqs(TypedDict, closed=True):
    """
    Softirqs that ran.
    """

    block: NotRequired[int]
    hi: NotRequired[int]
    hrtimer: NotRequired[int]
    irq_poll: NotRequired[int]
    net_rx: NotRequired[int]
    net_tx: NotRequired[int]
    rcu: NotRequired[int]
    sched: NotRequired[int]
    tasklet: NotRequired[int]
    timer: NotRequired[int]


class SystemCall(TypedDict):
    """
    The calls of one system call.
    """

    call: str
    """
    Its name, e.g. `futex()`, or its number where no table is known.
    """
    count: int
    """
    The number of calls.
    """
    longest_ns: int
    """
    The longest, ns.
    """
    ns: int
    """
    Their time from entry to exit, ns, with all waits.
    """
    ran_ns: int
    """
    The time with a CPU for them, ns, without page faults, interrupts and waits for locks.
    """


class ThreadLedger(TypedDict):
    """
    The time of one thread.
    """

    lived_ns: int
    """
    The time that it lived in the window, ns.
    """
    lost_ns: int
    """
    The time in which it wanted to go on and could not, ns.
    """
    parts: dict[str, int]
    """
    Its parts, ns, by name. They add up to the time that it lived.
    """
    thread: str
    """
    The thread.
    """


TickDependency: TypeAlias = Literal[
    'none', 'posix_timer', 'perf_events', 'sched', 'clock_unstable', 'rcu', 'rcu_exp'
]
"""
The dependency that the `timer:tick_stop` event names. Values as in `include/linux/tick.h`, `enum tick_dep_bits` (6.1 to 7.2).
"""


class TickStopCount(TypedDict):
    """
    The number of `tick_stop` events with one outcome.
    """

    count: int
    """
    The number of events.
    """
    dependency: TickDependency
    """
    The dependency that kept it, if not.
    """
    success: bool
    """
    True if the tick was stopped.
    """


class CauseCount(TypedDict):
    """
    The interruptions of a CPU by one cause.
    """

    cause: CauseId
    """
    The cause.
    """
    chain: Chain
    """
    The most frequent chain of causation, from origin to interruption; that of a tick, if the cause has any.
    """
    count: int
    """
    Interruptions, page faults and time slices of other user tasks and of the command.
    """
    functions: dict[str, int]
    """
    The functions that ran in them, with counts.
    """
    interruptions: int
    """
    Interruptions among them.
    """
    longest_ns: int
    """
    The longest, ns.
    """
    ticks: int
    """
    Ticks among those.
    """
    total_ns: int
    """
    Time in them, ns.
    """


class Change(TypedDict):
    """
    A change that pays.
    """

    against: str
    """
    The loss that it removes or makes smaller.
    """
    change: Fix
    """
    The change.
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


class Ledger(TypedDict):
    """
    The time of threads, all of it: of the recorded command and its descendants, or of those of `--of`.
    """

    awake_ns: int
    """
    That without sleep by their own will and without time on CPUs that are not recorded, ns.
    """
    by_thread: list[ThreadLedger]
    """
    Each of the threads, those that lost most first, at most 256.
    """
    lived_ns: int
    """
    The sum of the times that they lived in the window, ns. The parts add up to it.
    """
    lost_ns: int
    """
    The time in which they wanted to go on and could not, ns.
    """
    lost_share: float
    """
    The lost time as a share of that, 0 to 1.
    """
    more_threads: int
    """
    The number of threads beyond the first 16 384, which are not in it.
    """
    moves: list[Mover]
    """
    The moves of these threads to another CPU, by those that moved them, the most frequent first.
    """
    parts: list[Part]
    """
    The parts: the lost ones first, the longest first, then the others.
    """
    system_calls: list[SystemCall] | None
    """
    The complete system calls, those that took longest in all first; null if they were not recorded.
    """
    threads: int
    """
    The number of threads that were seen.
    """
    threads_elsewhere: int
    """
    The number of threads that were only on CPUs that are not recorded. They are not in it.
    """


class Summary(TypedDict):
    """
    The interruptions of one CPU in the window.
    """

    by_cause: list[CauseCount]
    """
    The same by cause, the most frequent first.
    """
    by_kind: dict[str, int]
    """
    Interruptions, page faults and time slices of other user tasks and of the command, by the entry point into the kernel (`Kind::name`).
    """
    called_functions: dict[str, int]
    """
    Functions that other CPUs called here (kernels from 6.5 on report them).
    """
    command_tasks: int
    """
    Time slices of tasks of the recorded command while another one of it wanted the CPU, which are no interruptions.
    """
    command_tasks_ns: int
    """
    Time in those, ns.
    """
    context_switches: int
    """
    Context switches.
    """
    cpu: int
    """
    The CPU.
    """
    devices: dict[str, int]
    """
    Device interrupts, by name.
    """
    hrtimers: dict[str, int]
    """
    Hrtimers that expired, by function.
    """
    interrupted_ns: int
    """
    Time in interruptions, ns.
    """
    interruptions: int
    """
    Interruptions: interrupts, NMIs, softirqs and time slices of kernel threads.
    """
    local_timer: int
    """
    Local timer interrupts: ticks and all other timers, like LOC in `/proc/interrupts`.
    """
    local_timer_per_second: float
    """
    Local timer interrupts per second.
    """
    other_tasks: int
    """
    Time slices of other user tasks while the task that had the CPU wanted it, which are no interruptions.
    """
    other_tasks_ns: int
    """
    Time in those, ns.
    """
    page_faults: int
    """
    Page faults of the task that had the CPU, which are no interruptions.
    """
    seconds: float
    """
    Length of the window, s.
    """
    share_of_hz: float
    """
    Ticks per second as a share of HZ: 1 for a CPU that ticks all the time.
    """
    softirqs: Softirqs
    """
    Softirqs that ran.
    """
    tick_stops: list[TickStopCount]
    """
    Decisions on the tick: `tick_stop` events.
    """
    ticks: int
    """
    Periodic ticks.
    """
    ticks_per_second: float
    """
    Periodic ticks per second.
    """
    timers: dict[str, int]
    """
    Timer-wheel timers that expired, by function.
    """
    unattributed: int
    """
    Interruptions whose origin could not be named.
    """
    unattributed_share: float
    """
    Share of the interruptions whose origin could not be named, 0 to 1; 0 if there was none.
    """
    unattributed_time_share: float
    """
    Share of the interrupted time whose origin could not be named, 0 to 1.
    """
    vectors: dict[str, int]
    """
    Interrupt vectors taken, without device interrupts.
    """
    works: dict[str, int]
    """
    Work items that ran, by function.
    """


class Verdict(TypedDict):
    """
    The losses of time, the change against the largest of those that are worth one, and an interruption that is not.
    """

    bar: Bar
    """
    The bar above which a loss is worth a change.
    """
    interruptions: Loss | None
    """
    The interruptions of the measured CPUs together, whichever task they interrupted, where those of the threads are not known; null if the losses have them.
    """
    losses: list[Loss]
    """
    The losses: the largest, and those of at least a tenth of all; at most 3.
    """
    needs_cpus: bool
    """
    True if all CPUs were measured: the fixes against interruptions need the CPUs that are to be quiet.
    """
    not_worth: Loss | None
    """
    The interruption that a reader would ask about first and that is not worth a change; null if there is none.
    """
    of_threads: bool
    """
    The subject of the losses: true for the threads of the command, false for the measured CPUs. Threads that slept nearly all the time are none, e.g. those of `sleep 5`.
    """
    unseen_share: float | None
    """
    The share of the time that the threads spent on CPUs that were not recorded, 0 to 1, if it is most of it.
    """
    worth: Change | None
    """
    The change that pays; null if nothing is worth one, or nothing is known to help.
    """


class Trace(TypedDict):
    """
    The result of the trace.
    """

    boot: list[str]
    """
    The parameters for the kernel's command line that remove the causes.
    """
    causes: list[Cause]
    """
    The causes: interruptions first, those that took longest first; page faults last.
    """
    clock: Clock
    """
    The clock: in virtual time a µs is 1000 instructions, and durations include the turns of other CPUs.
    """
    ledger: Ledger | None
    """
    The time of the command's threads, all of it; null if the command did not begin.
    """
    lost: int
    """
    The number of lost events, whose interruptions may be missing.
    """
    offline: CpuList
    """
    The CPUs that were offline at some time: their figures do not hold.
    """
    per_cpu: list[Summary]
    """
    The summary of each CPU.
    """
    stolen_ns: int
    """
    The time for which the hypervisor ran something else on the CPUs (steal), ns. It is in no interruption.
    """
    ticks_remain: bool
    """
    True if no boot parameter can remove the ticks, because the kernel has no CONFIG_NO_HZ_FULL. `boot` is then empty.
    """
    verdict: Verdict
    """
    The verdict: the losses that remained.
    """


class Proof(TypedDict):
    """
    The observations.
    """

    no_trace: str | None
    """
    The reason for which there is no trace.
    """
    rows: list[tuple[str, Row]]
    """
    The rows of `/proc/interrupts` that counted interrupts of the CPUs, with their numbers.
    """
    seconds: float
    """
    The run time of the command, s.
    """
    trace: Trace | None
    """
    The explained trace.
    """


class DyntickIsolate(TypedDict):
    """
    The report of one isolation.
    """

    changes: int
    command: list[str]
    cpus: CpuList
    exceeded: bool | None
    """
    True if there were more interruptions than `--max-interruptions` allows; null without it.
    """
    exit_status: int
    """
    The exit status of the command; 128 plus the signal's number if a signal ended it.
    """
    format: Literal['dyntick-isolate']
    gate: Gate | None
    """
    The judgement on the limits of `--at-most`; null without any.
    """
    left: Left | None
    """
    The control group in which the command's first process ended, if that was outside the partition; null if not.
    """
    no_partition: str | None
    partition: str | None
    partition_held: bool | None
    """
    True if the partition was still valid at the end.
    """
    proof: Proof
    refused: list[tuple[str, str]]
    restored: Restored
    status: str
    """
    The end of the command, in words.
    """
    version: Literal[2]
