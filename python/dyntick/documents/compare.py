# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

Basis: TypeAlias = Literal['runs', 'samples', 'exact']
"""
The sample of a test.
"""


Better: TypeAlias = Literal['lower', 'higher', 'unknown']
"""
The direction that is an improvement.
"""


Change: TypeAlias = Literal['none', 'better', 'worse', 'different']
"""
The direction of an exact difference.
"""


Clock: TypeAlias = Literal['virtual', 'wall']
"""
The clock of a run. A figure of one clock is never compared with a figure of the other.
"""


Overflow: TypeAlias = int


class Exposure(TypedDict):
    """
    The samples or the time from which a figure of one run was taken.
    """

    samples: int | None
    """
    The number of samples; null if unknown.
    """
    seconds: float | None
    """
    The time that was watched, in seconds; null if unknown.
    """
    stopped_early: bool
    """
    True if the run was ended by its first value beyond a threshold.
    """


class SpreadsDiffer(TypedDict):
    ratio: float
    """
    The spread of the second side divided by that of the first.
    """


Flag3 = TypedDict(
    'Flag3',
    {
        'spreads-differ': SpreadsDiffer,
    },
    closed=True,
)


class NotNumbers(TypedDict):
    count: int
    """
    The number of values.
    """
    side: int
    """
    The side.
    """


Flag4 = TypedDict(
    'Flag4',
    {
        'not-numbers': NotNumbers,
    },
    closed=True,
)


class TooFewForSoMany(TypedDict):
    needed: int
    """
    The number of runs of each side that could.
    """


Flag5 = TypedDict(
    'Flag5',
    {
        'too-few-for-so-many': TooFewForSoMany,
    },
    closed=True,
)


class Interval(TypedDict):
    """
    A confidence interval, ends included.
    """

    high: float
    """
    The upper end.
    """
    level: float
    """
    The share of repetitions of the experiment in which such an interval covers the true value. Methods that can only choose among ranks state the level that they reach, which is more than `LEVEL`.
    """
    low: float
    """
    The lower end.
    """


Figure1: TypeAlias = list[float]


Method: TypeAlias = Literal['exact', 'permutation', 'normal', 'interval']
"""
The method by which a p value was found.
"""


MetricName: TypeAlias = str
"""
The name of a metric, as it is printed: `wake-up latency`, `T:0 max`.
"""


class TooFewRuns(TypedDict):
    needed: int
    """
    The number of runs of each side that would be enough.
    """


NoInterval1 = TypedDict(
    'NoInterval1',
    {
        'too-few-runs': TooFewRuns,
    },
    closed=True,
)


NoInterval: TypeAlias = (
    NoInterval1
    | Literal['no-spread']
    | Literal['too-few-samples']
    | Literal['overflows']
    | Literal['maximum']
    | Literal['stated']
    | Literal['exact']
    | Literal['dependent']
)
"""
The reason for which there is no interval.
"""


class Outlier(TypedDict):
    """
    A run that lies far from the others. It is reported, and never left out.
    """

    distance: float
    """
    The distance from the median, in units of the runs' spread; signed.
    """
    index: int
    """
    The run, from 0.
    """
    limit: float
    """
    The distance from which on a run is shown, for this number of runs.
    """
    median: float
    """
    The median of all runs of its side.
    """
    value: float
    """
    The value.
    """


Point: TypeAlias = str
"""
A point of a distribution: a quantile, as `p99.9`, or `max`, or `mean`.
"""


class Question(TypedDict):
    """
    The question of a comparison.
    """

    limits: list[int]
    """
    Above which values samples are counted; empty for limits by the samples themselves (`ladder`).
    """
    same_within: float
    """
    Up to how many percent of the first side's value a difference does not matter.
    """


class Ratio(TypedDict):
    """
    The frequency of events on the second side divided by that on the first.
    """

    high: float | None
    """
    The upper end; none where the first side has no event: there is no limit then.
    """
    low: float
    """
    The lower end of its interval.
    """
    value: float | None
    """
    The ratio of the frequencies; none where the first side has no event.
    """


Refusal: TypeAlias = Literal['clocks', 'units', 'kinds', 'no-values']
"""
The reason for which two metrics of the same name are not compared.
"""


class Summary(TypedDict):
    """
    A summary of a few repeated measurements.
    """

    count: int
    """
    The number of values.
    """
    deviation: float
    """
    The sample standard deviation (n - 1); 0 for a single value.
    """
    max: float
    """
    The largest.
    """
    mean: float
    """
    The mean.
    """
    median: float
    """
    The middle one (the mean of the two middle ones where their number is even).
    """
    min: float
    """
    The smallest.
    """


AboveItem: TypeAlias = int


Sample: TypeAlias = int


class Test(TypedDict):
    """
    The test for a difference of two sides.
    """

    method: Method
    """
    The method.
    """
    p: float
    """
    The probability of a difference like this or larger, in either direction, if the sides do not differ.
    """


