# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""

from __future__ import annotations

from typing import Literal, TypedDict


class Recipe(TypedDict):
    """
    The parts of a kernel, by name. Paths are meant from the working folder.
    """

    config: list[str]
    """
    Fragments by name or path, or one complete configuration by path; later ones win.
    """
    patches: list[str]
    """
    Patches by name or path, in the order in which they are applied.
    """
    source: str
    """
    `debian:6.12`, `debian:sid` for Debian's newest, a tarball, `git:REPOSITORY#REVISION`, or the folder of a source tree.
    """


class Built(TypedDict):
    """
    A kernel that was built here.
    """

    compiler: str
    """
    With what.
    """
    config: list[str]
    """
    The fragments by name or path, from its first build.
    """
    key: str
    """
    Its key.
    """
    objects: int
    """
    The number of its objects.
    """
    patch_files: list[int]
    """
    The number of files that each patch changes; 0 for a semantic patch, empty for kernels from before it was kept.
    """
    patch_sha256: list[str]
    """
    SHA-256 of the patches' texts, in hexadecimal; unknown of kernels from before it was kept.
    """
    patches: list[str]
    """
    The patches likewise.
    """
    recipe: Recipe | None
    """
    Its recipe, with complete paths; unknown of kernels from before it was kept.
    """
    release: str
    """
    `uname -r`.
    """
    seconds: int
    """
    Wall time that it took here, s.
    """
    source: str
    """
    Its source.
    """


class DyntickLabBuild(TypedDict):
    """
    The kernels that were built.
    """

    format: Literal['dyntick-lab-build']
    kernels: list[Built]
    """
    The kernels, in the order in which they were asked for.
    """
    version: Literal[1]
