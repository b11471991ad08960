# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict


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


Verdict: TypeAlias = Literal['good', 'bad', 'skipped']
"""
The verdict on a commit.
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


class TestedCommit(TypedDict):
    """
    A tested commit.
    """

    commit: str
    """
    The hash.
    """
    reason: str | None
    """
    The reason for which it was not.
    """
    subject: str
    """
    The first line of its message.
    """
    value: float | None
    """
    The figure; null if it was not measured.
    """
    verdict: Verdict
    """
    The verdict.
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


class DyntickLabBisect(TypedDict):
    """
    The commit that changed a figure.
    """

    before: TestedCommit | None
    """
    The commit before it, with the figure there; null if it was not tested.
    """
    candidates: list[str]
    """
    The commits of which one is the first, if some could not be tested.
    """
    changes: list[CaseEffect]
    """
    The figures and functions that the commit changed, in the case.
    """
    condition: str
    """
    The condition on a figure that holds before it.
    """
    first_bad: TestedCommit | None
    """
    The first commit at which it does not hold; null if commits between could not be tested.
    """
    format: Literal['dyntick-lab-bisect']
    tested: list[TestedCommit]
    """
    All tested commits, in the order in which they were tested.
    """
    version: Literal[1]
