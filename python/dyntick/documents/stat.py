# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

After: TypeAlias = Literal['wake-up', 'preemption']
"""
The beginning of a wait for a CPU.
"""


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


class Bucket(TypedDict):
    """
    A bucket of durations.
    """

    below_ns: int | None
    """
    The end of the bucket; the last has none.
    """
    count: int
    """
    The number of durations in it.
    """


CauseId: TypeAlias = str
"""
A cause, with its member where it is a class of many: `workqueue:vmstat_update`.
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


class CpuTimes(TypedDict):
    """
    Times of one CPU, ns, in the resolution of `/proc/stat` (10 ms on most machines).
    """

    idle_ns: int
    """
    Idle, waiting for disks included.
    """
    interrupts_ns: int
    """
    Interrupts and softirqs; 0 on kernels that do not account for them.
    """
    steal_ns: int
    """
    Taken by the hypervisor while the CPU had work.
    """
    system_ns: int
    """
    The kernel, without interrupts.
    """
    user_ns: int
    """
    User code, guests included.
    """


class Ended(TypedDict):
    """
    The result of the command.
    """

    involuntary_switches: int
    """
    The involuntary context switches (preemption).
    """
    status: int
    """
    The exit status; 128 plus the signal's number if a signal ended it.
    """
    system_ns: int
    """
    The system time.
    """
    user_ns: int
    """
    The user time.
    """
    voluntary_switches: int
    """
    The voluntary context switches.
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
    An idle state (`Documentation/ABI/testing/sysfs-devices-system-cpu`).
    """

    above: int
    """
    The number of times that a shallower state would have been right.
    """
    below: int
    """
    The number of times that a deeper state would have been right.
    """
    name: str
    """
    Its name.
    """
    time_us: int
    """
    The time in it, us.
    """
    usage: int
    """
    The number of times that it was entered.
    """


class Interrupted(TypedDict):
    """
    A task that was interrupted.
    """

    comm: str
    """
    Its name.
    """
    pid: int
    """
    The thread ID; 0 is the idle task.
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


KernelVersion: TypeAlias = str
"""
A kernel version: compares by its numbers, keeps the complete release text.
"""


