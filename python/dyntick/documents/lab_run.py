# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

Accelerator: TypeAlias = Literal['icount', 'kvm', 'emulated-threads']
"""
The executor of the guest's instructions.
"""


class Agreement(TypedDict):
    """
    The number of runs that give the same answer: the case's own and the perturbed ones. Of several checks and variants, those on which the fewest agree.
    """

    agree: int
    """
    The runs with the answer of the case's own run, itself included.
    """
    runs: int
    """
    All runs.
    """


Basis: TypeAlias = Literal['measured', 'estimated']
"""
The origin of a figure.
"""


Better: TypeAlias = Literal['lower', 'higher', 'unknown']
"""
The direction that is an improvement.
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


CommandLine: TypeAlias = str
"""
A kernel command line as a list of parameters, in order. Quotes group words as in `lib/cmdline.c: next_arg`.
"""


Comparison = TypedDict(
    'Comparison',
    {
        'case': str,
        'spans': list[str],
        'title': str,
        'with': str,
    },
)


CpuList: TypeAlias = str
"""
A set of CPUs, written as in `taskset -c` and on the kernel's command line: `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.

It takes 1 KiB at most: files of strangers have many of them.
"""


Exit: TypeAlias = Literal['table', 'measured', 'distribution']
"""
The duration of an emulated exit. The kernel uses the table's latency in any case.
"""


class Factor(TypedDict):
    """
    A factor of the experiment.
    """

    levels: list[str]
    """
    The levels; the first is the base that the others are compared with.
    """
    name: str
    """
    The name.
    """


class Host(TypedDict):
    """
    A machine, as far as it decides what a guest on the wall clock measures.
    """

    cpus: int
    """
    The number of online CPUs.
    """
    is_virtual: bool
    """
    True if it is a virtual machine itself.
    """
    processor: str
    """
    The processor, as `/proc/cpuinfo` names it.
    """
    release: str
    """
    The release of its kernel.
    """


How: TypeAlias = Literal['ratio', 'difference']
"""
An operation on the other case's figure.
"""


class JudgedRun1(TypedDict):
    """
    The run failed.
    """

    case: str
    """
    The id of its case.
    """
    console: list[str]
    """
    The last lines of the guest's console.
    """
    failure: str
    """
    The reason.
    """
    repetition: int
    """
    The repetition, from 0.
    """


class KernelPatch(TypedDict):
    """
    A patch of a kernel.
    """

    files: NotRequired[int | None]
    """
    The number of files that it changes; none for a semantic patch, and for kernels from before it was kept.
    """
    name: str
    """
    The name or path.
    """
    sha256: NotRequired[str | None]
    """
    The SHA-256 of its text; none for kernels from before it was kept.
    """


KernelVersion: TypeAlias = str
"""
A kernel version: compares by its numbers, keeps the complete release text.
"""


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


class LevelMean(TypedDict):
    """
    One level of a factor, over all levels of the others.
    """

    difference: float
    """
    The excess over that of the first level, which is the main effect of a factor with two levels.
    """
    factor: str
    """
    The factor.
    """
    level: str
    """
    The level.
    """
    mean: float
    """
    Mean of all cells of this level.
    """
    percent: float | None
    """
    The same in percent of the first level's mean; none where that is 0.
    """


class Limits(TypedDict):
    """
    The latency limits just before the window and just after it.
    """

    after: LatencyLimits
    """
    After the window.
    """
    before: LatencyLimits
    """
    Before the window.
    """


class Observed(TypedDict):
    """
    One figure of a run.
    """

    cpu: int | None
    """
    The CPU; `None` for the complete machine.
    """
    figure: str
    """
    The name of the figure, e.g. `ticks` or `function`.
    """
    key: str
    """
    The key of the figure among several, e.g. the function's name; empty if there is only one.
    """
    quantile: NotRequired[float | None]
    """
    The quantile that the value is, 0 to 1: 0.99 for `latency_ns:p99`, in the figure's unit. Absent if it is none.
    """
    unit: str
    """
    The unit, e.g. `1`, `1/s`, `ns`.
    """
    value: float
    """
    The value.
    """


TaskCpuN: TypeAlias = int


WindowN: TypeAlias = int


Partition: TypeAlias = Literal['root', 'isolated']
"""
A kind of cpuset partition (`Documentation/admin-guide/cgroup-v2.rst`, cpuset.cpus.partition).
"""


class Perturbation(TypedDict):
    """
    The change of one perturbed run. Recorded in its `run.toml`.
    """

    padding: int
    """
    Bytes of a file that the guest image has before all others, and that nothing reads.
    """
    shift_ns: int
    """
    The delay of the window after the start of the tasks, ns.
    """


class Place1(TypedDict, closed=True):
    """
    A regular expression with one group, the number.
    """

    pattern: str


class Place2(TypedDict, closed=True):
    """
    A path into JSON.
    """

    json: str


Place: TypeAlias = Place1 | Place2
"""
The place of a figure in a program's output.
"""


class Policy1(TypedDict, closed=True):
    """
    SCHED_FIFO with this priority, 1 to 99.
    """

    fifo: int


class Deadline(TypedDict):
    period_ns: int
    """
    ns.
    """
    runtime_ns: int
    """
    ns.
    """


class Policy2(TypedDict, closed=True):
    """
    SCHED_DEADLINE: so long in every period, which is the deadline too.
    """

    deadline: Deadline


Policy: TypeAlias = Literal['other'] | Policy1 | Policy2
"""
A scheduling policy (`sched(7)`).
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