class Trend(TypedDict):
    """
    A trend over the order in which the runs happened.
    """

    change: float
    """
    The excess of the second half of the runs over the first (Hodges-Lehmann), in the unit of the values.
    """
    p: float
    """
    The probability of such a trend or a stronger one, in either direction, if the order does not matter.
    """
    tau: float
    """
    Kendall's tau between the order and the values, ties counting for nothing: 1 where every run exceeds all before it.
    """


class SameWithin(TypedDict):
    percent: float
    """
    The margin, in percent of the first side's value.
    """


Verdict1 = TypedDict(
    'Verdict1',
    {
        'same-within': SameWithin,
    },
    closed=True,
)


class Inconclusive(TypedDict):
    more_runs: int | None
    """
    The least number of further runs of each side that may decide; `None` if it cannot be estimated or is not practical.
    """


class Verdict2(TypedDict, closed=True):
    """
    Neither can be said.
    """

    inconclusive: Inconclusive


class TheChange(TypedDict):
    change: Change
    """
    The direction.
    """
    difference: float
    """
    The excess of the side over the first; 0 if the change has no effect.
    """


Verdict3 = TypedDict(
    'Verdict3',
    {
        'the-change': TheChange,
    },
    closed=True,
)


Verdict: TypeAlias = (
    Literal['better']
    | Literal['worse']
    | Literal['different']
    | Literal['runs-differ']
    | Literal['unequal']
    | Verdict1
    | Verdict2
    | Verdict3
)
"""
The verdict on a figure of two sides. The rules, in this order:

1. The runs of each side are equal, in virtual time: `Verdict::TheChange`. 2. The figure grows with the time that was watched, and the sides were watched for unequal times:    `Verdict::Unequal`. 3. The interval of the shift lies within the margin, `same_within` percent of the first side's value (the ends    included): `Verdict::SameWithin`. That is two one-sided tests (Schuirmann 1987), each of 2.5 %; it is    reported also if there is a difference beyond chance that does not matter. It is not adjusted for the    number of comparisons. The margin of a share in percent is that of the share or of its complement, whichever is    smaller. If the ranges within which both figures are known    meet, no margin is smaller than the step of their last digit. 4. The adjusted p value is at most `ALPHA` and the interval does not contain zero: `Verdict::Better` or    `Verdict::Worse` by the sign of the shift, `Verdict::Different` if the better direction is unknown. If a side    has one run, `Verdict::RunsDiffer`: how much runs of that side differ is unknown. 5. Anything else: `Verdict::Inconclusive`.

If the interval would have no width (`NoInterval::NoSpread`), the shift is used for both of its ends. If there is no interval for another reason, rules 3 and 4 do not apply.
"""


class Bounds1(TypedDict, closed=True):
    """
    The interval.
    """

    interval: Interval


class Bounds2(TypedDict, closed=True):
    """
    There is no interval, for this reason.
    """

    none: NoInterval


Bounds: TypeAlias = Bounds1 | Bounds2
"""
An interval, or why there is none.
"""


class Estimate(TypedDict):
    """
    A figure with its interval.
    """

    bounds: Bounds
    """
    The certainty.
    """
    value: float
    """
    The figure.
    """


class Drift(TypedDict):
    side: int
    """
    The side.
    """
    trend: Trend
    """
    The strength; its p value is adjusted for the number of trends that were tested.
    """


class Flag1(TypedDict, closed=True):
    """
    The values of a side rise or fall while its runs go on.
    """

    drift: Drift


class OutlierModel(TypedDict):
    outlier: Outlier
    """
    The run, and its distance.
    """
    side: int
    """
    The side.
    """


class Flag2(TypedDict, closed=True):
    """
    A run is far from the others of its side. It is not left out.
    """

    outlier: OutlierModel


Flag: TypeAlias = Flag1 | Flag2 | Flag3 | Flag4 | Literal['one-run'] | Flag5
"""
A reason to doubt a figure. Sides are numbered: 0 is the first, 1 the second.
"""


class Member(TypedDict):
    """
    The figures of one thread, CPU or job. They are not judged.
    """

    figures: list[tuple[Point | None, Figure1]]
    """
    The median of the runs of both sides; for a distribution at each point that both have.
    """
    name: str
    """
    The part of the name that differs, e.g. `T3` or `cpu12`.
    """


class Outcome1(TypedDict, closed=True):
    """
    The two cannot be compared.
    """

    refused: Refusal


class SideFigure(TypedDict):
    """
    One figure of one side.
    """

    exposure: Exposure | None
    """
    From what a typical run took the figure, as far as it is known.
    """
    known_within: list[float] | None
    """
    The range within which the figure is known, if that is wider than what a figure shows: the bucket of a histogram, or the last digit that a tool printed.
    """
    range: list[float] | None
    """
    The smallest and the largest figure of the threads or CPUs that were put together.
    """
    runs: int
    """
    The number of its runs.
    """
    summary: Summary | None
    """
    More of the runs, where they are the sample.
    """
    value: Estimate
    """
    The median of the runs, or the figure of the one run.
    """


