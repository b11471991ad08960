# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypedDict


class DyntickIsolateRestored(TypedDict):
    """
    The result of restoring.
    """

    already: int
    """
    The number of settings that were unchanged.
    """
    failed: list[tuple[str, str]]
    """
    The settings that could not be restored, each with the reason. The journal stays.
    """
    format: Literal['dyntick-isolate-restored']
    gone: int
    """
    The number of objects that are gone: a thread that has ended, an interrupt that was freed.
    """
    notes: list[str]
    """
    Problems of the journal that did not stop the restoration.
    """
    released: int
    """
    The number of processes of the command that had not ended, and are no longer isolated.
    """
    restored: int
    """
    The number of restored settings.
    """
    theirs: list[tuple[str, str]]
    """
    The settings that another program has changed meanwhile, and that were left: each with its value.
    """
    version: Literal[1]
