# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict


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


Function: TypeAlias = int


CauseId: TypeAlias = str
"""
A cause, with its member where it is a class of many: `workqueue:vmstat_update`.
"""


Chain: TypeAlias = list[str]


class ChainCount(TypedDict):
    """
    A chain of causation.
    """

    count: int
    """
    The number of interruptions with this chain.
    """
    steps: Chain
    """
    The steps, from origin to interruption.
    """


Clock: TypeAlias = Literal['virtual', 'wall']
"""
The clock of a run. A figure of one clock is never compared with a figure of the other.
"""


CpuList: TypeAlias = str
"""
A set of CPUs, written as in `taskset -c` and on the kernel's command line: `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.

It takes 1 KiB at most: files of strangers have many of them.
"""


class Durations(TypedDict):
    """
    A distribution of durations, ns. Nearest rank: each is a value that occurred.
    """

    max: int
    median: int
    min: int
    p99: int


class Evidence(TypedDict):
    """
    A recorded interruption.
    """

    at_ns: int
    """
    Its begin, ns from the begin of the recording.
    """
    duration_ns: int
    """
    Its duration, ns.
    """
    events: list[str]
    """
    Its events.
    """
    kind: str
    """
    The entry point into the kernel.
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


class Source(TypedDict):
    """
    The tool that made a trace, and what the trace lacks.
    """

    clock: str | None
    """
    The trace clock; null if the file does not name it.
    """
    events: dict[str, int]
    """
    The number of records of each event, by `system:name`.
    """
    format: str
    """
    The format of the file and its tool, in words.
    """
    limits: list[str]
    """
    The limits of the findings, in words, to be read first: what the file does not have.
    """


class StackCount(TypedDict):
    """
    A call stack that caused interruptions.
    """

    count: int
    """
    The number of interruptions that it caused.
    """
    frames: list[str]
    """
    The task, the functions of its program and those of the kernel (`_[k]`), the outermost first.
    """


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


UntracedItem: TypeAlias = int


class Unattributed(TypedDict):
    """
    Interruptions without a cause.
    """

    count: int
    """
    Their number.
    """
    evidence: list[Evidence]
    """
    The raw events of the longest of them.
    """
    share: float
    """
    Their share of all interruptions, 0 to 1.
    """
    time_share: float
    """
    Their share of the time of all interruptions, 0 to 1.
    """
    total_ns: int
    """
    Their time, ns.
    """
    untraced: list[tuple[str, UntracedItem]]
    """
    The rows of `/proc/interrupts` that grew by more than the trace shows: row and growth.
    """


class CauseFindings(TypedDict):
    """
    One cause.
    """

    attributed: bool
    """
    True if the origin is named.
    """
    cause: CauseId
    """
    Its name, e.g. `workqueue:vmstat_update`.
    """
    chains: list[ChainCount]
    """
    The most frequent chains of causation, from origin to interruption, with their numbers.
    """
    count: int | None
    """
    The number of interruptions, page faults and time slices of other user tasks and of the command; null if only their time is known.
    """
    count_share: float
    """
    Their share of the number of all listed causes but page faults and the command's own tasks, 0 to 1.
    """
    durations_ns: Durations | None
    """
    Their durations; null if they are not known individually.
    """
    explanation: str
    """
    An explanation of the mechanism.
    """
    fixes: list[PrintedFix]
    """
    The fixes, which remove it or make it rarer, the most effective first.
    """
    functions: list[tuple[str, Function]]
    """
    The kernel functions that ran in them, with counts, the most frequent first.
    """
    interruptions: int
    """
    Interruptions among them.
    """
    more_chains: int
    """
    The number of other chains.
    """
    source: str
    """
    The kernel's file and function behind it.
    """
    stacks: NotRequired[list[StackCount]]
    """
    The call stacks that caused them, the most frequent first, at most 1000, if stacks were recorded.
    """
    ticks: int
    """
    Ticks among those.
    """
    time_share: float
    """
    Its share of the time of all listed causes, including steal time, 0 to 1.
    """
    title: str
    """
    A title, for a reader new to the subject.
    """
    total_ns: int | None
    """
    The time in them, ns; null if it is unknown.
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