class PublishedFigure(TypedDict):
    """
    A published figure, shown next to the measured one.
    """

    case: str
    """
    The measured case, as `Case::answers_to` reads it.
    """
    figure: str
    """
    The figure of ours.
    """
    label: str
    """
    The label.
    """
    note: str
    """
    A note to show with it; often empty.
    """
    our_unit: str | None
    """
    The unit of ours where it is another one.
    """
    ratio_to: str | None
    """
    The case whose figure both are divided by, as it was published and as it is here.
    """
    unit: str
    """
    The unit of both.
    """
    value: str
    """
    The value, as published.
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


class Range(TypedDict):
    """
    The least and the most that a difference is: in a cell's own runs, and in those with an irrelevant change.
    """

    least: float
    """
    The least.
    """
    most: float
    """
    The most.
    """


class Recipe(TypedDict):
    """
    The parts of a kernel, by name. Paths are meant from the working folder.
    """

    config: list[str]
    """
    Fragments by name or path, or one complete configuration by path; later ones win.
    """
    patches: list[str]
    """
    Patches by name or path, in the order in which they are applied.
    """
    source: str
    """
    `debian:6.12`, `debian:sid` for Debian's newest, a tarball, `git:REPOSITORY#REVISION`, or the folder of a source tree.
    """


Relation: TypeAlias = Literal[
    'Less', 'LessOrEqual', 'Equal', 'GreaterOrEqual', 'Greater'
]
"""
A relation of a figure to its bound.
"""


Run: TypeAlias = int


class Repeats(TypedDict):
    """
    The spread of the runs of a cell, of which the mean is taken.
    """

    deviation: float
    """
    Standard deviation of the runs of a cell, of all cells together (the root of the pooled variance).
    """
    runs: tuple[Run, Run]
    """
    The fewest and the most runs of a cell.
    """


class Residual(TypedDict):
    """
    One pair of levels against the sum of the effects of both.
    """

    additive: float
    """
    The prediction by the main effects: the means of the levels, added, less the mean of all cells.
    """
    levels: list[str]
    """
    The level of each factor.
    """
    mean: float
    """
    Mean of their cells.
    """
    value: float
    """
    `mean - additive`.
    """


class Row(TypedDict):
    """
    One function in both.
    """

    a: float
    """
    Mean instructions a span in the first.
    """
    b: float
    """
    Mean instructions a span in the second.
    """
    function: str
    """
    Its name.
    """
    more: float
    """
    The excess of the second over the first.
    """


Ruling: TypeAlias = Literal[
    'reproduced', 'inconclusive', 'not-reproduced', 'cannot-tell'
]
"""
The answer to a claim.
"""


class Script(TypedDict):
    """
    A fixed piece of work.
    """

    cpus: CpuList
    """
    The CPU that it runs on.
    """
    in_window: bool
    """
    It runs together with the tasks while all is recorded, and the window is as long as it.
    """
    run: list[str]
    """
    Program and arguments.
    """


class ScriptResult(TypedDict):
    """
    The timed script's result.
    """

    elapsed_ns: int
    """
    From start to end, ns.
    """
    status: int
    """
    Exit status.
    """
    system_ns: int
    """
    System time, ns, as the kernel accounts it.
    """
    user_ns: int
    """
    User time, ns, as the kernel accounts it.
    """


class Settled(TypedDict):
    """
    The result of the settling.
    """

    restless: CpuList
    """
    The CPUs that were still busy when the limit was reached; empty where all came to rest.
    """
    waited_ns: int
    """
    The time that the agent waited, ns.
    """


Shift = TypedDict(
    'Shift',
    {
        'case': float,
        'point': str,
        'quantile': float | None,
        'with': float,
    },
)


Count: TypeAlias = int


SpanShift = TypedDict(
    'SpanShift',
    {
        'case': float,
        'counts': tuple[Count, Count],
        'kind': str,
        'with': float,
    },
)


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


class Term(TypedDict):
    """
    The part that a factor explains by itself, or that several explain only together.
    """

    factors: list[str]
    """
    One factor: its main effect. Several: their interaction.
    """
    share: float
    """
    The share of the total, 0 to 1; 0 if all cells are equal.
    """
    squares: float
    """
    Sum of squares over all cells, in the square of the value's unit.
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


