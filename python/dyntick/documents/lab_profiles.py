# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Count: TypeAlias = int


CpuList: TypeAlias = str
"""
A set of CPUs, written as in `taskset -c` and on the kernel's command line: `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.

It takes 1 KiB at most: files of strangers have many of them.
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


class Summary(TypedDict):
    """
    Instructions of the spans of one kind.
    """

    count: int
    """
    The number of spans.
    """
    max: int
    """
    The longest.
    """
    mean: float
    """
    The mean.
    """
    median: int
    """
    The middle one; of two the shorter.
    """
    min: int
    """
    The shortest.
    """


class Compared(TypedDict):
    """
    One kind of spans in both runs.
    """

    a: float
    """
    Mean instructions a span in the first.
    """
    b: float
    """
    Mean instructions a span in the second.
    """
    counts: list[Count]
    """
    The number of its spans in `a` and in `b`.
    """
    kind: str
    """
    The name.
    """
    phase: str
    """
    `window` or `script`.
    """
    rows: list[Row]
    """
    The functions, the largest difference first. Their differences add up to that of the means.
    """


class PrintedKind(TypedDict):
    """
    The spans of one kind.
    """

    functions_per_span: dict[str, float]
    """
    Mean instructions a span in each kernel function itself.
    """
    instructions: int
    """
    The instructions of all spans together.
    """
    kind: str
    """
    The name: the kernel's entry point, or the kind of span.
    """
    spans: list[int]
    """
    The instructions of each span, in the order in which they ended.
    """
    summary: Summary | None
    """
    The instructions of a span; none where there is no span.
    """


class PrintedPhase(TypedDict):
    """
    One phase of a run.
    """

    instructions_of_all_cpus: int
    """
    All instructions that were executed in it, on all CPUs and in user mode too.
    """
    kinds: list[PrintedKind]
    """
    The kinds of spans, by name.
    """
    phase: str
    """
    `window` or `script`.
    """


class Profile(TypedDict):
    """
    The profile of one run.
    """

    case: str
    """
    The id of its case.
    """
    cpus: CpuList
    """
    The CPUs whose spans are counted.
    """
    made_here: bool
    """
    True if this user's laboratory made the run.
    """
    phases: list[PrintedPhase]
    """
    The window and the script, as far as they were recorded.
    """


class DyntickLabProfiles(TypedDict):
    """
    The profiles of two runs and how they differ.
    """

    a: Profile
    """
    The first run.
    """
    b: Profile
    """
    The second run.
    """
    differences: list[Compared]
    """
    The kinds of spans that both have, those with the most instructions in `a` first.
    """
    format: Literal['dyntick-lab-profiles']
    version: Literal[1]
