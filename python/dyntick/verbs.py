# SPDX-License-Identifier: GPL-2.0-only
"""The verbs that judge what is there: a machine, a record, files of figures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, cast

from . import program
from .documents.check import DyntickCheck
from .documents.compare import DyntickCompare
from .documents.explain import DyntickExplain
from .documents.idle import DyntickIdle
from .documents.lab_doctor import DyntickLabDoctor
from .documents.stat import DyntickStat
from .errors import InputError
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
    options = _options({"--from": source, "--cpus": cpus})
    return cast(DyntickCheck, program.document(["check", "--fail-on", "never", *options], "dyntick-check"))


def stat(
    command: Sequence[Path] = (),
    *,
    cpus: str | None = None,
    seconds: float | None = None,
    events: Sequence[str] = (),
    repeat: int = 1,
    pin: bool = False,
    at_most: Sequence[str] = (),
    progress: Progress = False,
) -> DyntickStat:
    """The counts of what interrupts CPUs of this machine, by cause; times in ns.

    Without the right to count, ``counted`` is false, and the document has the counters of /proc and /sys only.

    Args:
        command: a command with its arguments, during which is counted; its outputs are this process's.
        cpus: the CPUs, as ``"1-3,8"``; None for all.
        seconds: the longest measurement, of a command that runs once.
        events: only these kinds, as ``"ticks"`` or ``"ipis"``; none of them for all.
        repeat: the runs of the command.
        pin: True to keep the command on the measured CPUs.
        at_most: limits on each CPU, as for `explain`.

    Raises:
        InputError: neither a command nor a time.
        DyntickError: a command that cannot be started, a CPU that is not online.
    """
    if not command and seconds is None:
        raise InputError("cannot count: neither a command nor a time is given; give one", status=2)
    milliseconds = None if seconds is None else round(seconds * 1000)
    kinds = ",".join(events) or None
    single = {"--cpu": cpus, "--timeout": milliseconds, "--event": kinds, "--repeat": repeat if repeat > 1 else None}
    options = ["stat", *_options(single, {"--at-most": at_most}), *(["--pin"] if pin else [])]
    return cast(DyntickStat, program.document(options, "dyntick-stat", command=command, progress=progress))


def explain(
    record: Path | None = None,
    *,
    cpus: str | None = None,
    of: str | int | None = None,
    at_most: Sequence[str] = (),
    html: Path | None = None,
    perfetto: Path | None = None,
    command: Sequence[Path] = (),
    progress: Progress = False,
) -> DyntickExplain:
    """The interruptions of CPUs or threads, with their causes and fixes; times in ns.

    Args:
        record: a file of ``dyntick record``, or a trace of another tool; None to record while ``command`` runs.
        cpus: the CPUs, as ``"2-3,8"``; None for all of a record, and to record for the isolated ones, else all.
        of: what interrupted these threads wherever they ran, and not a CPU: a command's name, or the id of a process or
            a thread.
        at_most: limits on each CPU, as ``"ticks 0"``, ``"interruptions 2/s"``, ``"interruptions 50us"`` (the longest).
            The judgement is ``gate``; a limit that is exceeded is no error.
        html: a file for a timeline, as a page.
        perfetto: a file for ui.perfetto.dev.
        command: a command with its arguments, which is recorded; its outputs are this process's. Needs root.

    Raises:
        InputError: neither a record nor a command; a record that is damaged.
        DyntickError: this machine cannot be recorded.
    """
    if record is None and not command:
        raise InputError("cannot explain: neither a record nor a command is named; name one", status=2)
    options = _options({"--cpus": cpus, "--of": of, "--html": html, "--perfetto": perfetto}, {"--at-most": at_most})
    options += [] if record is None else [record]
    found = program.document(["explain", *options], "dyntick-explain", command=command, progress=progress)
    return cast(DyntickExplain, found)


def compare(
    *sides: Path,
    metrics: Sequence[str] = (),
    unit: str | None = None,
    same_within_percent: float | None = None,
    above: Sequence[str] = (),
    patterns: Sequence[str] = (),
    paths: Sequence[str] = (),
    better: Literal["lower", "higher"] | None = None,
) -> DyntickCompare:
    """The verdict on each figure of several sides: better, worse, the same, or not enough runs to tell.

    Args:
        sides: folders of runs, or files and folders of files that other tools printed; the first is the base.
            ``"NAME=PATH"`` names a side.
        metrics: only metrics whose name contains one of these.
        unit: the unit where a file does not state it: ``"ns"`` or ``"us"`` of latencies, any of patterns and paths.
        same_within_percent: differences up to this are the same; None for the program's default.
        above: latencies above which samples are counted, as ``"20us"``.
        patterns: the number in each line of files without a reader, as ``"took ([0-9.]+) ms"``; ``"NAME=REGEX"``
            names it.
        paths: the number in each file's JSON, as ``"results.0.mean"``; ``"NAME=PATH"`` names it.
        better: the better direction of patterns and paths; None if none is known.

    Raises:
        DyntickError: a file that is not understood.
    """
    options: list[Path] = ["compare", "--fail-on", "never"]
    options += _options(
        {"--unit": unit, "--same-within": same_within_percent, "--above": ",".join(above) or None, "--better": better},
        {"--metric": metrics, "--pattern": patterns, "--path": paths},
    )
    return cast(DyntickCompare, program.document([*options, *sides], "dyntick-compare"))


def idle(
    *dumps: Path,
    cpus: str | None = None,
    seconds: float | None = None,
    machine: Path | None = None,
    command: Sequence[Path] = (),
) -> DyntickIdle:
    """The idle states that CPUs chose, and the judgement of them: of this machine, or of files.

    Args:
        dumps: a dump of the counters, for those since the boot, or two of one boot, the earlier first; a record of
            ``dyntick record --idle``, a trace of another tool, or an output of turbostat; none for this machine.
        cpus: the CPUs, as ``"1-3,8"``; None for all.
        seconds: the length of the measurement of this machine; None for the program's default.
        machine: the machine whose idle states judge the sleeps of a trace that has none: a name of
            ``dyntick lab machines``, or the path of a file.
        command: a command with its arguments, during which this machine is measured; its outputs are this process's.

    Raises:
        DyntickError: a dump that is not understood, a machine without idle states.
    """
    time = None if seconds is None else f"{seconds}s"
    options = _options({"--cpu": cpus, "--time": time, "--machine": machine})
    return cast(DyntickIdle, program.document(["idle", *dumps, *options], "dyntick-idle", command=command))


def doctor() -> DyntickLabDoctor:
    """The abilities of this machine for the laboratory, and what it lacks."""
    return cast(DyntickLabDoctor, program.document(["lab", "doctor"], "dyntick-lab-doctor"))


def _options(single: Mapping[str, Path | float | None], several: Mapping[str, Sequence[str]] = {}) -> list[Path]:
    """The options that are given, those of ``several`` once for each value."""
    options: list[Path] = []
    for option, value in single.items():
        if value is not None:
            options += [option, str(value) if isinstance(value, float | int) else value]
    for option, values in several.items():
        for one in values:
            options += [option, one]
    return options