class TwoWay(TypedDict):
    """
    The deviation of two factors together from the sum of their effects.
    """

    factors: list[str]
    """
    The two.
    """
    largest: Residual
    """
    The pair of levels that is furthest from it.
    """
    residuals: list[list[float]]
    """
    Mean of the cells of each pair of levels minus what both main effects add up to: a row for each level of the first factor, a column for each of the second.
    """


class Work1(TypedDict, closed=True):
    """
    A real tool with its arguments.
    """

    tool: list[str]


Work: TypeAlias = (
    Literal['spin'] | Literal['rcu-free'] | Literal['syscall-loop'] | Work1
)
"""
The work of a task.
"""


class Against(TypedDict):
    """
    Another case that a figure is set against.
    """

    case: str
    """
    The case, as `Case::answers_to` reads it.
    """
    how: How
    """
    The operation on its figure.
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


class Condition(TypedDict):
    """
    A bound.
    """

    bound: float
    """
    The bound.
    """
    relation: Relation
    """
    The relation of the figure to the bound.
    """


class Difference(TypedDict):
    """
    The difference of two kinds of spans.
    """

    a: float
    """
    Mean instructions a span in the first.
    """
    b: float
    """
    Mean instructions a span in the second.
    """
    rows: list[Row]
    """
    The functions, the largest difference first. Their differences add up to that of the means.
    """


class Effects(TypedDict):
    """
    The effects of each axis of a case's matrix on some figures.
    """

    axes: list[Factor]
    """
    The axes of its matrix with the labels of their values, also those with one value only.
    """
    case: str
    """
    The case's name.
    """
    figures: list[str]
    """
    The figures.
    """
    title: str
    """
    The title.
    """


class Factorial(TypedDict):
    """
    A factorial experiment, taken apart.
    """

    cells: int
    """
    The number of cells.
    """
    equal: bool
    """
    True if all cells have the same value.
    """
    levels: list[LevelMean]
    """
    Each level of each factor, in their order.
    """
    mean: float
    """
    Mean of all cells.
    """
    pairs: list[TwoWay]
    """
    Each pair of factors, in the order of the terms.
    """
    squares: float
    """
    Sum of the squared deviations from the mean.
    """
    terms: list[Term]
    """
    Each subset of the factors: single factors, then pairs, and so on, in the order of the factors.
    """


class FigureEffects(TypedDict):
    """
    The effects on one figure.
    """

    factorial: Factorial | None
    """
    The experiment taken apart; none where the figure of a cell is not known.
    """
    figure: str
    """
    The figure.
    """
    lacking: list[str]
    """
    The first few cells without a value, or the reason for which there is no result.
    """
    more_lacking: int
    """
    The number of further such cells.
    """
    perturbed: list[Range]
    """
    The effect of each level in the runs with an irrelevant change, in the order of the factorial's; empty if not every cell has such runs.
    """
    repeats: Repeats | None
    """
    The spread of the runs of a cell, if cells were run several times.
    """
    unit: str
    """
    The unit; empty for counts, and if no run has it.
    """


class Found(TypedDict):
    """
    The effects that a study asks for.
    """

    case: str
    """
    The case's name.
    """
    factors: list[Factor]
    """
    The axes with two values or more.
    """
    figures: list[FigureEffects]
    """
    Each figure.
    """
    title: str
    """
    The title.
    """


class KernelParts(TypedDict):
    """
    The parts of a kernel that was built here, in addition to its source.
    """

    config: list[str]
    """
    The fragments of its configuration, by name or path.
    """
    key: str
    """
    The key of the kernel.
    """
    patches: list[KernelPatch]
    """
    The patches, in their order.
    """
    source: str
    """
    The source.
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