class Superiority(TypedDict):
    """
    The size of an effect, in terms of order alone.
    """

    delta: Estimate
    """
    Cliff's delta, from -1 to 1: the same stretched, 0 where neither is larger (Cliff 1993).
    """
    probability: Estimate
    """
    The probability that a value of the second side is larger than one of the first, equal ones counted half: 0.5 where neither is larger, 0 or 1 where the two do not overlap.
    """


class Tail(TypedDict):
    """
    The numbers of samples of two sides above a limit.
    """

    above: list[AboveItem]
    """
    Samples above it, of each side.
    """
    limit: int
    """
    The limit, in the metric's unit. What equals it is not above, unless buckets are wider than the measurement's step (`Tail::or_equal`).
    """
    or_equal: bool
    """
    True if samples that equal the limit are counted too.
    """
    ratio: Ratio | None
    """
    The frequency on the second side divided by that on the first, as if the samples were independent; only for one run each.
    """
    samples: list[Sample]
    """
    All samples of each side.
    """
    share: list[Estimate]
    """
    The share above it of each side, with the interval of a Poisson count where there is one run.
    """
    shift: Estimate | None
    """
    The excess of the second side's runs, in samples per million (Hodges-Lehmann); only for several runs.
    """


class Figure(TypedDict):
    """
    One figure of two sides, compared.
    """

    adjusted_p: float | None
    """
    The p value adjusted for all others of the comparison.
    """
    basis: Basis
    """
    The sample.
    """
    could_show: float | None
    """
    The smallest shift that this number of runs shows with a probability of 80 %, with this number of figures compared. `None` if the runs are too few to show any shift.
    """
    flags: list[Flag]
    """
    The doubts about it.
    """
    percent: float | None
    """
    The same in percent of the first side's value; none where that is zero.
    """
    shift: Estimate
    """
    The excess of the side over the first: Hodges-Lehmann for runs, the difference for samples.
    """
    sides: list[SideFigure]
    """
    The first side, and the one that is compared with it.
    """
    superiority: Superiority | None
    """
    The probability that a run of the side is larger than one of the first; only if runs are the sample.
    """
    test: Test | None
    """
    The test for a difference, not adjusted.
    """
    verdict: Verdict
    """
    The verdict.
    """


class Fold(TypedDict):
    """
    The threads, CPUs or jobs that a row puts together. The row's name has a `*` in place of their names.
    """

    members: list[Member]
    """
    The members, by their numbers.
    """


class Outcome2(TypedDict, closed=True):
    """
    One figure of each run.
    """

    runs: Figure


class Distribution(TypedDict):
    """
    Two distributions compared.
    """

    overflows: list[Overflow]
    """
    Samples that each side's histograms could not hold; points among them are not shown.
    """
    points: list[tuple[Point, Figure]]
    """
    At each point that both have.
    """
    superiority: Superiority | None
    """
    The probability that a sample of the side is larger than one of the first side, all runs together.
    """
    tails: list[Tail]
    """
    The numbers of samples above limits.
    """


class Outcome3(TypedDict, closed=True):
    """
    A distribution of each run.
    """

    distribution: Distribution


Outcome: TypeAlias = Outcome1 | Outcome2 | Outcome3
"""
The result for one metric.
"""


class Row(TypedDict):
    """
    One metric of one side compared with the same of the first side.
    """

    better: Better
    """
    The direction that is an improvement.
    """
    clock: Clock
    """
    The clock of its runs.
    """
    fold: Fold | None
    """
    The threads, CPUs or jobs that this row puts together; none for a single metric.
    """
    metric: MetricName
    """
    The metric.
    """
    outcome: Outcome
    """
    The result.
    """
    side: int
    """
    The position of the side that is compared with the first.
    """
    unit: str
    """
    The unit of all its figures.
    """


class DyntickCompare(TypedDict):
    """
    The document that `--json` prints.
    """

    disturbed_runs: list[int]
    """
    The number of runs of each side in which the host took too much time from a measured CPU.
    """
    format: Literal['dyntick-compare']
    labels: list[str]
    """
    The labels of the sides; the others are compared with the first.
    """
    made_here: list[bool | None]
    """
    The origin of each side: true if this user's laboratory made its runs; null for the output of tools.
    """
    missing: dict[str, list[int]]
    """
    Metrics that only some sides have, with the positions of those that have them.
    """
    needed_runs: int
    """
    The fewest runs of each side that can show a difference, with this number of comparisons.
    """
    notes: list[str]
    """
    Notes on what was assumed, and on what was not used.
    """
    question: Question
    """
    The question.
    """
    rows: list[Row]
    """
    A row for each metric and each side but the first, side by side.
    """
    settings: list[dict[str, list[str]]]
    """
    The settings that the files of each side state, each with all of its values. Sides whose settings differ are not of the same work.
    """
    tests: int
    """
    The number of p values that were adjusted for one another.
    """
    version: Literal[2]
