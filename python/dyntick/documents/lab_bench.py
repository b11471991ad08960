# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypedDict


class DyntickLabBench(TypedDict):
    """
    The wall time of a case, by stage.
    """

    case: str
    """
    The id of the case.
    """
    format: Literal['dyntick-lab-bench']
    seconds: float
    """
    All of it, s.
    """
    stages: dict[str, float]
    """
    Each stage, s.
    """
    version: Literal[1]