class Long(TypedDict):
    """
    An interruption that took long.
    """

    at_ns: int
    """
    Its beginning, ns since that of the measurement.
    """
    cause: CauseId | None
    """
    The cause, as `explain` names it.
    """
    cpu: int
    """
    Its CPU.
    """
    interrupted: Interrupted | None
    """
    The interrupted task; null if this is the time slice of a task.
    """
    name: str
    """
    The name of the row.
    """
    ns: int
    """
    The duration.
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


class Octave(TypedDict):
    """
    An octave of durations.
    """

    below_ns: int | None
    """
    The end of the octave; the last has none.
    """
    count: int
    """
    The number of calls in it.
    """
    from_ns: int
    """
    The beginning of the octave.
    """


Pair: TypeAlias = Literal['fentry/fexit', 'kprobe/kretprobe']
"""
The two programs that time a call. The cheaper one comes first.
"""


class PrintedLongest(TypedDict):
    """
    The interruptions that took long, for JSON.
    """

    each: list[Long]
    """
    The interruptions.
    """
    lost: int
    """
    The number of further ones, which did not fit into the ring buffer.
    """
    over_ns: int
    """
    The smallest duration that is listed.
    """


class PrintedRow(TypedDict):
    """
    A row that is counted under one name.
    """

    cause: CauseId | None
    """
    The cause, as `explain` names it.
    """
    count: int
    """
    The number of times that it began.
    """
    count_deviation: float | None
    """
    The standard deviation of the count over several runs, as a share of the mean.
    """
    fixes: list[str]
    """
    The fixes on this machine, the best first.
    """
    histogram: list[Bucket]
    """
    The number of durations in each bucket with at least one.
    """
    longest_ns: int | None
    """
    The longest duration.
    """
    mean_ns: float | None
    """
    The mean duration.
    """
    name: str
    """
    The name of the row.
    """
    per_second: float
    """
    The count per second.
    """
    title: str | None
    """
    The title of the cause.
    """
    total_ns: int | None
    """
    The total duration; null if durations are not known.
    """


class Probe(TypedDict):
    """
    The cost of a kind of probe.
    """

    added_ns: float | None
    """
    The time that it adds to a call.
    """
    error: str | None
    """
    The reason why it could not be measured.
    """
    inside_ns: int | None
    """
    The largest part of that in the figures.
    """
    measured_calls: int | None
    """
    The number of calls on which it was measured.
    """
    measured_on_cpu: int | None
    """
    The CPU on which it was measured.
    """
    probe: Pair
    """
    The kind of probe.
    """


class Quota(TypedDict):
    """
    A CPU quota that was used up.
    """

    group: str
    """
    The control group, as its path below the root of the hierarchy.
    """
    quota: str
    """
    The quota, in words.
    """
    throttled: int
    """
    The number of periods in which the group was throttled (`nr_throttled`).
    """
    throttled_ns: int
    """
    The time in which it was throttled, summed over CPUs (`throttled_usec`).
    """


class ReachedLimit(TypedDict):
    """
    A memory limit that was reached.
    """

    group: str
    """
    The control group, as its path below the root of the hierarchy.
    """
    limit: str
    """
    The limit, in words.
    """
    reached: int
    """
    The number of times that it was reached (`memory.events.local`).
    """


TickDependency: TypeAlias = Literal[
    'none', 'posix_timer', 'perf_events', 'sched', 'clock_unstable', 'rcu', 'rcu_exp'
]
"""
The dependency that the `timer:tick_stop` event names. Values as in `include/linux/tick.h`, `enum tick_dep_bits` (6.1 to 7.2).
"""


class TimePart(TypedDict):
    """
    A part of the time.
    """

    after: After | None
    """
    The beginning of a wait for a CPU; null for others.
    """
    by: str | None
    """
    The name of the task that had the CPU; null if it is not known.
    """
    count: int
    """
    The number of its pieces. One that lasts over several intervals is in each.
    """
    explanation: str
    """
    The mechanism; may be empty.
    """
    fixes: list[str]
    """
    The fixes, the most effective first.
    """
    longest_ns: int
    """
    The longest piece.
    """
    lost: bool
    """
    True if the threads wanted to go on and could not.
    """
    ns: int
    """
    The time.
    """
    part: str
    """
    Its name, as in `explain`: ran, reclaim, preempted, real-time-limit, quota, nothing-ran, waking-up, stopped, traced, blocked or slept.
    """
    title: str
    """
    A title.
    """


class Zone(TypedDict):
    """
    A zone, for JSON.
    """

    joules: float
    """
    The energy, J.
    """
    measured_ns: int
    """
    The length of the measurement, ns.
    """
    turbostat: str | None
    """
    The name of turbostat's column for its power, if it has one.
    """
    watts: float | None
    """
    The mean power, W.
    """
    zone: str
    """
    The full name, e.g. `package-0/core`.
    """


class Calls(TypedDict):
    """
    The calls of a function on one CPU.
    """

    began: int
    """
    The number of calls that began.
    """
    calls: int
    """
    The number of calls that ended.
    """
    cpu: int
    """
    The CPU.
    """
    histogram: list[Octave]
    """
    The octaves of durations with at least one call.
    """
    longest_ns: int | None
    """
    The longest time.
    """
    mean_ns: float | None
    """
    The mean time.
    """
    no_room: int
    """
    Calls that were not timed: too many were in progress at the same time.
    """
    shortest_ns: int | None
    """
    The shortest time.
    """
    total_ns: int
    """
    The total time of the calls.
    """
    unpaired: int
    """
    Calls that returned without a recorded entry.
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


class CpuMeters(TypedDict):
    """
    The counters of one CPU.
    """

    idle: list[IdleState]
    """
    Its idle states, the shallowest first (`/sys/devices/system/cpu/cpuN/cpuidle`).
    """
    interrupts: dict[str, int]
    """
    Interrupts by row of `/proc/interrupts`; only those that came, and only of a difference.
    """
    smis: int | None
    """
    System management interrupts: the firmware took the CPU, unseen by the kernel (MSR 0x34 of Intel's processors, SDM volume 4, MSR_SMI_COUNT).
    """
    times: CpuTimes
    """
    The use of its time (`/proc/stat`).
    """


class Function(TypedDict):
    """
    A function.
    """

    cpus: list[Calls]
    """
    Its calls on each CPU.
    """
    missed: int
    """
    Entries and returns that were not seen: they occurred while their own program ran.
    """
    name: str
    """
    Its name, as in `/proc/kallsyms`.
    """
    probe: Pair
    """
    The kind of probe that timed its calls.
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


class Group(TypedDict):
    """
    A group of rows that is counted together, with its parts.
    """

    cause: CauseId | None
    """
    The cause, as `explain` names it.
    """
    count: int
    """
    The number of times that it began.
    """
    count_deviation: float | None
    """
    The standard deviation of the count over several runs, as a share of the mean.
    """
    fixes: list[str]
    """
    The fixes on this machine, the best first.
    """
    histogram: list[Bucket]
    """
    The number of durations in each bucket with at least one.
    """
    longest_ns: int | None
    """
    The longest duration.
    """
    mean_ns: float | None
    """
    The mean duration.
    """
    name: str
    """
    The name of the row.
    """
    parts: list[PrintedRow]
    """
    The parts of the group.
    """
    per_second: float
    """
    The count per second.
    """
    title: str | None
    """
    The title of the cause.
    """
    total_ns: int | None
    """
    The total duration; null if durations are not known.
    """


class Kept(TypedDict):
    """
    The number of times that the tick was kept for one reason.
    """

    count: int
    """
    The count.
    """
    dependency: TickDependency
    """
    The tick dependency.
    """


class PrintedCalls(TypedDict):
    """
    The calls that were timed.
    """

    functions: list[Function]
    """
    Each function, in the order in which they were named.
    """
    probes: list[Probe]
    """
    The cost of the probes.
    """


class PrintedTime(TypedDict):
    """
    The time of threads, all of it, also while they did not run.
    """

    awake_ns: int
    """
    The time without sleep by their own will.
    """
    lived_ns: int
    """
    The sum of the times that they lived. The parts add up to it.
    """
    lost_events: int
    """
    The number of events that are not in it: they came while their own program ran.
    """
    lost_ns: int
    """
    The time in which they wanted to go on and could not.
    """
    lost_share: float
    """
    The lost time as a share of that, 0 to 1.
    """
    memory_limits: list[ReachedLimit]
    """
    The memory limits that control groups of these threads reached, by the kernel's own account.
    """
    more_threads: int
    """
    The number of threads that are not in it, since there was no room.
    """
    parts: list[TimePart]
    """
    The parts: the lost ones first, the longest first, then the others.
    """
    quotas: list[Quota]
    """
    The CPU quotas that were used up while one of the threads waited, by the kernel's own account.
    """
    threads: int
    """
    The number of threads that lived.
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


