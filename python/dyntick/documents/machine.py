# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

Quantile: TypeAlias = str


Measured = TypedDict(
    'Measured',
    {
        'exit-latency': str,
        'quantiles': NotRequired[list[list[float | Quantile]]],
        'remark': str,
        'source': str,
    },
    closed=True,
)


class Power(TypedDict, closed=True):
    basis: Literal['measured', 'estimated']
    """
    an estimate needs `low`, `high` and `remark`
    """
    high: NotRequired[float]
    """
    the upper end, W
    """
    low: NotRequired[float]
    """
    the lower end of the range in which it is believed to be, W
    """
    remark: NotRequired[str]
    """
    how it was made, and what it rests on
    """
    source: str
    """
    a key of `[sources]`
    """
    watts: float
    """
    the power, W
    """


State = TypedDict(
    'State',
    {
        'description': NotRequired[str],
        'entry': NotRequired[str],
        'exit-latency': str,
        'irq-enable': NotRequired[bool],
        'measured': NotRequired[Measured],
        'name': str,
        'off': NotRequired[bool],
        'polling': NotRequired[bool],
        'power': Power,
        'residency-below-latency': NotRequired[bool],
        'source': str,
        'target-residency': str,
        'tlb-flushed': NotRequired[bool],
        'unusable': NotRequired[bool],
    },
    closed=True,
)


PackageState = TypedDict(
    'PackageState',
    {
        'core-exit-latency': str,
        'exit-latency': str,
        'name': str,
        'needs': str,
        'power': Power,
        'source': str,
    },
    closed=True,
)


DyntickMachine = TypedDict(
    'DyntickMachine',
    {
        'active': Power,
        'cores': int,
        'description': NotRequired[str],
        'package-state': NotRequired[list[PackageState]],
        'sources': dict[str, str],
        'state': list[State],
        'title': str,
        'uncore': Power,
    },
    closed=True,
)
