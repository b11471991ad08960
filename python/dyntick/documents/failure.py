# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

FailureKind: TypeAlias = Literal['check', 'input', 'environment', 'limit']
"""
The kind of an error. A check or comparison that failed has a result, and is an error only if there is nothing to print of it.
"""


class DyntickFailure(TypedDict):
    """
    An error that ended a verb.
    """

    file: str | None
    """
    The file at fault, if it is known.
    """
    format: Literal['dyntick-failure']
    kind: FailureKind
    """
    The kind, which decides the exit status.
    """
    line: int | None
    """
    The line in that file, from 1.
    """
    text: str
    """
    The message and the remedy, as on standard error.
    """
    version: Literal[1]