class Cpu(TypedDict):
    """
    One CPU. The times of its parts add up to `time_ns`. If nothing was counted, all but the CPU and the machine's own counters are null.
    """

    command_ns: int | None
    """
    The time slices of the command's tasks.
    """
    cpu: int
    """
    The CPU number.
    """
    idle_ns: int | None
    """
    The idle time.
    """
    interrupted_ns: int | None
    """
    The time in interruptions.
    """
    interruptions: list[Group] | None
    """
    The interruptions, the longest first: interrupts, softirqs, NMIs, kernel threads.
    """
    machine: CpuMeters
    """
    The machine's own counters.
    """
    observer_ns: int | None
    """
    The time slices of dyntick's own tasks.
    """
    other_tasks_ns: int | None
    """
    The time slices of other user tasks.
    """
    page_faults: list[Group] | None
    """
    The page faults, which are not interruptions.
    """
    parts: list[Group] | None
    """
    The parts whose group was not counted; their time may be in other rows.
    """
    tick_kept: list[Kept] | None
    """
    The number of times that it was kept, by tick dependency; the most frequent first.
    """
    tick_stopped: int | None
    """
    The number of times that the tick was stopped.
    """
    ticks: int | None
    """
    The number of ticks.
    """
    time_ns: int | None
    """
    The total time of the CPU: the length of the measurement, or the sum of its parts if that is longer.
    """
    unattributed_ns: int | None
    """
    The part of `interrupted_ns` whose cause no rule names.
    """
    uncounted_ns: int | None
    """
    The time that no counted event accounts for.
    """
    user_tasks: list[Group] | None
    """
    The user tasks other than the command's and dyntick's, which are not interruptions.
    """


class DyntickStat(TypedDict):
    """
    One measurement; durations in ns, and counts of several runs as their sum.
    """

    at_ns: int
    """
    The end of the measurement, ns since the first one began.
    """
    calls: PrintedCalls | None
    """
    The calls of kernel functions, with `--calls`.
    """
    clock: Clock
    """
    The clock: in virtual time a µs is 1000 instructions, and durations include the turns of other CPUs.
    """
    command: list[str]
    """
    The measured command; empty if there was none.
    """
    command_time: PrintedTime | None
    """
    The time of the command's threads, or of those of `-p`, on all CPUs; null if there are none, or it is not known.
    """
    counted: bool
    """
    True if causes could be counted.
    """
    cpus: list[Cpu]
    """
    The measured CPUs, by number.
    """
    ended: Ended | None
    """
    The result of the command.
    """
    format: Literal['dyntick-stat']
    gate: Gate | None
    """
    The judgement on the limits of `--at-most`; null without any.
    """
    kernel: KernelVersion
    """
    `uname -r`.
    """
    longest: PrintedLongest | None
    """
    Interruptions that took long, with `--over`.
    """
    lost: Lost | None
    """
    Events that could not be counted.
    """
    measured_ns: int
    """
    The length of the measurement; for several runs, the sum.
    """
    missing: list[Missing]
    """
    The counters that are not available, and what they need.
    """
    offline: CpuList
    """
    The CPUs that were offline meanwhile: their figures do not hold.
    """
    power: list[Zone] | None
    """
    The energy of processor packages and their parts, with `--power`.
    """
    runs: int
    """
    The number of runs.
    """
    source: str | None
    """
    The source of the counts: `bpf` or `tracefs`; null if nothing was counted.
    """
    source_note: str | None
    """
    A note about counting from trace events: the reason, and the cost.
    """
    verdict: Verdict | None
    """
    The verdict: the largest losses, and the one change that pays; null if nothing was counted.
    """
    version: Literal[2]