class Outcome(TypedDict):
    """
    The agent's result of a finished job.
    """

    notes: list[str]
    """
    Notes on parts that failed: an event that this kernel lacks, a sysctl that it refused.
    """
    script: ScriptResult | None
    """
    The timed script, if there was one.
    """
    settled: Settled
    """
    True if the other CPUs came to rest before the measurement.
    """
    task_cpu_ns: list[tuple[TaskCpuN, TaskCpuN]]
    """
    CPU time that each task had during the window with all its children (ns of user and of system time).
    """
    window_ns: tuple[WindowN, WindowN]
    """
    The window, ns of CLOCK_MONOTONIC.
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


class Pick(TypedDict):
    """
    A figure of a case's own.
    """

    better: Better
    """
    The direction that is better.
    """
    place: Place
    """
    The place.
    """
    unit: str
    """
    The unit; empty for a count.
    """


class Published(TypedDict):
    """
    Published figures.
    """

    figures: list[PublishedFigure]
    """
    The figures.
    """
    source: str
    """
    The publication: authors, venue and year.
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


class Task(TypedDict):
    """
    Something that runs during the window.
    """

    cpus: CpuList
    """
    Its CPUs.
    """
    partition: Partition | None
    """
    Give it its CPUs as a cpuset partition of this kind, and not by its affinity alone.
    """
    policy: NotRequired[Policy]
    """
    Its scheduling policy.
    """
    to_its_end: NotRequired[bool]
    """
    It ends by itself, after the window, and must end well; else it is ended with the window.
    """
    work: Work
    """
    Its work.
    """


Check = TypedDict(
    'Check',
    {
        'against': Against | None,
        'case': str,
        'cpu': int | None,
        'figure': str,
        'is': Condition | None,
    },
)


class Claim(TypedDict):
    """
    A claim: reproduced for a variant if all its checks hold there.
    """

    cannot_tell: str | None
    """
    The reason for which this laboratory cannot judge it at all.
    """
    checks: list[Check]
    """
    The checks that must all hold.
    """
    comment: str | None
    """
    An explanation of the answer, shown with the verdict.
    """
    evidence: list[Check]
    """
    Figures that are shown as well, without being judged.
    """
    only: list[str]
    """
    The matrix labels (as kernels) that it speaks of; all where empty.
    """
    text: str
    """
    The claim.
    """


Compared = TypedDict(
    'Compared',
    {
        'case': str,
        'functions': list[tuple[str, Difference]],
        'latency': list[Shift],
        'missing': list[str],
        'spans': list[SpanShift],
        'title': str,
        'with': str,
    },
)


