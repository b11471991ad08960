# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypedDict


class OwnKernel(TypedDict):
    """
    A kernel that a study has built.
    """

    built: bool
    """
    True if it is built already.
    """
    name: str
    """
    The name in the study.
    """


class Tool(TypedDict):
    """
    A tool of this machine that a study needs.
    """

    installed: bool
    """
    True if it is on this machine.
    """
    name: str
    """
    The name or path.
    """
    package: str | None
    """
    The package of Debian that holds it, where that is known.
    """


class Listed(TypedDict):
    """
    A study as it is listed.
    """

    cases: int
    """
    The number of cases.
    """
    estimated_s: int
    """
    The estimated time, s.
    """
    kernels: list[OwnKernel]
    """
    The kernels that are built for it.
    """
    name: str
    """
    The name or path to run it by.
    """
    question: str
    """
    The question.
    """
    runs: int
    """
    The number of runs of all cases.
    """
    title: str
    """
    The title.
    """
    tools: list[Tool]
    """
    The tools of this machine that its cases need.
    """


class DyntickLabStudies(TypedDict):
    """
    The studies that come with dyntick.
    """

    format: Literal['dyntick-lab-studies']
    studies: list[Listed]
    """
    Each of them.
    """
    version: Literal[1]