class CpuFindings(TypedDict):
    """
    The findings about one CPU.
    """

    causes: list[CauseFindings]
    """
    The causes of all these, in this order: a distrusted clock, which slows down everything; causes with a known time, the longest first; causes of which only the number is known; time slices of the command's own tasks; page faults.
    """
    command_tasks: int
    """
    Time slices of tasks of the recorded command while another one of it wanted the CPU, which are no interruptions.
    """
    command_tasks_ns: int
    """
    Time in those, ns.
    """
    cpu: int
    """
    The CPU.
    """
    interrupted_ns: int
    """
    Time in them, ns.
    """
    interrupted_share: float
    """
    That time as a share, 0 to 1: of the recording for a CPU; for threads, of the time in which they had a CPU or wanted the one that another task had.
    """
    interruptions: int
    """
    Interruptions: interrupts, NMIs, softirqs and time slices of kernel threads.
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
    ticks: int | None
    """
    Periodic ticks; null for a trace of another tool that lacks the events of hrtimers.
    """
    ticks_per_second: float | None
    """
    Periodic ticks per second.
    """
    unattributed: Unattributed
    """
    Interruptions without a cause.
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


class ThreadFindings(TypedDict):
    """
    The findings about the threads of `--of`, on whichever of the recorded CPUs they ran.
    """

    causes: list[CauseFindings]
    """
    The causes of all these, in this order: a distrusted clock, which slows down everything; causes with a known time, the longest first; causes of which only the number is known; time slices of the command's own tasks; page faults.
    """
    command_tasks: int
    """
    Time slices of tasks of the recorded command while another one of it wanted the CPU, which are no interruptions.
    """
    command_tasks_ns: int
    """
    Time in those, ns.
    """
    cpus: CpuList
    """
    The CPUs on which they ran.
    """
    interrupted_ns: int
    """
    Time in them, ns.
    """
    interrupted_share: float
    """
    That time as a share, 0 to 1: of the recording for a CPU; for threads, of the time in which they had a CPU or wanted the one that another task had.
    """
    interruptions: int
    """
    Interruptions: interrupts, NMIs, softirqs and time slices of kernel threads.
    """
    of: str
    """
    The argument of `--of`.
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
    ran_ns: int
    """
    The time in which they had a CPU, ns, including interrupts.
    """
    threads: int
    """
    The number of such threads that ran, at most 65 536.
    """
    ticks: int | None
    """
    Periodic ticks that interrupted them; null for a trace of another tool that lacks the events of hrtimers.
    """
    unattributed: Unattributed
    """
    Interruptions without a cause.
    """
    waited_ns: int
    """
    The time in which other tasks had the CPU that they wanted, ns.
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


class DyntickExplain(TypedDict):
    """
    The findings about a record.
    """

    clock: Clock
    """
    The clock: in virtual time a µs is 1000 instructions, and durations include the turns of other CPUs.
    """
    command: list[str]
    """
    The command that ran meanwhile.
    """
    cpus: list[CpuFindings]
    """
    The recorded CPUs, in order; empty with `--of`.
    """
    format: Literal['dyntick-explain']
    gate: Gate | None
    """
    The judgement on the limits of `--at-most`; null without any.
    """
    kernel: str
    """
    The kernel that was recorded.
    """
    ledger: Ledger | None
    """
    The time of the command's threads, or of those of `--of`, all of it; null where there is neither, and of a trace of another tool that lacks switches or wake-ups of tasks.
    """
    lost_events: dict[str, int]
    """
    The number of lost events by CPU. If there are any, counts are too low and causes may be wrong.
    """
    notes: list[str]
    """
    The limits of the findings, in words: events that the kernel lacks, and deviations from the request.
    """
    offline: CpuList
    """
    The recorded CPUs that were offline at some time: their figures do not hold.
    """
    seconds: float
    """
    The length of the recording, s.
    """
    source: NotRequired[Source | None]
    """
    The source of a trace that another tool made.
    """
    threads: NotRequired[ThreadFindings | None]
    """
    The threads of `--of`.
    """
    undecoded: int
    """
    The number of records of the trace that could not be decoded.
    """
    verdict: Verdict
    """
    The verdict: the largest losses, and the one change that pays.
    """
    version: Literal[2]