class Failed(TypedDict):
    """
    A check that does not hold in a case, with the value that was compared.
    """

    case: str
    """
    The id of the case.
    """
    check: Check
    """
    The check.
    """
    runs: int
    """
    The number of those runs.
    """
    value: float | None
    """
    The value that was compared, the mean of the case's own runs; null if it is not defined, as relative to 0.
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


class Verdict(TypedDict):
    """
    A claim with what became of it.
    """

    agreement: NotRequired[Agreement | None]
    """
    The agreement of the runs, if a judged case has perturbed ones.
    """
    claim: Claim
    """
    The claim.
    """
    evidence: list[str]
    """
    The figures, one line each; for a claim that cannot be judged, the reason.
    """
    failed: NotRequired[list[Failed]]
    """
    The checks that do not hold.
    """
    rests_on: list[str]
    """
    The assumptions of the rulings: the source of the exit times of each emulated machine; empty if no judged case has one.
    """
    rulings: list[tuple[str, Ruling]]
    """
    The ruling for each variant (as each kernel), in the order of the study.
    """
    unknown: NotRequired[list[str]]
    """
    The figures that are not known, one line each with the reason; they are in the evidence too.
    """


class Case(TypedDict):
    """
    One configuration, complete.
    """

    append: CommandLine
    """
    The parameters that are added to the kernel command line.
    """
    calls: NotRequired[list[str]]
    """
    Functions of the kernel whose calls are listed one by one, where it is recorded.
    """
    clock: Clock
    """
    The clock.
    """
    cpus: int
    """
    The number of virtual CPUs.
    """
    disk: NotRequired[int | None]
    """
    Size of its disk, bytes; it has none where that is none. On the wall clock only.
    """
    events: list[str]
    """
    Trace events beyond the usual ones.
    """
    figures: NotRequired[dict[str, Pick]]
    """
    Figures that are picked out of what its programs print, by name.
    """
    files: NotRequired[dict[str, str]]
    """
    Texts that the guest finds as files in `dyntick_guest::names::STUDY_FOLDER`, by their paths from there.
    """
    governor: NotRequired[str | None]
    """
    The idle governor; the kernel's own choice where none is named.
    """
    id: str
    """
    Name and matrix labels, as `nohz-full/debian:6.12`.
    """
    kernel: str
    """
    The kernel: a `dyntick_model::Spec`, or the name of one of the study's own.
    """
    machine: NotRequired[Machine | None]
    """
    The machine whose idle states the guest has.
    """
    measure_ns: int
    """
    Length of the window, ns.
    """
    measured_cpus: CpuList
    """
    The CPUs that the study is about.
    """
    memory: int
    """
    Memory, bytes.
    """
    modules: list[str]
    """
    Kernel modules that are loaded.
    """
    name: str
    """
    The name in the file.
    """
    packages: NotRequired[list[CpuList]]
    """
    The CPUs of each package of the machine; all in one where there are none.
    """
    perturb: NotRequired[int]
    """
    The number of further runs, each with an irrelevant change (virtual clock only).
    """
    profile: NotRequired[bool]
    """
    True if every executed block is recorded, in the window and while the script runs.
    """
    read: NotRequired[list[str]]
    """
    Files of the guest's kernel that are read before and after the window, by path.
    """
    recipe: NotRequired[Recipe | None]
    """
    The recipe of the kernel, if it is one of the study's own.
    """
    repeat: int
    """
    The number of runs (wall clock only).
    """
    script: Script | None
    """
    The fixed piece of work, timed after the window.
    """
    settle_limit_ns: int
    """
    Longest wait for it, ns.
    """
    settle_ns: int
    """
    Idleness of the other CPUs that counts as settled, ns.
    """
    sysctl: dict[str, str]
    """
    Settings by sysctl name.
    """
    tasks: list[Task]
    """
    The tasks that run during the window.
    """
    timeout_ns: int
    """
    Wall time after which the guest counts as hung, ns.
    """
    title: str
    """
    The title, for people.
    """
    tools: list[str]
    """
    Real tools that go into the guest.
    """
    trace_buffer: int
    """
    Trace buffer per CPU, bytes.
    """
    trace_cpus: NotRequired[CpuList | None]
    """
    The CPUs whose trace events are recorded; all where it is none.
    """
    variant: str
    """
    The matrix labels, joined by `/`; empty without a matrix.
    """
    write: dict[str, str]
    """
    Other files of the guest's kernel to write, by path.
    """


class Plan(TypedDict):
    """
    The plan of one run, which another machine could execute. Stored as `run.toml`.
    """

    accelerator: Accelerator
    """
    The executor of the guest's instructions.
    """
    case: Case
    """
    The case.
    """
    command_line: CommandLine
    """
    The complete kernel command line.
    """
    firmware_sha256: str | None
    """
    The SHA-256 of the firmware that QEMU is given, if any.
    """
    host: NotRequired[Host | None]
    """
    The machine that executes the guest, on the wall clock.
    """
    hz: int
    """
    The kernel's ticks per second, from its configuration.
    """
    idle_states: NotRequired[str | None]
    """
    The parameters of the emulator of idle states, if the case has a machine.
    """
    image_sha256: str
    """
    The SHA-256 of the guest image, and so of this program, the tools and the modules.
    """
    kernel_fallback: NotRequired[str | None]
    """
    The index that named the kernel if Debian's mirror could not be asked: its name may mean another one by now.
    """
    kernel_parts: NotRequired[KernelParts | None]
    """
    The fragments and patches of a kernel that was built here.
    """
    kernel_sha256: str
    """
    The SHA-256 of the kernel.
    """
    kernel_source: str
    """
    The origin of the kernel, e.g. a Debian package.
    """
    missing_options: NotRequired[list[str]]
    """
    The options that fixes need and that the kernel is built without.
    """
    perturbation: NotRequired[Perturbation | None]
    """
    The irrelevant change of a perturbed run.
    """
    program_sha256: NotRequired[str | None]
    """
    The SHA-256 of this program, which is the guest's `/init`.
    """
    qemu: str
    """
    The version of QEMU, with that of its package.
    """
    release: KernelVersion
    """
    The kernel's release.
    """
    repetition: int
    """
    The repetition, from 0.
    """


class Study(TypedDict):
    """
    A study.
    """

    cases: list[Case]
    """
    The cases, matrices expanded.
    """
    claims: list[Claim]
    """
    The claims to judge.
    """
    compared: NotRequired[Factor | None]
    """
    The values that the command line gives each case, one after the other: an axis of all cases, which the report sets side by side.
    """
    comparisons: list[Comparison]
    """
    The pairs of cases that are set side by side in detail.
    """
    description: str
    """
    The background that a reader needs to understand the answer.
    """
    effects: list[Effects]
    """
    The matrices whose axes are judged by what they do.
    """
    kernels: dict[str, Recipe]
    """
    The kernels that are built to order, by name.
    """
    name: str
    """
    A short name: the file's, without its ending.
    """
    published: Published | None
    """
    The published figures.
    """
    question: str
    """
    The question.
    """
    title: str
    """
    The title.
    """


class CompleteRun(TypedDict):
    """
    A complete run.
    """

    asked: Plan
    """
    The plan that it executed.
    """
    case: str
    """
    The id of its case.
    """
    cpus: list[Summary]
    """
    The interruptions of each CPU.
    """
    folder: str
    """
    The folder.
    """
    latency_limits: Limits | None
    """
    The latency limits (PM QoS) before and after the window, of a guest with idle states; null where they are not recorded.
    """
    lost_events: int
    """
    The number of lost trace events.
    """
    lost_events_by_cpu: dict[str, int]
    """
    The same by CPU.
    """
    made_here: bool
    """
    True if this user's laboratory made it, as its seal says.
    """
    missing_events: list[str]
    """
    Trace events that the kernel does not have.
    """
    observations: list[Observed]
    """
    All figures.
    """
    outcome: Outcome
    """
    The agent's report.
    """
    repetition: int
    """
    The repetition, from 0.
    """
    undecoded: int
    """
    Trace records that were not understood.
    """


JudgedRun: TypeAlias = CompleteRun | JudgedRun1
"""
The result of one run.
"""


class DyntickLabRun(TypedDict):
    """
    A study's runs, judged.
    """

    comparisons: list[Compared]
    """
    The comparisons (`[[compare]]`).
    """
    effects: list[Found]
    """
    The effects (`[[effects]]`).
    """
    format: Literal['dyntick-lab-run']
    runs: list[JudgedRun]
    """
    The runs, including those that failed.
    """
    study: Study
    """
    The study, its matrices expanded.
    """
    verdicts: list[Verdict]
    """
    The claims with their rulings.
    """
    version: Literal[1]
