# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

State: TypeAlias = Literal['installed', 'downloaded', 'built', 'offered']
"""
The place of a kernel.
"""


class Entry(TypedDict):
    """
    One line of `dyntick lab kernels`.
    """

    config: NotRequired[list[str]]
    """
    The fragments of its configuration, where it was built here.
    """
    hz: int | None
    """
    Ticks per second.
    """
    no_hz_full: bool | None
    """
    True if it can stop the tick of a busy CPU (CONFIG_NO_HZ_FULL).
    """
    patches: NotRequired[list[str]]
    """
    Its patches likewise.
    """
    preempt_rt: bool | None
    """
    True if it is a PREEMPT_RT kernel.
    """
    release: str
    """
    Its release, where it is known.
    """
    spec: str
    """
    Its name in a study.
    """
    state: State
    """
    Its state: installed, downloaded, or offered by apt.
    """


class DyntickLabKernels(TypedDict):
    """
    The kernels that can be booted here.
    """

    format: Literal['dyntick-lab-kernels']
    kernels: list[Entry]
    """
    Each of them.
    """
    version: Literal[1]
