# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict


class Change(TypedDict):
    """
    One option that is not the same. A value is `n` where the kernel has the option and it is not set, and null where it does not have it, or its dependencies are not met.
    """

    new: str | None
    """
    The value in the second kernel.
    """
    old: str | None
    """
    The value in the first kernel.
    """
    option: str
    """
    The name, without `CONFIG_`.
    """


Group: TypeAlias = Literal['tick', 'rcu', 'hz', 'cpuidle', 'preempt']
"""
A group of options.
"""


KernelVersion: TypeAlias = str
"""
A kernel version: compares by its numbers, keeps the complete release text.
"""


class Patches(TypedDict):
    """
    Patches by name that only one kernel has.
    """

    new: list[str]
    """
    The options of the second.
    """
    old: list[str]
    """
    The options of the first.
    """


class DyntickLabKernelsDiff(TypedDict):
    """
    The differences of two kernels, or of their configurations.
    """

    format: Literal['dyntick-lab-kernels-diff']
    off_in_one: int
    """
    The number of options that only one of both has, which are not set there and not listed: `--full` lists them.
    """
    only: NotRequired[list[Group]]
    """
    The groups of options that were compared; all options and the patches where there are none.
    """
    options: list[Change]
    """
    The options that are not the same, by name.
    """
    patches: NotRequired[Patches | None]
    """
    The patches that only one of both has; absent where only groups of options were compared, or the file of a configuration.
    """
    releases: list[KernelVersion | None]
    """
    The releases of both. A file of a configuration has that of its head; null if it names none.
    """
    version: Literal[2]
