# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

State: TypeAlias = Literal['ok', 'limited', 'missing']
"""
The state of a thing.
"""


class Check(TypedDict):
    """
    One thing that was looked at.
    """

    detail: str
    """
    The result.
    """
    fix: str | None
    """
    The command that fixes it, or what is lost without it.
    """
    state: State
    """
    The state.
    """
    what: str
    """
    The thing.
    """


class DyntickLabDoctor(TypedDict):
    """
    The results of the checks.
    """

    checks: list[Check]
    """
    Each thing that studies need.
    """
    format: Literal['dyntick-lab-doctor']
    version: Literal[1]
