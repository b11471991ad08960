# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Clock: TypeAlias = Literal['virtual', 'wall']
"""
The clock of a run. A figure of one clock is never compared with a figure of the other.
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


class PlannedCase(TypedDict):
    """
    One case, and what a machine needs to run it.
    """

    builds: bool
    """
    True if the kernel is built for the study.
    """
    clock: Clock
    """
    The clock. On the virtual one all CPUs of the guest share one thread.
    """
    cpus: int
    """
    The CPUs of the guest.
    """
    estimated_s: int
    """
    The estimated time of one run, s.
    """
    id: str
    """
    The id, for `--case`.
    """
    kernel: str
    """
    The kernel, as the study names it.
    """
    memory: int
    """
    The memory of the guest, bytes.
    """
    runs: int
    """
    The number of its runs: its own, its repetitions and the perturbed ones.
    """
    tools: list[Tool]
    """
    The tools of the machine that it needs.
    """


class DyntickLabPlan(TypedDict):
    """
    The cases of a study, with the changes of the options.
    """

    cases: list[PlannedCase]
    """
    Each case.
    """
    format: Literal['dyntick-lab-plan']
    kernels: list[str]
    """
    The names of the kernels that are built for the study.
    """
    study: str
    """
    The name of the study, in whose folder below `out/` its runs are.
    """
    version: Literal[1]
