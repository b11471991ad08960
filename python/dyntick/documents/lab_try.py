# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Outcome: TypeAlias = Literal[
    'does-not-apply',
    'does-not-build',
    'fails',
    'warns',
    'changes',
    'no-effect-shown',
    'identical',
    'not-known',
]
"""
The outcome of patches on a kernel.
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


class SizeChange(TypedDict):
    """
    A function whose size differs between two kernels, bytes; 0 where a kernel lacks it.
    """

    after: int
    """
    The bytes in the second one.
    """
    before: int
    """
    The bytes in the first kernel.
    """
    function: str
    """
    Its name.
    """


class Spread(TypedDict):
    """
    A figure of a case's own run, and its range over the runs with an irrelevant change too.
    """

    least: float
    """
    The least of all runs.
    """
    most: float
    """
    The most of all runs.
    """
    own: float
    """
    The figure of the case's own run.
    """


class TriedFailure(TypedDict):
    """
    A case that failed on a kernel.
    """

    case: str
    """
    The case with the name of the kernel, `base` or `patched`.
    """
    console: list[str]
    """
    The last lines of the guest's console.
    """
    is_patched: bool
    """
    True if it is the patched kernel.
    """
    reason: str
    """
    The reason.
    """


class EntryEffect(TypedDict):
    """
    The effect on the instructions of one kind of kernel entry.
    """

    after: float
    """
    With it.
    """
    before: float
    """
    Mean instructions without the patch.
    """
    functions: list[Row]
    """
    The functions that differ, the largest difference first.
    """
    is_shown: bool
    """
    True if the mean or the median of the kind differs by more than irrelevant changes make it.
    """
    kind: str
    """
    The kind.
    """


class FigureEffect(TypedDict):
    """
    The effect on a figure.
    """

    after: Spread
    """
    With it.
    """
    before: Spread
    """
    Without the patch.
    """
    figure: str
    """
    The figure.
    """
    is_shown: bool
    """
    True if the gap between the two ranges is wider than either of them. Otherwise no effect is shown.
    """
    unit: str
    """
    The unit.
    """


class CaseEffect(TypedDict):
    """
    The effect on a case.
    """

    case: str
    """
    The case, without the name of the kernel.
    """
    entries: list[EntryEffect]
    """
    The kinds of kernel entries whose instructions differ, with the functions that do.
    """
    equal: int
    """
    The number of figures that are equal in all runs.
    """
    figures: list[FigureEffect]
    """
    The figures that are not.
    """
    title: str
    """
    Its title.
    """


class TriedOn(TypedDict):
    """
    The effect of patches on one kernel.
    """

    base: str
    """
    The kernel's source, as it was named.
    """
    cases: list[CaseEffect]
    """
    The effects, case by case.
    """
    failures: list[TriedFailure]
    """
    The cases that failed.
    """
    fuzz: list[str]
    """
    The hunks that fit only because lines of their surroundings may differ, with their files.
    """
    new_lines: list[str]
    """
    The lines that only the patched kernel logs, each once, with numbers as `#`.
    """
    not_built: str | None
    """
    The reason for which the patched kernel was not built; null if it was.
    """
    outcome: Outcome
    """
    The outcome.
    """
    release: str | None
    """
    Its release; null if the patched kernel was not built.
    """
    sizes: list[SizeChange]
    """
    The functions whose size differs, bytes without padding; the largest change first.
    """


class DyntickLabTry(TypedDict):
    """
    The effect of patches on kernels.
    """

    bases: list[TriedOn]
    """
    The result on each kernel.
    """
    format: Literal['dyntick-lab-try']
    functions: list[str]
    """
    The functions that the patches' hunks name.
    """
    patches: list[str]
    """
    The names of the patches, in the order in which they were applied.
    """
    stated: list[str]
    """
    The sentences of the messages that state a figure. They are shown beside what was found, and not judged.
    """
    title: str
    """
    The title: the cover letter's subject, or that of the first patch.
    """
    version: Literal[1]
