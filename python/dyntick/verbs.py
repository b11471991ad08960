# SPDX-License-Identifier: GPL-2.0-only
"""The verbs that judge what is there: a machine, a record, files of figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import cast

from . import program
from .documents.check import DyntickCheck
from .documents.compare import DyntickCompare
from .documents.explain import DyntickExplain
from .documents.idle import DyntickIdle
from .documents.lab_doctor import DyntickLabDoctor
from .program import Progress

Path = str | os.PathLike[str]
"""The path of a file or folder."""


def check(source: Path | None = None, *, cpus: str | None = None) -> DyntickCheck:
    """The findings about a machine's isolation: of this one, or of a folder or support bundle (``check --bundle``).

    Args:
        source: the folder or bundle; None for this machine.
        cpus: the CPUs, as ``"2-3,8"``; None for all isolated ones.

    Raises:
        DyntickError: the source cannot be read.
    """
    options: list[Path] = ["check", "--fail-on", "never"]
    options += [] if source is None else ["--from", source]
    options += [] if cpus is None else ["--cpus", cpus]
    return cast(DyntickCheck, program.document(options, "dyntick-check"))


def explain(record: Path, *, progress: Progress = False) -> DyntickExplain:
    """The interruptions of the CPUs of a record, with their causes and fixes; times in ns.

    Raises:
        DyntickError: the file is no record, or is damaged.
    """
    return cast(DyntickExplain, program.document(["explain", record], "dyntick-explain", progress=progress))


def compare(
    *sides: Path,
    metrics: Sequence[str] = (),
    unit: str | None = None,
    same_within_percent: float | None = None,
) -> DyntickCompare:
    """The verdict on each figure of several sides: better, worse, the same, or not enough runs to tell.

    Args:
        sides: folders of runs, or files and folders of files that other tools printed; the first is the base.
            ``"NAME=PATH"`` names a side.
        metrics: only metrics whose name contains one of these.
        unit: the unit where a file does not state it, ``"ns"`` or ``"us"``.
        same_within_percent: differences up to this are the same; None for the program's default.

    Raises:
        DyntickError: a file that is not understood.
    """
    options: list[Path] = ["compare", "--fail-on", "never"]
    for metric in metrics:
        options += ["--metric", metric]
    options += [] if unit is None else ["--unit", unit]
    options += [] if same_within_percent is None else ["--same-within", str(same_within_percent)]
    return cast(DyntickCompare, program.document([*options, *sides], "dyntick-compare"))


def idle(
    *dumps: Path, cpus: str | None = None, seconds: float | None = None, command: Sequence[Path] = ()
) -> DyntickIdle:
    """The idle states that CPUs chose, and the judgement of them: of this machine, or of dumps of its counters.

    Args:
        dumps: a dump, for its counters since the boot, or two of one boot, the earlier first; none for this machine.
        cpus: the CPUs, as ``"1-3,8"``; None for all.
        seconds: the length of the measurement of this machine; None for the program's default.
        command: a command with its arguments, during which this machine is measured; its outputs are this process's.

    Raises:
        DyntickError: a dump that is not understood, a machine without idle states.
    """
    options: list[Path] = ["idle", *dumps]
    options += [] if cpus is None else ["--cpu", cpus]
    options += [] if seconds is None else ["--time", f"{seconds}s"]
    return cast(DyntickIdle, program.document(options, "dyntick-idle", command=command))


def doctor() -> DyntickLabDoctor:
    """The abilities of this machine for the laboratory, and what it lacks."""
    return cast(DyntickLabDoctor, program.document(["lab", "doctor"], "dyntick-lab-doctor"))
