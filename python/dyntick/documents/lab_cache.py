# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypedDict


class Entry(TypedDict):
    """
    One entry.
    """

    bytes: int
    """
    The space that it takes, bytes.
    """
    name: str
    """
    Its path in the cache, e.g. `sources/linux-source-6.12_6.12.117-1`.
    """
    unused_s: int
    """
    The time since it was used last, s.
    """


class DyntickLabCache(TypedDict):
    """
    The contents of the cache.
    """

    bytes: int
    """
    The bytes of all entries that are there.
    """
    entries: list[Entry]
    """
    The entries that are there, the least recently used first.
    """
    folder: str
    """
    The folder of the cache.
    """
    format: Literal['dyntick-lab-cache']
    removed: list[Entry]
    """
    The entries that were removed by this call.
    """
    version: Literal[1]
